/// \file An optimizer's update whose gradients have 16 bits: the plugin's machine code, which takes operands side by
/// side, gives the bits of its interpreter, which takes the same numbers with gaps between them.
#include <cstring>
#include <random>

#include "alike.hpp"
#include "baleen/half.hpp"
#include "compiler/graph/abi.hpp"
#include "support/seed.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

/// No multiple of a vector's lanes: the last elements pass through memory of their own.
constexpr std::int64_t kCount = 40007;

std::size_t bytes_of(baleen_dtype_t dtype) { return dtype == BALEEN_F32 ? 4 : 2; }

/// Numbers every `gap` elements.
struct Memory {
  Memory(baleen_dtype_t dtype, std::int64_t gap) : bytes(static_cast<std::size_t>(kCount * gap) * bytes_of(dtype)) {
    tensor.size = sizeof tensor;
    tensor.dtype = dtype;
    tensor.rank = 1;
    tensor.micro_dim = -1;
    tensor.shape[0] = tensor.global_shape[0] = kCount;
    tensor.stride[0] = gap;
  }
  void write(std::size_t i, float x) {
    char* to = bytes.data() + i * static_cast<std::size_t>(tensor.stride[0]) * bytes_of(tensor.dtype);
    const std::uint16_t half = tensor.dtype == BALEEN_BF16 ? to_bf16(x) : to_fp16(x);
    std::memcpy(to, tensor.dtype == BALEEN_F32 ? static_cast<const void*>(&x) : &half, bytes_of(tensor.dtype));
  }
  float read(std::size_t i) const {
    float x = 0;
    std::memcpy(&x, bytes.data() + i * static_cast<std::size_t>(tensor.stride[0]) * 4, 4);
    return x;
  }

  baleen_tensor_t tensor{};
  std::vector<char> bytes;
};

/// Adam of a gradient that was scaled by 64, kept where the step counts: inputs gradient, applied, m, v, parameter;
/// results m, v, parameter.
struct Update {
  explicit Update(baleen_dtype_t dtype) {
    std::vector<ValueId> inputs;
    const auto parameter = [&](const char* name, baleen_dtype_t d, Shape shape) {
      inputs.push_back(*graph.parameter(name, {d, std::move(shape), {}}));
    };
    parameter("g", dtype, {kCount});
    parameter("applied", BALEEN_F32, {});
    for (const char* name : {"m", "v", "w"}) parameter(name, BALEEN_F32, {kCount});
    Expression e;
    const auto mul = [&](double x, std::uint32_t y) { return e.binary(BALEEN_X_MUL, e.constant(x), y); };
    const auto add = [&](std::uint32_t x, std::uint32_t y) { return e.binary(BALEEN_X_ADD, x, y); };
    const auto g = mul(1.0 / 64, e.input(0)), w = e.input(4);
    const auto m = add(mul(0.9, e.input(2)), mul(0.1, g));
    const auto v = add(mul(0.999, e.input(3)), mul(0.001, e.binary(BALEEN_X_MUL, g, g)));
    const auto root = add(e.unary(BALEEN_X_SQRT, v), e.constant(1e-8));
    const auto next = e.binary(BALEEN_X_SUB, w, mul(0.01, e.binary(BALEEN_X_DIV, m, root)));
    std::vector<std::int64_t> results;
    for (const auto& [made, old] : {std::pair{m, 2u}, std::pair{v, 3u}, std::pair{next, 4u}})
      results.push_back(e.select(e.input(1), made, e.input(old)));
    Attributes attributes;
    attributes.set("expression", std::move(e));
    attributes.set("results", Attributes::ints(results));
    const auto made = graph.append("pointwise", inputs, std::move(attributes));
    if (!made) throw std::runtime_error(made.error().text());
    op = &graph.op(graph.value((*made)[0]).producer);
  }
  Graph graph{&ops()};
  const Op* op = nullptr;
};

/// The three results, one behind the other.
std::vector<float> updated(Device& device, const Update& update, float applied, std::int64_t gap, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1);
  std::vector<Memory> memories;
  for (const ValueId input : update.op->inputs) memories.emplace_back(update.graph.value(input).dtype, gap);
  for (int k = 0; k < 3; ++k) memories.emplace_back(BALEEN_F32, gap);
  memories[1].tensor.rank = 0;
  memories[1].write(0, applied);
  for (std::size_t i = 0; i < kCount; ++i) {
    // Of all sizes, so that some are too small to be normal numbers of fp16, and some overflow it.
    memories[0].write(i, 64 * normal(random) * std::exp2(static_cast<float>(random() % 40) - 28));
    for (const std::size_t input : {2u, 4u}) memories[input].write(i, normal(random));
    memories[3].write(i, std::abs(normal(random)));
  }
  std::vector<baleen_tensor_t> tensors;
  std::vector<void*> addresses;
  for (Memory& memory : memories) {
    tensors.push_back(memory.tensor);
    addresses.push_back(memory.bytes.data());
  }
  AbiOp op;
  op.assign(*update.op, {0, 1, 2, 3, 4}, {5, 6, 7});
  const baleen_region_t region{sizeof region, &op.view, 1, tensors.data(), tensors.size(), nullptr};
  baleen_kernel_t kernel{};
  kernel.size = sizeof kernel;
  EXPECT_TRUE(device.check(device.table().compile(device.handle(), &region, &kernel)));
  std::vector<char> scratch(kernel.scratch_bytes + 64);
  char* const aligned = scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64) % 64;
  const baleen_launch_t launch{sizeof launch, device.stream(), addresses.data(), aligned, 0, 0, 0};
  EXPECT_TRUE(device.check(device.table().launch(device.handle(), kernel.kernel, &launch)));
  EXPECT_TRUE(device.check(device.table().synchronize(device.handle(), device.stream())));
  device.table().release(device.handle(), kernel.kernel);
  std::vector<float> results;
  for (std::size_t k = 5; k < 8; ++k)
    for (std::size_t i = 0; i < kCount; ++i) results.push_back(memories[k].read(i));
  return results;
}

TEST(CpuUpdate, OfSixteenBitGradientsHasTheInterpretersBits) {
  const std::unique_ptr<Device> device = make_device(BALEEN_CPU_PLUGIN, {{"threads", "2"}, {"pin", "false"}});
  const auto seed = static_cast<unsigned>(test::seed());
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (const baleen_dtype_t dtype : {BALEEN_F32, BALEEN_BF16, BALEEN_F16})
    for (const float applied : {0.0f, 1.0f}) {
      const Update update(dtype);
      const std::vector<float> fast = updated(*device, update, applied, 1, seed),
                               slow = updated(*device, update, applied, 2, seed);
      for (std::size_t i = 0; i < slow.size(); ++i)
        ASSERT_TRUE(cpu::are_alike(fast[i], slow[i])) << "dtype " << dtype << ", applied " << applied << ", element "
                                                      << i << ": " << fast[i] << " and " << slow[i];
    }
}

}  // namespace
}  // namespace baleen::test
