/// \file The part of cuBLASLt that the plugin calls: plain loops over column-major matrices.
#include <cublasLt.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "streams.hpp"

namespace {

struct Description {
  cudaDataType_t scale = CUDA_R_32F;
  cublasOperation_t left = CUBLAS_OP_N, right = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  void* aux = nullptr;
  std::int64_t aux_leading = 0;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};
struct Matrix {
  cudaDataType type = CUDA_R_32F;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0, batch_stride = 0;
  std::int32_t batch = 1;
};
/// Alignments of a, b, c and d, and what an algorithm may work with.
struct Preference {
  std::uint32_t alignment[4] = {256, 256, 256, 256};
  std::uint64_t workspace = 0;
};
/// What is kept in an algorithm: what it was chosen for.
struct Algorithm {
  std::uint64_t mark;
  std::uint32_t alignment[4];
  std::uint32_t of_bias, of_aux;
  std::uint64_t workspace;
};
constexpr std::uint64_t kMark = 0x656d756c61746564;
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

/// An environment variable's number.
std::uint64_t number(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : fallback;
}
/// Whether a variable names this epilogue, by the library's number; 1 is that of a plain product.
bool names(const char* variable, cublasLtEpilogue_t epilogue) {
  return number(variable, 0) == static_cast<std::uint64_t>(epilogue);
}

/// What an address is a multiple of, as far as it matters.
std::uint32_t alignment_of(const void* address) {
  constexpr std::uintptr_t kMost = 256;
  const std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(address) | kMost;
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

/// A product under way.
struct Call {
  Description description;
  Matrix a, b, c, d;
  double alpha, beta;
  const void *a_data, *b_data, *c_data;
  void* d_data;
};

double gelu(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }
double gelu_gradient(double x) {
  const double t = std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

bool is_fp8(cudaDataType type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

/// A number of 8 bits by its definition (Micikevicius et al., arXiv 2209.05433, table 1).
double load_fp8(const void* data, cudaDataType type, std::int64_t at) {
  const int code = static_cast<const unsigned char*>(data)[at], mantissa = type == CUDA_R_8F_E4M3 ? 3 : 2;
  const int bias = type == CUDA_R_8F_E4M3 ? 7 : 15, exponent = (code & 0x7f) >> mantissa;
  const int fraction = code & ((1 << mantissa) - 1);
  const double sign = code & 0x80 ? -1 : 1;
  if (type == CUDA_R_8F_E4M3 ? (code & 0x7f) == 0x7f : exponent == 31)
    return type == CUDA_R_8F_E5M2 && fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - mantissa);
  return sign * std::ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
}

/// An element of a matrix, bias or pre-activation.
double load(const void* data, cudaDataType type, std::int64_t at) {
  switch (type) {
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2: return load_fp8(data, type, at);
    case CUDA_R_64F: return static_cast<const double*>(data)[at];
    case CUDA_R_16BF: return static_cast<double>(__bfloat162float(static_cast<const __nv_bfloat16*>(data)[at]));
    case CUDA_R_16F: return static_cast<double>(__half2float(static_cast<const __half*>(data)[at]));
    default: return static_cast<double>(static_cast<const float*>(data)[at]);
  }
}
/// Rounded once more than fp32 sums are, as the hardware does.
void store(void* data, cudaDataType type, std::int64_t at, double value) {
  const auto rounded = static_cast<float>(value);
  switch (type) {
    case CUDA_R_64F: static_cast<double*>(data)[at] = value; break;
    case CUDA_R_16BF: static_cast<__nv_bfloat16*>(data)[at] = __float2bfloat16_rn(rounded); break;
    case CUDA_R_16F: static_cast<__half*>(data)[at] = __float2half_rn(rounded); break;
    default: static_cast<float*>(data)[at] = rounded;
  }
}

/// The epilogue of one element. Bias and pre-activation have the result's type.
double finish(const Description& p, cudaDataType type, std::int64_t row, std::int64_t column, double value) {
  const std::int64_t aux = row + column * p.aux_leading;
  if (p.epilogue & CUBLASLT_EPILOGUE_BIAS) value += load(p.bias, type, row);
  if (p.epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS) store(p.aux, type, aux, value);
  if (p.epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS || p.epilogue == CUBLASLT_EPILOGUE_GELU_BIAS) return gelu(value);
  return p.epilogue == CUBLASLT_EPILOGUE_DGELU ? value * gelu_gradient(load(p.aux, type, aux)) : value;
}

/// The sums of one operand's elements over the depth, which have the result's type.
void add_up_operand(const Call& call) {
  const Description& p = call.description;
  const bool of_a = p.epilogue == CUBLASLT_EPILOGUE_BGRADA;
  if (!of_a && p.epilogue != CUBLASLT_EPILOGUE_BGRADB) return;
  const Matrix& m = of_a ? call.a : call.b;
  const bool by_rows = of_a ? p.left == CUBLAS_OP_N : p.right == CUBLAS_OP_T;
  const auto kept = static_cast<std::int64_t>(by_rows ? m.rows : m.columns),
             depth = static_cast<std::int64_t>(by_rows ? m.columns : m.rows);
  for (std::int64_t i = 0; i < kept; ++i) {
    double sum = 0;
    for (std::int64_t k = 0; k < depth; ++k)
      sum += load(of_a ? call.a_data : call.b_data, m.type, by_rows ? i + k * m.leading : k + i * m.leading);
    store(const_cast<void*>(p.bias), call.d.type, i, sum);
  }
}

/// An operand's numbers, each element of the result that it has a part in after the other: `count` times `depth`.
std::vector<double> along_depth(const void* data, const Matrix& m, std::int64_t begin, std::int64_t count,
                                std::int64_t depth, bool is_depth_first) {
  std::vector<double> numbers;
  numbers.reserve(static_cast<std::size_t>(count * depth));
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t k = 0; k < depth; ++k)
      numbers.push_back(load(data, m.type, begin + (is_depth_first ? k + i * m.leading : i + k * m.leading)));
  return numbers;
}

void multiply(const Call& call) {
  add_up_operand(call);
  const bool ta = call.description.left == CUBLAS_OP_T, tb = call.description.right == CUBLAS_OP_T;
  const auto depth = static_cast<std::int64_t>(ta ? call.a.rows : call.a.columns);
  const auto rows = static_cast<std::int64_t>(call.d.rows), columns = static_cast<std::int64_t>(call.d.columns);
  for (std::int64_t i = 0; i < call.d.batch; ++i) {
    const std::vector<double> left = along_depth(call.a_data, call.a, i * call.a.batch_stride, rows, depth, ta),
                              right = along_depth(call.b_data, call.b, i * call.b.batch_stride, columns, depth, !tb);
    const std::int64_t c = i * call.c.batch_stride, d = i * call.d.batch_stride;
    for (std::int64_t column = 0; column < columns; ++column)
      for (std::int64_t row = 0; row < rows; ++row) {
        const double *x = left.data() + row * depth, *y = right.data() + column * depth;
        double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k) sum += x[k] * y[k];
        sum *= call.alpha;
        if (call.beta != 0) sum += call.beta * load(call.c_data, call.c.type, c + row + column * call.c.leading);
        store(call.d_data, call.d.type, d + row + column * call.d.leading,
              finish(call.description, call.d.type, row, column, sum));
      }
  }
}

/// What the manual asks of operands in 8 bits: which combinations of types, the form TN, and multiples of 16 bytes.
bool takes_fp8(const Description& p, const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& d) {
  if (!is_fp8(a.type) || !is_fp8(b.type) || (a.type == CUDA_R_8F_E5M2 && b.type == CUDA_R_8F_E5M2)) return false;
  if (c.type != d.type || (d.type != CUDA_R_32F && d.type != CUDA_R_16BF && d.type != CUDA_R_16F)) return false;
  if (p.compute != CUBLAS_COMPUTE_32F || p.scale != CUDA_R_32F || number("EMULATED_CUDA_CAPABILITY", 90) < 89)
    return false;
  if (p.left != CUBLAS_OP_T || p.right != CUBLAS_OP_N) return false;
  for (const Matrix* m : {&a, &b})
    if (m->rows % 16 != 0 || m->columns % 16 != 0 || m->leading % 16 != 0 || m->batch_stride % 16 != 0) return false;
  return d.leading * (d.type == CUDA_R_32F ? 4 : 2) % 16 == 0;
}

/// The combinations of types that the library's manual lists, as far as they are used here.
bool types_are_listed(const Description& p, const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& d) {
  if (is_fp8(a.type) || is_fp8(b.type)) return takes_fp8(p, a, b, c, d);
  if (a.type != b.type || c.type != d.type) return false;
  switch (p.compute) {
    case CUBLAS_COMPUTE_64F: return p.scale == CUDA_R_64F && a.type == CUDA_R_64F && d.type == CUDA_R_64F;
    case CUBLAS_COMPUTE_32F_FAST_TF32: return p.scale == CUDA_R_32F && a.type == CUDA_R_32F && d.type == CUDA_R_32F;
    case CUBLAS_COMPUTE_32F:
      return p.scale == CUDA_R_32F && (d.type == a.type || d.type == CUDA_R_32F) &&
             (a.type == CUDA_R_32F || a.type == CUDA_R_16BF || a.type == CUDA_R_16F);
    default: return false;
  }
}

/// Whether the shapes fit each other and no matrix overlaps itself.
bool consistent(const Description& p, const Matrix& a, const Matrix& b, const Matrix& d) {
  const bool ta = p.left == CUBLAS_OP_T, tb = p.right == CUBLAS_OP_T;
  for (const Matrix* m : {&a, &b, &d})
    if (m->leading < static_cast<std::int64_t>(m->rows) || m->rows == 0 || m->columns == 0 || m->batch != d.batch)
      return false;
  return (ta ? a.columns : a.rows) == d.rows && (tb ? b.rows : b.columns) == d.columns &&
         (ta ? a.rows : a.columns) == (tb ? b.columns : b.rows);
}

/// As the environment says: of operands less aligned, of an epilogue, or with so little workspace there is none.
bool has_algorithm(const Description& p, const Preference& preference, std::uint64_t workspace) {
  const std::uint64_t least = number("EMULATED_CUDA_BLAS_ALIGNMENT", 1);
  for (const std::uint32_t alignment : preference.alignment)
    if (alignment < least) return false;
  return !names("EMULATED_CUDA_BLAS_LACKS", p.epilogue) && workspace <= preference.workspace;
}

/// Whether the addresses are such as the algorithm was chosen for.
bool takes(const Algorithm& algorithm, const Description& p, const void* const (&operands)[4]) {
  for (int i = 0; i < 4; ++i)
    if (reinterpret_cast<std::uintptr_t>(operands[i]) % algorithm.alignment[i] != 0) return false;
  if (p.bias && alignment_of(p.bias) < algorithm.of_bias) return false;
  if (p.aux && alignment_of(p.aux) < algorithm.of_aux) return false;
  const auto both = reinterpret_cast<std::uintptr_t>(p.bias) | reinterpret_cast<std::uintptr_t>(p.aux);
  return both % 16 == 0 && p.aux_leading % 8 == 0;
}

void note(const Description& p, const Matrix& a, const Matrix& d, cudaStream_t stream) {
  const char* log = std::getenv("EMULATED_CUDA_LOG");
  std::FILE* file = log ? std::fopen(log, "a") : nullptr;
  if (!file) return;
  std::fprintf(file, "product with epilogue %d\n", static_cast<int>(p.epilogue));
  std::fprintf(file, "operands of type %d, results of type %d\n", static_cast<int>(a.type), static_cast<int>(d.type));
  std::fprintf(file, "computed as %d\n", static_cast<int>(p.compute));
  std::fprintf(file, "on stream %lu\n", baleen_emulated_stream_number(stream));
  std::fclose(file);
}

const Matrix& matrix(cublasLtMatrixLayout_t layout) { return *reinterpret_cast<const Matrix*>(layout); }

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  static int one;
  *handle = reinterpret_cast<cublasLtHandle_t>(&one);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
std::size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
const char* cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    default: return "an emulated failure";
  }
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* out, cublasComputeType_t compute, cudaDataType_t scale) {
  auto* description = new Description;
  description->scale = scale;
  description->compute = compute;
  *out = reinterpret_cast<cublasLtMatmulDesc_t>(description);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete reinterpret_cast<Description*>(description);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t to, cublasLtMatmulDescAttributes_t which,
                                              const void* value, std::size_t bytes) {
  auto& description = *reinterpret_cast<Description*>(to);
  const auto take = [&](auto& member) {
    if (bytes != sizeof member) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&member, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  };
  switch (which) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return take(description.left);
    case CUBLASLT_MATMUL_DESC_TRANSB: return take(description.right);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return take(description.epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return take(description.bias);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return take(description.aux);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return take(description.aux_leading);
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* out, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t leading) {
  *out = reinterpret_cast<cublasLtMatrixLayout_t>(new Matrix{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete reinterpret_cast<Matrix*>(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t to, cublasLtMatrixLayoutAttribute_t which,
                                                const void* value, std::size_t bytes) {
  auto& one = *reinterpret_cast<Matrix*>(to);
  if (which == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof one.batch)
    std::memcpy(&one.batch, value, bytes);
  else if (which == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == sizeof one.batch_stride)
    std::memcpy(&one.batch_stride, value, bytes);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* out) {
  *out = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Preference*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t to,
                                                    cublasLtMatmulPreferenceAttributes_t which, const void* value,
                                                    std::size_t) {
  constexpr cublasLtMatmulPreferenceAttributes_t kAlignments[] = {
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  Preference& preference = *reinterpret_cast<Preference*>(to);
  for (int i = 0; i < 4; ++i)
    if (which == kAlignments[i]) std::memcpy(&preference.alignment[i], value, sizeof(std::uint32_t));
  if (which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
    std::memcpy(&preference.workspace, value, sizeof preference.workspace);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int,
                                              cublasLtMatmulHeuristicResult_t results[], int* count) {
  if (!consistent(*reinterpret_cast<Description*>(description), matrix(a), matrix(b), matrix(d)))
    return CUBLAS_STATUS_INVALID_VALUE;
  const Description& p = *reinterpret_cast<Description*>(description);
  if (!types_are_listed(p, matrix(a), matrix(b), matrix(c), matrix(d))) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (p.epilogue != CUBLASLT_EPILOGUE_DEFAULT && (p.scale == CUDA_R_64F || matrix(d).batch != 1))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const Preference& asked = *reinterpret_cast<Preference*>(preference);
  const std::uint64_t workspace = number("EMULATED_CUDA_BLAS_WORKSPACE", 1024);
  if (!has_algorithm(p, asked, workspace)) return CUBLAS_STATUS_NOT_SUPPORTED;
  Algorithm algorithm{kMark, {}, alignment_of(p.bias), alignment_of(p.aux), workspace};
  std::memcpy(algorithm.alignment, asked.alignment, sizeof algorithm.alignment);
  std::memcpy(&results[0].algo, &algorithm, sizeof algorithm);
  results[0].workspaceSize = workspace;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* chosen, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  Algorithm algorithm{};
  std::memcpy(&algorithm, chosen, sizeof algorithm);
  // As the real one does, which was seen on an H100 (13.0).
  constexpr std::uintptr_t kWorkspaceAligned = 256;
  if (algorithm.mark != kMark || reinterpret_cast<std::uintptr_t>(workspace) % kWorkspaceAligned != 0 ||
      workspace_bytes < algorithm.workspace)
    return CUBLAS_STATUS_INVALID_VALUE;
  const auto& p = *reinterpret_cast<Description*>(description);
  if (!takes(algorithm, p, {a, b, c, d})) return CUBLAS_STATUS_INVALID_VALUE;
  if (names("EMULATED_CUDA_BLAS_REFUSES", p.epilogue)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto scalar = [&](const void* x) {
    if (p.scale == CUDA_R_64F) return *static_cast<const double*>(x);
    return static_cast<double>(*static_cast<const float*>(x));
  };
  note(p, matrix(a_layout), matrix(d_layout), stream);
  auto* call = new Call{
      p, matrix(a_layout), matrix(b_layout), matrix(c_layout), matrix(d_layout), scalar(alpha), scalar(beta), a, b, c,
      d};
  baleen_emulated_enqueue(
      stream, [](void* argument) { multiply(*static_cast<const Call*>(argument)); }, call,
      [](void* argument) { delete static_cast<Call*>(argument); });
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
