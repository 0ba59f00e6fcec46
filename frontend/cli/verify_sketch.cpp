/// \file Tensors in few numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "frontend/cli/verify_record.hpp"

namespace baleen::app {
namespace {

/// Random bits of a number, the same on every machine: the finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
std::uint64_t bits_of(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15u;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
  return number ^ (number >> 31);
}

/// Two weights of mean 0 and variance 1, whose squares add up to 2: points of a circle.
struct Weights {
  double x = 0, y = 0;
};

/// Of 12 random bits each. Two indices have the same point twice in one of 2^24 pairs, so elements that change places
/// are seen, which signs alone would miss in one of 16.
constexpr std::size_t kPoints = 4096;
const std::array<Weights, kPoints>& circle() {
  static const std::array<Weights, kPoints> points = [] {
    std::array<Weights, kPoints> made{};
    for (std::size_t i = 0; i < kPoints; ++i) {
      const double angle = 2 * std::numbers::pi * (static_cast<double>(i) + 0.5) / kPoints;
      made[i] = {std::numbers::sqrt2 * std::cos(angle), std::numbers::sqrt2 * std::sin(angle)};
    }
    return made;
  }();
  return points;
}

}  // namespace

bool Sketch::is_finite() const {
  return std::isfinite(squares) && std::all_of(sums.begin(), sums.end(), [](double sum) { return std::isfinite(sum); });
}

void Sketch::add(std::int64_t index, double number) {
  static_assert(std::tuple_size_v<decltype(sums)> == 4);
  const std::uint64_t bits = bits_of(static_cast<std::uint64_t>(index));
  const Weights &a = circle()[bits % kPoints], &b = circle()[(bits / kPoints) % kPoints];
  sums[0] += number * a.x;
  sums[1] += number * a.y;
  sums[2] += number * b.x;
  sums[3] += number * b.y;
  squares += number * number;
}

Sketch sketch_of(const std::vector<double>& numbers) {
  Sketch sketch;
  for (std::size_t i = 0; i < numbers.size(); ++i) sketch.add(static_cast<std::int64_t>(i), numbers[i]);
  return sketch;
}

double distance(const Sketch& a, const Sketch& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.sums.size(); ++i)
    squares += (a.sums[i] - b.sums[i]) * (a.sums[i] - b.sums[i]) / static_cast<double>(a.sums.size());
  return std::sqrt(squares);
}

}  // namespace baleen::app
