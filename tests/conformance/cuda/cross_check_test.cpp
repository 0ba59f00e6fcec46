/// \file The plugin cuda computes what the plugin cpu computes: ‖got − cpu‖ ≤ limit · ‖cpu‖ per output, from memory
/// that is poisoned first, on inputs that are new in every run. Where operands have 16 bits, the processor computes the
/// same numbers in fp32: what a result may be off is its own rounding.
#include <algorithm>
#include <cmath>
#include <set>

#include "conformance/cuda/cross_check_cases.hpp"

namespace baleen::conformance {
namespace {

/// Which dtypes the operands get: each one of these, drawn anew.
struct Mix {
  const char* name;
  baleen_dtype_t reference;  ///< what the processor computes in
  std::vector<baleen_dtype_t> dtypes;
};

double limit_of(baleen_dtype_t dtype) {
  switch (dtype) {
    case BALEEN_F64: return 1e-13;
    case BALEEN_F32: return 2e-6;
    case BALEEN_F16: return 5e-4;  // half a unit in the last of 11 bits
    default: return 4e-3;          // of 8 bits
  }
}

class CrossCheck : public testing::TestWithParam<Mix> {
 protected:
  void SetUp() override {
    const std::vector<std::string> paths = plugin_paths();
    cuda_ = std::make_unique<Plugin>(paths.at(0));
    cpu_ = std::make_unique<Plugin>(paths.at(1));
    try {
      gpu_device_ = std::make_unique<Device>(*cuda_, std::vector<std::pair<std::string, std::int64_t>>{});
    } catch (const NoHardware& reason) {
      GTEST_SKIP() << reason.what();
    }
    cpu_device_ = std::make_unique<Device>(*cpu_, std::vector<std::pair<std::string, std::int64_t>>{{"pin", 0}});
  }

  /// Gives each operand its dtype, and inputs the values that it holds.
  void choose_dtypes(CrossCase& c, std::mt19937_64& random) const {
    const auto draw = [&] { return GetParam().dtypes[random() % GetParam().dtypes.size()]; };
    static const std::set<std::string> kMoves{"transpose", "reshape", "slice", "concat", "pad", "copy"};
    const baleen_dtype_t common = kMoves.contains(c.op.kind()) ? draw() : 0;  // copies keep the dtype
    const auto choose = [&](Tensor& tensor) {
      if (tensor.integer) return;
      tensor.dtype = common ? common : draw();
      for (double& x : tensor.values) x = stored(x, tensor.dtype);
    };
    for (Tensor& tensor : c.inputs) choose(tensor);
    for (Tensor& tensor : c.outputs) choose(tensor);
    // What a sum is added to has the sum's dtype.
    if (c.op.kind() == "matmul" && c.inputs.size() > 2) c.outputs[0].dtype = c.inputs[2].dtype;
  }

  static std::vector<Tensor> without_dtypes(std::vector<Tensor> tensors) {
    for (Tensor& tensor : tensors) tensor.dtype = 0;
    return tensors;
  }

  /// The gradient of logits that are never stored is rounded to what x and w have in common.
  static double limit_of_output(const CrossCase& c, const Tensor& output) {
    if (output.integer) return 0;
    const bool inner = c.op.kind().starts_with("linear_cross_entropy_") && c.inputs[0].dtype == c.inputs[1].dtype &&
                       output.shape.size() >= c.inputs[1].shape.size();
    return std::max(limit_of(output.dtype), inner ? limit_of(c.inputs[0].dtype) : 0.0);
  }

  void expect_close(const CrossCase& c, const RunOptions& options) {
    SCOPED_TRACE(described(c, options));
    std::vector<Tensor> got = c.outputs, wanted = without_dtypes(c.outputs);
    const baleen_dtype_t reference = GetParam().reference;
    ASSERT_EQ(cpu_device_->run(c.op, without_dtypes(c.inputs), wanted, reference, options), BALEEN_OK)
        << cpu_->last_failure();
    ASSERT_EQ(gpu_device_->run(c.op, c.inputs, got, reference, options), BALEEN_OK) << cuda_->last_failure();
    for (std::size_t k = 0; k < got.size(); ++k) {
      double distance = 0, length = 0;
      for (std::int64_t i = 0; i < got[k].size(); ++i) {
        const double x = got[k][i], y = wanted[k][i];
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        distance += (x - y) * (x - y);
      }
      for (const double y : wanted[k].values) length += std::isfinite(y) ? y * y : 0;
      EXPECT_LE(std::sqrt(distance), limit_of_output(c, c.outputs[k]) * std::sqrt(length)) << "output " << k;
    }
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

  std::unique_ptr<Plugin> cuda_, cpu_;
  std::unique_ptr<Device> gpu_device_, cpu_device_;
};

TEST_P(CrossCheck, EveryOpAgreesWithTheProcessor) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const Compute reference = [&](const OpSpec& op, const std::vector<Tensor>& inputs, std::vector<Tensor> outputs) {
    EXPECT_EQ(cpu_device_->run(op, inputs, outputs, GetParam().reference), BALEEN_OK) << cpu_->last_failure();
    return outputs;
  };
  std::set<std::string> kinds;
  for (CrossCase& c : cross_cases(random, reference)) {
    kinds.insert(c.op.kind());
    choose_dtypes(c, random);
    RunOptions options;
    options.seed = random();
    options.step = random() % 1000;
    for (const Placement placement : {Placement::kPacked, Placement::kGaps, Placement::kReversed}) {
      options.placement = placement;
      expect_close(c, options);
    }
  }
  EXPECT_EQ(kinds.size(), 24u) << "an op has no example";
}

const Mix kMixes[] = {{"fp32", BALEEN_F32, {BALEEN_F32}},
                      {"fp64", BALEEN_F64, {BALEEN_F64}},
                      {"bf16", BALEEN_F32, {BALEEN_BF16}},
                      {"fp16", BALEEN_F32, {BALEEN_F16}},
                      {"mixed", BALEEN_F32, {BALEEN_F32, BALEEN_BF16, BALEEN_F16}}};
INSTANTIATE_TEST_SUITE_P(Cuda, CrossCheck, testing::ValuesIn(kMixes),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace baleen::conformance
