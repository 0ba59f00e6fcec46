/// \file `quantise`: rows of fp32 in 8 bits or in 1 bit per element, block by block.
///
/// 8 bits: the middle of the block's range and the width of a 255th of it, as fp32, then a byte per element, rounded to
/// nearest, so that no element is off by more than half that width. 1 bit: the mean magnitude, which of all
/// scales of signs leaves the smallest squared error (Karimireddy et al., arXiv 1901.09847, section 3), then a bit per
/// element, 1 for 0 and above. A block that holds an infinity or a NaN comes back as NaNs.
#include <bit>
#include <cmath>
#include <limits>

#include "views.hpp"

namespace baleen::compress {

using namespace sdk;

namespace {

constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

/// A block of a row, and the words that it becomes.
struct Block {
  const Matrix<const float>& x;
  const Matrix<std::int32_t>& y;
  std::int64_t row, begin, length, word;

  float element(std::int64_t i) const { return x.at(row, begin + i); }
  void put(std::int64_t i, std::uint32_t bits) const { y.at(row, word + i) = static_cast<std::int32_t>(bits); }
};

/// The nearest of 256 levels around the middle.
std::uint32_t level(float x, float middle, float inverse) {
  const float position = (x - middle) * inverse + 128.0f;
  return static_cast<std::uint32_t>(position < 0.0f ? 0.0f : position > 255.0f ? 255.0f : position);
}

void in_bytes(const Block& block) {
  float low = block.element(0), high = low;
  bool finite = true;
  for (std::int64_t i = 0; i < block.length; ++i) {
    const float x = block.element(i);
    finite = finite && std::isfinite(x);
    low = x < low ? x : low;
    high = x > high ? x : high;
  }
  const float middle = low / 2 + high / 2, width = high / 255.0f - low / 255.0f;
  const float inverse = width >= std::numeric_limits<float>::min() ? 1.0f / width : 0.0f;
  block.put(0, std::bit_cast<std::uint32_t>(finite ? middle : kNothing));
  block.put(1, std::bit_cast<std::uint32_t>(inverse > 0 ? width : 0.0f));
  for (std::int64_t w = 0; w * 4 < block.length; ++w) {
    std::uint32_t word = 0;
    for (std::int64_t i = w * 4; finite && i < block.length && i < w * 4 + 4; ++i)
      word |= level(block.element(i), middle, inverse) << (8 * (i - w * 4));
    block.put(2 + w, word);
  }
}

void in_bits(const Block& block) {
  double sum = 0;
  for (std::int64_t i = 0; i < block.length; ++i) sum += std::fabs(static_cast<double>(block.element(i)));
  const auto scale = static_cast<float>(sum / static_cast<double>(block.length));
  block.put(0, std::bit_cast<std::uint32_t>(std::isfinite(scale) ? scale : kNothing));
  for (std::int64_t w = 0; w * 32 < block.length; ++w) {
    std::uint32_t word = 0;
    for (std::int64_t i = w * 32; i < block.length && i < w * 32 + 32; ++i)
      word |= (block.element(i) >= 0.0f ? 1u : 0u) << (i - w * 32);
    block.put(1 + w, word);
  }
}

/// Threads share a block: each has every 256th element and every 256th word. What they find of the block is brought
/// together in pairs.
constexpr const char* kCudaFind = R"(
  __shared__ float low[256], high[256];
  __shared__ double sums[256];
  const long long row = blockIdx.x / kBlocks, number = blockIdx.x % kBlocks;
  const long long begin = number * kBlock, length = kColumns - begin < kBlock ? kColumns - begin : kBlock;
  const int t = threadIdx.x;
  float least = at(row, begin), most = least;
  double sum = 0;
  for (long long i = t; i < length; i += 256) {
    const float x = at(row, begin + i);
    if (x < least) least = x;
    if (x > most) most = x;
    sum += fabs((double)x);
  }
  low[t] = least;
  high[t] = most;
  sums[t] = sum;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (t >= half) continue;
    if (low[t + half] < low[t]) low[t] = low[t + half];
    if (high[t + half] > high[t]) high[t] = high[t + half];
    sums[t] += sums[t + half];
  }
  __syncthreads();
  const bool finite = isfinite(sums[0]);
  const long long word = number * kStride;
)";

constexpr const char* kCudaBytes = R"(
  const float middle = low[0] / 2 + high[0] / 2, width = high[0] / 255.0f - low[0] / 255.0f;
  const float inverse = width >= 1.17549435e-38f ? 1.0f / width : 0.0f;
  if (t == 0) put(row, word, __float_as_int(finite ? middle : __int_as_float(0x7fc00000)));
  if (t == 1) put(row, word + 1, __float_as_int(inverse > 0 ? width : 0.0f));
  for (long long w = t; w * 4 < length; w += 256) {
    unsigned int bits = 0;
    for (long long i = w * 4; finite && i < length && i < w * 4 + 4; ++i) {
      const float position = (at(row, begin + i) - middle) * inverse + 128.0f;
      bits |= (unsigned int)(position < 0.0f ? 0.0f : position > 255.0f ? 255.0f : position) << (8 * (i - w * 4));
    }
    put(row, word + 2 + w, (int)bits);
  }
}
)";

constexpr const char* kCudaBits = R"(
  const float scale = (float)(sums[0] / (double)length);
  if (t == 0) put(row, word, __float_as_int(isfinite(scale) ? scale : __int_as_float(0x7fc00000)));
  for (long long w = t; w * 32 < length; w += 256) {
    unsigned int bits = 0;
    for (long long i = w * 32; i < length && i < w * 32 + 32; ++i)
      bits |= (at(row, begin + i) >= 0.0f ? 1u : 0u) << (i - w * 32);
    put(row, word + 1 + w, (int)bits);
  }
}
)";

class Quantise : public OpKind {
 public:
  Quantise()
      : OpKind("quantise", "rows in 8 bits or 1 bit per element, with a header per block",
               BALEEN_KIND_PURE | BALEEN_KIND_DERIVED) {
    operand("x", "[rows, columns], fp32");
    result("words", "[rows, words], int32");
    attribute(BALEEN_RULE_INTEGER, "bits", "", "of an element: 8 or 1", 1, 8);
    attribute(BALEEN_RULE_INTEGER, "block", "", "elements that share a header, a multiple of 32", 32, 1 << 20);
  }

  Result<Types> infer(const InferInput& input) override {
    BALEEN_TRY(check_matrix("quantise", "x", input.type(0), BALEEN_F32));
    const Format format = format_of(input.op(), input.type(0).shape[1]);
    if (format.bits != 8 && format.bits != 1)
      return invalid("quantise: `bits` is " + std::to_string(format.bits) + "; take 8 or 1");
    if (format.block % 32 != 0)
      return invalid("quantise: `block` is " + std::to_string(format.block) + "; take a multiple of 32");
    return Types{{BALEEN_I32, {input.type(0).shape[0], format.words()}, {}}};
  }

  Cost cost(GraphView& graph, baleen_op_t op) override {
    const baleen_value_info_t x = graph.value(graph.op(op)->inputs()[0]);
    const auto count = static_cast<double>(x.shape[0] * x.shape[1]);
    return {4 * count, (4.0 + static_cast<double>(graph.op(op)->integer("bits")) / 8) * count};
  }

  Status compute(const CpuCall& call) override {
    const Matrix<const float> x(call.input_at(0), call.input(0));
    const Matrix<std::int32_t> y(call.output_at(0), call.output(0));
    const Format format = format_of(call.op(), x.columns);
    const auto blocks = static_cast<std::uint64_t>(format.blocks());
    call.parallel(static_cast<std::uint64_t>(x.rows) * blocks, [&](std::uint64_t i) {
      const auto number = static_cast<std::int64_t>(i % blocks);
      const Block block{x,
                        y,
                        static_cast<std::int64_t>(i / blocks),
                        number * format.block,
                        format.length(number),
                        format.first_word(number)};
      format.bits == 8 ? in_bytes(block) : in_bits(block);
    });
    return {};
  }

  Result<CudaText> cuda(const CudaRequest& request) override {
    const baleen_tensor_t &x = request.input(0), &y = request.output(0);
    const Format format = format_of(request.op(), x.shape[1]);
    CudaText text;
    text.entry = "quantise";
    text.blocks[0] = static_cast<std::uint64_t>(x.shape[0] * format.blocks());
    text.source = "constexpr long long kBlocks = " + std::to_string(format.blocks()) +
                  ", kBlock = " + std::to_string(format.block) + ", kColumns = " + std::to_string(format.columns) +
                  ", kStride = " + std::to_string(format.first_word(1)) +
                  ";\nBALEEN_KERNEL(256, quantise, baleen::Args) {\n"
                  "  const auto at = [&](long long i0, long long i1) { return " +
                  request.input_at(0) + "[" + cuda_offset(x) +
                  "]; };\n  const auto put = [&](long long i0, long long i1, int word) { " + request.output_at(0) +
                  "[" + cuda_offset(y) + "] = word; };\n" + kCudaFind + (format.bits == 8 ? kCudaBytes : kCudaBits);
    return text;
  }

 private:
  static Format format_of(const Op& op, std::int64_t columns) {
    return {op.integer("bits"), op.integer("block"), columns};
  }
};

BALEEN_OP_KIND(Quantise);

}  // namespace
}  // namespace baleen::compress
