/// \file `orthonormal`: columns of length 1 at right angles that span what the columns of a matrix span.
///
/// Gram and Schmidt's way, each column twice, so that rounding leaves right angles too (Giraud et al., "Rounding error
/// analysis of the classical Gram-Schmidt orthogonalization process", 2005). A column that the earlier ones span, but
/// for rounding, becomes 0. Where a column holds an infinity or a NaN the result is NaNs.
#include <cmath>
#include <limits>

#include "views.hpp"

namespace baleen::compress {

using namespace sdk;

namespace {

/// Of a column's length, what is left of it besides the earlier columns must be more than this part.
constexpr double kNothingLeft = 1e-5;

double product(const Matrix<float>& y, std::int64_t a, std::int64_t b) {
  double sum = 0;
  for (std::int64_t i = 0; i < y.rows; ++i) sum += static_cast<double>(y.at(i, a)) * static_cast<double>(y.at(i, b));
  return sum;
}

void scale(const Matrix<float>& y, std::int64_t column, float factor) {
  for (std::int64_t i = 0; i < y.rows; ++i) y.at(i, column) *= factor;
}

void orthonormalise(const Matrix<float>& y) {
  for (std::int64_t c = 0; c < y.columns; ++c) {
    const double before = std::sqrt(product(y, c, c));
    for (int turn = 0; turn < 2; ++turn)
      for (std::int64_t other = 0; other < c; ++other) {
        const auto part = static_cast<float>(product(y, other, c));
        for (std::int64_t i = 0; i < y.rows; ++i) y.at(i, c) -= part * y.at(i, other);
      }
    const double length = std::sqrt(product(y, c, c));
    const bool gone = length <= kNothingLeft * before;
    scale(y, c, gone ? 0.0f : static_cast<float>(1 / length));
  }
}

/// One block of threads, each with every 256th row.
constexpr const char* kCudaBody = R"(
  __shared__ double sums[256];
  const int t = threadIdx.x;
  const auto product = [&](long long a, long long b) {
    double sum = 0;
    for (long long i = t; i < kRows; i += 256) sum += (double)y(i, a) * (double)y(i, b);
    __syncthreads();
    sums[t] = sum;
    for (int half = 128; half > 0; half /= 2) {
      __syncthreads();
      if (t < half) sums[t] += sums[t + half];
    }
    __syncthreads();
    return sums[0];
  };
  for (long long c = 0; c < kColumns; ++c)
    for (long long i = t; i < kRows; i += 256) y(i, c) = x(i, c);
  for (long long c = 0; c < kColumns; ++c) {
    const double before = sqrt(product(c, c));
    for (int turn = 0; turn < 2; ++turn)
      for (long long other = 0; other < c; ++other) {
        const float part = (float)product(other, c);
        for (long long i = t; i < kRows; i += 256) y(i, c) -= part * y(i, other);
      }
    const double length = sqrt(product(c, c));
    const float factor = length <= kNothingLeft * before ? 0.0f : (float)(1 / length);
    for (long long i = t; i < kRows; i += 256) y(i, c) *= factor;
  }
}
)";

class Orthonormal : public OpKind {
 public:
  Orthonormal()
      : OpKind("orthonormal", "orthonormal columns with the span of those of a matrix",
               BALEEN_KIND_PURE | BALEEN_KIND_DERIVED) {
    operand("x", "[rows, columns], fp32");
    result("y", "the type of x");
  }

  Result<Types> infer(const InferInput& input) override {
    BALEEN_TRY(check_matrix("orthonormal", "x", input.type(0), BALEEN_F32));
    return Types{input.type(0)};
  }

  Cost cost(GraphView& graph, baleen_op_t op) override {
    const baleen_value_info_t x = graph.value(graph.op(op)->inputs()[0]);
    const auto rows = static_cast<double>(x.shape[0]), columns = static_cast<double>(x.shape[1]);
    return {4 * rows * columns * columns, 8 * rows * columns};
  }

  Status compute(const CpuCall& call) override {
    const Matrix<const float> x(call.input_at(0), call.input(0));
    const Matrix<float> y(call.output_at(0), call.output(0));
    call.parallel(1, [&](std::uint64_t) {
      for (std::int64_t i = 0; i < x.rows; ++i)
        for (std::int64_t c = 0; c < x.columns; ++c) y.at(i, c) = x.at(i, c);
      orthonormalise(y);
    });
    return {};
  }

  Result<CudaText> cuda(const CudaRequest& request) override {
    const baleen_tensor_t &x = request.input(0), &y = request.output(0);
    CudaText text;
    text.entry = "orthonormal";
    text.blocks[0] = x.shape[0] * x.shape[1] > 0 ? 1 : 0;
    text.source = "constexpr long long kRows = " + std::to_string(x.shape[0]) +
                  ", kColumns = " + std::to_string(x.shape[1]) +
                  ";\nconstexpr double kNothingLeft = 1e-5;\nBALEEN_KERNEL(256, orthonormal, baleen::Args) {\n"
                  "  const auto x = [&](long long i0, long long i1) { return " +
                  request.input_at(0) + "[" + cuda_offset(x) +
                  "]; };\n  const auto y = [&](long long i0, long long i1) -> float& { return " + request.output_at(0) +
                  "[" + cuda_offset(y) + "]; };\n" + kCudaBody;
    return text;
  }
};

BALEEN_OP_KIND(Orthonormal);

}  // namespace
}  // namespace baleen::compress
