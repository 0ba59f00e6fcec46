/// \file Attention of 16 bits that is not described to cuDNN: computed by the plugin's own kernel, and said once with
/// the reason.
#include "conformance/compute/harness.hpp"
#include "conformance/compute/members.hpp"

namespace baleen::conformance {
namespace {

struct Sizes {
  std::int64_t queries = 16, keys = 16, width = 8;
  bool causal = false, has_documents = false;
  baleen_dtype_t statistics = BALEEN_F32;
};

class RefusedAttention : public testing::Test {
 protected:
  void run(const Sizes& sizes, Placement placement = Placement::kPacked) {
    const auto draw = [&](Shape shape, baleen_dtype_t dtype) {
      Tensor x = random_tensor(random_, std::move(shape));
      x.dtype = dtype;
      for (double& value : x.values) value = rounded(value, dtype);
      return x;
    };
    const auto zero = [](Shape shape, baleen_dtype_t dtype) {
      Tensor x = zeros(std::move(shape));
      x.dtype = dtype;
      return x;
    };
    const Shape q{2, sizes.queries, 1, sizes.width}, k{2, sizes.keys, 1, sizes.width};
    std::vector<Tensor> inputs{draw(q, BALEEN_BF16), draw(k, BALEEN_BF16), draw(k, BALEEN_BF16)};
    if (sizes.has_documents)
      inputs.insert(inputs.end(), {zero({2, sizes.queries}, BALEEN_I32), zero({2, sizes.keys}, BALEEN_I32)});
    std::vector<Tensor> outputs{zero(q, BALEEN_BF16), zero({2, 1, sizes.queries}, sizes.statistics)};
    RunOptions options;
    options.placement = placement;
    ASSERT_EQ(device_.run(OpSpec("attention").integer("causal", sizes.causal).number("scale", 0.5), inputs, outputs,
                          BALEEN_BF16, options),
              BALEEN_OK)
        << plugin_.last_failure();
  }
  int said(const std::string& why) const {
    const std::string log = plugin_.log(), line = "is computed by a slower kernel of the plugin's own: " + why;
    int found = 0;
    for (std::size_t at = log.find(line); at != log.npos; at = log.find(line, at + 1)) ++found;
    return found;
  }

  Plugin plugin_{plugin_paths().at(0)};
  Device device_{plugin_, {}};
  std::mt19937_64 random_{7};
};

TEST_F(RefusedAttention, IsToldOnceWithTheReason) {
  run({});
  EXPECT_EQ(said(""), 0) << plugin_.log();
  const std::string place =
      "cuDNN takes heads whose width is a multiple of 8, and rows that begin at multiples of 16 bytes";
  for (int twice = 0; twice < 2; ++twice) {
    run({.width = 12});
    run({.keys = 24, .causal = true});
    run({.queries = 17, .keys = 17, .has_documents = true});
  }
  EXPECT_EQ(said(place), 1) << plugin_.log();
  EXPECT_EQ(said("it is causal, and has another number of queries than of keys"), 1) << plugin_.log();
  EXPECT_EQ(said("it is masked by documents"), 1) << plugin_.log();
  EXPECT_EQ(said(""), 3) << plugin_.log();
}

TEST_F(RefusedAttention, IsToldWhereAddressesAreOdd) {
  run({});
  for (int twice = 0; twice < 2; ++twice) run({}, Placement::kShifted);
  EXPECT_EQ(said("an operand does not begin at a multiple of 16 bytes"), 1) << plugin_.log();
}

}  // namespace
}  // namespace baleen::conformance
