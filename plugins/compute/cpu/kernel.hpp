/// \file What every kernel of the plugin is, and what one is made from.
#pragma once
#include <memory>
#include <vector>

#include "baleen/blockwise.h"
#include "baleen/region.hpp"
#include "isa/routines.hpp"
#include "threads.hpp"

namespace baleen::cpu {

using namespace sdk;

/// What kernels use of the device; outlives them.
struct Context {
  const Threads& threads;
  const Routines& routines;

  template <class T>
  const RoutinesOf<T>& of() const {
    if constexpr (sizeof(T) == 4)
      return routines.f32;
    else
      return routines.f64;
  }
};

using Operand = RegionOperand;
using Source = RegionOp;

/// A compiled region.
class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;

  /// Computes. Allocates nothing unless it fails.
  virtual Status run(const baleen_launch_t& launch) = 0;
  /// The same with a watch (baleen_blockwise_t), where there are blocks.
  virtual Status run(const baleen_launch_t&, const baleen_block_watch_t&) {
    return unsupported("this kernel has no blocks");
  }
  /// Elements of a block of the region's tensor, and of all of it; 0: it has none.
  struct Blocks {
    std::int64_t each = 0, elements = 0;
  };
  virtual Blocks blocks(std::uint32_t) const { return {}; }

  std::uint64_t scratch_bytes = 0;
  std::vector<baleen_alias_t> aliases;
  double flops = 0;
};

/// Makes the kernel of a region whose first op is of the kind it is registered for.
using Maker = Result<std::unique_ptr<Kernel>> (*)(const Context&, const baleen_region_t&);

/// The dtype of T.
template <class T>
constexpr baleen_dtype_t kDtype = sizeof(T) == 8 ? BALEEN_F64 : BALEEN_F32;

/// Calls body.operator()<float>() or <double>().
template <class Body>
auto with_float(baleen_dtype_t dtype, const Body& body) {
  return dtype == BALEEN_F64 ? body.template operator()<double>() : body.template operator()<float>();
}

/// Bytes rounded up to a cache line, so that parts of a scratch buffer do not share one.
constexpr std::uint64_t padded(std::uint64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace baleen::cpu
