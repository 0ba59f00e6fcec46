/// \file What cuBLASLt does not take: the plugin computes the same in another way, says so once, and counts it. The
/// emulated library refuses as the environment says (tests/support/emulated_cuda).
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "baleen/expression.h"
#include "conformance/compute/harness.hpp"
#include "conformance/compute/members.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::conformance {
namespace {

/// An environment variable while one lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// Of cuBLASLt's epilogues: the numbers of its header.
constexpr const char *kPlain = "1", *kBias = "4", *kGeluAuxBias = "164", *kSumOfB = "256";
constexpr const char *kRefuses = "EMULATED_CUDA_BLAS_REFUSES", *kLacks = "EMULATED_CUDA_BLAS_LACKS",
                     *kAlignment = "EMULATED_CUDA_BLAS_ALIGNMENT", *kWorkspace = "EMULATED_CUDA_BLAS_WORKSPACE";
constexpr std::int64_t kM = 35, kK = 48, kN = 40;

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

class Refusals : public testing::Test {
 protected:
  Refusals()
      : path_(testing::TempDir() + "refusals_" + std::to_string(getpid()) + ".txt"), log_("EMULATED_CUDA_LOG", path_) {}
  ~Refusals() override { std::remove(path_.c_str()); }

  /// The device sees the environment as it is at its first use.
  Device& device() {
    if (!device_) device_ = std::make_unique<Device>(plugin_, std::vector<std::pair<std::string, std::int64_t>>{});
    return *device_;
  }
  Tensor draw(Shape shape, baleen_dtype_t dtype) {
    Tensor x = random_tensor(random_, std::move(shape));
    x.dtype = dtype;
    for (double& value : x.values) value = rounded(value, dtype);
    return x;
  }
  static Tensor zero(Shape shape, baleen_dtype_t dtype) {
    Tensor x = zeros(std::move(shape));
    x.dtype = dtype;
    return x;
  }
  /// a b, and what is added to it.
  static std::vector<double> product(const Tensor& a, const Tensor& b, const Tensor* added) {
    std::vector<double> y(static_cast<std::size_t>(kM * kN));
    for (std::int64_t i = 0; i < kM; ++i)
      for (std::int64_t j = 0; j < kN; ++j) {
        double& sum = y[static_cast<std::size_t>(i * kN + j)];
        if (added) sum = (*added)[added->size() == kN ? j : i * kN + j];
        for (std::int64_t k = 0; k < kK; ++k) sum += a[i * kK + k] * b[k * kN + j];
      }
    return y;
  }
  static void expect_near(const Tensor& got, const std::vector<double>& wanted) {
    const double limit = got.dtype == BALEEN_F64 ? 1e-12 : got.dtype == BALEEN_F32 ? 1e-5 : 0.01;
    for (std::int64_t i = 0; i < got.size(); ++i) {
      const double x = wanted[static_cast<std::size_t>(i)];
      ASSERT_LE(std::abs(got[i] - x), limit * (1 + std::abs(x))) << i;
    }
  }

  /// y = a b, or c + a b.
  void multiply(baleen_dtype_t dtype, baleen_dtype_t result, Placement placement, bool adds = false) {
    std::vector<Tensor> inputs{draw({kM, kK}, dtype), draw({kK, kN}, dtype)}, y{zero({kM, kN}, result)};
    if (adds) inputs.push_back(draw({kM, kN}, result));
    RunOptions options;
    options.placement = placement;
    ASSERT_EQ(device().run(OpSpec("matmul").text("spec", "mk,kn->mn"), inputs, y, dtype, options), BALEEN_OK)
        << plugin_.last_failure();
    expect_near(y[0], product(inputs[0], inputs[1], adds ? &inputs[2] : nullptr));
  }
  /// What adds a bias to a product, or has GELU of that too.
  static OpSpec behind_product(bool gelu) {
    std::vector<baleen_instruction_t> code{
        {BALEEN_X_INPUT, 0, 0, 0, 0}, {BALEEN_X_INPUT, 1, 0, 0, 0}, {BALEEN_X_ADD, 0, 1, 0, 0}};
    if (!gelu) return OpSpec("pointwise").expression(code, {2});
    code.push_back({BALEEN_X_GELU_TANH, 2, 0, 0, 0});
    return OpSpec("pointwise").expression(code, {2, 3});
  }
  /// a b + bias, or GELU of that too.
  void bias(Placement placement, bool gelu = false, baleen_dtype_t dtype = BALEEN_BF16) {
    const std::vector<Tensor> inputs{draw({kM, kK}, dtype), draw({kK, kN}, dtype), draw({1, kN}, dtype)};
    std::vector<Tensor> y{zero({kM, kN}, dtype)};
    if (gelu) y.push_back(y[0]);
    const OpSpec after = behind_product(gelu);
    RunOptions options;
    options.placement = placement;
    options.behind = &after;
    ASSERT_EQ(device().run(OpSpec("matmul").text("spec", "mk,kn->mn"), inputs, y, dtype, options), BALEEN_OK)
        << plugin_.last_failure();
    std::vector<double> wanted = product(inputs[0], inputs[1], &inputs[2]);
    expect_near(y[0], wanted);
    if (!gelu) return;
    for (double& x : wanted) x = 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    expect_near(y[1], wanted);
  }
  /// a b, and the sum of a over what the product sums.
  void sum(Placement placement) {
    const std::vector<Tensor> inputs{draw({kK, kM}, BALEEN_BF16), draw({kK, kN}, BALEEN_BF16)};
    std::vector<Tensor> y{zero({kM, kN}, BALEEN_BF16), zero({kN}, BALEEN_BF16)};
    const OpSpec beside = OpSpec("reduce").text("kind", "sum").integer("dims", 0);
    RunOptions options;
    options.placement = placement;
    options.beside = &beside;
    options.beside_input = 1;
    ASSERT_EQ(device().run(OpSpec("matmul").text("spec", "km,kn->mn"), inputs, y, BALEEN_BF16, options), BALEEN_OK)
        << plugin_.last_failure();
    std::vector<double> sums(static_cast<std::size_t>(kN));
    Tensor a = zeros({kM, kK});
    for (std::int64_t k = 0; k < kK; ++k) {
      for (std::int64_t i = 0; i < kM; ++i) a[i * kK + k] = inputs[0][k * kM + i];
      for (std::int64_t j = 0; j < kN; ++j) sums[static_cast<std::size_t>(j)] += inputs[1][k * kN + j];
    }
    expect_near(y[0], product(a, inputs[1], nullptr));
    expect_near(y[1], sums);
  }

  /// What the library computed since the last question: "1 14 14" is a plain product of bf16 to bf16. Of launches; or
  /// of what the plugin tries where it compiles, on the first of the device's streams.
  std::string computed(bool tried = false) {
    std::string all;
    int epilogue = 0, from = 0, to = 0, as = 0;
    unsigned long stream = 0;
    if (std::FILE* file = std::fopen(path_.c_str(), "r")) {
      while (std::fscanf(file,
                         "product with epilogue %d operands of type %d, results of type %d computed as %d "
                         "on stream %lu ",
                         &epilogue, &from, &to, &as, &stream) == 5) {
        first_stream_ = std::min(first_stream_, stream);
        if ((stream == first_stream_) != tried) continue;
        all += (all.empty() ? "" : ", ") + std::to_string(epilogue) + " " + std::to_string(from) + " " +
               std::to_string(to);
      }
      std::fclose(file);
      std::remove(path_.c_str());
    }
    return all;
  }
  /// How often the plugin said it at this level.
  int said(baleen_level_t level, const std::string& text) const {
    return count(plugin_.log(), std::to_string(level) + " " + text + "\n");
  }
  int warnings() const { return count("\n" + plugin_.log(), "\n" + std::to_string(BALEEN_WARNING) + " "); }

  std::string path_;
  Variable log_;
  Plugin plugin_{plugin_paths().at(0)};
  std::mt19937_64 random_{20261129};

 private:
  unsigned long first_stream_ = ~0ul;
  std::unique_ptr<Device> device_;
};

const std::string kShape = "[35, 48] by [48, 40]";
const std::string kOdd = ", where an operand begins at no multiple of 16 bytes: ";

TEST_F(Refusals, OfOddAddressesLeaveTheAlgorithmForOthers) {
  const Variable aligned(kAlignment, "16");
  for (int time = 0; time < 2; ++time) {
    multiply(BALEEN_BF16, BALEEN_BF16, Placement::kPacked);
    EXPECT_EQ(computed(), "1 14 14");
    multiply(BALEEN_BF16, BALEEN_BF16, Placement::kShifted);
    EXPECT_EQ(computed(), "1 14 14") << "copies are multiplied in 16 bits";
    multiply(BALEEN_F16, BALEEN_F32, Placement::kLastShifted, true);
    EXPECT_EQ(computed(), "1 2 0");
  }
  for (const char* types : {"bf16 to bf16", "fp16 to fp32"})
    EXPECT_EQ(said(BALEEN_INFO, "cuBLASLt has no algorithm for a product of " + std::string(types) + ", " + kShape +
                                    kOdd + "such operands are copied"),
              1)
        << plugin_.log();
  EXPECT_EQ(warnings(), 0) << plugin_.log();
}
/// There is no copying of fp64.
TEST_F(Refusals, OfOddAddressesOfFp64AreTakenByAKernel) {
  const Variable aligned(kAlignment, "16");
  multiply(BALEEN_F64, BALEEN_F64, Placement::kPacked);
  EXPECT_EQ(computed(), "1 1 1");
  multiply(BALEEN_F64, BALEEN_F64, Placement::kShifted, true);
  EXPECT_EQ(computed(), "");
  EXPECT_EQ(said(BALEEN_INFO, "cuBLASLt has no algorithm for a product of fp64 to fp64, " + kShape + kOdd +
                                  "such operands are multiplied by a slow kernel of the plugin's own"),
            1)
      << plugin_.log();
}
TEST_F(Refusals, OfOddAddressesLeaveEpilogues) {
  const Variable aligned(kAlignment, "16");
  bias(Placement::kPacked);
  EXPECT_EQ(computed(), "4 14 14");
  bias(Placement::kShifted);
  EXPECT_EQ(computed(), "1 14 14");
  sum(Placement::kPacked);
  EXPECT_EQ(computed(), "256 14 14");
  sum(Placement::kShifted);
  EXPECT_EQ(computed(), "1 14 14");
  EXPECT_EQ(said(BALEEN_INFO, "cuBLASLt has no algorithm for a product of bf16 to bf16, " + kShape + ", with a bias" +
                                  kOdd + "there it is computed in two steps"),
            1)
      << plugin_.log();
  EXPECT_EQ(count(plugin_.log(), "with the sum of an operand" + kOdd + "there it is computed in two steps"), 1)
      << plugin_.log();
  EXPECT_EQ(warnings(), 0) << plugin_.log();
}
/// The heuristics see an address of the alignment that launches have: here of no more than 64 bytes.
TEST_F(Refusals, AreNotProvokedByTheAddressOfABias) {
  bias(Placement::kPacked);
  bias(Placement::kPacked, true);
  sum(Placement::kPacked);
  EXPECT_EQ(computed(), "4 14 14, 164 14 14, 256 14 14");
  EXPECT_EQ(warnings(), 0) << plugin_.log();
}
TEST_F(Refusals, OfEpiloguesAreSaid) {
  for (const auto& [epilogue, words] : {std::pair{kBias, "with a bias"},
                                        {kGeluAuxBias, "with bias and GELU, whose operand is kept"},
                                        {kSumOfB, "with the sum of an operand"}}) {
    const Variable lacks(kLacks, epilogue);
    epilogue == kSumOfB ? sum(Placement::kPacked) : bias(Placement::kPacked, epilogue == kGeluAuxBias);
    EXPECT_EQ(computed(), "1 14 14") << words;
    EXPECT_EQ(count(plugin_.log(), std::string(words) + ": it is computed in two steps\n"), 1) << plugin_.log();
  }
  EXPECT_EQ(warnings(), 0) << plugin_.log();
}
/// Where the epilogue is taken, the kernel behind a plain product is not compiled.
TEST_F(Refusals, HaveTheSecondStepCompiledAtTheFirstOfThem) {
  const test::TemporaryFolder folder;
  const Variable aligned(kAlignment, "16"), modules("EMULATED_CUDA_MODULES", folder / "modules.txt");
  const auto loaded = [&] { return count(test::read_file(folder / "modules.txt"), "\n"); };
  folder.write("modules.txt", "");
  bias(Placement::kPacked);
  bias(Placement::kPacked, true);
  EXPECT_EQ(loaded(), 0);
  bias(Placement::kShifted);
  EXPECT_EQ(loaded(), 1);
  bias(Placement::kShifted);
  bias(Placement::kPacked);
  EXPECT_EQ(loaded(), 1) << "the device has it";
  const Variable refused(kRefuses, kGeluAuxBias);
  bias(Placement::kPacked, true);
  EXPECT_EQ(loaded(), 2);
  const OpSpec after = behind_product(true);
  RunOptions options;
  options.behind = &after;
  const Tensor y = zero({kM + 1, kN}, BALEEN_BF16);
  const auto made =
      device().compiled(OpSpec("matmul").text("spec", "mk,kn->mn"),
                        {zero({kM + 1, kK}, BALEEN_BF16), zero({kK, kN}, BALEEN_BF16), zero({1, kN}, BALEEN_BF16)},
                        {y, y}, BALEEN_BF16, options);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(loaded(), 3) << "a trial was refused";
}
TEST_F(Refusals, AtALaunchAreComputedInTwoSteps) {
  const std::string refuses = ", with CUBLAS_STATUS_NOT_SUPPORTED at its launch; from now on ";
  for (const auto& [epilogue, words] : {std::pair{kBias, "with a bias"},
                                        {kGeluAuxBias, "with bias and GELU, whose operand is kept"},
                                        {kSumOfB, "with the sum of an operand"}}) {
    const Variable refused(kRefuses, epilogue);
    for (int time = 0; time < 2; ++time)
      epilogue == kSumOfB ? sum(Placement::kPacked) : bias(Placement::kPacked, epilogue == kGeluAuxBias);
    EXPECT_EQ(computed(), "1 14 14, 1 14 14") << words;
    EXPECT_EQ(count(plugin_.log(), words + refuses + "it is computed in two steps\n"), 1) << plugin_.log();
  }
  EXPECT_EQ(warnings(), 3) << plugin_.log();
}
TEST_F(Refusals, AtALaunchOfAPlainProductAreTakenByAKernel) {
  const Variable refused(kRefuses, kPlain);
  for (const bool adds : {false, true}) multiply(BALEEN_BF16, BALEEN_F32, Placement::kPacked, adds);
  bias(Placement::kShifted);
  EXPECT_EQ(computed(), "");
  EXPECT_EQ(said(BALEEN_WARNING,
                 "cuBLASLt refuses a product of bf16 to fp32, " + kShape +
                     ", with CUBLAS_STATUS_NOT_SUPPORTED at its launch; from now on it is computed by a slow kernel of "
                     "the plugin's own"),
            1)
      << plugin_.log();
}
/// All algorithms want more than they may have.
TEST_F(Refusals, OfEverythingLeaveTheKernel) {
  const Variable workspace(kWorkspace, std::to_string((32 << 20) + 1));
  multiply(BALEEN_BF16, BALEEN_BF16, Placement::kPacked);
  bias(Placement::kPacked);
  EXPECT_EQ(computed(), "");
  EXPECT_EQ(said(BALEEN_WARNING, "cuBLASLt has no algorithm for a product of bf16 to bf16, " + kShape +
                                     ": it is computed in another, slower way"),
            1)
      << plugin_.log();
}

/// A library's kernels come to the device before a program runs: each algorithm, for good addresses and for any.
TEST_F(Refusals, ComeBehindOneTrialOfEachAlgorithm) {
  const auto compile = [&](Device& on, std::int64_t rows) {
    const auto made = on.compiled(OpSpec("matmul").text("spec", "mk,kn->mn"),
                                  {zero({rows, kK}, BALEEN_BF16), zero({kK, kN}, BALEEN_BF16)},
                                  {zero({rows, kN}, BALEEN_BF16)}, BALEEN_BF16);
    EXPECT_TRUE(made) << made.error().text();
  };
  compile(device(), kM);
  EXPECT_EQ(computed(true), "1 14 14, 1 14 14");
  compile(device(), kM);
  EXPECT_EQ(computed(true), "") << "this one has run";
  compile(device(), kM + 1);
  EXPECT_EQ(computed(true), "1 14 14, 1 14 14");
  bias(Placement::kPacked);
  EXPECT_EQ(computed(true), "4 14 14, 4 14 14") << "the plain product of this shape is known";
  sum(Placement::kPacked);
  EXPECT_EQ(computed(), "256 14 14");

  const Variable workspace(kWorkspace, std::to_string(2 << 20));
  Device small(plugin_, {{"memory", 1}});  // MiB
  compile(small, kM);
  EXPECT_EQ(computed(), "") << "there is no memory to spare";
}

/// A line per program: here each has one product.
TEST_F(Refusals, AreCounted) {
  const auto line = [&](const char* counts) {
    return count(plugin_.log(), std::to_string(BALEEN_DEBUG) + " products: " + counts + "\n");
  };
  multiply(BALEEN_BF16, BALEEN_BF16, Placement::kPacked);
  EXPECT_EQ(line("0 fused, 0 in two steps, 0 converted, 0 own"), 1) << plugin_.log();
  bias(Placement::kPacked);
  sum(Placement::kPacked);
  EXPECT_EQ(line("1 fused, 0 in two steps, 0 converted, 0 own"), 2) << plugin_.log();
  multiply(BALEEN_BF16, BALEEN_BF16, Placement::kPacked, true);
  EXPECT_EQ(line("0 fused, 0 in two steps, 1 converted, 0 own"), 1) << plugin_.log();
  {
    const Variable lacks(kLacks, kBias);
    bias(Placement::kPacked);
  }
  EXPECT_EQ(line("0 fused, 1 in two steps, 0 converted, 0 own"), 0) << "the choice for this shape is known";
  {
    const Variable lacks(kLacks, kGeluAuxBias);
    bias(Placement::kPacked, true);
  }
  EXPECT_EQ(line("0 fused, 1 in two steps, 0 converted, 0 own"), 1) << plugin_.log();
  const Variable workspace(kWorkspace, std::to_string((32 << 20) + 1));
  multiply(BALEEN_F32, BALEEN_F32, Placement::kPacked);
  EXPECT_EQ(line("0 fused, 0 in two steps, 0 converted, 1 own"), 1) << plugin_.log();
}

/// A plan made without the library knows the scratch of what stands in for it.
TEST_F(Refusals, TakeNoMoreScratchThanIsPlanned) {
  constexpr std::uint64_t kMost = 4 << 20;  // that an algorithm may have on such a device
  const Variable old("EMULATED_CUDA_CAPABILITY", "80"), aligned(kAlignment, "16"),
      workspace(kWorkspace, std::to_string(kMost));
  Device described(plugin_, {}, DeviceIs::kDescribed);
  const OpSpec matmul = OpSpec("matmul").text("spec", "mk,kn->mn");
  for (const std::int64_t rows : {35, 5000})  // copies of the second one would be too large
    for (const baleen_dtype_t dtype : {BALEEN_BF16, BALEEN_F32, BALEEN_F64}) {
      const std::vector<Tensor> inputs{zero({rows, 512}, dtype), zero({512, 40}, dtype)};
      const std::vector<Tensor> y{zero({rows, 40}, dtype)};
      const auto real = device().compiled(matmul, inputs, y, dtype),
                 planned = described.compiled(matmul, inputs, y, dtype);
      ASSERT_TRUE(real) << real.error().text();
      ASSERT_TRUE(planned) << planned.error().text();
      EXPECT_EQ(planned->scratch_bytes, real->scratch_bytes) << rows << " " << dtype_name(dtype);
      const bool copies = rows == 35 && dtype != BALEEN_F64;
      EXPECT_EQ(real->scratch_bytes > kMost + 256, copies) << rows << " " << dtype_name(dtype);
    }
}

}  // namespace
}  // namespace baleen::conformance
