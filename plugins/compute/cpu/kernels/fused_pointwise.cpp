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

  using Input = typename FusedLoop<T>::Input;

  FusedPointwiseKernel(const Context& context, const PointwiseOperands& operands, const std::vector<Input>& inputs,
                       std::shared_ptr<const FusedLoop<T>> loop)
      : context_(context), input_count_(operands.inputs.size()), walk_(operands.walk()), loop_(std::move(loop)) {
    aliases = operands.aliases();
    streams_.reserve(input_count_ + operands.outputs.size());
    for (const std::vector<Operand>* some : {&operands.inputs, &operands.outputs})
      for (const Operand& x : *some) {
        const std::size_t i = streams_.size();
        const baleen_dtype_t dtype = x.tensor.dtype;
        const bool output = i >= input_count_;
        streams_.push_back(
            {x.number, dtype, !output && inputs[i].is_uniform, output, static_cast<std::int64_t>(dtype_size(dtype))});
      }
    segments_ = (walk_.inner() + kTask - 1) / kTask;
    rows_each_ = std::max<std::int64_t>(1, kTask / std::max<std::int64_t>(1, walk_.inner()));
    uniform_bytes_ = padded(loop_->uniforms().size() * sizeof(T));
    thread_bytes_ = padded(streams_.size() * sizeof(void*)) + streams_.size() * 64;
    scratch_bytes = uniform_bytes_ + thread_bytes_ * static_cast<std::uint64_t>(context.threads.count());
  }

  Status run(const baleen_launch_t& launch) override { return run_tasks(launch, nullptr); }
  Status run(const baleen_launch_t& launch, const baleen_block_watch_t& watch) override {
    return run_tasks(launch, &watch);
  }

  /// Tasks are blocks of what lies as the walk goes, where all operands are one row of it.
  Blocks blocks(std::uint32_t tensor) const override {
    if (walk_.size() == 0 || walk_.size() != walk_.inner()) return {};
    const bool is_stream = std::ranges::any_of(streams_, [&](const Stream& s) { return s.tensor == tensor; });
    const bool is_whole =
        std::ranges::none_of(streams_, [&](const Stream& s) { return s.tensor == tensor && s.is_uniform; });
    return is_stream && is_whole ? Blocks{kTask, walk_.size()} : Blocks{};
  }

 private:
  Status run_tasks(const baleen_launch_t& launch, const baleen_block_watch_t* watch) {
    if (walk_.size() == 0) return {};
    T* uniforms = static_cast<T*>(launch.scratch);
    fetch(launch, uniforms);
    const std::int64_t rows = walk_.size() / walk_.inner(), groups = (rows + rows_each_ - 1) / rows_each_;
    context_.threads.each(groups * segments_, [&](std::int64_t task, int thread) {
      char* memory =
          static_cast<char*>(launch.scratch) + uniform_bytes_ + static_cast<std::uint64_t>(thread) * thread_bytes_;
      const std::int64_t first = task / segments_ * rows_each_, begin = task % segments_ * kTask;
      const std::int64_t count = std::min(kTask, walk_.inner() - begin);
      const auto from = static_cast<std::uint64_t>(begin), elements = static_cast<std::uint64_t>(count);
      if (watch && watch->before(watch->self, from, elements) != 0) return;
      for (std::int64_t row = first; row < std::min(rows, first + rows_each_); ++row)
        stretch(launch, uniforms, memory, row * walk_.inner() + begin, count);
      if (watch) watch->after(watch->self, from, elements);
    });
    return {};
  }

  static constexpr std::int64_t kTask = 16384;

  struct Stream {
    std::uint32_t tensor;
    baleen_dtype_t dtype;
    bool is_uniform, is_output;
    std::int64_t bytes;  // of an element
  };

  void fetch(const baleen_launch_t& launch, T* uniforms) const {
    using Source = typename FusedLoop<T>::Uniform::Source;
    for (const auto& u : loop_->uniforms()) {
      if (u.source == Source::kInput) {
        const Stream& x = streams_[u.input];
        load_row(context_.of<T>(), uniforms, launch.tensors[x.tensor], x.dtype, 1, 1);
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
    char* rest = memory + padded(streams_.size() * sizeof(void*));
    const std::int64_t whole = count / kLanes * kLanes, left = count - whole;
    for (std::size_t i = 0; i < streams_.size(); ++i) addresses[i] = address(launch, i, position);
    loop_->run(addresses, uniforms, whole);
    if (left == 0) return;
    const auto bytes = [&](std::size_t i) { return static_cast<std::size_t>(left * streams_[i].bytes); };
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      char* part = rest + i * 64;
      if (!streams_[i].is_uniform && !streams_[i].is_output)
        std::memcpy(part, address(launch, i, position + whole), bytes(i));
      addresses[i] = part;
    }
    loop_->run(addresses, uniforms, kLanes);
    for (std::size_t i = input_count_; i < streams_.size(); ++i)
      std::memcpy(address(launch, i, position + whole), addresses[i], bytes(i));
  }

  char* address(const baleen_launch_t& launch, std::size_t stream, std::int64_t position) const {
    const Stream& s = streams_[stream];
    return static_cast<char*>(launch.tensors[s.tensor]) + walk_.offset(stream, position) * s.bytes;
  }

  const Context& context_;
  std::size_t input_count_;
  Walk walk_;  // operands as streams_
  std::shared_ptr<const FusedLoop<T>> loop_;
  std::vector<Stream> streams_;  // inputs, then outputs
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
  if (context.routines.loops == LoopIsa::kNone || walk.inner() < kLeast) return nullptr;
  std::vector<typename FusedLoop<T>::Input> inputs;
  const std::size_t input_count = operands.inputs.size();
  for (std::size_t i = 0; i < walk.operands(); ++i) {
    const bool input = i < input_count;
    const Operand& x = input ? operands.inputs[i] : operands.outputs[i - input_count];
    bool one = input;
    for (std::size_t d = 0; d < walk.rank(); ++d) one = one && walk.stride(i, d) == 0;
    const Storage storage = storage_of(x.tensor.dtype);
    const bool readable = x.tensor.dtype == kDtype<T> || (input && dtype_size(x.tensor.dtype) == 2);
    if (!one && (walk.inner_stride(i) != 1 || !readable)) return nullptr;
    if (input) inputs.push_back({one, storage});
  }
  auto loop = FusedLoop<T>::compile(context.routines.loops, code, results, inputs);
  if (!loop) return nullptr;
  return std::make_unique<FusedPointwiseKernel<T>>(context, operands, inputs, std::move(loop));
}

template std::unique_ptr<Kernel> make_fused_pointwise<float>(const Context&, const PointwiseOperands&,
                                                             std::span<const baleen_instruction_t>,
                                                             std::span<const std::int64_t>);
template std::unique_ptr<Kernel> make_fused_pointwise<double>(const Context&, const PointwiseOperands&,
                                                              std::span<const baleen_instruction_t>,
                                                              std::span<const std::int64_t>);

}  // namespace baleen::cpu
