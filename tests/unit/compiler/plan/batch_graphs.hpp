/// \file Random graphs over a batch that can be cut, with many barriers: sums over the batch that its rows then read.
#pragma once
#include <cstdint>

#include "compiler/graph/graph.hpp"

namespace baleen::test {

/// About `size` ops on batch inputs of 12 rows, in rows and in columns, on parameters, and on random masks; outputs and
/// assigned parameters are sums over the batch. The same for a seed.
Graph random_batch_graph(std::uint64_t seed, int size);

}  // namespace baleen::test
