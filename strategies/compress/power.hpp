/// \file A sum of gradients as a product of two thin matrices.
#pragma once
#include <cstdint>
#include <span>

#include "options.hpp"
#include "region.hpp"

namespace baleen::compress {

/// A gradient as a matrix, and the rank of what is sent of it.
struct PowerShape {
  std::int64_t rows = 1, columns = 1, rank = 0;

  /// How many times fewer numbers travel.
  double gain() const { return static_cast<double>(rows * columns) / static_cast<double>(rank * (rows + columns)); }
};

/// The leading dimensions are rows, the others columns, divided where the two are fewest.
PowerShape power_shape(std::span<const std::int64_t> shape, std::int64_t rank);

/// In place of a reduction: PowerSGD (Vogels et al., arXiv 1905.13727, algorithms 1 and 2) with one step of power
/// iteration, begun with the factor of the step before, and with errors that are fed back.
void lower_power(GraphView graph, const Reduction& reduction, const Options& options, const States& states);

}  // namespace baleen::compress
