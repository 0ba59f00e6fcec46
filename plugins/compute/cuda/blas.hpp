/// \file cuBLASLt: its functions, a handle, and the algorithms that its heuristics chose, by shape.
#pragma once
#include <cublasLt.h>

#include <array>
#include <map>
#include <memory>
#include <optional>

#include "baleen/plugin.hpp"
#include "blas_tuner.hpp"
#include "contraction.hpp"
#include "product_report.hpp"
#include "warm_up.hpp"

namespace baleen::cuda {

// By hand: clang-format would make stairs of the list.
// clang-format off
#define BALEEN_BLAS_FUNCTIONS(X) \
  X(cublasLtCreate) X(cublasLtDestroy) X(cublasLtGetVersion) X(cublasLtGetStatusString) X(cublasLtMatmul) \
  X(cublasLtMatmulDescCreate) X(cublasLtMatmulDescDestroy) X(cublasLtMatmulDescSetAttribute) \
  X(cublasLtMatrixLayoutCreate) X(cublasLtMatrixLayoutDestroy) X(cublasLtMatrixLayoutSetAttribute) \
  X(cublasLtMatmulPreferenceCreate) X(cublasLtMatmulPreferenceDestroy) X(cublasLtMatmulPreferenceSetAttribute) \
  X(cublasLtMatmulAlgoGetHeuristic)
// clang-format on

/// cuBLASLt's functions.
struct BlasFunctions {
  BALEEN_BLAS_FUNCTIONS(BALEEN_DECLARE_SYMBOL)
};

/// How products are computed.
struct BlasOptions {
  bool tf32 = false, deterministic = true;
  std::uint64_t workspace_bytes = 0;  ///< that an algorithm may take
  bool fp8 = false;                   ///< whether the device multiplies 8 bits

  static BlasOptions of(const Settings& settings, int compute_capability);
};

/// What the heuristics chose.
struct BlasChoice {
  cublasLtMatmulAlgo_t algorithm;
  std::uint64_t workspace_bytes = 0;
  bool is_refused = false;  ///< as far as a trial can tell
};

/// The library with one handle. Its calls come from one thread at a time.
class Blas {
 public:
  /// Fails where there is no cuBLASLt, naming it.
  static Result<std::unique_ptr<Blas>> open(const std::vector<std::string>& folders, const BlasOptions& options);
  /// For plans: without the library, which cannot tell its algorithms without a device. It is taken to have one for all
  /// products of dtypes that it is documented to take, with all the workspace that it may take, of operands that begin
  /// at multiples of 16 bytes: what computes others needs more scratch.
  static std::unique_ptr<Blas> described(const BlasOptions& options);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  bool is_described() const { return !handle_; }
  const BlasFunctions& functions() const { return table_; }
  cublasLtHandle_t handle() const { return handle_; }
  const BlasOptions& options() const { return options_; }
  std::string version() const;
  std::map<std::string, BlasChoice>& choices() { return choices_; }
  /// Null where the library's favourites are taken.
  BlasTuner* tuner() const { return tuner_.get(); }
  void tune_with(std::unique_ptr<BlasTuner> tuner) { tuner_ = std::move(tuner); }
  /// Runs each algorithm once where it is chosen.
  void warm_up_with(WarmUp& warm_up) { warm_up_ = &warm_up; }
  WarmUp* warm_up() const { return warm_up_; }
  /// Says, once, which products have no algorithm.
  void report_to(ProductReport& report) { report_ = &report; }
  void report(baleen_level_t level, const std::string& text) const {
    if (report_) report_->once(level, text);
  }

 private:
  Blas() = default;
  BlasFunctions table_;
  BlasOptions options_;
  cublasLtHandle_t handle_ = nullptr;
  std::map<std::string, BlasChoice> choices_;
  std::unique_ptr<BlasTuner> tuner_;
  WarmUp* warm_up_ = nullptr;
  ProductReport* report_ = nullptr;
};

/// What happens to the sums before they are stored. The pre-activation (aux) lies like the result.
struct BlasEpilogue {
  cublasLtEpilogue_t kind = CUBLASLT_EPILOGUE_DEFAULT;
  bool has_bias = false, has_aux = false;
};

/// The dtypes of a product's operands and result.
struct ProductTypes {
  baleen_dtype_t a, b, y;
  bool is_double() const { return y == BALEEN_F64; }
  bool has_half_result() const { return dtype_size(y) == 2; }
};

/// One planned product by cuBLASLt.
class BlasProduct {
 public:
  /// Null where cuBLASLt has no algorithm for it, which is said.
  static Result<std::unique_ptr<BlasProduct>> make(Blas& blas, const GemmPlan& plan, const ProductTypes& types,
                                                   const BlasEpilogue& epilogue = {});
  ~BlasProduct();
  BlasProduct(const BlasProduct&) = delete;
  BlasProduct& operator=(const BlasProduct&) = delete;

  std::uint64_t workspace_bytes() const;
  /// Whether operands and result may begin at any multiple of an element; else at multiples of 16 bytes.
  bool takes_any_address() const { return choices_[1].has_value(); }
  /// Whether it computes from and to these addresses.
  bool takes(const void* a, const void* b, const void* y) const;
  /// Whether the library has refused it at good addresses already.
  bool is_refused() const { return choices_[0]->is_refused; }
  /// "a product of bf16 to fp32, [64, 768] by [768, 3072]", for messages.
  std::string text() const;
  /// y = a b, or y + a b, of addresses that it takes. UNSUPPORTED where cuBLASLt refuses what its heuristics chose:
  /// then nothing is enqueued, or only what computing y anew overwrites.
  Status run(CUstream stream, const char* a, const char* b, char* y, bool adds, void* workspace) const;
  /// Where the epilogue's operands are, for the runs from now on. One thread launches a product.
  Status bind(const void* bias, void* aux) const;

 private:
  BlasProduct(Blas& blas, const GemmPlan& plan, const ProductTypes& types, const BlasEpilogue& epilogue)
      : blas_(blas), plan_(plan), types_(types), epilogue_(epilogue) {}
  template <class T>
  Status set(cublasLtMatmulDescAttributes_t which, const T& value) const;
  Status describe();
  Status layout(const GemmPlan::Matrix& matrix, baleen_dtype_t dtype, cublasLtMatrixLayout_t& out) const;
  /// The best algorithm for addresses that are multiples of 16 bytes, or of an element.
  Result<BlasChoice> choose(bool aligned) const;
  /// The fastest of the heuristics' answers, of which the first is their favourite.
  std::size_t fastest(const std::string& key, std::span<const cublasLtMatmulHeuristicResult_t> found) const;
  /// False where the library refuses it.
  bool warm_up(const std::string& key, const BlasChoice& choice, bool aligned) const;
  /// Of memory for runs whose result nobody reads: left, right, result, bias, aux, workspace.
  std::array<std::uint64_t, 6> trial_bytes() const;
  /// With such memory; operands and result begin behind `beside` elements.
  bool enqueue_trial(const BlasChoice& choice, CUstream stream, std::span<void* const> buffers,
                     std::int64_t beside) const;
  cublasStatus_t enqueue(const BlasChoice& choice, const char* left, const char* right, char* result, bool adds,
                         void* workspace, CUstream stream) const;
  std::string key(bool aligned) const;
  /// Which of the choices the addresses of a turn want.
  const std::optional<BlasChoice>& choice_for(std::uintptr_t a, std::uintptr_t b, std::uintptr_t y,
                                              const GemmPlan::Turn& turn) const;

  Blas& blas_;
  GemmPlan plan_;
  ProductTypes types_;
  BlasEpilogue epilogue_;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t left_ = nullptr, right_ = nullptr, result_ = nullptr;
  std::array<std::optional<BlasChoice>, 2> choices_;  ///< for addresses of 16 bytes, and of one element
};

}  // namespace baleen::cuda
