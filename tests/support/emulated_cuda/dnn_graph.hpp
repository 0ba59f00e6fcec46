/// \file A graph of cuDNN's as the emulation keeps and computes it.
#pragma once
#include <cudnn_graph.h>

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace baleen::emulated {

using Extents = std::array<std::int64_t, 4>;

struct DnnTensor {
  std::int64_t id = -1;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  Extents extents{}, strides{};
  bool is_virtual = false, by_value = false;
};

struct DnnOp {
  cudnnBackendDescriptorType_t kind = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
  int mode = 0;  ///< of a pointwise op or a reduction
  std::int64_t axis = 0;
  DnnTensor x, b, t, y;  ///< of a product: x, b and y; those that are missing have no id
};

struct DnnGraph {
  std::vector<DnnOp> ops;

  /// Whether each of these is a tensor of some op.
  bool has_all(const std::vector<std::int64_t>& ids) const;
  /// All tensors that are no one's inner business must have an address.
  bool can_run(const std::map<std::int64_t, void*>& addresses) const;
  void run(const std::map<std::int64_t, void*>& addresses) const;
  /// Adds to fp32 sums in memory: on a device in whatever order.
  bool may_vary() const;
};

}  // namespace baleen::emulated
