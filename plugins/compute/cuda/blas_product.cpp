/// \file Products by cuBLASLt: descriptors and algorithms are made at plan time, a launch only calls.
#include "blas.hpp"

#include <algorithm>

namespace baleen::cuda {
namespace {

constexpr std::uint32_t kAligned = 16;
/// Of a workspace: cuBLASLt calls another address an invalid value.
constexpr std::uint64_t kWorkspaceAligned = 256;

/// It has no kernel for what it is asked for.
bool is_refusal(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE;
}

Status check(const BlasFunctions& f, cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return internal(std::string("cuBLASLt: ") + doing + " failed with " + f.cublasLtGetStatusString(status));
}

/// What the heuristics are asked for.
class Preference {
 public:
  explicit Preference(const BlasFunctions& f) : f_(f) {}
  ~Preference() {
    if (handle_) f_.cublasLtMatmulPreferenceDestroy(handle_);
  }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;

  Status make(const BlasOptions& options, const ProductTypes& types, bool aligned) {
    BALEEN_TRY(check(f_, f_.cublasLtMatmulPreferenceCreate(&handle_), "making a preference"));
    BALEEN_TRY(set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, options.workspace_bytes));
    BALEEN_TRY(set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes(options, types)));
    const auto bytes = [&](baleen_dtype_t dtype) {
      return aligned ? kAligned : static_cast<std::uint32_t>(dtype_size(dtype));
    };
    BALEEN_TRY(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, bytes(types.a)));
    BALEEN_TRY(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, bytes(types.b)));
    BALEEN_TRY(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, bytes(types.y)));
    return set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, bytes(types.y));
  }
  cublasLtMatmulPreference_t handle() const { return handle_; }

 private:
  /// How parts of a sum may be added. In place, whichever comes next is added to the result; in the result's type,
  /// a 16-bit one is rounded at each part.
  static std::uint32_t schemes(const BlasOptions& options, const ProductTypes& types) {
    if (types.has_half_result()) return CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    if (!options.deterministic) return CUBLASLT_REDUCTION_SCHEME_MASK;
    return CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  }
  template <class T>
  Status set(cublasLtMatmulPreferenceAttributes_t which, const T& value) {
    return check(f_, f_.cublasLtMatmulPreferenceSetAttribute(handle_, which, &value, sizeof value),
                 "setting a preference");
  }
  const BlasFunctions& f_;
  cublasLtMatmulPreference_t handle_ = nullptr;
};

/// Answers of the heuristics that are measured.
constexpr std::size_t kCandidates = 8;

double plan_flops(const GemmPlan& plan) {
  return 2.0 * static_cast<double>(plan.batch) * static_cast<double>(plan.rows) * static_cast<double>(plan.columns) *
         static_cast<double>(plan.depth);
}

cudaDataType_t data_type(baleen_dtype_t dtype) {
  switch (dtype) {
    case BALEEN_F64: return CUDA_R_64F;
    case BALEEN_BF16: return CUDA_R_16BF;
    case BALEEN_F16: return CUDA_R_16F;
    case BALEEN_E4M3: return CUDA_R_8F_E4M3;
    case BALEEN_E5M2: return CUDA_R_8F_E5M2;
    default: return CUDA_R_32F;
  }
}

/// What cuBLASLt's manual asks of operands in 8 bits: not both e5m2, the depth innermost, 16 bytes everywhere. The
/// sizes of a result are counted in elements: more than is asked for.
bool fp8_fits(const ProductTypes& types, const GemmPlan& plan) {
  const bool are_known = is_fp8(types.a) && is_fp8(types.b) && (types.a == BALEEN_E4M3 || types.b == BALEEN_E4M3) &&
                         (types.y == BALEEN_F32 || types.has_half_result());
  const std::int64_t sizes[] = {plan.rows,
                                plan.columns,
                                plan.depth,
                                plan.left.leading,
                                plan.right.leading,
                                plan.result.leading,
                                plan.left.batch_stride,
                                plan.right.batch_stride,
                                plan.result.batch_stride};
  return are_known && plan.left.transposed && !plan.right.transposed &&
         std::all_of(std::begin(sizes), std::end(sizes), [](std::int64_t size) { return size % kAligned == 0; });
}

/// Operands of one dtype, results of the same, or of fp32. A 16-bit result that is added to in several calls would be
/// rounded in each.
bool types_fit(const ProductTypes& types, const GemmPlan& plan) {
  if (is_fp8(types.a) || is_fp8(types.b)) {
    if (!fp8_fits(types, plan)) return false;
  } else if (types.a != types.b || (types.y != types.a && (dtype_size(types.a) != 2 || types.y != BALEEN_F32))) {
    return false;
  }
  return !types.has_half_result() ||
         std::none_of(plan.turns.begin(), plan.turns.end(), [](const GemmPlan::Turn& turn) { return turn.adds; });
}

}  // namespace

Result<std::unique_ptr<BlasProduct>> BlasProduct::make(Blas& blas, const GemmPlan& plan, const ProductTypes& types,
                                                       const BlasEpilogue& epilogue) {
  if (!types_fit(types, plan)) return std::unique_ptr<BlasProduct>();
  std::unique_ptr<BlasProduct> product(new BlasProduct(blas, plan, types, epilogue));
  if (blas.is_described()) {
    product->choices_[0] = BlasChoice{{}, blas.options().workspace_bytes};
    return product;
  }
  const bool is_plain = epilogue.kind == CUBLASLT_EPILOGUE_DEFAULT;
  if (Status described = product->describe(); !described) {
    if (is_plain) return std::move(described).error();
    blas.report(BALEEN_INFO, product->text() + ": " + described.error().message);
    return std::unique_ptr<BlasProduct>();
  }
  for (const bool aligned : {true, false}) {
    if (!aligned && is_fp8(types.a)) continue;
    auto choice = product->choose(aligned);
    if (choice)
      product->choices_[aligned ? 0 : 1] = *choice;
    else if (choice.error().code != BALEEN_UNSUPPORTED)
      return std::move(choice).error();
  }
  if (!product->choices_[0]) product->choices_[0] = product->choices_[1];
  if (product->choices_[0]) return product;
  blas.report(is_plain ? BALEEN_WARNING : BALEEN_INFO,
              "cuBLASLt has no algorithm for " + product->text() +
                  (is_plain ? ": it is computed in another, slower way" : ": it is computed in two steps"));
  return std::unique_ptr<BlasProduct>();
}

BlasProduct::~BlasProduct() {
  const BlasFunctions& f = blas_.functions();
  if (product_) f.cublasLtMatmulDescDestroy(product_);
  for (cublasLtMatrixLayout_t layout : {left_, right_, result_})
    if (layout) f.cublasLtMatrixLayoutDestroy(layout);
}

Status BlasProduct::describe() {
  const BlasFunctions& f = blas_.functions();
  const bool tf32 = blas_.options().tf32 && types_.a == BALEEN_F32;
  const cublasComputeType_t compute = types_.is_double() ? CUBLAS_COMPUTE_64F
                                      : tf32             ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                         : CUBLAS_COMPUTE_32F;
  const cudaDataType_t scale = data_type(computed_in(types_.y));
  BALEEN_TRY(check(f, f.cublasLtMatmulDescCreate(&product_, compute, scale), "describing a product"));
  BALEEN_TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, plan_.left.transposed ? CUBLAS_OP_T : CUBLAS_OP_N));
  BALEEN_TRY(set(CUBLASLT_MATMUL_DESC_TRANSB, plan_.right.transposed ? CUBLAS_OP_T : CUBLAS_OP_N));
  if (epilogue_.kind != CUBLASLT_EPILOGUE_DEFAULT) BALEEN_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_.kind));
  if (epilogue_.has_aux) BALEEN_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, plan_.result.leading));
  BALEEN_TRY(layout(plan_.left, plan_.swapped ? types_.b : types_.a, left_));
  BALEEN_TRY(layout(plan_.right, plan_.swapped ? types_.a : types_.b, right_));
  return layout(plan_.result, types_.y, result_);
}

template <class T>
Status BlasProduct::set(cublasLtMatmulDescAttributes_t which, const T& value) const {
  const BlasFunctions& f = blas_.functions();
  return check(f, f.cublasLtMatmulDescSetAttribute(product_, which, &value, sizeof value), "describing a product");
}

Status BlasProduct::bind(const void* bias, void* aux) const {
  if (epilogue_.has_bias) BALEEN_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias));
  if (epilogue_.has_aux) BALEEN_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux));
  return {};
}

Status BlasProduct::layout(const GemmPlan::Matrix& matrix, baleen_dtype_t dtype, cublasLtMatrixLayout_t& out) const {
  const BlasFunctions& f = blas_.functions();
  constexpr const char* kDoing = "describing a matrix";
  BALEEN_TRY(check(f,
                   f.cublasLtMatrixLayoutCreate(&out, data_type(dtype), static_cast<std::uint64_t>(matrix.rows),
                                                static_cast<std::uint64_t>(matrix.columns), matrix.leading),
                   kDoing));
  const auto count = static_cast<std::int32_t>(plan_.batch);
  BALEEN_TRY(check(f, f.cublasLtMatrixLayoutSetAttribute(out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
                   kDoing));
  return check(f,
               f.cublasLtMatrixLayoutSetAttribute(out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                  &matrix.batch_stride, sizeof matrix.batch_stride),
               kDoing);
}

std::string BlasProduct::key(bool aligned) const {
  std::string text = aligned ? "aligned" : "any";
  if (types_.a != types_.b) text += (plan_.swapped ? " by e" : " of e") + std::to_string(types_.b);
  for (const std::int64_t n :
       {std::int64_t{types_.a}, std::int64_t{types_.y}, plan_.batch, std::int64_t{epilogue_.kind}})
    text += " " + std::to_string(n);
  for (const GemmPlan::Matrix* m : {&plan_.left, &plan_.right, &plan_.result})
    for (const std::int64_t n : {std::int64_t{m->transposed}, m->rows, m->columns, m->leading, m->batch_stride})
      text += " " + std::to_string(n);
  return text;
}

Result<BlasChoice> BlasProduct::choose(bool aligned) const {
  const std::string name = key(aligned);
  if (const auto known = blas_.choices().find(name); known != blas_.choices().end()) return known->second;
  const BlasFunctions& f = blas_.functions();
  Preference preference(f);
  BALEEN_TRY(preference.make(blas_.options(), types_, aligned));
  // The heuristics read off these addresses what alignment they may count on; none at all would be the best one.
  void* const at_least = reinterpret_cast<void*>(std::uintptr_t{kAligned});
  BALEEN_TRY(bind(at_least, at_least));
  std::array<cublasLtMatmulHeuristicResult_t, kCandidates> found{};
  const bool tunes = aligned && blas_.tuner() && plan_flops(plan_) >= kLeastMeasuredFlops;
  int count = 0;
  const cublasStatus_t status =
      f.cublasLtMatmulAlgoGetHeuristic(blas_.handle(), product_, left_, right_, result_, result_, preference.handle(),
                                       tunes ? static_cast<int>(found.size()) : 1, found.data(), &count);
  // Of an epilogue that it does not have for these dtypes it may say that a value is invalid.
  const bool no_epilogue = epilogue_.kind != CUBLASLT_EPILOGUE_DEFAULT && status == CUBLAS_STATUS_INVALID_VALUE;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || no_epilogue ||
      (status == CUBLAS_STATUS_SUCCESS && (count == 0 || found[0].state != CUBLAS_STATUS_SUCCESS)))
    return unsupported("cuBLASLt has no algorithm");
  BALEEN_TRY(check(f, status, "choosing an algorithm"));
  const auto good = std::find_if(found.begin(), found.begin() + count,
                                 [](const auto& one) { return one.state != CUBLAS_STATUS_SUCCESS; });
  const std::span<const cublasLtMatmulHeuristicResult_t> candidates(found.begin(), good);
  const cublasLtMatmulHeuristicResult_t& best = found[candidates.size() > 1 ? fastest(name, candidates) : 0];
  BlasChoice choice{best.algo, best.workspaceSize};
  choice.is_refused = !warm_up(name, choice, aligned);
  blas_.choices().emplace(name, choice);
  return choice;
}

std::array<std::uint64_t, 6> BlasProduct::trial_bytes() const {
  const auto bytes = [this](const GemmPlan::Matrix& m, baleen_dtype_t dtype) {
    const std::int64_t last = (plan_.batch - 1) * m.batch_stride + (m.columns - 1) * m.leading + m.rows;
    return static_cast<std::uint64_t>(last) * dtype_size(dtype);
  };
  const std::uint64_t of_result = bytes(plan_.result, types_.y);
  const auto of_bias = static_cast<std::uint64_t>(std::max(plan_.result.rows, plan_.result.columns)) * sizeof(double);
  return {bytes(plan_.left, types_.a),      bytes(plan_.right, types_.b),      of_result,
          epilogue_.has_bias ? of_bias : 0, epilogue_.has_aux ? of_result : 0, blas_.options().workspace_bytes};
}

bool BlasProduct::enqueue_trial(const BlasChoice& choice, CUstream stream, std::span<void* const> buffers,
                                std::int64_t beside) const {
  if (!bind(buffers[3], buffers[4])) return false;
  const auto at = [&](std::size_t i, baleen_dtype_t dtype) {
    return static_cast<char*>(buffers[i]) + beside * static_cast<std::int64_t>(dtype_size(dtype));
  };
  return enqueue(choice, at(0, types_.a), at(1, types_.b), at(2, types_.y), false, buffers[5], stream) ==
         CUBLAS_STATUS_SUCCESS;
}

std::size_t BlasProduct::fastest(const std::string& key, std::span<const cublasLtMatmulHeuristicResult_t> found) const {
  std::vector<std::string> names;
  for (const auto& one : found) names.emplace_back(reinterpret_cast<const char*>(&one.algo), sizeof one.algo);
  return blas_.tuner()->fastest("cuBLASLt " + blas_.version() + (blas_.options().tf32 ? " tf32 " : " ") + key, names,
                                trial_bytes(), [&](std::size_t i, CUstream stream, std::span<void* const> buffers) {
                                  return enqueue_trial({found[i].algo, found[i].workspaceSize}, stream, buffers, 0);
                                });
}

bool BlasProduct::warm_up(const std::string& key, const BlasChoice& choice, bool aligned) const {
  bool is_taken = true;
  if (!blas_.warm_up()) return is_taken;
  std::array<std::uint64_t, 6> bytes = trial_bytes();
  for (std::size_t i = 0; i < 3; ++i) bytes[i] += sizeof(double);  // an element
  bytes.back() = choice.workspace_bytes;
  blas_.warm_up()->run("product " + key, bytes, [&](CUstream stream, std::span<void* const> buffers) {
    is_taken = enqueue_trial(choice, stream, buffers, aligned ? 0 : 1);
  });
  return is_taken;
}

// Scratch begins at multiples of 64 bytes.
std::uint64_t BlasProduct::workspace_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& choice : choices_)
    if (choice) bytes = std::max(bytes, choice->workspace_bytes);
  return bytes == 0 ? 0 : bytes + kWorkspaceAligned;
}

cublasStatus_t BlasProduct::enqueue(const BlasChoice& choice, const char* left, const char* right, char* result,
                                    bool adds, void* workspace, CUstream stream) const {
  const double one = 1, zero = 0;
  const float one_float = 1, zero_float = 0;
  const void* alpha = types_.is_double() ? static_cast<const void*>(&one) : &one_float;
  const void* none = types_.is_double() ? static_cast<const void*>(&zero) : &zero_float;
  return blas_.functions().cublasLtMatmul(
      blas_.handle(), product_, alpha, left, left_, right, right_, adds ? alpha : none, result, result_, result,
      result_, &choice.algorithm, choice.workspace_bytes == 0 ? nullptr : workspace, choice.workspace_bytes, stream);
}

std::string BlasProduct::text() const {
  const auto size = [](std::int64_t one, std::int64_t other) {
    return "[" + std::to_string(one) + ", " + std::to_string(other) + "]";
  };
  const std::int64_t m = plan_.swapped ? plan_.columns : plan_.rows, n = plan_.swapped ? plan_.rows : plan_.columns;
  const std::string other = types_.a == types_.b ? "" : " and " + std::string(dtype_name(types_.b));
  std::string text = "a product of " + std::string(dtype_name(types_.a)) + other + " to " +
                     std::string(dtype_name(types_.y)) + ", " + size(m, plan_.depth) + " by " + size(plan_.depth, n);
  if (plan_.batch > 1) text += ", " + std::to_string(plan_.batch) + " times";
  switch (epilogue_.kind) {
    case CUBLASLT_EPILOGUE_DEFAULT: return text;
    case CUBLASLT_EPILOGUE_BIAS: return text + ", with a bias";
    case CUBLASLT_EPILOGUE_GELU_BIAS: return text + ", with bias and GELU";
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS: return text + ", with bias and GELU, whose operand is kept";
    case CUBLASLT_EPILOGUE_DGELU: return text + ", with GELU's gradient";
    default: return text + ", with the sum of an operand";
  }
}

const std::optional<BlasChoice>& BlasProduct::choice_for(std::uintptr_t a, std::uintptr_t b, std::uintptr_t y,
                                                         const GemmPlan::Turn& turn) const {
  // Of a power of two, multiples of negative offsets are told as well.
  const auto moved = [](std::uintptr_t base, std::int64_t elements, baleen_dtype_t dtype) {
    return base + static_cast<std::uintptr_t>(elements) * dtype_size(dtype);
  };
  const std::uintptr_t all = moved(a, turn.a, types_.a) | moved(b, turn.b, types_.b) | moved(y, turn.y, types_.y);
  return choices_[all % kAligned == 0 ? 0 : 1];
}

bool BlasProduct::takes(const void* a, const void* b, const void* y) const {
  return std::all_of(plan_.turns.begin(), plan_.turns.end(), [&](const GemmPlan::Turn& turn) {
    return choice_for(reinterpret_cast<std::uintptr_t>(a), reinterpret_cast<std::uintptr_t>(b),
                      reinterpret_cast<std::uintptr_t>(y), turn)
        .has_value();
  });
}

Status BlasProduct::run(CUstream stream, const char* a, const char* b, char* y, bool adds, void* workspace) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(workspace);
  char* const place =
      static_cast<char*>(workspace) + (kWorkspaceAligned - begin % kWorkspaceAligned) % kWorkspaceAligned;
  const auto element = static_cast<std::int64_t>(dtype_size(types_.a)),
             of_y = static_cast<std::int64_t>(dtype_size(types_.y));
  for (const GemmPlan::Turn& turn : plan_.turns) {
    const auto& choice = choice_for(reinterpret_cast<std::uintptr_t>(a), reinterpret_cast<std::uintptr_t>(b),
                                    reinterpret_cast<std::uintptr_t>(y), turn);
    if (!choice) return internal(text() + " begins at no multiple of 16 bytes");
    const char *left = a + turn.a * element, *right = b + turn.b * element;
    if (plan_.swapped) std::swap(left, right);
    const cublasStatus_t status = enqueue(*choice, left, right, y + turn.y * of_y, adds || turn.adds, place, stream);
    const bool may_begin_anew = !adds || &turn == plan_.turns.data();
    if (is_refusal(status) && may_begin_anew)
      return unsupported("cuBLASLt refuses " + text() + ", with " + blas_.functions().cublasLtGetStatusString(status) +
                         " at its launch");
    BALEEN_TRY(check(blas_.functions(), status, "enqueueing a product"));
  }
  return {};
}

}  // namespace baleen::cuda
