/// \file An op kind: the outer product of the last dimensions, with its gradient, its letters, kernels for the host's
/// processors and for CUDA devices, and an expansion for every other device. In a script: `ops.outer(a, b, { scale =
/// 0.5 })`.
#include <cstdio>

#include "baleen/half.hpp"
#include "baleen/op_kind.hpp"

BALEEN_DESCRIPTOR("op", "products", "1.0.0", "Apache-2.0", "outer products, as an example", 0, "", BALEEN_NO_OPTIONS);
BALEEN_OPS();

namespace {

using baleen::sdk::OpKind;
using Values = baleen::Result<std::vector<baleen_value_t>>;

class Outer : public OpKind {
 public:
  Outer() : OpKind("outer", "y[.., i, j] = scale a[.., i] b[.., j]", BALEEN_KIND_PURE | BALEEN_KIND_PRODUCT) {
    operand("a", "[.., m]");
    operand("b", "[.., n], the leading dimensions of a");
    result("y", "[.., m, n], the dtype of a");
    attribute(BALEEN_RULE_NUMBER, "scale", "1", "what the product is multiplied by", -1e6, 1e6);
  }

  baleen::Result<std::vector<baleen::sdk::ValueType>> infer(const baleen::sdk::InferInput& input) override {
    baleen::sdk::ValueType a = input.type(0);
    const baleen::sdk::ValueType b = input.type(1);
    const std::size_t rank = a.shape.size();
    if (rank == 0 || b.shape.size() != rank || !std::equal(a.shape.begin(), a.shape.end() - 1, b.shape.begin()))
      return baleen::invalid("a and b must agree in all dimensions but the last, and have one");
    a.shape.push_back(b.shape.back());
    a.axes.push_back(b.axes.back());
    return std::vector{a};
  }

  /// da = scale dy b, db = scale a dy.
  Values gradient(baleen::sdk::GraphView& graph, baleen_op_t op, std::span<const baleen_value_t> cotangents,
                  std::span<const std::uint8_t> wanted) override {
    const auto node = baleen::sdk::OpNode::of(graph, op);
    const double scale = graph.op(op)->number("scale");
    const std::string rows = leading(graph, node);
    std::vector<baleen_value_t> made(2, BALEEN_NONE);
    if (wanted[0])
      made[0] = product(graph, cotangents[0], node.inputs[1], rows + "YZ," + rows + "Z->" + rows + "Y", scale);
    if (wanted[1])
      made[1] = product(graph, node.inputs[0], cotangents[0], rows + "Y," + rows + "YZ->" + rows + "Z", scale);
    return made;
  }

  /// Every dimension may be cut, and sums over ranks pass through either operand.
  baleen::sdk::Iteration iteration(baleen::sdk::GraphView& graph, baleen_op_t op) override {
    const std::string rows = leading(graph, baleen::sdk::OpNode::of(graph, op));
    return {{rows + "Y", rows + "Z"}, {rows + "YZ"}, {{0}, {1}}};
  }

  Values expand(baleen::sdk::GraphView& graph, baleen_op_t op) override {
    const auto node = baleen::sdk::OpNode::of(graph, op);
    const std::string rows = leading(graph, node);
    return std::vector{product(graph, node.inputs[0], node.inputs[1], rows + "Y," + rows + "Z->" + rows + "YZ",
                               graph.op(op)->number("scale"))};
  }

  baleen::Status compute(const baleen::sdk::CpuCall& call) override {
    const double scale = call.op().number("scale");
    const baleen_tensor_t &a = call.input(0), &b = call.input(1), &y = call.output(0);
    std::uint64_t rows = 1;
    for (std::uint32_t d = 0; d + 2 < y.rank; ++d) rows *= static_cast<std::uint64_t>(y.shape[d]);
    call.parallel(rows, [&](std::uint64_t row) {
      std::int64_t at_a = 0, at_b = 0, at_y = 0;
      for (std::uint32_t d = y.rank - 2; d-- > 0;) {
        const auto index = static_cast<std::int64_t>(row % static_cast<std::uint64_t>(y.shape[d]));
        row /= static_cast<std::uint64_t>(y.shape[d]);
        at_a += index * a.stride[d];
        at_b += index * b.stride[d];
        at_y += index * y.stride[d];
      }
      const std::uint32_t last = y.rank - 2;
      for (std::int64_t i = 0; i < y.shape[last]; ++i)
        for (std::int64_t j = 0; j < y.shape[last + 1]; ++j)
          store(call.output_at(0), y.dtype, at_y + i * y.stride[last] + j * y.stride[last + 1],
                scale * load(call.input_at(0), a.dtype, at_a + i * a.stride[last]) *
                    load(call.input_at(1), b.dtype, at_b + j * b.stride[last]));
    });
    return {};
  }

  /// A thread per element of y.
  baleen::Result<baleen::sdk::CudaText> cuda(const baleen::sdk::CudaRequest& request) override {
    const baleen_tensor_t &a = request.input(0), &b = request.input(1), &y = request.output(0);
    const std::string last = std::to_string(y.rank - 1), elements = std::to_string(baleen::sdk::elements(y)),
                      step = std::to_string(b.stride[b.rank - 1]);
    char scale[64];
    std::snprintf(scale, sizeof scale, "(%s)%a", y.dtype == BALEEN_F64 ? "double" : "float",
                  request.op().number("scale"));
    baleen::sdk::CudaText text;
    text.entry = "outer";
    text.blocks[0] = (static_cast<std::uint64_t>(baleen::sdk::elements(y)) + text.threads - 1) / text.threads;
    text.source =
        "BALEEN_KERNEL(256, outer, baleen::Args) {\n"
        "  const long long position = (long long)blockIdx.x * 256 + threadIdx.x;\n"
        "  if (position >= " +
        elements + "ll) return;\n" + baleen::sdk::cuda_coordinates(y) + "  const auto a = baleen::widen(" +
        request.input_at(0) + "[" + baleen::sdk::cuda_offset(a) + "]);\n" + "  const auto b = baleen::widen(" +
        request.input_at(1) + "[" + baleen::sdk::cuda_offset(b, b.rank - 1) + " + i" + last + " * " + step +
        "ll]);\n  " + request.output_at(0) + "[" + baleen::sdk::cuda_offset(y) + "] = baleen::narrow<" +
        baleen::sdk::cuda_type(y.dtype) + ">(" + scale + " * (a * b));\n}\n";
    return text;
  }

 private:
  /// Letters of the dimensions before the last.
  static std::string leading(baleen::sdk::GraphView& graph, const baleen::sdk::OpNode& node) {
    return std::string("abcdefgh").substr(0, graph.value(node.inputs[0]).rank - 1);
  }

  static baleen_value_t product(baleen::sdk::GraphView& graph, baleen_value_t a, baleen_value_t b,
                                const std::string& spec, double scale) {
    const baleen_value_t y = graph.append("matmul", {a, b}, baleen::sdk::AttributeList().text("spec", spec));
    return (scale * baleen::sdk::Value(graph.table(), y)).id();
  }

  static double load(const void* data, baleen_dtype_t dtype, std::int64_t at) {
    switch (dtype) {
      case BALEEN_F64: return static_cast<const double*>(data)[at];
      case BALEEN_F32: return static_cast<const float*>(data)[at];
      case BALEEN_BF16: return baleen::from_bf16(static_cast<const std::uint16_t*>(data)[at]);
      default: return baleen::from_fp16(static_cast<const std::uint16_t*>(data)[at]);
    }
  }
  static void store(void* data, baleen_dtype_t dtype, std::int64_t at, double value) {
    const auto narrow = static_cast<float>(value);
    switch (dtype) {
      case BALEEN_F64: static_cast<double*>(data)[at] = value; break;
      case BALEEN_F32: static_cast<float*>(data)[at] = narrow; break;
      case BALEEN_BF16: static_cast<std::uint16_t*>(data)[at] = baleen::to_bf16(narrow); break;
      default: static_cast<std::uint16_t*>(data)[at] = baleen::to_fp16(narrow);
    }
  }
};
BALEEN_OP_KIND(Outer);

}  // namespace
