/// \file CUDA text of op kinds on the emulated device: what the kernel is given, when it is not taken, and what is said
/// of a text that is wrong.
#include <cmath>
#include <functional>

#include "baleen/compile_ahead.h"
#include "baleen/op_kind.hpp"
#include "conformance/compute/harness.hpp"

namespace baleen::conformance {

using namespace sdk;

namespace {

using sdk::CudaRequest;
using sdk::CudaText;

/// y = f(x) for whatever text a test gives.
class Told : public sdk::OpKind {
 public:
  Told() : OpKind("told", "as the test says") {
    operand("x", "any shape");
    result("y", "the shape of x");
  }
  Result<std::vector<sdk::ValueType>> infer(const sdk::InferInput& input) override {
    return std::vector{input.type(0)};
  }
  Result<CudaText> cuda(const CudaRequest& request) override { return answer_(request); }

  using Answer = std::function<Result<CudaText>(const CudaRequest&)>;
  /// Texts come from `answer`, until there is another.
  static void says(Answer answer) { answer_ = std::move(answer); }

 private:
  static inline Answer answer_;
};

/// An element per thread; `value` is an expression of x, fp32.
CudaText element_wise(const CudaRequest& request, const std::string& value) {
  const baleen_tensor_t &x = request.input(0), &y = request.output(0);
  CudaText text;
  text.entry = "told";
  text.blocks[0] = static_cast<std::uint64_t>(elements(y) + 63) / 64;
  text.threads = 64;
  text.source =
      "BALEEN_KERNEL(64, told, baleen::Args) {\n"
      "  const long long position = blockIdx.x * 64ll + threadIdx.x;\n"
      "  if (position >= " +
      std::to_string(elements(y)) + "ll) return;\n" + sdk::cuda_coordinates(y) + "  const float x = baleen::widen(" +
      request.input_at(0) + "[" + sdk::cuda_offset(x) + "]);\n  " + request.output_at(0) + "[" + sdk::cuda_offset(y) +
      "] = " + value + ";\n}\n";
  return text;
}

/// The op "told" of four numbers to four.
struct OfFourNumbers {
  explicit OfFourNumbers(const baleen_op_kind_t* const* kind) : region{sizeof region, &op, 1, tensors, 2, kind} {}
  OfFourNumbers(const OfFourNumbers&) = delete;

  const baleen_tensor_t tensor{sizeof tensor, BALEEN_F32, 1, 0, -1, {4}, {1}, {4}, 0, {}, {}};
  const baleen_tensor_t tensors[2] = {tensor, tensor};
  const std::uint32_t in = 0, out = 1;
  const baleen_op_view_t op{
      sizeof op, abi(std::string_view("told")), abi(std::string_view("op")), &in, 1, &out, 1, nullptr, 0};
  const baleen_region_t region;
};

class KindText : public testing::Test {
 protected:
  KindText() { options_.kind = sdk::op_kind_table<Told>(); }

  baleen_status_t run() { return device_.run(op_, {x_}, y_, BALEEN_F32, options_); }
  std::vector<double> computed() {
    EXPECT_EQ(run(), BALEEN_OK) << plugin_.last_failure();
    return y_[0].values;
  }
  /// What is said of a text that is not taken.
  std::string refusal(const std::function<void(CudaText&)>& spoil) {
    Told::says([&](const CudaRequest& request) -> Result<CudaText> {
      CudaText text = element_wise(request, "x");
      spoil(text);
      return text;
    });
    EXPECT_NE(run(), BALEEN_OK);
    return plugin_.last_failure();
  }

  Plugin plugin_{plugin_paths().at(0)};
  Device device_{plugin_, {}};
  const OpSpec op_{"told"};
  const Tensor x_{{2, 3}, {1, 2, 3, 4, 5, 6}};
  std::vector<Tensor> y_{zeros({2, 3})};
  RunOptions options_;
};

TEST_F(KindText, GetsAddressesSeedStepAndMicroBatch) {
  Told::says([](const CudaRequest& request) -> Result<CudaText> {
    return element_wise(request, "x + (float)(args.seed * 1000 + args.step * 100 + args.micro * 10)");
  });
  options_.seed = 3;
  options_.step = 2;
  options_.micro = 4;
  EXPECT_EQ(computed(), (std::vector<double>{3241, 3242, 3243, 3244, 3245, 3246}));
  options_.step = 7;
  EXPECT_EQ(computed()[0], 3741);
}

TEST_F(KindText, IsCompiledAnewWhereItDiffers) {
  for (const int factor : {2, 3, 2}) {
    Told::says([&](const CudaRequest& request) -> Result<CudaText> {
      return element_wise(request, "x * " + std::to_string(factor));
    });
    EXPECT_EQ(computed()[5], 6 * factor);
  }
}

TEST_F(KindText, HasRandomBitsSharedMemoryAndNarrowTypes) {
  Told::says([](const CudaRequest& request) -> Result<CudaText> {
    EXPECT_GE(request.compute_capability(), 80);
    EXPECT_GE(request.shared_bytes(), 32u << 10);
    CudaText text = element_wise(
        request,
        "(float)(baleen::philox(position, 1, 2).x0 % 1000) + baleen::widen(baleen::narrow<baleen::bf16>(x + 0.001f)) + "
        "((float*)BALEEN_SHARED_MEMORY())[0]");
    const std::string begin = "told, baleen::Args) {\n";
    text.source.insert(text.source.find(begin) + begin.size(),
                       "  if (threadIdx.x == 0) ((float*)BALEEN_SHARED_MEMORY())[0] = 5000;\n  __syncthreads();\n");
    text.shared_bytes = 4;
    return text;
  });
  const std::vector<double> y = computed();
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_GE(y[i], 5000 + static_cast<double>(i + 1));
    EXPECT_EQ(y[i], std::floor(y[i])) << "bf16 has no thousandths beside " << i + 1;
  }
  EXPECT_EQ(computed(), y);
}

/// Of four blocks: what one has left in shared memory is nothing to the next.
TEST_F(KindText, FindsNoNumbersInSharedMemoryThatItDeclares) {
  const Tensor x = zeros({4 * 64});
  const auto seen_by = [&](const std::string& before, const std::string& behind) {
    Told::says([&](const CudaRequest& request) -> Result<CudaText> {
      CudaText text = element_wise(request, "seen[threadIdx.x]");
      const std::string begin = "told, baleen::Args) {\n";
      text.source.insert(text.source.find(begin) + begin.size(), "  __shared__ float seen[64];\n" + before);
      text.source.insert(text.source.rfind('}'), behind);
      return text;
    });
    std::vector<Tensor> y{zeros({4 * 64})};
    EXPECT_EQ(device_.run(op_, {x}, y, BALEEN_F32, options_), BALEEN_OK) << plugin_.last_failure();
    return y[0].values;
  };
  const std::string write = "  seen[threadIdx.x] = 7;\n";
  for (const double value : seen_by(write, "")) EXPECT_EQ(value, 7);
  for (const double value : seen_by("", write)) EXPECT_TRUE(std::isnan(value)) << value << " is read too early";
}

TEST_F(KindText, IsLeftToTheExpansionWhereThereIsNone) {
  Told::says([](const CudaRequest&) -> Result<CudaText> { return unsupported("not of these"); });
  EXPECT_FALSE(device_.supports(op_, {x_}, y_, BALEEN_F32, options_));
  Told::says([](const CudaRequest& request) -> Result<CudaText> { return element_wise(request, "x"); });
  EXPECT_TRUE(device_.supports(op_, {x_}, y_, BALEEN_F32, options_));
  EXPECT_FALSE(device_.supports(op_, {x_}, y_, BALEEN_F32)) << "a kind that nobody brings";
}

TEST_F(KindText, ThatIsNotGivenIsTold) {
  Told::says([](const CudaRequest&) -> Result<CudaText> { return invalid("the tide is out"); });
  EXPECT_EQ(run(), BALEEN_INVALID);
  EXPECT_EQ(plugin_.last_failure(), "the CUDA text of op kind `told`: the tide is out");
  Told::says([](const CudaRequest&) -> Result<CudaText> { throw std::runtime_error("it threw"); });
  EXPECT_EQ(run(), BALEEN_INTERNAL);
  EXPECT_EQ(plugin_.last_failure(), "the CUDA text of op kind `told`: it threw");
}

/// With the compiler's words, and the line of the text itself.
TEST_F(KindText, ThatDoesNotCompileIsNamedWithItsLine) {
  const std::string said =
      refusal([](CudaText& text) { text.source.insert(text.source.find("  if ("), "  nonsense;\n"); });
  for (const char* part : {"compiling the CUDA text of op kind `told` failed with", "told.cu:3", "nonsense"})
    EXPECT_NE(said.find(part), std::string::npos) << part << " is not in: " << said;
}

TEST_F(KindText, ThatCannotBeLaunchedIsNamedWithTheNumbers) {
  const std::string who = "the CUDA text of op kind `told` ";
  EXPECT_EQ(refusal([](CudaText& text) { text.threads = 2000; }),
            who + "wants 2000 threads of a block; there can be 1 to 1024");
  EXPECT_EQ(refusal([](CudaText& text) { text.threads = 0; }),
            who + "wants 0 threads of a block; there can be 1 to 1024");
  EXPECT_EQ(refusal([](CudaText& text) { text.blocks[1] = 70000; }),
            who + "wants 70000 blocks along y; there can be 0 to 65535");
  EXPECT_EQ(refusal([](CudaText& text) { text.blocks[0] = std::uint64_t{1} << 31; }),
            who + "wants 2147483648 blocks along x; there can be 0 to 2147483647");
  EXPECT_EQ(refusal([](CudaText& text) { text.shared_bytes = 1 << 20; }).substr(0, who.size() + 37),
            who + "wants 1048576 bytes of shared memory;");
  EXPECT_EQ(refusal([](CudaText& text) { text.entry = "other"; }),
            who + "has no kernel `other`; declare it with BALEEN_KERNEL(64, other, baleen::Args)");
  EXPECT_EQ(refusal([](CudaText& text) { text.source.clear(); }),
            who + "is empty or has no entry; give the text, and the name that BALEEN_KERNEL declares");
}

/// What is begun fails where it is waited for, and nothing else does.
TEST_F(KindText, IsCompiledBesideOthers) {
  const baleen_compute_t& table = plugin_.table();
  const auto* ahead = static_cast<const baleen_compile_ahead_t*>(
      table.query(device_.get(), abi(std::string_view(BALEEN_COMPILE_AHEAD))));
  ASSERT_NE(ahead, nullptr);
  const OfFourNumbers four(&options_.kind);
  std::vector<baleen_kernel_t> kernels;
  for (const char* value : {"x + 101", "nonsense", "x + 103", "x + 104"}) {
    Told::says([&](const CudaRequest& request) -> Result<CudaText> { return element_wise(request, value); });
    kernels.emplace_back().size = sizeof(baleen_kernel_t);
    ASSERT_EQ(ahead->begin(device_.get(), &four.region, &kernels.back()), BALEEN_OK) << plugin_.last_failure();
  }
  void* memory = nullptr;
  ASSERT_EQ(table.arena_create(device_.get(), BALEEN_ARENA_PRIVATE, 512, &memory), BALEEN_OK);
  void* const addresses[] = {memory, static_cast<char*>(memory) + 256};
  const baleen_launch_t launch{sizeof launch, device_.stream(), addresses, nullptr, 0, 0, 0};
  for (const int i : {2, 0}) {
    ASSERT_EQ(ahead->finish(device_.get(), kernels[static_cast<std::size_t>(i)].kernel), BALEEN_OK);
    ASSERT_EQ(table.launch(device_.get(), kernels[static_cast<std::size_t>(i)].kernel, &launch), BALEEN_OK);
    float y[4] = {};
    EXPECT_EQ(table.copy(device_.get(), device_.stream(), y, addresses[1], sizeof y), BALEEN_OK);
    EXPECT_EQ(table.synchronize(device_.get(), device_.stream()), BALEEN_OK) << plugin_.last_failure();
    EXPECT_EQ(y[3], static_cast<float>(101 + i));
  }
  EXPECT_EQ(ahead->finish(device_.get(), kernels[1].kernel), BALEEN_UNSUPPORTED);
  EXPECT_NE(plugin_.last_failure().find("compiling the CUDA text of op kind `told` failed with"), std::string::npos)
      << plugin_.last_failure();
  for (const baleen_kernel_t& kernel : kernels) table.release(device_.get(), kernel.kernel);  // one is not finished
  table.arena_destroy(device_.get(), BALEEN_ARENA_PRIVATE, memory, 512);
}

/// A launch that is kept as a part of a CUDA graph is told each step anew.
TEST_F(KindText, LearnsTheStepOfEachReplay) {
  Told::says(
      [](const CudaRequest& request) -> Result<CudaText> { return element_wise(request, "x + (float)args.step"); });
  const baleen_compute_t& table = plugin_.table();
  const auto* sequences =
      static_cast<const baleen_sequences_t*>(table.query(device_.get(), abi(std::string_view(BALEEN_SEQUENCES))));
  ASSERT_NE(sequences, nullptr);
  const OfFourNumbers four(&options_.kind);
  baleen_kernel_t kernel{};
  kernel.size = sizeof kernel;
  ASSERT_EQ(table.compile(device_.get(), &four.region, &kernel), BALEEN_OK) << plugin_.last_failure();
  void* memory = nullptr;
  ASSERT_EQ(table.arena_create(device_.get(), BALEEN_ARENA_PRIVATE, 512, &memory), BALEEN_OK);
  void* const addresses[] = {memory, static_cast<char*>(memory) + 256};
  baleen_launch_t launch{sizeof launch, device_.stream(), addresses, nullptr, 0, 5, 0};
  const auto result = [&] {
    float y[4] = {};
    EXPECT_EQ(table.copy(device_.get(), device_.stream(), y, addresses[1], sizeof y), BALEEN_OK);
    EXPECT_EQ(table.synchronize(device_.get(), device_.stream()), BALEEN_OK) << plugin_.last_failure();
    return y[3];
  };
  ASSERT_EQ(table.launch(device_.get(), kernel.kernel, &launch), BALEEN_OK);
  EXPECT_EQ(result(), 5);
  void* sequence = nullptr;
  ASSERT_EQ(sequences->begin(device_.get(), device_.stream()), BALEEN_OK);
  ASSERT_EQ(table.launch(device_.get(), kernel.kernel, &launch), BALEEN_OK);
  ASSERT_EQ(sequences->end(device_.get(), device_.stream(), &sequence), BALEEN_OK) << plugin_.last_failure();
  for (const std::uint64_t step : {6u, 9u}) {
    ASSERT_EQ(sequences->replay(device_.get(), device_.stream(), sequence, 0, step), BALEEN_OK);
    EXPECT_EQ(result(), static_cast<float>(step));
  }
  sequences->release(device_.get(), sequence);
  table.release(device_.get(), kernel.kernel);
  table.arena_destroy(device_.get(), BALEEN_ARENA_PRIVATE, memory, 512);
}

}  // namespace
}  // namespace baleen::conformance
