/// \file The plugin cuda computes what the plugin cpu computes: ‖got − cpu‖ ≤ limit · ‖cpu‖ per output, from memory
/// that is poisoned first, on inputs that are new in every run.
#include <cmath>
#include <set>

#include "conformance/cuda/cross_check_cases.hpp"

namespace baleen::conformance {
namespace {

class CrossCheck : public testing::TestWithParam<baleen_dtype_t> {
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

  void expect_close(const CrossCase& c, const RunOptions& options) {
    SCOPED_TRACE(c.name);
    std::vector<Tensor> got = c.outputs, wanted = c.outputs;
    ASSERT_EQ(cpu_device_->run(c.op, c.inputs, wanted, GetParam(), options), BALEEN_OK) << cpu_->last_failure();
    ASSERT_EQ(gpu_device_->run(c.op, c.inputs, got, GetParam(), options), BALEEN_OK) << cuda_->last_failure();
    const double limit = GetParam() == BALEEN_F64 ? 1e-13 : 2e-6;
    for (std::size_t k = 0; k < got.size(); ++k) {
      double distance = 0, length = 0;
      for (std::int64_t i = 0; i < got[k].size(); ++i) {
        const double x = got[k][i], y = wanted[k][i];
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        distance += (x - y) * (x - y);
      }
      for (const double y : wanted[k].values) length += std::isfinite(y) ? y * y : 0;
      EXPECT_LE(std::sqrt(distance), limit * std::sqrt(length)) << "output " << k;
    }
  }

  std::unique_ptr<Plugin> cuda_, cpu_;
  std::unique_ptr<Device> gpu_device_, cpu_device_;
};

TEST_P(CrossCheck, EveryOpAgreesWithTheProcessor) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const Compute reference = [&](const OpSpec& op, const std::vector<Tensor>& inputs, std::vector<Tensor> outputs) {
    EXPECT_EQ(cpu_device_->run(op, inputs, outputs, GetParam()), BALEEN_OK) << cpu_->last_failure();
    return outputs;
  };
  std::set<std::string> kinds;
  for (const CrossCase& c : cross_cases(random, reference)) {
    kinds.insert(c.op.kind());
    RunOptions options;
    options.seed = random();
    options.step = random() % 1000;
    for (const Placement placement : {Placement::kPacked, Placement::kGaps, Placement::kReversed}) {
      options.placement = placement;
      expect_close(c, options);
    }
  }
  EXPECT_EQ(kinds.size(), 23u) << "an op has no example";
}

INSTANTIATE_TEST_SUITE_P(Cuda, CrossCheck, testing::Values(baleen_dtype_t{BALEEN_F32}, baleen_dtype_t{BALEEN_F64}),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

}  // namespace
}  // namespace baleen::conformance
