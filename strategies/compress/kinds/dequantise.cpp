/// \file `dequantise`: what `quantise` made of rows, as fp32 again.
#include <bit>

#include "views.hpp"

namespace baleen::compress {

using namespace sdk;

namespace {

float header(const Matrix<const std::int32_t>& x, std::int64_t row, std::int64_t word) {
  return std::bit_cast<float>(x.at(row, word));
}

constexpr const char* kCudaFromBytes = R"(
  const float middle = __int_as_float(at(i0, word)), width = __int_as_float(at(i0, word + 1));
  const unsigned int bits = (unsigned int)at(i0, word + 2 + inside / 4);
  const float value = middle + ((float)((bits >> (8 * (inside % 4))) & 255u) - 127.5f) * width;
)";

constexpr const char* kCudaFromBits = R"(
  const float scale = __int_as_float(at(i0, word));
  const unsigned int bits = (unsigned int)at(i0, word + 1 + inside / 32);
  const float value = (bits >> (inside % 32)) & 1u ? scale : -scale;
)";

class Dequantise : public OpKind {
 public:
  Dequantise() : OpKind("dequantise", "the elements of quantised rows", BALEEN_KIND_PURE | BALEEN_KIND_DERIVED) {
    operand("words", "[rows, words], int32", 0);
    result("x", "[rows, `columns`], fp32");
    attribute(BALEEN_RULE_INTEGER, "bits", "", "of an element: 8 or 1", 1, 8);
    attribute(BALEEN_RULE_INTEGER, "block", "", "elements that share a header, a multiple of 32", 32, 1 << 20);
    attribute(BALEEN_RULE_INTEGER, "columns", "", "elements of a row", 1, 1e15);
  }

  Result<Types> infer(const InferInput& input) override {
    const ValueType& words = input.type(0);
    BALEEN_TRY(check_matrix("dequantise", "words", words, BALEEN_I32));
    const Format format = format_of(input.op());
    if (words.shape[1] != format.words())
      return invalid("dequantise: words is " + type_text(words) + "; " + std::to_string(format.columns) +
                     " elements are in rows of " + std::to_string(format.words()));
    return Types{{BALEEN_F32, {words.shape[0], format.columns}, {}}};
  }

  Cost cost(GraphView& graph, baleen_op_t op) override {
    const baleen_value_info_t y = graph.value(graph.op(op)->outputs()[0]);
    const auto count = static_cast<double>(y.shape[0] * y.shape[1]);
    return {2 * count, (4.0 + static_cast<double>(graph.op(op)->integer("bits")) / 8) * count};
  }

  Status compute(const CpuCall& call) override {
    const Matrix<const std::int32_t> x(call.input_at(0), call.input(0));
    const Matrix<float> y(call.output_at(0), call.output(0));
    const Format format = format_of(call.op());
    const auto blocks = static_cast<std::uint64_t>(format.blocks());
    call.parallel(static_cast<std::uint64_t>(x.rows) * blocks, [&](std::uint64_t i) {
      const auto row = static_cast<std::int64_t>(i / blocks), number = static_cast<std::int64_t>(i % blocks);
      const std::int64_t word = format.first_word(number), begin = number * format.block;
      format.bits == 8 ? from_bytes(x, y, row, word, begin, format.length(number))
                       : from_bits(x, y, row, word, begin, format.length(number));
    });
    return {};
  }

  Result<CudaText> cuda(const CudaRequest& request) override {
    const baleen_tensor_t &x = request.input(0), &y = request.output(0);
    const Format format = format_of(request.op());
    const std::int64_t count = y.shape[0] * y.shape[1];
    CudaText text;
    text.entry = "dequantise";
    text.blocks[0] = static_cast<std::uint64_t>((count + 255) / 256);
    text.source = "constexpr long long kBlock = " + std::to_string(format.block) +
                  ", kStride = " + std::to_string(format.first_word(1)) +
                  ";\nBALEEN_KERNEL(256, dequantise, baleen::Args) {\n"
                  "  const auto at = [&](long long i0, long long i1) { return " +
                  request.input_at(0) + "[" + cuda_offset(x) +
                  "]; };\n  const long long position = blockIdx.x * 256ll + threadIdx.x;\n  if (position >= " +
                  std::to_string(count) + "ll) return;\n" + cuda_coordinates(y) +
                  "  const long long word = i1 / kBlock * kStride, inside = i1 % kBlock;\n" +
                  (format.bits == 8 ? kCudaFromBytes : kCudaFromBits) + "  " + request.output_at(0) + "[" +
                  cuda_offset(y) + "] = value;\n}\n";
    return text;
  }

 private:
  static Format format_of(const Op& op) { return {op.integer("bits"), op.integer("block"), op.integer("columns")}; }

  static void from_bytes(const Matrix<const std::int32_t>& x, const Matrix<float>& y, std::int64_t row,
                         std::int64_t word, std::int64_t begin, std::int64_t length) {
    const float middle = header(x, row, word), width = header(x, row, word + 1);
    for (std::int64_t i = 0; i < length; ++i) {
      const auto bits = static_cast<std::uint32_t>(x.at(row, word + 2 + i / 4));
      y.at(row, begin + i) = middle + (static_cast<float>((bits >> (8 * (i % 4))) & 255u) - 127.5f) * width;
    }
  }

  static void from_bits(const Matrix<const std::int32_t>& x, const Matrix<float>& y, std::int64_t row,
                        std::int64_t word, std::int64_t begin, std::int64_t length) {
    const float scale = header(x, row, word);
    for (std::int64_t i = 0; i < length; ++i) {
      const auto bits = static_cast<std::uint32_t>(x.at(row, word + 1 + i / 32));
      y.at(row, begin + i) = (bits >> (i % 32)) & 1u ? scale : -scale;
    }
  }
};

BALEEN_OP_KIND(Dequantise);

}  // namespace
}  // namespace baleen::compress
