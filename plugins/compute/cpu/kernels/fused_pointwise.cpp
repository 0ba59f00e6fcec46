/// \file pointwise by machine code: long stretches that all operands have side by side, in one pass.
#include <algorithm>
#include <cstring>

#include "convert.hpp"
#include "fused_loop.hpp"
#include "pointwise.hpp"

namespace baleen::cpu {
namespace {

template <class T>
class FusedPointwiseKernel : public Kernel {
 public:
  static constexpr std::int64_t kLanes = FusedLoop<T>::kLanes;

  FusedPointwiseKernel(const Context& context, const PointwiseOperands& operands, std::vector<bool> uniform,
                       std::unique_ptr<FusedLoop<T>> loop)
      : context_(context), operands_(operands), walk_(operands.walk()), loop_(std::move(loop)) {
    aliases = operands.aliases();
    for (const std::vector<Operand>* some : {&operands_.inputs, &operands_.outputs})
      for (const Operand& x : *some) {
        const std::size_t i = streams_.size();
        streams_.push_back({x.number, i < operands_.inputs.size() && uniform[i], i >= operands_.inputs.size()});
      }
    segments_ = (walk_.inner() + kTask - 1) / kTask;
    rows_each_ = std::max<std::int64_t>(1, kTask / std::max<std::int64_t>(1, walk_.inner()));
    uniform_bytes_ = padded(loop_->uniforms().size() * sizeof(T));
    thread_bytes_ = padded(streams_.size() * sizeof(void*)) + streams_.size() * 64;
    scratch_bytes = uniform_bytes_ + thread_bytes_ * static_cast<std::uint64_t>(context.threads.count());
  }

  Status run(const baleen_launch_t& launch) override {
    if (walk_.size() == 0) return {};
    T* uniforms = static_cast<T*>(launch.scratch);
    fetch(launch, uniforms);
    const std::int64_t rows = walk_.size() / walk_.inner(), groups = (rows + rows_each_ - 1) / rows_each_;
    context_.threads.each(groups * segments_, [&](std::int64_t task, int thread) {
      char* memory =
          static_cast<char*>(launch.scratch) + uniform_bytes_ + static_cast<std::uint64_t>(thread) * thread_bytes_;
      const std::int64_t first = task / segments_ * rows_each_, begin = task % segments_ * kTask;
      const std::int64_t count = std::min(kTask, walk_.inner() - begin);
      for (std::int64_t row = first; row < std::min(rows, first + rows_each_); ++row)
        stretch(launch, uniforms, memory, row * walk_.inner() + begin, count);
    });
    return {};
  }

 private:
  static constexpr std::int64_t kTask = 16384;

  struct Stream {
    std::uint32_t tensor;
    bool is_uniform, is_output;
  };

  void fetch(const baleen_launch_t& launch, T* uniforms) const {
    using Source = typename FusedLoop<T>::Uniform::Source;
    for (const auto& u : loop_->uniforms()) {
      if (u.source == Source::kInput) {
        const Operand& x = operands_.inputs[u.input];
        load_row(context_.of<T>(), uniforms, launch.tensors[x.number], x.tensor.dtype, 1, 1);
      } else {
        *uniforms = static_cast<T>(u.source == Source::kStep ? static_cast<double>(launch.step) : u.number);
      }
      ++uniforms;
    }
  }

  // What is left over at the end passes through a vector of its own.
  void stretch(const baleen_launch_t& launch, const T* uniforms, char* memory, std::int64_t position,
               std::int64_t count) const {
    void** addresses = reinterpret_cast<void**>(memory);
    T* rest = reinterpret_cast<T*>(memory + padded(streams_.size() * sizeof(void*)));
    const std::int64_t whole = count / kLanes * kLanes, left = count - whole;
    for (std::size_t i = 0; i < streams_.size(); ++i)
      addresses[i] = static_cast<T*>(launch.tensors[streams_[i].tensor]) + walk_.offset(i, position);
    loop_->run(addresses, uniforms, whole);
    if (left == 0) return;
    const auto bytes = static_cast<std::size_t>(left) * sizeof(T);
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      T* part = rest + static_cast<std::int64_t>(i) * kLanes;
      if (!streams_[i].is_uniform && !streams_[i].is_output)
        std::memcpy(part, static_cast<T*>(addresses[i]) + whole, bytes);
      addresses[i] = part;
    }
    loop_->run(addresses, uniforms, kLanes);
    for (std::size_t i = operands_.inputs.size(); i < streams_.size(); ++i)
      std::memcpy(static_cast<T*>(launch.tensors[streams_[i].tensor]) + walk_.offset(i, position + whole), addresses[i],
                  bytes);
  }

  const Context& context_;
  PointwiseOperands operands_;
  Walk walk_;  // operands as streams_
  std::unique_ptr<FusedLoop<T>> loop_;
  std::vector<Stream> streams_;
  std::int64_t segments_, rows_each_;
  std::uint64_t uniform_bytes_, thread_bytes_;
};

}  // namespace

template <class T>
std::unique_ptr<Kernel> make_fused_pointwise(const Context& context, const PointwiseOperands& operands,
                                             std::span<const baleen_instruction_t> code,
                                             std::span<const std::int64_t> results) {
  // Of shorter stretches the ends would take too much.
  constexpr std::int64_t kLeast = 8 * FusedLoop<T>::kLanes;
  const Walk walk = operands.walk();
  if (!context.routines.runs_fused_loops || walk.inner() < kLeast) return nullptr;
  std::vector<bool> uniform;
  const std::size_t inputs = operands.inputs.size();
  for (std::size_t i = 0; i < walk.operands(); ++i) {
    const Operand& x = i < inputs ? operands.inputs[i] : operands.outputs[i - inputs];
    bool one = i < inputs;
    for (std::size_t d = 0; d < walk.rank(); ++d) one = one && walk.stride(i, d) == 0;
    if (!one && (walk.inner_stride(i) != 1 || x.tensor.dtype != kDtype<T>)) return nullptr;
    if (i < inputs) uniform.push_back(one);
  }
  auto loop = FusedLoop<T>::compile(code, results, uniform);
  if (!loop) return nullptr;
  return std::make_unique<FusedPointwiseKernel<T>>(context, operands, std::move(uniform), std::move(loop));
}

template std::unique_ptr<Kernel> make_fused_pointwise<float>(const Context&, const PointwiseOperands&,
                                                             std::span<const baleen_instruction_t>,
                                                             std::span<const std::int64_t>);
template std::unique_ptr<Kernel> make_fused_pointwise<double>(const Context&, const PointwiseOperands&,
                                                              std::span<const baleen_instruction_t>,
                                                              std::span<const std::int64_t>);

}  // namespace baleen::cpu
