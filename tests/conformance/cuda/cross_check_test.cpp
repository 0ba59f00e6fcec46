/// \file The plugin cuda computes what the plugin cpu computes: ‖got − cpu‖ ≤ limit · ‖cpu‖ per output, from memory
/// that is poisoned first, on inputs that are new in every run. Where operands have 16 bits, the processor computes the
/// same numbers in fp32: what a result may be off is its own rounding.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "conformance/compute/members.hpp"
#include "conformance/cuda/cross_check_cases.hpp"
#include "support/seed.hpp"

namespace baleen::conformance {
namespace {

/// Which dtypes the operands get: each one of these, drawn anew.
struct Mix {
  const char* name;
  baleen_dtype_t reference;  ///< what the processor computes in
  std::vector<baleen_dtype_t> dtypes;
  bool small_in_fp32 = false;  ///< operands of fewer dimensions than the largest: statistics, losses, parameters
};

double limit_of(baleen_dtype_t dtype) {
  switch (dtype) {
    case BALEEN_F64: return 1e-13;
    case BALEEN_F32: return 2e-6;
    case BALEEN_F16: return 5e-4;  // half a unit in the last of 11 bits
    default: return 4e-3;          // of 8 bits
  }
}

/// Both devices.
class Devices : public testing::Test {
 protected:
  void SetUp() override { open({}); }
  void open(const std::vector<std::pair<std::string, std::int64_t>>& options) {
    const std::vector<std::string> paths = plugin_paths();
    gpu_device_.reset();
    cpu_device_.reset();
    cuda_ = std::make_unique<Plugin>(paths.at(0));
    cpu_ = std::make_unique<Plugin>(paths.at(1));
    try {
      gpu_device_ = std::make_unique<Device>(*cuda_, options);
    } catch (const NoHardware& reason) {
      if (members().emulated) throw;  // what this build makes itself is there
      GTEST_SKIP() << "needs a device: " << reason.what();
    }
    cpu_device_ = std::make_unique<Device>(*cpu_, std::vector<std::pair<std::string, std::int64_t>>{{"pin", 0}});
  }

  static std::vector<Tensor> without_dtypes(std::vector<Tensor> tensors) {
    for (Tensor& tensor : tensors) tensor.dtype = 0;
    return tensors;
  }

  /// The gradient of logits that are never stored is rounded to the dtype that x and w share, whatever theirs have.
  static double limit_of_output(const CrossCase& c, const Tensor& output) {
    if (output.integer) return 0;
    const bool inner = c.op.kind().starts_with("linear_cross_entropy_") && c.inputs[0].dtype == c.inputs[1].dtype &&
                       output.shape.size() >= c.inputs[1].shape.size();
    return std::max(limit_of(output.dtype), inner ? limit_of(c.inputs[0].dtype) : 0.0);
  }

  void expect_close(const CrossCase& c, const RunOptions& options, baleen_dtype_t reference) {
    SCOPED_TRACE(described(c, options));
    std::vector<Tensor> got = c.outputs, wanted = without_dtypes(c.outputs);
    ASSERT_EQ(cpu_device_->run(c.op, without_dtypes(c.inputs), wanted, reference, options), BALEEN_OK)
        << cpu_->last_failure();
    ASSERT_EQ(gpu_device_->run(c.op, c.inputs, got, reference, options), BALEEN_OK) << cuda_->last_failure();
    for (std::size_t k = 0; k < got.size(); ++k) {
      SCOPED_TRACE("output " + std::to_string(k));
      expect_near(got[k], wanted[k], limit_of_output(c, c.outputs[k]));
    }
  }

  static void expect_near(const Tensor& got, const Tensor& wanted, double limit) {
    double distance = 0, length = 0;
    for (std::int64_t i = 0; i < got.size(); ++i) {
      const double x = got[i], y = wanted[i];
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      distance += (x - y) * (x - y);
    }
    for (const double y : wanted.values) length += std::isfinite(y) ? y * y : 0;
    EXPECT_LE(std::sqrt(distance), limit * std::sqrt(length));
  }

  static std::string described(const CrossCase& c, const RunOptions& options) {
    std::string text = c.name + ", " + name(options.placement) + ":";
    for (const std::vector<Tensor>* tensors : {&c.inputs, &c.outputs}) {
      for (const Tensor& tensor : *tensors)
        text += " " + std::string(dtype_name(tensor.integer ? BALEEN_I32 : tensor.dtype));
      if (tensors == &c.inputs) text += " ->";
    }
    return text;
  }

  /// What the processor computes.
  Compute reference(baleen_dtype_t dtype) {
    return [this, dtype](const OpSpec& op, const std::vector<Tensor>& inputs, std::vector<Tensor> outputs) {
      EXPECT_EQ(cpu_device_->run(op, inputs, outputs, dtype), BALEEN_OK) << cpu_->last_failure();
      return outputs;
    };
  }

  std::unique_ptr<Plugin> cuda_, cpu_;
  std::unique_ptr<Device> gpu_device_, cpu_device_;
};

class CrossCheck : public Devices, public testing::WithParamInterface<Mix> {
 protected:
  /// Gives each operand its dtype, and inputs the values that it holds.
  void choose_dtypes(CrossCase& c, std::mt19937_64& random) const {
    const auto draw = [&] { return GetParam().dtypes[random() % GetParam().dtypes.size()]; };
    static const std::set<std::string> moves{"transpose", "reshape", "slice", "concat", "pad", "copy"};
    const baleen_dtype_t common = moves.contains(c.op.kind()) ? draw() : 0;  // copies keep the dtype
    std::size_t largest = 0;
    for (const std::vector<Tensor>* tensors : {&c.inputs, &c.outputs})
      for (const Tensor& tensor : *tensors) largest = std::max(largest, tensor.shape.size());
    const auto choose = [&](Tensor& tensor) {
      if (tensor.integer) return;
      const bool in_fp32 = GetParam().small_in_fp32 && tensor.shape.size() < largest;
      tensor.dtype = common ? common : in_fp32 ? BALEEN_F32 : draw();
      for (double& x : tensor.values) x = rounded(x, tensor.dtype);
    };
    for (Tensor& tensor : c.inputs) choose(tensor);
    for (Tensor& tensor : c.outputs) choose(tensor);
    // What a sum is added to has the sum's dtype.
    if (c.op.kind() == "matmul" && c.inputs.size() > 2) c.outputs[0].dtype = c.inputs[2].dtype;
  }
};

TEST_P(CrossCheck, EveryOpAgreesWithTheProcessor) {
  const std::uint64_t seed = test::seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::set<std::string> kinds;
  for (CrossCase& c : cross_cases(random, reference(GetParam().reference))) {
    kinds.insert(c.op.kind());
    choose_dtypes(c, random);
    RunOptions options;
    options.seed = random();
    options.step = random() % 1000;
    for (const Placement placement : kPlacements) {
      options.placement = placement;
      expect_close(c, options, GetParam().reference);
    }
  }
  EXPECT_EQ(kinds.size(), 24u) << "an op has no example";
}

const Mix kMixes[] = {{"fp32", BALEEN_F32, {BALEEN_F32}},
                      {"fp64", BALEEN_F64, {BALEEN_F64}},
                      {"bf16", BALEEN_F32, {BALEEN_BF16}},
                      {"fp16", BALEEN_F32, {BALEEN_F16}},
                      {"bf16_with_fp32_statistics", BALEEN_F32, {BALEEN_BF16}, true},
                      {"fp16_with_fp32_statistics", BALEEN_F32, {BALEEN_F16}, true},
                      {"mixed", BALEEN_F32, {BALEEN_F32, BALEEN_BF16, BALEEN_F16}}};
INSTANTIATE_TEST_SUITE_P(Cuda, CrossCheck, testing::ValuesIn(kMixes),
                         [](const auto& info) { return std::string(info.param.name); });

/// What the emulated libraries were asked for while one lives; empty on a device.
class LibraryLog {
 public:
  LibraryLog() : path_(testing::TempDir() + "cross_check_" + std::to_string(getpid()) + ".txt") {
    std::remove(path_.c_str());
    setenv("EMULATED_CUDA_LOG", path_.c_str(), 1);
  }
  ~LibraryLog() {
    unsetenv("EMULATED_CUDA_LOG");
    std::remove(path_.c_str());
  }
  LibraryLog(const LibraryLog&) = delete;
  LibraryLog& operator=(const LibraryLog&) = delete;

  std::string text() const {
    std::ifstream file(path_);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  /// Calls of a library behind launches, and before them where the plugin compiled: these are on an earlier stream.
  struct Calls {
    std::ptrdiff_t launched = 0, tried = 0;
  };
  Calls calls() const {
    const std::string all = text(), behind = "on stream ";
    std::map<unsigned long, std::ptrdiff_t> by_stream;
    for (std::size_t at = all.find(behind); at != all.npos; at = all.find(behind, at + 1))
      ++by_stream[std::stoul(all.substr(at + behind.size()))];
    EXPECT_LE(by_stream.size(), 2u) << all;
    Calls calls;
    if (!by_stream.empty()) calls.launched = by_stream.rbegin()->second;
    if (by_stream.size() > 1) calls.tried = by_stream.begin()->second;
    return calls;
  }

 private:
  std::string path_;
};
const bool kEmulated = members().emulated;

class SixteenBits : public Devices {
 protected:
  void attention(baleen_dtype_t dtype, bool causal, std::int64_t groups, bool deterministic, std::mt19937_64& random) {
    const Shape q{2, 70, 4, 24}, k{2, 70, groups, 24}, lse{2, 4, 70};
    const auto draw = [&](const Shape& shape) {
      Tensor x = random_tensor(random, shape);
      for (double& value : x.values) value = rounded(value, dtype);
      x.dtype = dtype;
      return x;
    };
    const auto in = [](Tensor x, baleen_dtype_t type) {
      x.dtype = type;
      return x;
    };
    const auto spec = [&](const char* kind) { return OpSpec(kind).integer("causal", causal).number("scale", 0.2); };
    CrossCase forward{"attention", spec("attention"), {draw(q), draw(k), draw(k)}, {}};
    forward.outputs = {in(zeros(q), dtype), in(zeros(lse), BALEEN_F32)};
    RunOptions shifted;  // statistics at an address that cuDNN does not take
    shifted.placement = Placement::kLastShifted;
    expect_close(forward, shifted, BALEEN_F32);
    const LibraryLog log;
    expect_close(forward, {}, BALEEN_F32);
    const auto given =
        reference(BALEEN_F32)(forward.op, without_dtypes(forward.inputs), without_dtypes(forward.outputs));
    CrossCase backward{"attention_grad", spec("attention_grad"), forward.inputs, {}};
    Tensor o = in(given[0], dtype);
    for (double& value : o.values) value = rounded(value, dtype);
    backward.inputs.insert(backward.inputs.end(), {o, in(given[1], BALEEN_F32), draw(q)});
    backward.outputs = {in(zeros(q), dtype), in(zeros(k), dtype), in(zeros(k), dtype)};
    expect_close(backward, {}, BALEEN_F32);
    if (!kEmulated) return;
    const std::string said = log.text();
    EXPECT_EQ(log.calls().launched, 2) << said;
    EXPECT_EQ(log.calls().tried, 1) << "forward it was before: " << said;
    EXPECT_EQ(said.find("may vary") == said.npos, deterministic) << said;
  }
};

/// Of very many short sequences the scores' gradient, in whole tiles, is more than 1 GiB: three slices of the batch.
TEST_F(SixteenBits, OfAttentionOfALargeBatchGoInSlices) {
  constexpr std::int64_t kSlice = 11004;  // two slices would do, but the second one's statistics would begin oddly
  const std::uint64_t seed = test::seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const Shape q{3 * kSlice, 3, 1, 8}, lse{3 * kSlice, 1, 3};
  const auto draw = [&](const Shape& shape, baleen_dtype_t dtype) {
    Tensor x = random_tensor(random, shape);
    for (double& value : x.values) value = rounded(value, dtype);
    x.dtype = dtype;
    return x;
  };
  const auto in = [](Tensor x, baleen_dtype_t dtype) {
    for (double& value : x.values) value = rounded(value, dtype);
    x.dtype = dtype;
    return x;
  };
  const auto spec = [](const char* kind) { return OpSpec(kind).integer("causal", 1).number("scale", 0.3); };
  CrossCase backward{"attention_grad", spec("attention_grad"), {}, {}};
  for (int i = 0; i < 3; ++i) backward.inputs.push_back(draw(q, BALEEN_BF16));
  const auto given = reference(BALEEN_F32)(spec("attention"), without_dtypes(backward.inputs), {zeros(q), zeros(lse)});
  backward.inputs.insert(backward.inputs.end(),
                         {in(given[0], BALEEN_BF16), in(given[1], BALEEN_F32), draw(q, BALEEN_BF16)});
  for (int i = 0; i < 3; ++i) backward.outputs.push_back(in(zeros(q), BALEEN_BF16));
  const LibraryLog log;
  expect_close(backward, {}, BALEEN_F32);
  if (!kEmulated) return;
  EXPECT_EQ(log.calls().launched, 3) << log.text();
  EXPECT_EQ(log.calls().tried, 3) << log.text();
  EXPECT_EQ(log.text().find("may vary"), std::string::npos) << log.text();
}

TEST_F(SixteenBits, OfAttentionAreCuDnns) {
  const std::uint64_t seed = test::seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const bool deterministic : {true, false}) {
    open({{"deterministic", deterministic}});
    for (const baleen_dtype_t dtype : {BALEEN_BF16, BALEEN_F16})
      for (const bool causal : {true, false})
        for (const std::int64_t groups : {4, 2}) attention(dtype, causal, groups, deterministic, random);
  }
}
/// Emulated libraries tell which of them computed; a device does not.
class SixteenBitsTold : public SixteenBits, public testing::WithParamInterface<int> {};

/// 14 is CUDA_R_16BF, 2 CUDA_R_16F, 0 CUDA_R_32F. Operands that differ are multiplied in fp32.
TEST_P(SixteenBitsTold, OfProductsAreCublasLts) {
  std::mt19937_64 random(7);
  for (const auto& [left, right, result, said] :
       {std::tuple{BALEEN_BF16, BALEEN_BF16, BALEEN_BF16, "operands of type 14, results of type 14"},
        {BALEEN_BF16, BALEEN_BF16, BALEEN_F32, "operands of type 14, results of type 0"},
        {BALEEN_F16, BALEEN_F16, BALEEN_F16, "operands of type 2, results of type 2"},
        {BALEEN_F16, BALEEN_F16, BALEEN_F32, "operands of type 2, results of type 0"},
        {BALEEN_BF16, BALEEN_F32, BALEEN_BF16, "operands of type 0, results of type 0"},
        {BALEEN_F16, BALEEN_BF16, BALEEN_F32, "operands of type 0, results of type 0"},
        {BALEEN_F32, BALEEN_F32, BALEEN_F16, "operands of type 0, results of type 0"}}) {
    const LibraryLog log;
    Tensor a = random_tensor(random, {37, 48}), b = random_tensor(random, {48, 40}), y = zeros({37, 40});
    a.dtype = left;
    b.dtype = right;
    y.dtype = result;
    for (Tensor* x : {&a, &b})
      for (double& value : x->values) value = rounded(value, x->dtype);
    expect_close({"matmul", OpSpec("matmul").text("spec", "mk,kn->mn"), {a, b}, {y}}, {}, BALEEN_F32);
    EXPECT_NE(log.text().find(said), std::string::npos) << log.text();
  }
}
/// The logits' gradient is rounded to what x and w share, also for gradients of fp32: no operand is one.
TEST_P(SixteenBitsTold, OfTheHeadStayBesideGradientsOfFp32) {
  std::mt19937_64 random(11);
  const Shape rows{3, 11}, x{3, 11, 24};
  const auto in = [](Tensor tensor, baleen_dtype_t dtype) {
    tensor.dtype = dtype;
    for (double& value : tensor.values) value = rounded(value, dtype);
    return tensor;
  };
  for (const baleen_dtype_t dtype : {BALEEN_BF16, BALEEN_F16})
    for (const auto& [dx, dw] : std::vector<std::pair<baleen_dtype_t, baleen_dtype_t>>{
             {dtype, BALEEN_F32}, {BALEEN_F32, dtype}, {BALEEN_F32, BALEEN_F32}})
      for (const bool transposed : {false, true}) {
        const Shape w = transposed ? Shape{65, 24} : Shape{24, 65};
        const OpSpec op = OpSpec("linear_cross_entropy_and_grad")
                              .integer("ignore_index", -100)
                              .number("smoothing", 0.1)
                              .integer("transposed", transposed);
        const CrossCase c{
            "head",
            op,
            {in(random_tensor(random, x), dtype), in(random_tensor(random, w), dtype), random_ids(random, rows, 0, 64),
             in(random_tensor(random, rows), BALEEN_F32)},
            {in(zeros(rows), BALEEN_F32), in(zeros(rows), BALEEN_F32), in(zeros(x), dx), in(zeros(w), dw)}};
        const LibraryLog log;
        expect_close(c, {}, BALEEN_F32);
        const std::string said = log.text();
        EXPECT_EQ(said.find("operands of type 0"), said.npos) << said;
        EXPECT_EQ(log.calls().launched, 3) << "logits and two gradients: " << said;
      }
}
/// With `half_logits` loss and gradients are those of rounded logits. Of operands in eighths all logits are exact, so
/// their rounding is known to the bit.
TEST_F(SixteenBits, OfLogitsAreRoundedOnRequest) {
  std::mt19937_64 random(test::seed());
  const Shape rows{3, 11}, x{3, 11, 24}, w{24, 65}, logits{3, 11, 65};
  const auto eighths = [&](const Shape& shape, baleen_dtype_t dtype) {
    Tensor tensor = random_tensor(random, shape);
    tensor.dtype = dtype;
    for (double& value : tensor.values) value = std::round(std::clamp(value, -1.0, 1.0) * 8) / 8;
    return tensor;
  };
  const auto of_loss = [](const char* kind) {
    return OpSpec(kind).integer("ignore_index", -100).number("smoothing", 0.1);
  };
  const auto of_product = [](const char* spec) { return OpSpec("matmul").text("spec", spec); };
  for (const baleen_dtype_t dtype : {BALEEN_BF16, BALEEN_F16}) {
    const std::vector<Tensor> in{eighths(x, dtype), eighths(w, dtype), random_ids(random, rows, 0, 64),
                                 eighths(rows, BALEEN_F32)};
    const Compute cpu = reference(BALEEN_F32);
    const auto rounds = [dtype](Tensor tensor) {
      for (double& value : tensor.values) value = rounded(value, dtype);
      return tensor;
    };
    const Tensor exact = cpu(of_product("btd,dv->btv"), without_dtypes({in[0], in[1]}), {zeros(logits)})[0];
    for (const bool half : {false, true}) {
      SCOPED_TRACE(std::string(dtype_name(dtype)) + (half ? ", half_logits" : ""));
      const Tensor used = half ? rounds(exact) : exact;
      const auto losses = cpu(of_loss("cross_entropy"), {used, in[2]}, {zeros(rows), zeros(rows)});
      const Tensor gradient = rounds(
          cpu(of_loss("cross_entropy_grad"), {used, in[2], losses[1], without_dtypes({in[3]})[0]}, {zeros(logits)})[0]);
      const Tensor dx = cpu(of_product("btv,dv->btd"), without_dtypes({gradient, in[1]}), {zeros(x)})[0];
      const Tensor dw = cpu(of_product("btd,btv->dv"), without_dtypes({in[0], gradient}), {zeros(w)})[0];
      open({{"half_logits", half}});
      std::vector<Tensor> loss{zeros(rows), zeros(rows)}, both{zeros(rows), zeros(rows), zeros(x), zeros(w)};
      for (std::vector<Tensor>* const tensors : {&loss, &both})
        for (Tensor& tensor : *tensors) tensor.dtype = BALEEN_F32;
      ASSERT_EQ(gpu_device_->run(of_loss("linear_cross_entropy"), {in[0], in[1], in[2]}, loss, BALEEN_F32), BALEEN_OK);
      ASSERT_EQ(gpu_device_->run(of_loss("linear_cross_entropy_and_grad"), in, both, BALEEN_F32), BALEEN_OK);
      for (std::size_t k = 0; k < 2; ++k) {
        expect_near(loss[k], losses[k], limit_of(BALEEN_F32));
        expect_near(both[k], losses[k], limit_of(BALEEN_F32));
      }
      expect_near(both[2], dx, limit_of(dtype));
      expect_near(both[3], dw, limit_of(dtype));
    }
  }
}
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SixteenBitsTold);
INSTANTIATE_TEST_SUITE_P(Emulated, SixteenBitsTold, testing::Range(0, members().emulated ? 1 : 0));

class Sums : public Devices {
 protected:
  /// The product by `spec`, of which `t` is summed, and the sum of its operand number `summed`: in one region, against
  /// the processor's two ops. Returns what cuBLASLt was asked for first.
  std::string beside(baleen_dtype_t dtype, const std::string& spec, std::size_t summed, Placement placement) {
    SCOPED_TRACE(spec + " " + std::string(dtype_name(dtype)));
    const auto shape = [&](std::size_t at) {
      const auto extent = [](char letter) { return std::int64_t{letter == 't' ? 50 : letter == 'm' ? 24 : 16}; };
      return Shape{extent(spec[at]), extent(spec[at + 1])};
    };
    const auto of_dtype = [&](Tensor x) {
      x.dtype = dtype;
      for (double& value : x.values) value = rounded(value, dtype);
      return x;
    };
    const std::vector<Tensor> inputs{of_dtype(random_tensor(random_, shape(0))),
                                     of_dtype(random_tensor(random_, shape(3)))};
    const std::size_t depth = spec[summed * 3] == 't' ? 0 : 1;
    const OpSpec product = OpSpec("matmul").text("spec", spec);
    const OpSpec sum = OpSpec("reduce").text("kind", "sum").integer("dims", static_cast<std::int64_t>(depth));
    std::vector<Tensor> got{of_dtype(zeros(shape(7))), of_dtype(zeros({inputs[summed].shape[1 - depth]}))};
    const auto wanted = [&](const OpSpec& op, const std::vector<Tensor>& operands, const Tensor& result) {
      return reference(BALEEN_F32)(op, without_dtypes(operands), without_dtypes({result}))[0];
    };
    const Tensor products = wanted(product, inputs, got[0]), sums = wanted(sum, {inputs[summed]}, got[1]);
    const LibraryLog log;
    RunOptions options;
    options.placement = placement;
    options.beside = &sum;
    options.beside_input = summed;
    EXPECT_EQ(gpu_device_->run(product, inputs, got, dtype, options), BALEEN_OK) << cuda_->last_failure();
    expect_near(got[0], products, limit_of(dtype));
    expect_near(got[1], sums, limit_of(dtype));
    const std::string said = log.text();  // what is tried comes before the launch
    const std::size_t at = said.rfind("product");
    return at == said.npos ? "" : said.substr(at, said.find('\n', at) - at);
  }

 private:
  std::mt19937_64 random_{test::seed()};
};

/// Gradients of a weight and of its bias in one call: 256 is the sum of cuBLASLt's left operand, 512 of its right one,
/// which are ours in some order. A sum at an address that it does not take is a kernel's.
TEST_F(Sums, OfOperandsAreMadeBesideProducts) {
  for (const baleen_dtype_t dtype : {BALEEN_F32, BALEEN_BF16, BALEEN_F16})
    for (const char* spec : {"tm,tn->mn", "mt,nt->mn"})
      for (const std::size_t summed : {0u, 1u}) {
        const std::string joined = beside(dtype, spec, summed, Placement::kPacked);
        const std::string apart = beside(dtype, spec, summed, Placement::kLastShifted);
        if (!kEmulated) continue;
        EXPECT_EQ(joined, "product with epilogue " + std::to_string(summed == 0 ? 512 : 256)) << spec;
        EXPECT_EQ(apart, "product with epilogue 1") << spec;
      }
}
/// fp64 stays among itself, and what a sum is added to has the sum's dtype.
TEST_F(SixteenBits, AreRefusedWhereNoKernelTakesThem) {
  const auto of = [](baleen_dtype_t dtype, const Shape& shape) {
    Tensor x = zeros(shape);
    x.dtype = dtype;
    return x;
  };
  const OpSpec product = OpSpec("matmul").text("spec", "mk,kn->mn"), softmax("softmax");
  const Shape s{4, 4};
  const auto takes = [&](const OpSpec& op, const std::vector<Tensor>& in, const Tensor& out) {
    return gpu_device_->supports(op, in, {out}, BALEEN_F32);
  };
  EXPECT_TRUE(takes(softmax, {of(BALEEN_BF16, s)}, of(BALEEN_F16, s)));
  EXPECT_FALSE(takes(softmax, {of(BALEEN_BF16, s)}, of(BALEEN_F64, s)));
  EXPECT_TRUE(takes(product, {of(BALEEN_BF16, s), of(BALEEN_F32, s)}, of(BALEEN_F16, s)));
  EXPECT_TRUE(takes(product, {of(BALEEN_BF16, s), of(BALEEN_BF16, s), of(BALEEN_F32, s)}, of(BALEEN_F32, s)));
  EXPECT_FALSE(takes(product, {of(BALEEN_BF16, s), of(BALEEN_BF16, s), of(BALEEN_F32, s)}, of(BALEEN_BF16, s)));
  EXPECT_FALSE(takes(OpSpec("copy"), {of(BALEEN_BF16, s)}, of(BALEEN_F32, s)));
}

}  // namespace
}  // namespace baleen::conformance
