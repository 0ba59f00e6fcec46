/// \file `to_integer`: numbers as ids, for lookups, masks of documents and hashes.
#include <cmath>
#include <limits>

#include "baleen/half.hpp"
#include "baleen/op_kind.hpp"
#include "baleen/op_rules.hpp"

namespace baleen::ops {

using namespace sdk;

namespace {

/// Rounded toward zero; beyond the range the nearest end of it; 0 for what is no number.
template <class To>
To integer_of(double x) {
  constexpr double kBeyond = sizeof(To) == 4 ? 2147483648.0 : 9223372036854775808.0;
  if (std::isnan(x)) return 0;
  if (x >= kBeyond) return std::numeric_limits<To>::max();
  if (x < -kBeyond) return std::numeric_limits<To>::min();
  return static_cast<To>(x);
}
template <class To>
To integer_of(std::int64_t x) {
  return static_cast<To>(std::clamp<std::int64_t>(x, std::numeric_limits<To>::min(), std::numeric_limits<To>::max()));
}

/// The same in CUDA. Int is int or long long.
constexpr const char kCudaInteger[] = R"(
static __device__ Int to_integer(double x) {
  if (x != x) return 0;
  if (x >= kBeyond) return kMost;
  if (x < -kBeyond) return kLeast;
  return (Int)x;
}
static __device__ Int to_integer(long long x) { return x > kMost ? kMost : x < kLeast ? kLeast : (Int)x; }
)";

std::uint64_t elements_of(const baleen_tensor_t& tensor) {
  return static_cast<std::uint64_t>(elements(std::span(tensor.shape, tensor.rank)));
}

/// An element, as what it is converted from.
template <class Stored>
auto load(const Stored* x, baleen_dtype_t dtype) {
  if constexpr (std::is_same_v<Stored, std::uint16_t>)
    return static_cast<double>(dtype == BALEEN_BF16 ? from_bf16(*x) : from_fp16(*x));
  else if constexpr (std::is_integral_v<Stored>)
    return static_cast<std::int64_t>(*x);
  else
    return static_cast<double>(*x);
}

/// The elements of a row (the last dimension), wherever they lie.
template <class Stored, class To>
void convert_row(const CpuCall& call, std::uint64_t row) {
  const baleen_tensor_t &x = call.input(0), &y = call.output(0);
  const std::uint32_t last = x.rank > 0 ? x.rank - 1 : 0;
  std::int64_t in = 0, out = 0;
  for (std::uint32_t d = last; d-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(x.shape[d]);
    const auto at = static_cast<std::int64_t>(row % extent);
    row /= extent;
    in += at * x.stride[d];
    out += at * y.stride[d];
  }
  const auto* from = static_cast<const Stored*>(call.input_at(0)) + in;
  auto* to = static_cast<To*>(call.output_at(0)) + out;
  const std::int64_t width = x.rank > 0 ? x.shape[last] : 1;
  const std::int64_t in_step = x.rank > 0 ? x.stride[last] : 0, out_step = x.rank > 0 ? y.stride[last] : 0;
  for (std::int64_t i = 0; i < width; ++i) to[i * out_step] = integer_of<To>(load(from + i * in_step, x.dtype));
}

template <class Stored>
void convert(const CpuCall& call) {
  const baleen_tensor_t& x = call.input(0);
  const std::uint64_t count = elements_of(x);
  if (count == 0) return;
  const bool wide = call.output(0).dtype == BALEEN_I64;
  call.parallel(x.rank > 0 ? count / static_cast<std::uint64_t>(x.shape[x.rank - 1]) : 1, [&](std::uint64_t row) {
    wide ? convert_row<Stored, std::int64_t>(call, row) : convert_row<Stored, std::int32_t>(call, row);
  });
}

class ToInteger : public OpKind {
 public:
  ToInteger()
      : OpKind("to_integer", "x rounded toward zero, at the ends of the range where it lies beyond, 0 for NaN") {
    operand("x", "any dtype but one of 8 bits that floats, any shape", 0);
    result("y", "the shape of x; int32 or int64");
    choice("dtype", "int32", "int32|int64", "int64 is for ids that are hashes");
  }

  Result<Types> infer(const InferInput& input) override {
    if (is_fp8(input.type(0).dtype))
      return invalid("to_integer: x is " + type_text(input.type(0)) + "; cast it to 16 bits or more first");
    return Types{same_but(input.type(0), input.op().text("dtype") == "int64" ? BALEEN_I64 : BALEEN_I32)};
  }

  /// Each element alone: every dimension may be cut.
  Iteration iteration(GraphView& graph, baleen_op_t op) override {
    const std::string all = letters(graph.value(graph.op(op)->inputs()[0]).rank);
    return {{all}, {all}};
  }

  Cost cost(GraphView& graph, baleen_op_t op) override {
    const Op self = *graph.op(op);
    const baleen_value_info_t x = graph.value(self.inputs()[0]), y = graph.value(self.outputs()[0]);
    const auto count = static_cast<double>(elements(std::span(x.shape, x.rank)));
    return {count, count * static_cast<double>(dtype_size(x.dtype) + dtype_size(y.dtype))};
  }

  Status compute(const CpuCall& call) override {
    switch (call.input(0).dtype) {
      case BALEEN_F64: convert<double>(call); break;
      case BALEEN_BF16:
      case BALEEN_F16: convert<std::uint16_t>(call); break;
      case BALEEN_I32: convert<std::int32_t>(call); break;
      case BALEEN_I64: convert<std::int64_t>(call); break;
      case BALEEN_U8: convert<std::uint8_t>(call); break;
      default: convert<float>(call);
    }
    return {};
  }

  Result<CudaText> cuda(const CudaRequest& request) override {
    const baleen_tensor_t &x = request.input(0), &y = request.output(0);
    const std::uint64_t count = elements_of(x);
    const bool wide = y.dtype == BALEEN_I64;
    CudaText text;
    text.entry = "to_integer";
    text.blocks[0] = (count + 255) / 256;
    text.source = std::string(wide ? "typedef long long Int;\nconstexpr double kBeyond = 9223372036854775808.0;\n"
                                     "constexpr long long kMost = 0x7fffffffffffffffll, kLeast = -kMost - 1;\n"
                                   : "typedef int Int;\nconstexpr double kBeyond = 2147483648.0;\n"
                                     "constexpr int kMost = 0x7fffffff, kLeast = -kMost - 1;\n") +
                  kCudaInteger +
                  "BALEEN_KERNEL(256, to_integer, baleen::Args) {\n"
                  "  const long long position = blockIdx.x * 256ll + threadIdx.x;\n"
                  "  if (position >= " +
                  std::to_string(count) + "ll) return;\n" + cuda_coordinates(y) + "  " + request.output_at(0) + "[" +
                  cuda_offset(y) + "] = to_integer((" + (is_floating(x.dtype) ? "double" : "long long") +
                  ")baleen::widen(" + request.input_at(0) + "[" + cuda_offset(x) + "]));\n}\n";
    return text;
  }
};

BALEEN_OP_KIND(ToInteger);

}  // namespace
}  // namespace baleen::ops
