/// \file What kernels need beside their operands, at the sizes of GPT-2 with 8,192 tokens: 16-bit operands may cost a
/// bounded number of rows, blocks or panels more than fp32 ones, never a widened tensor (25 MB and more here).
#include "compiler/graph/abi.hpp"
#include "support/op_cases.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

constexpr std::uint64_t kMore = std::uint64_t{20} << 20;

struct Large {
  std::string kind;
  Attributes attributes;
  std::vector<Shape> floats;
  Shape ids = {};  ///< the last input, where not empty
  std::size_t ids_at = 0;
};

Attribute one(std::int64_t value) { return Attributes::ints({value}); }

std::vector<Large> examples() {
  const Shape x{8, 1024, 768}, rows{8, 1024}, d{768}, up{8, 1024, 3072}, w{768, 3072}, q{8, 1024, 12, 64};
  const Shape table{50257, 768}, statistics{8, 12, 1024};
  const Attributes norm{{"kind", std::string("layer")}, {"epsilon", Attributes::floats({1e-5})}};
  const Attributes norm_grad{{"kind", std::string("layer")}, {"bias", one(1)}};
  const Attributes attention{{"causal", one(1)}, {"scale", Attributes::floats({0.125})}};
  Expression gelu;
  const auto y = gelu.unary(BALEEN_X_GELU, gelu.input(0));
  const auto matmul = [](const char* spec) { return Attributes{{"spec", std::string(spec)}}; };
  const Attributes sum{{"kind", std::string("sum")}, {"dims", Attributes::ints({0, 1})}};
  return {{"matmul", matmul("bsd,df->bsf"), {x, w}},
          {"matmul", matmul("bsf,df->bsd"), {up, w}},
          {"matmul", matmul("bsd,bsf->df"), {x, up}},
          {"matmul", matmul("bsf,df->bsd"), {up, w, x}},
          {"pointwise", {{"expression", gelu}, {"results", one(y)}}, {up}},
          {"accumulate", {}, {up, up}},
          {"reduce", sum, {up}},
          {"softmax", {}, {up}},
          {"softmax_grad", {}, {up, up}},
          {"norm", norm, {x, d, d}},
          {"norm_grad", norm_grad, {x, d, x, rows, rows}},
          {"attention", attention, {q, q, q}},
          {"attention_grad", attention, {q, q, q, q, statistics, q}},
          {"embedding", {}, {table}, rows, 1},
          {"embedding_grad", {{"rows", one(50257)}}, {x}, rows, 0},
          {"cross_entropy", {}, {up}, rows, 1},
          {"linear_cross_entropy", {{"transposed", one(1)}}, {x, table}, rows, 2},
          {"linear_cross_entropy_and_grad", {{"transposed", one(1)}}, {x, table, rows}, rows, 2}};
}

std::uint64_t scratch_of(const Device& device, const Large& example, baleen_dtype_t dtype) {
  Graph graph(&builtin_ops());
  std::vector<ValueId> inputs;
  const auto add = [&](const Shape& shape, baleen_dtype_t own) {
    inputs.push_back(*graph.parameter("x" + std::to_string(inputs.size()), {own, shape, {}}));
  };
  for (const Shape& shape : example.floats) {
    if (!example.ids.empty() && inputs.size() == example.ids_at) add(example.ids, BALEEN_I32);
    add(shape, BALEEN_F64);
  }
  if (!example.ids.empty() && inputs.size() == example.ids_at) add(example.ids, BALEEN_I32);
  std::vector<ValueId> outputs = *graph.append(example.kind, inputs, example.attributes);
  std::vector<baleen_tensor_t> tensors;
  std::vector<std::uint32_t> numbers[2];
  for (const auto* list : {&inputs, &outputs})
    for (const ValueId id : *list) {
      const Value& value = graph.value(id);
      baleen_tensor_t t{};
      t.size = sizeof t;
      // A weight's gradient over chunks of rows is to be fp32: see the plugin's README.
      const bool weight = list == &outputs && example.kind.ends_with("and_grad") && value.shape[0] == 50257;
      t.dtype = value.dtype == BALEEN_I32 ? value.dtype : weight ? baleen_dtype_t{BALEEN_F32} : dtype;
      t.rank = static_cast<std::uint32_t>(value.shape.size());
      t.micro_dim = -1;
      std::int64_t stride = 1;
      for (std::uint32_t i = t.rank; i-- > 0; stride *= t.shape[i]) {
        t.shape[i] = t.global_shape[i] = value.shape[i];
        t.stride[i] = stride;
      }
      numbers[list == &outputs].push_back(static_cast<std::uint32_t>(tensors.size()));
      tensors.push_back(t);
    }
  AbiOp op;
  op.assign(graph.op(graph.value(outputs[0]).producer), numbers[0], numbers[1]);
  const baleen_region_t region{sizeof region, &op.view, 1, tensors.data(), tensors.size(), nullptr};
  baleen_kernel_t kernel{};
  kernel.size = sizeof kernel;
  const Status made = device.check(device.table().compile(device.handle(), &region, &kernel));
  if (!made) throw std::runtime_error(made.error().text());
  device.table().release(device.handle(), kernel.kernel);
  return kernel.scratch_bytes;
}

TEST(CpuScratch, HoldsNoWidenedTensor) {
  const auto device = make_device(BALEEN_CPU_PLUGIN, {{"threads", "2"}, {"pin", "false"}});
  for (const Large& example : examples())
    for (const baleen_dtype_t dtype : {BALEEN_BF16, BALEEN_F16}) {
      SCOPED_TRACE(example.kind);
      EXPECT_LE(scratch_of(*device, example, dtype), scratch_of(*device, example, BALEEN_F32) + kMore);
    }
}

}  // namespace
}  // namespace baleen::test
