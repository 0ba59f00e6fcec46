/// \file Numbers to optimise with: reproducible, of both signs, some of them zero.
#pragma once
#include <random>
#include <vector>

inline std::vector<double> some_numbers(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<double> numbers(count);
  for (double& number : numbers) number = normal(engine);
  if (count > 2) numbers[2] = 0;
  return numbers;
}
