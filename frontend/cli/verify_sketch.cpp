/// \file Tensors in few numbers.
#include <algorithm>
#include <bit>
#include <cmath>

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

}  // namespace

bool Sketch::is_finite() const {
  return std::isfinite(squares) && std::all_of(sums.begin(), sums.end(), [](double sum) { return std::isfinite(sum); });
}

void Sketch::add(std::int64_t index, double number) {
  std::uint64_t bits = bits_of(static_cast<std::uint64_t>(index));
  for (double& sum : sums) {
    // A branch on a random bit is guessed wrong half of the time: the sign is set instead.
    sum += std::bit_cast<double>(std::bit_cast<std::uint64_t>(number) ^ ((~bits & 1) << 63));
    bits >>= 1;
  }
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
