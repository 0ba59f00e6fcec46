/// \file The plugin cpu on every example of every kind, in every floating dtype and in mixtures, against the reference
/// interpreter in fp64 on the numbers that the dtypes hold. Inputs are new in every run, outputs begin as NaN.
///
/// Limits. A result is computed in fp32 and rounded once: each element must be within half the distance of its
/// neighbours (u of it: 2^-8 in bf16, 2^-11 in fp16) and what fp32 loses in these short sums.
#include <cmath>
#include <cstring>

#include "baleen/half.hpp"
#include "compiler/graph/abi.hpp"
#include "support/op_cases.hpp"
#include "support/seed.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

struct Mixture {
  const char* name;
  std::vector<baleen_dtype_t> dtypes;  ///< operands take them in turn
};
const Mixture kMixtures[] = {{"fp64", {BALEEN_F64}},
                             {"fp32", {BALEEN_F32}},
                             {"bf16", {BALEEN_BF16}},
                             {"fp16", {BALEEN_F16}},
                             {"bf16 and fp32", {BALEEN_BF16, BALEEN_F32}},
                             {"fp32 and fp16", {BALEEN_F32, BALEEN_F16}},
                             {"all three", {BALEEN_F16, BALEEN_F32, BALEEN_BF16}}};

double unit(baleen_dtype_t dtype) {
  return dtype == BALEEN_BF16 ? 0x1p-8 : dtype == BALEEN_F16 ? 0x1p-11 : dtype == BALEEN_F32 ? 0x1p-24 : 0x1p-53;
}

void write(char* to, baleen_dtype_t dtype, double x) {
  const auto put = [to](auto value) { std::memcpy(to, &value, sizeof value); };
  switch (dtype) {
    case BALEEN_F64: return put(x);
    case BALEEN_F32: return put(static_cast<float>(x));
    case BALEEN_BF16: return put(to_bf16(static_cast<float>(x)));
    case BALEEN_F16: return put(to_fp16(static_cast<float>(x)));
    case BALEEN_I64: return put(static_cast<std::int64_t>(x));
    default: return put(static_cast<std::int32_t>(x));
  }
}

template <class T>
T as(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
double read(const char* from, baleen_dtype_t dtype) {
  switch (dtype) {
    case BALEEN_F64: return as<double>(from);
    case BALEEN_F32: return static_cast<double>(as<float>(from));
    case BALEEN_BF16: return static_cast<double>(from_bf16(as<std::uint16_t>(from)));
    case BALEEN_F16: return static_cast<double>(from_fp16(as<std::uint16_t>(from)));
    case BALEEN_I64: return static_cast<double>(as<std::int64_t>(from));
    default: return as<std::int32_t>(from);
  }
}

/// Numbers as a dtype holds them.
std::vector<double> held(std::vector<double> numbers, baleen_dtype_t dtype) {
  for (double& x : numbers) {
    char bytes[8];
    write(bytes, dtype, x);
    x = read(bytes, dtype);
  }
  return numbers;
}

/// A tensor in memory of its own: packed, or with its first dimension innermost.
struct Shown {
  Shown(const Tensor& numbers, baleen_dtype_t dtype, bool turned) : memory(numbers.size() * dtype_size(dtype), '\xff') {
    tensor.size = sizeof tensor;
    tensor.dtype = dtype;
    tensor.rank = static_cast<std::uint32_t>(numbers.shape.size());
    tensor.micro_dim = -1;
    std::int64_t stride = 1;
    for (std::uint32_t i = 0; i < tensor.rank; ++i) {
      const std::uint32_t d = turned ? i : tensor.rank - 1 - i;
      tensor.shape[d] = tensor.global_shape[d] = numbers.shape[d];
      tensor.stride[d] = stride;
      stride *= numbers.shape[d];
    }
  }
  char* at(const Coordinate& c) {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < c.size(); ++d) element += c[d] * tensor.stride[d];
    return memory.data() + static_cast<std::size_t>(element) * dtype_size(tensor.dtype);
  }

  baleen_tensor_t tensor{};
  std::vector<char> memory;
};

/// One op on one device. Sources hold what their dtypes can; what was computed from them (statistics, results of a
/// forward op) agrees with that and is fp32, since gradients are defined without it.
class Trial {
 public:
  Trial(const BuiltCase& built, const Mixture& mixture, bool turned) : op_(built.op) {
    std::size_t turn = 0;
    std::vector<baleen_dtype_t> dtypes;
    ReferenceInterpreter interpreter(built.graph);
    for (const auto& [name, numbers] : built.data) interpreter.set(name, numbers);
    for (const auto* list : {&op_.inputs, &op_.outputs})
      for (const ValueId id : *list) {
        const Value& value = built.graph.value(id);
        const baleen_dtype_t next = mixture.dtypes[turn++ % mixture.dtypes.size()];
        const bool computed = list == &op_.inputs && !built.data.contains(value.name);
        dtypes.push_back(!is_floating(value.dtype)        ? value.dtype
                         : computed && next != BALEEN_F64 ? baleen_dtype_t{BALEEN_F32}
                                                          : next);
        if (built.data.contains(value.name))
          interpreter.set(value.name, held(built.data.at(value.name), dtypes.back()));
      }
    interpreter.run();
    for (const auto* list : {&op_.inputs, &op_.outputs})
      for (const ValueId id : *list) {
        Tensor numbers = interpreter.value(id);
        shown_.emplace_back(numbers, dtypes[shown_.size()], turned);
        if (list == &op_.outputs) continue;
        numbers.data = held(numbers.data, shown_.back().tensor.dtype);
        held_.push_back(numbers);
        for_each(numbers.shape,
                 [&](const Coordinate& c) { write(shown_.back().at(c), shown_.back().tensor.dtype, numbers.at(c)); });
      }
  }

  Status run(const Device& device) {
    std::vector<std::uint32_t> in, out;
    std::vector<baleen_tensor_t> tensors;
    std::vector<void*> addresses;
    for (Shown& s : shown_) {
      (in.size() < op_.inputs.size() ? in : out).push_back(static_cast<std::uint32_t>(tensors.size()));
      tensors.push_back(s.tensor);
      addresses.push_back(s.memory.data());
    }
    AbiOp op;
    op.assign(op_, in, out);
    const baleen_op_kind_t* const kind = op_.kind->table;
    const baleen_region_t region{sizeof region, &op.view, 1, tensors.data(), tensors.size(), &kind};
    if (device.table().supports(device.handle(), &region) == 0) return unsupported("supports says no");
    baleen_kernel_t kernel{};
    kernel.size = sizeof kernel;
    BALEEN_TRY(device.check(device.table().compile(device.handle(), &region, &kernel)));
    std::vector<char> scratch(kernel.scratch_bytes + 64);
    char* const aligned = scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64) % 64;
    const baleen_launch_t launch{sizeof launch, device.stream(), addresses.data(), aligned, 0, 0, 0};
    const Status launched = device.check(device.table().launch(device.handle(), kernel.kernel, &launch));
    const Status done = device.check(device.table().synchronize(device.handle(), device.stream()));
    device.table().release(device.handle(), kernel.kernel);
    return launched ? done : launched;
  }

  /// The same by the definition; expects the device's results to be those, rounded.
  void compare() {
    Graph graph(&builtin_ops());
    std::vector<ValueId> sources;
    const auto name = [](std::size_t i) { return "x" + std::to_string(i); };
    for (std::size_t i = 0; i < held_.size(); ++i) {
      const baleen_dtype_t own = shown_[i].tensor.dtype, dtype = is_floating(own) ? baleen_dtype_t{BALEEN_F64} : own;
      sources.push_back(*graph.parameter(name(i), {dtype, held_[i].shape, {}}));
    }
    const std::vector<ValueId> results = *graph.append(op_.kind->name, sources, op_.attributes);
    ReferenceInterpreter interpreter(graph);
    for (std::size_t i = 0; i < held_.size(); ++i) interpreter.set(name(i), held_[i].data);
    interpreter.run();
    for (std::size_t k = 0; k < results.size(); ++k) compare(shown_[held_.size() + k], interpreter.value(results[k]));
  }

 private:
  static void compare(Shown& got, const Tensor& wanted) {
    const baleen_dtype_t dtype = got.tensor.dtype;
    double largest = 1;
    for (const double y : wanted.data) largest = std::max(largest, std::isfinite(y) ? std::abs(y) : 0);
    const double lost = dtype == BALEEN_F64 ? 1e-14 * largest : dtype == BALEEN_I32 ? 0 : 3e-6 * largest;
    for_each(wanted.shape, [&](const Coordinate& c) {
      const double x = read(got.at(c), dtype), y = wanted.at(c);
      const double limit = unit(dtype) * std::abs(y) + lost + (dtype == BALEEN_F16 ? 0x1p-25 : 0);
      EXPECT_TRUE(x == y || std::abs(x - y) <= limit) << x << ", exactly " << y;
    });
  }

  const Op& op_;
  std::vector<Shown> shown_;
  std::vector<Tensor> held_;  // of the inputs
};

bool keeps_dtype(const std::string& kind) {
  static constexpr const char* kMoves[] = {"reshape", "transpose", "slice", "concat", "pad", "copy"};
  return std::find(std::begin(kMoves), std::end(kMoves), kind) != std::end(kMoves);
}

/// Whether programs resolve ops of this kind themselves, so that no device computes them.
bool is_resolved(const OpKind& kind) {
  return kind.has(kStructural) || kind.name == "after" || kind.name == "pick" || kind.name == "axis_index";
}

class CpuOp : public testing::TestWithParam<OpCase> {};

TEST_P(CpuOp, IsTheDefinitionRoundedOnceInEveryDtype) {
  static const std::unique_ptr<Device> device = make_device(BALEEN_CPU_PLUGIN, {{"threads", "2"}, {"pin", "false"}});
  const std::uint64_t start = test::seed();
  SCOPED_TRACE("seed " + std::to_string(start));
  for (std::uint64_t i = 0; i < 3; ++i) {
    const BuiltCase built(GetParam(), start + i);
    for (const Mixture& mixture : kMixtures)
      for (const bool turned : {false, true}) {
        if (keeps_dtype(built.op.kind->name) && mixture.dtypes.size() > 1) continue;
        SCOPED_TRACE(std::string(mixture.name) + (turned ? ", turned" : ""));
        Trial trial(built, mixture, turned);
        const Status ran = trial.run(*device);
        ASSERT_TRUE(ran) << ran.error().text();
        trial.compare();
        if (HasFailure()) return;
      }
  }
}

/// Examples of the kinds that a device computes.
std::vector<OpCase> computed_cases() {
  std::vector<OpCase> cases;
  for (const OpCase& op_case : op_cases())
    if (!is_resolved(kind_of(op_case))) cases.push_back(op_case);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Kinds, CpuOp, testing::ValuesIn(computed_cases()),
                         [](const auto& info) { return case_name(info); });

}  // namespace
}  // namespace baleen::test
