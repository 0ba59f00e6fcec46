/// \file One launch of a kernel in memory of which all bytes are known.
#include "frontend/engine/kernel_check.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "baleen/dtype.hpp"
#include "baleen/fp8.hpp"
#include "baleen/half.hpp"
#include "baleen/op_kind.h"
#include "baleen/sized.hpp"
#include "compiler/codegen/compile.hpp"
#include "core/execute/persistent_layout.hpp"

namespace baleen::app {
namespace {

constexpr std::uint64_t kGuard = 256;  // bytes before and behind each tensor

/// What stands at a byte at first: not the same at any two places that a wrong copy could reach from one another.
constexpr char pattern(std::size_t at) { return static_cast<char>(static_cast<std::uint32_t>(at) * 2654435761u >> 24); }

/// Whether the op's kind has a kernel of its own.
bool brings_kernel(const baleen_region_t& region) {
  if (region.op_count != 1 || !region.kinds || !region.kinds[0]) return false;
  const baleen_op_kind_t kind = copy_in(region.kinds[0]);
  return kind.cpu || kind.cuda;
}

/// Elements from the first to the last.
std::uint64_t span_of(const baleen_tensor_t& tensor) {
  std::int64_t last = 0;
  for (std::uint32_t d = 0; d < tensor.rank; ++d) {
    if (tensor.shape[d] == 0) return 0;
    last += (tensor.shape[d] - 1) * tensor.stride[d];
  }
  return static_cast<std::uint64_t>(last + 1);
}

/// Row-major, with room for some elements more between rows. What is broadcast stays so.
void add_gaps(baleen_tensor_t& tensor) {
  constexpr std::int64_t kGap = 3;
  std::int64_t stride = 1;
  for (std::uint32_t d = tensor.rank; d-- > 0;) {
    if (tensor.stride[d] != 0) tensor.stride[d] = stride;
    stride *= tensor.shape[d] + (d + 1 == tensor.rank ? kGap : 0);
  }
}

template <class T>
void put(char* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

/// Some small number; ids are 0.
void put_number(char* to, baleen_dtype_t dtype, std::uint64_t position) {
  const float number = 0.125f * static_cast<float>(static_cast<int>(position * 7 % 13) - 6);
  switch (dtype) {
    case BALEEN_F64: return put(to, static_cast<double>(number));
    case BALEEN_F32: return put(to, number);
    case BALEEN_F16: return put(to, to_fp16(number));
    case BALEEN_BF16: return put(to, to_bf16(number));
    case BALEEN_E4M3: return put(to, to_e4m3(number));
    case BALEEN_E5M2: return put(to, to_e5m2(number));
    default: std::memset(to, 0, dtype_size(dtype));
  }
}

/// A tensor of the region in the memory of a trial.
struct Placed {
  baleen_tensor_t tensor;
  std::string name;  ///< "operand 2"
  bool is_result = false;
  std::uint64_t at = 0, bytes = 0;

  std::string text() const {
    return name + ", " + std::string(dtype_name(tensor.dtype)) + " " +
           to_string(Shape(tensor.shape, tensor.shape + tensor.rank));
  }
};

class Trial {
 public:
  Trial(Device& device, const baleen_region_t& region) : device_(device) {
    const baleen_op_view_t& op = element(region.ops, 0);
    const std::span inputs(op.inputs, op.input_count), outputs(op.outputs, op.output_count);
    for (std::uint64_t i = 0; i < region.tensor_count; ++i) {
      Placed placed{copy_in(&element(region.tensors, i)), {}, false, 0, 0};
      const auto number_in = [&](std::span<const std::uint32_t> list) {
        return std::ranges::find(list, i) - list.begin();
      };
      const auto operand = static_cast<std::size_t>(number_in(inputs));
      placed.is_result = operand == inputs.size();
      placed.name = placed.is_result ? "result " + std::to_string(number_in(outputs) + 1)
                                     : "operand " + std::to_string(operand + 1);
      placed.bytes = span_of(placed.tensor) * dtype_size(placed.tensor.dtype);
      placed.at = place(placed.bytes);
      placed_.push_back(std::move(placed));
    }
  }

  Status run(const TargetKernel& kernel) {
    const std::uint64_t scratch = place(kernel.scratch_bytes);
    BALEEN_TRY_ASSIGN(const Arena arena, Arena::create(device_, next_));
    std::vector<char> before(next_);
    for (std::size_t i = 0; i < before.size(); ++i) before[i] = pattern(i);
    for (const Placed& placed : placed_)
      if (!placed.is_result)
        for (std::uint64_t e = 0, size = dtype_size(placed.tensor.dtype); e * size < placed.bytes; ++e)
          put_number(before.data() + placed.at + e * size, placed.tensor.dtype, e);
    std::vector<char> after = before;
    BALEEN_TRY(launch(kernel, arena, scratch, after));
    for (const Placed& placed : placed_)
      if (placed.is_result) forgive(placed, before, after);
    std::copy_n(before.data() + scratch, kernel.scratch_bytes, after.data() + scratch);
    const auto found = std::mismatch(before.begin(), before.end(), after.begin());
    if (found.first == before.end()) return {};
    return unsupported("its kernel for the device `" + std::string(device_.info().name) + "` wrote " +
                       place_text(static_cast<std::uint64_t>(found.first - before.begin())) +
                       "; a kernel writes its results and nothing else");
  }

 private:
  std::uint64_t place(std::uint64_t bytes) {
    const std::uint64_t at = next_;
    next_ = (at + bytes + kGuard - 1) / kGuard * kGuard + kGuard;
    return at;
  }

  /// With `image` in the device's memory before, and what is there after in `image`.
  Status launch(const TargetKernel& kernel, const Arena& arena, std::uint64_t scratch, std::vector<char>& image) {
    const baleen_compute_t& table = device_.table();
    void *const device = device_.handle(), *const stream = device_.stream();
    std::vector<void*> addresses;
    for (const Placed& placed : placed_) addresses.push_back(arena.at(placed.at));
    const baleen_launch_t launch{sizeof launch, stream, addresses.data(), arena.at(scratch), 0, 0, 0};
    BALEEN_TRY(device_.check(table.copy(device, stream, arena.base(), image.data(), image.size())));
    BALEEN_TRY(device_.check(table.launch(device, kernel.handle.get(), &launch)));
    BALEEN_TRY(device_.check(table.synchronize(device, stream)));
    BALEEN_TRY(device_.check(table.copy(device, stream, image.data(), arena.base(), image.size())));
    return device_.check(table.synchronize(device, stream));
  }

  /// Takes the elements of a result for unchanged.
  static void forgive(const Placed& placed, const std::vector<char>& before, std::vector<char>& after) {
    const baleen_tensor_t& tensor = placed.tensor;
    const std::uint64_t size = dtype_size(tensor.dtype);
    std::int64_t index[BALEEN_MAX_RANK] = {};
    for (std::int64_t left = element_count({tensor.shape, tensor.shape + tensor.rank}); left > 0; --left) {
      std::int64_t position = 0;
      for (std::uint32_t d = 0; d < tensor.rank; ++d) position += index[d] * tensor.stride[d];
      const std::uint64_t at = placed.at + static_cast<std::uint64_t>(position) * size;
      std::copy_n(before.data() + at, size, after.data() + at);
      for (std::uint32_t d = tensor.rank; d-- > 0 && ++index[d] == tensor.shape[d];) index[d] = 0;
    }
  }

  /// "byte 3 behind result 1, fp32 [4, 8]".
  std::string place_text(std::uint64_t at) const {
    for (const Placed& placed : placed_) {
      if (at + kGuard / 2 < placed.at) continue;
      if (at < placed.at) return "byte " + std::to_string(placed.at - at) + " before " + placed.text();
      const std::string byte = "byte " + std::to_string(at - placed.at);
      if (at < placed.at + placed.bytes)
        return placed.is_result ? "between the elements of " + placed.text() + ", at its " + byte
                                : "into " + placed.text() + ", at its " + byte;
      const bool last = &placed == &placed_.back();
      if (last || at + kGuard / 2 < (&placed)[1].at)
        return "byte " + std::to_string(at - placed.at - placed.bytes) + " behind " + placed.text();
    }
    return "before all operands";
  }

  Device& device_;
  std::vector<Placed> placed_;
  std::uint64_t next_ = kGuard;
};

}  // namespace

Result<TargetKernel> GuardedTarget::compile(const baleen_region_t& region) const {
  BALEEN_TRY_ASSIGN(TargetKernel kernel, target_.compile(region));
  if (!brings_kernel(region)) return kernel;
  BALEEN_TRY(target_.finish(kernel.handle));
  BALEEN_TRY(Trial(device_, region).run(kernel));
  BALEEN_TRY(check_with_gaps(region));
  return kernel;
}

Status GuardedTarget::check_with_gaps(const baleen_region_t& region) const {
  std::vector<baleen_tensor_t> tensors;
  for (std::uint64_t i = 0; i < region.tensor_count; ++i)
    add_gaps(tensors.emplace_back(copy_in(&element(region.tensors, i))));
  baleen_region_t apart = region;
  apart.tensors = tensors.data();
  if (!target_.supports(apart)) return {};
  BALEEN_TRY_ASSIGN(const TargetKernel kernel, target_.compile(apart));
  BALEEN_TRY(target_.finish(kernel.handle));
  return Trial(device_, apart).run(kernel);
}

Status check_kernels(const Plan& plan, Device& device) {
  CompileOptions options;
  options.at = coordinates(plan.mesh, 0);
  const PersistentLayout persistent = lay_out(plan.persistent, device.alignment(), plan.mesh, options.at);
  const GuardedTarget target(device);
  for (const PlannedGraph& graph : plan.graphs)
    if (auto made = compile(graph.scheduled, target, persistent, options); !made) return std::move(made).error();
  return {};
}

}  // namespace baleen::app
