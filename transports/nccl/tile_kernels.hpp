/// \file Reductions in the promised order, by kernels that the device's own plugin compiles: a transport has none.
#pragma once
#include <map>
#include <tuple>
#include <vector>

#include "engine.hpp"
#include "program.hpp"

namespace baleen::nccl {

/// The kernels of one device, made when they are first asked for, at plan time. Released with this, before the device.
class TileKernels {
 public:
  explicit TileKernels(const Device& device) : device_(device) {}
  ~TileKernels();
  TileKernels(const TileKernels&) = delete;

  /// Fails with UNSUPPORTED where the device has no such kernel.
  Status make(const Collective& c, std::uint64_t elements);
  /// Enqueues a step of kind kReduce: `from` and `to` are its addresses. [after `make`]
  Status launch(const Collective& c, const Step& step, std::byte* from, std::byte* to, void* stream) const;

 private:
  using Key = std::tuple<std::size_t, baleen_dtype_t, baleen_reduction_t, std::uint64_t>;
  Result<void*> compile(std::size_t members, baleen_dtype_t dtype, baleen_reduction_t reduction,
                        std::uint64_t elements) const;

  const Device& device_;
  std::map<Key, void*> kernels_;
};

}  // namespace baleen::nccl
