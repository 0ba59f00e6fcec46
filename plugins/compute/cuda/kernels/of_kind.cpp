/// \file The kernel that a kind of op from a plugin brings itself (baleen/op_kind.h), as CUDA text.
#include <array>

#include "baleen/op_kind.h"
#include "compiler.hpp"
#include "kernel_prelude.hpp"
#include "kernels.hpp"

namespace baleen::cuda {
namespace {

/// Addresses, seed, step and micro-batch are 4 KiB at most, which every driver takes.
constexpr std::size_t kMostTensors = 500;
constexpr std::uint64_t kMostX = (std::uint64_t{1} << 31) - 1, kMostYZ = 65535, kMostThreads = 1024;
/// What a block has without asking.
constexpr std::uint64_t kSharedAlways = 48 << 10;

/// A kind's answer; its texts are good until the kind is asked again on this thread.
struct Answer {
  baleen_status_t status = BALEEN_OK;
  baleen_cuda_text_t text{};
};

Answer ask(const DeviceLimits& limits, const baleen_region_t& region) {
  const baleen_op_kind_t kind = copy_in(region.kinds[0]);
  const baleen_cuda_request_t request{sizeof request,
                                      &op_of(region, 0),
                                      region.tensors,
                                      region.tensor_count,
                                      limits.shared_bytes,
                                      static_cast<std::uint32_t>(limits.compute_capability),
                                      0};
  Answer answer;
  answer.text.size = sizeof answer.text;
  if (!kind.cuda) {
    answer.status = BALEEN_UNSUPPORTED;
    return answer;
  }
  answer.status = kind.cuda(kind.self, &request, &answer.text);
  answer.text = copy_in(&answer.text);
  return answer;
}

/// "the CUDA text of op kind `outer`".
std::string text_of(std::string_view kind) { return "the CUDA text of op kind `" + std::string(kind) + "`"; }

Status check(const baleen_cuda_text_t& text, const DeviceLimits& limits, const std::string& who) {
  if (text.source.size == 0 || text.entry.size == 0)
    return unsupported(who + " is empty or has no entry; give the text, and the name that BALEEN_KERNEL declares");
  const auto refuse = [&](const std::string& what, std::uint64_t is, std::uint64_t least, std::uint64_t most) {
    return unsupported(who + " wants " + std::to_string(is) + " " + what + "; there can be " + std::to_string(least) +
                       " to " + std::to_string(most));
  };
  if (text.threads < 1 || text.threads > kMostThreads)
    return refuse("threads of a block", text.threads, 1, kMostThreads);
  if (text.blocks[0] > kMostX) return refuse("blocks along x", text.blocks[0], 0, kMostX);
  for (const std::size_t dim : {1u, 2u})
    if (text.blocks[dim] > kMostYZ)
      return refuse(dim == 1 ? "blocks along y" : "blocks along z", text.blocks[dim], 0, kMostYZ);
  if (text.shared_bytes > limits.shared_bytes)
    return refuse("bytes of shared memory", text.shared_bytes, 0, limits.shared_bytes);
  return {};
}

class KernelOfKind : public Kernel {
 public:
  KernelOfKind(const Context& context, std::size_t tensors, const std::string& kind)
      : context_(context), tensors_(tensors), kind_(kind), who_(text_of(kind)) {}

  Status build(const baleen_cuda_text_t& text) {
    BALEEN_TRY(check(text, context_.limits, who_));
    geometry_ = {static_cast<std::int64_t>(text.blocks[0]), static_cast<std::int64_t>(text.blocks[1]),
                 static_cast<std::int64_t>(text.blocks[2]), text.threads, text.shared_bytes};
    if (geometry_.empty()) return {};
    entry_ = view(text.entry);
    source_ = kKernelPrelude;
    source_ += "namespace baleen {\nstruct Args {\n  void* tensor[" + std::to_string(tensors_) +
               "];\n  u64 seed, step, micro;\n};\n}  // namespace baleen\n#line 1 \"" + kind_ + ".cu\"\n";
    source_ += view(text.source);
    return {};
  }

  void begin() const override {
    if (!source_.empty()) context_.compiler.begin(source_, who_);
  }
  Status finish() override {
    if (source_.empty()) return {};
    const auto module = context_.compiler.module(source_, who_);
    if (!module) return unsupported(module.error().message);  // the kind's own fault
    BALEEN_TRY_ASSIGN(function_, context_.driver.function(*module, entry_.c_str()));
    if (!function_)
      return unsupported(who_ + " has no kernel `" + entry_ + "`; declare it with BALEEN_KERNEL(" +
                         std::to_string(geometry_.threads) + ", " + entry_ + ", baleen::Args)");
    if (geometry_.shared_bytes > kSharedAlways)
      BALEEN_TRY(context_.driver.check(
          context_.driver.cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                             static_cast<int>(geometry_.shared_bytes)),
          "asking for shared memory"));
    source_.clear();
    return {};
  }

  Status run(const Launch& launch) const override {
    std::array<std::uint64_t, kMostTensors + 3> args;
    for (std::size_t i = 0; i < tensors_; ++i) args[i] = reinterpret_cast<std::uint64_t>(launch.call.tensors[i]);
    args[tensors_] = launch.call.seed;
    args[tensors_ + 1] = launch.call.step;
    args[tensors_ + 2] = launch.call.micro;
    const std::size_t word = sizeof args[0];
    return launch.run_varying(function_, geometry_, std::as_bytes(std::span(args.data(), tensors_ + 3)),
                              tensors_ * word, (tensors_ + 1) * word);
  }

 private:
  const Context& context_;
  std::size_t tensors_;
  std::string kind_, who_, entry_;
  std::string source_;  ///< until the kernel is found
  CUfunction function_ = nullptr;
  Geometry geometry_;
};

}  // namespace

bool brings_text(const DeviceLimits& limits, const baleen_region_t& region) {
  if (region.op_count != 1 || region.size < sizeof(baleen_region_t) || !region.kinds || !region.kinds[0]) return false;
  if (region.tensor_count > kMostTensors) return false;
  return ask(limits, region).status != BALEEN_UNSUPPORTED;  // what else is wrong is told by make_of_kind
}

Result<std::unique_ptr<Kernel>> make_of_kind(const Context& context, const baleen_region_t& region) {
  const Answer answer = ask(context.limits, region);
  const std::string kind(view(op_of(region, 0).kind));
  if (answer.status != BALEEN_OK)
    return Error{answer.status,
                 text_of(kind) + ": " +
                     (answer.text.reason.size ? std::string(view(answer.text.reason)) : "the kind gives no reason"),
                 {}};
  auto kernel = std::make_unique<KernelOfKind>(context, region.tensor_count, kind);
  BALEEN_TRY(kernel->build(answer.text));
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace baleen::cuda
