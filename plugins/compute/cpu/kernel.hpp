/// \file What every kernel of the plugin is, and what one is made from.
#pragma once
#include <memory>
#include <vector>

#include "baleen/compute.hpp"
#include "isa/routines.hpp"
#include "threads.hpp"

namespace baleen::cpu {

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

/// One operand: its view, and where to find its address at launch.
struct Operand {
  std::uint32_t number = 0;
  baleen_tensor_t tensor{};

  template <class T>
  T* at(const baleen_launch_t& launch) const {
    return static_cast<T*>(launch.tensors[number]);
  }
  std::int64_t extent(std::uint32_t dim) const { return tensor.shape[dim]; }
  std::int64_t stride(std::uint32_t dim) const { return tensor.stride[dim]; }
  std::uint32_t rank() const { return tensor.rank; }
  /// Stride of the last dimension; 1 where there is at most one element along it.
  std::int64_t inner_stride() const { return rank() == 0 || extent(rank() - 1) <= 1 ? 1 : stride(rank() - 1); }
};

/// One op of a region with its operands.
class Source {
 public:
  Source(const baleen_region_t& region, std::uint64_t number = 0) : region_(&region), op_(region.ops[number]) {}

  const Op& op() const { return op_; }
  std::size_t inputs() const { return op_.inputs().size(); }
  std::size_t outputs() const { return op_.outputs().size(); }
  Operand in(std::size_t i) const { return operand(op_.inputs()[i]); }
  Operand out(std::size_t i) const { return operand(op_.outputs()[i]); }

 private:
  Operand operand(std::uint32_t number) const { return {number, region_->tensors[number]}; }

  const baleen_region_t* region_;
  Op op_;
};

/// A compiled region.
class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;

  /// Computes. Allocates nothing unless it fails.
  virtual Status run(const baleen_launch_t& launch) = 0;

  std::uint64_t scratch_bytes = 0;
  std::vector<baleen_alias_t> aliases;
  double flops = 0;
};

/// Makes the kernel of a region whose first op is of the kind it is registered for.
using Maker = Result<std::unique_ptr<Kernel>> (*)(const Context&, const baleen_region_t&);

/// Calls body.operator()<float>() or <double>().
template <class Body>
auto with_float(baleen_dtype_t dtype, const Body& body) {
  return dtype == BALEEN_F64 ? body.template operator()<double>() : body.template operator()<float>();
}

/// Bytes rounded up to a cache line, so that parts of a scratch buffer do not share one.
constexpr std::uint64_t padded(std::uint64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace baleen::cpu
