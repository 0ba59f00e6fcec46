/// \file Tensors in few numbers.
#include <algorithm>
#include <array>
#include <bit>
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

struct Point {
  double x = 0, y = 0;
};

/// Of 12 random bits each, at the distance sqrt(2): as large as two signs.
constexpr std::size_t kPoints = 4096;
const std::array<Point, kPoints>& circle() {
  static const std::array<Point, kPoints> points = [] {
    std::array<Point, kPoints> made{};
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
  std::uint64_t bits = bits_of(static_cast<std::uint64_t>(index));
  for (std::size_t i = 0; i < kSigns; ++i, bits >>= 1)
    // A branch on a random bit is guessed wrong half of the time: the sign is set instead.
    sums[i] += std::bit_cast<double>(std::bit_cast<std::uint64_t>(number) ^ ((~bits & 1) << 63));
  const Point& point = circle()[bits % kPoints];
  sums[kSigns] += number * point.x;
  sums[kSigns + 1] += number * point.y;
  squares += number * number;
}

Sketch sketch_of(const std::vector<double>& numbers) {
  Sketch sketch;
  for (std::size_t i = 0; i < numbers.size(); ++i) sketch.add(static_cast<std::int64_t>(i), numbers[i]);
  return sketch;
}

double distance(const Sketch& a, const Sketch& b) {
  // What the points show that signs do not is told as less than it is: they are two of six.
  constexpr double kOfPoints = 0.01;
  double of_signs = 0, of_points = 0;
  for (std::size_t i = 0; i < a.sums.size(); ++i)
    (i < Sketch::kSigns ? of_signs : of_points) += (a.sums[i] - b.sums[i]) * (a.sums[i] - b.sums[i]);
  return std::sqrt(std::max(of_signs / Sketch::kSigns, kOfPoints * of_points / 2));
}

}  // namespace baleen::app
