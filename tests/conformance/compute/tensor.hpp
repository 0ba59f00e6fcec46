/// \file Tensors of the suite: values in fp64, and the layouts in which they are shown to a plugin.
#pragma once
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "baleen/compute.hpp"

namespace baleen::conformance {

using namespace sdk;

using Shape = std::vector<std::int64_t>;

/// Values in row-major order. Integers are kept as whole doubles.
struct Tensor {
  Shape shape;
  std::vector<double> values;
  bool integer = false;              ///< int32 at the plugin, else `dtype`
  std::vector<bool> broadcast = {};  ///< dimensions shown with stride 0 (all values along them are equal)
  baleen_dtype_t dtype = 0;          ///< a floating dtype of its own, or int64; 0: the dtype under test

  std::int64_t size() const { return static_cast<std::int64_t>(values.size()); }
  double& operator[](std::int64_t i) { return values[static_cast<std::size_t>(i)]; }
  double operator[](std::int64_t i) const { return values[static_cast<std::size_t>(i)]; }
  /// The flat position of an index.
  std::int64_t at(const Shape& index) const;
};

/// One element in memory. Written rounded to nearest even.
void write_element(char* to, baleen_dtype_t dtype, double value);
double read_element(const char* from, baleen_dtype_t dtype);
/// The value as the dtype holds it.
double rounded(double value, baleen_dtype_t dtype);

std::int64_t count(const Shape& shape);
/// Calls body(index) for each index in row-major order.
void each_index(const Shape& shape, const std::function<void(const Shape&)>& body);

/// Zeros.
Tensor zeros(Shape shape);
/// Normal numbers that fp32 holds exactly.
Tensor random_tensor(std::mt19937_64& random, Shape shape, double deviation = 1.0, double mean = 0.0);
/// Whole numbers in [low, high].
Tensor random_ids(std::mt19937_64& random, Shape shape, int low, int high);

/// How a tensor lies in memory.
enum class Placement {
  kPacked,       ///< row-major
  kGaps,         ///< rows further apart than they are long
  kReversed,     ///< the first dimension is the packed one
  kShifted,      ///< row-major from an element behind a multiple of 64 bytes
  kLastShifted,  ///< so the last tensor of an op, the others packed
};
constexpr Placement kPlacements[] = {Placement::kPacked, Placement::kGaps, Placement::kReversed, Placement::kShifted,
                                     Placement::kLastShifted};
/// Whether the addresses are such that a device may not read several elements at once.
constexpr bool is_shifted(Placement placement) { return placement >= Placement::kShifted; }
const char* name(Placement placement);

/// Strides in elements, and how many elements the memory has.
struct Layout {
  Shape strides;
  std::int64_t extent = 0;
};
Layout lay_out(const Tensor& tensor, Placement placement);

}  // namespace baleen::conformance
