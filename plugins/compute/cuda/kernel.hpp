/// \file What every kernel of the plugin is, and what one is made from.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "baleen/region.hpp"
#include "device/ids.hpp"
#include "device/values.hpp"
#include "driver.hpp"
#include "geometry.hpp"
#include "launch_log.hpp"
#include "product_report.hpp"
#include "sequence.hpp"

namespace baleen::cuda {

using namespace sdk;

class Blas;
class DnnOpener;
class Functions;
class Compiler;
class WarmUp;

/// What kernels use of the device; outlives them.
struct Context {
  const Driver& driver;
  Functions& functions;
  Compiler& compiler;
  Blas* blas;  ///< null where there is no cuBLASLt
  DnnOpener& dnn;
  ProductReport& products;
  DeviceLimits limits;
  bool described = false;     ///< for a plan: kernels are sized and never run
  WarmUp* warm_up = nullptr;  ///< null for a plan
  bool half_logits = false;   ///< logits that are never stored have the dtype of 16-bit operands
};

using Operand = RegionOperand;
using Source = RegionOp;

/// How a floating dtype's elements are told to a kernel.
constexpr Stored stored(baleen_dtype_t dtype) {
  return dtype == BALEEN_F64    ? kStoredF64
         : dtype == BALEEN_BF16 ? kStoredBf16
         : dtype == BALEEN_F16  ? kStoredF16
                                : kStoredF32;
}

/// One launch of a region: the host's call, and what the kernels of it need beside.
struct Launch {
  const Driver& driver;
  CUstream stream;
  const baleen_launch_t& call;
  IdReport report;
  Recording* recording = nullptr;  ///< where the launch is kept for later

  template <class T = void>
  T* at(const Operand& operand) const {
    return static_cast<T*>(call.tensors[operand.number]);
  }
  Values values(const Operand& operand) const { return {call.tensors[operand.number], stored(operand.tensor.dtype)}; }
  template <class T = char>
  T* scratch(std::uint64_t offset = 0) const {
    return reinterpret_cast<T*>(static_cast<char*>(call.scratch) + offset);
  }
  /// Enqueues `function` with one argument struct; nothing where the grid is empty.
  template <class Args>
  Status run(CUfunction function, const Geometry& geometry, const Args& args) const {
    return enqueue(function, geometry, &args);
  }
  /// The same for arguments with seed and step, which a kept launch is told anew each time.
  template <class Args>
  Status run_varying(CUfunction function, const Geometry& geometry, const Args& args) const {
    return run_varying(function, geometry, {reinterpret_cast<const std::byte*>(&args), sizeof args},
                       offsetof(Args, seed), offsetof(Args, step));
  }
  /// Of arguments as bytes, in which seed and step stand at these offsets.
  Status run_varying(CUfunction function, const Geometry& geometry, std::span<const std::byte> args, std::size_t seed,
                     std::size_t step) const {
    BALEEN_TRY(enqueue(function, geometry, args.data()));
    if (recording && !geometry.empty()) note(function, geometry, args, seed, step);
    return {};
  }
  Status enqueue(CUfunction function, const Geometry& geometry, const void* args) const;

 private:
  void note(CUfunction function, const Geometry& geometry, std::span<const std::byte> args, std::size_t seed,
            std::size_t step) const;
};

/// A compiled region.
class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;

  /// Begins to compile what finish() waits for.
  virtual void begin() const {}
  /// Before the first run. Again, it does nothing.
  virtual Status finish() { return {}; }
  /// Enqueues. Allocates nothing unless it fails.
  virtual Status run(const Launch& launch) const = 0;

  std::uint64_t scratch_bytes = 0;
  std::vector<baleen_alias_t> aliases;
  double flops = 0;
  std::vector<ProductKind> products;  ///< that it computes
  IdRange ids;                        ///< of the ids that it reads
  std::shared_ptr<const Label> label;

 protected:
  /// `output` may take the bytes of `input`, if they lie alike.
  void may_alias(const Operand& output, const Operand& input) {
    if (same_layout(output.tensor, input.tensor)) aliases.push_back({output.number, input.number});
  }
};

/// Makes the kernel of a region whose first op is of the kind it is registered for.
using Maker = Result<std::unique_ptr<Kernel>> (*)(const Context&, const baleen_region_t&);

/// "_f32" or "_f64": how a kernel's name ends for the dtype.
inline const char* suffix(baleen_dtype_t dtype) { return dtype == BALEEN_F64 ? "_f64" : "_f32"; }

/// Bytes rounded up, so that parts of a scratch buffer are aligned for all that is put there.
constexpr std::uint64_t padded(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace baleen::cuda
