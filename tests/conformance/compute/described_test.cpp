/// \file Devices that are described and not there (baleen_described_device_t): they answer as the real ones do, take no
/// less scratch, and run nothing.
#include "conformance/compute/mixtures.hpp"
#include "support/seed.hpp"

namespace baleen::conformance {
namespace {

class Described : public ComputeTest {
 protected:
  void SetUp() override {
    ComputeTest::SetUp();
    if (IsSkipped()) return;
    if (!table().query(nullptr, abi(std::string_view(BALEEN_DESCRIBED_DEVICE))))
      GTEST_SKIP() << "a plugin that describes no device";
    described_ = std::make_unique<Device>(
        plugin(), std::vector<std::pair<std::string, std::int64_t>>{{"threads", 2}, {"pin", 0}}, DeviceIs::kDescribed);
  }
  const baleen_compute_t& table() { return plugin().table(); }
  /// Whether it is no processor: then libraries of the device tell the scratch, which a description knows the most of.
  bool has_own_memory() { return table().query(two().get(), abi(std::string_view(BALEEN_DEVICE_MEMORY))) != nullptr; }

  void compare(const CrossCase& c, const RunOptions& options) {
    SCOPED_TRACE(c.name + ", " + name(options.placement));
    const bool takes = two().supports(c.op, c.inputs, c.outputs, dtype(), options);
    ASSERT_EQ(described_->supports(c.op, c.inputs, c.outputs, dtype(), options), takes);
    if (!takes) return;
    ++compared_;
    const auto real = two().compiled(c.op, c.inputs, c.outputs, dtype(), options);
    const auto planned = described_->compiled(c.op, c.inputs, c.outputs, dtype(), options);
    ASSERT_TRUE(real) << real.error().text();
    ASSERT_TRUE(planned) << planned.error().text();
    EXPECT_GE(planned->scratch_bytes, real->scratch_bytes);
    if (!has_own_memory()) {
      EXPECT_EQ(planned->scratch_bytes, real->scratch_bytes);
    }
    EXPECT_EQ(planned->alias_count, real->alias_count);
    EXPECT_EQ(planned->flops, real->flops);
  }

  std::unique_ptr<Device> described_;
  int compared_ = 0;
};

TEST_P(Described, TakesNoLessScratchThanTheDevice) {
  const std::uint64_t seed = test::seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  random.seed(seed);
  const Compute any = [](const OpSpec&, const std::vector<Tensor>&, std::vector<Tensor> outputs) { return outputs; };
  for (const CrossCase& c : cross_cases(random, any)) {
    for (const Placement placement : {Placement::kPacked, Placement::kGaps}) {
      RunOptions options;
      options.placement = placement;
      compare(c, options);
    }
    if (is_double() || c.op.kind() == "pointwise") continue;  // which a device may generate for each mixture anew
    for (const Mixture& mixture : kMixtures) {
      SCOPED_TRACE(mixture.name);
      compare(mixed(c, mixture, compared_ % 2 ? BALEEN_BF16 : BALEEN_F16), {});
    }
  }
  EXPECT_GE(compared_, 2 * 20);
}
/// A product with what stands behind it, and beside it.
TEST_P(Described, TakesNoLessScratchForProductsWithTheirNeighbours) {
  const OpSpec sum = OpSpec("reduce").text("kind", "sum").integer("dims", 0);
  for (const baleen_dtype_t type : {BALEEN_BF16, BALEEN_F32}) {
    CrossCase c{"product and sum", OpSpec("matmul").text("spec", "tm,tn->mn"), {}, {}};
    for (const Shape& shape : {Shape{48, 24}, Shape{48, 16}}) c.inputs.push_back(zeros(shape));
    for (const Shape& shape : {Shape{24, 16}, Shape{16}}) c.outputs.push_back(zeros(shape));
    if (!is_double())
      for (auto* tensors : {&c.inputs, &c.outputs})
        for (Tensor& tensor : *tensors) tensor.dtype = type;
    RunOptions options;
    options.beside = &sum;
    options.beside_input = 1;
    compare(c, options);
  }
}
TEST_P(Described, SaysWhatTheDeviceSays) {
  baleen_device_info_t real{}, planned{};
  real.size = planned.size = sizeof real;
  ASSERT_EQ(table().info(two().get(), &real), BALEEN_OK);
  ASSERT_EQ(table().info(described_->get(), &planned), BALEEN_OK);
  EXPECT_STREQ(planned.name, real.name);
  EXPECT_EQ(planned.private_bytes, real.private_bytes);
  EXPECT_EQ(planned.threads, real.threads);
  EXPECT_EQ(planned.alignment, real.alignment);
  EXPECT_NEAR(static_cast<double>(planned.memory_bytes), static_cast<double>(real.memory_bytes),
              0.2 * static_cast<double>(real.memory_bytes));
  for (const std::string_view power : {BALEEN_DEVICE_MEMORY, BALEEN_DEVICE_LIMITS})
    EXPECT_EQ(table().query(described_->get(), abi(power)), table().query(two().get(), abi(power))) << power;
  EXPECT_EQ(table().query(described_->get(), abi(std::string_view(BALEEN_DEVICE_PEAK))), nullptr);
}
TEST_P(Described, HasNoMemory) {
  void* base = nullptr;
  EXPECT_EQ(table().arena_create(described_->get(), BALEEN_ARENA_PRIVATE, 64, &base), BALEEN_UNSUPPORTED);
  EXPECT_NE(plugin().last_failure().find("described for a plan"), std::string::npos) << plugin().last_failure();
  const baleen_launch_t launch{sizeof launch, nullptr, nullptr, nullptr, 0, 0, 0};
  EXPECT_EQ(table().launch(described_->get(), nullptr, &launch), BALEEN_UNSUPPORTED);
}
BALEEN_COMPUTE_SUITE(Described);

}  // namespace
}  // namespace baleen::conformance
