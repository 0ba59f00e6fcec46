/// \file Activation bytes per transformer layer: Korthikanti et al., arXiv 2205.05198, table 2, for attention that
/// never stores its scores.
///
/// What a layer keeps from its forward to its backward pass, in elements (b rows, s tokens, h wide, a heads), and over
/// how many ranks it is cut:
///
///   tensor                                             elements    none   TP   TP+SP
///   x, which the first norm reads                      bsh         1      1    t
///   mean and 1/deviation of its rows                   2 bs        1      1    t
///   the first norm's result, which qkv multiplies      bsh         1      1    t  (gathered again in backward)
///   q, k, v                                            3 bsh       1      t    t
///   the result of attention, which `out` multiplies    bsh         1      t    t
///   the log-sum-exp of each row of scores              a bs        1      t    t
///   x, which the second norm reads                     bsh         1      1    t
///   mean and 1/deviation of its rows                   2 bs        1      1    t
///   the second norm's result, which `up` multiplies    bsh         1      1    t  (gathered again in backward)
///   what gelu reads                                    4 bsh       1      t    t
///   what it gives, which `down` multiplies             4 bsh       1      t    t
///
/// Together 16 bsh: the paper's 34 sbh bytes are these at 2 bytes each and two dropout masks of a byte. Here all is
/// fp32, 4 bytes; masks are not kept (random bits are functions of their position), gelu's result is not recomputed;
/// the statistics of norms and the log-sum-exps, which the paper leaves out, are counted; its 5as/h, the scores, are
/// not there. Of the 16, 4 (the paper's 10 with the masks) are whole under TP alone.
#include "parity/plan/planned.hpp"

namespace baleen::test {
namespace {

#if defined(BALEEN_TEST_TENSOR) && defined(BALEEN_TEST_SEQUENCE)

/// So many tokens to a width that what backward passes leave, 12 h² of gradients in place of 16 bsh, moves the peak to
/// the beginning of the backward pass; extents that t and the arena's alignment divide, so that nothing is padded.
constexpr double kBatch = 8, kSequence = 64, kWidth = 32, kHeads = 8, kBytes = 4;

enum class Way { none, tensor, tensor_and_sequence };

class ActivationTable : public ::testing::TestWithParam<std::tuple<Way, int, const char*>> {
 protected:
  Way way() const { return std::get<0>(GetParam()); }
  int ranks() const { return std::get<1>(GetParam()); }
  std::string manifest() const {
    std::string plan;
    if (way() != Way::none) plan += "[[plan]]\nstrategy = \"tensor\"\nmode = \"1d\"\n";
    if (way() == Way::tensor_and_sequence) plan += "[[plan]]\nstrategy = \"sequence\"\nmode = \"megatron\"\n";
    return manifest_of({{"tensor", ranks()}}, plan);
  }
  std::vector<std::string> arguments(int layers) const {
    std::vector<std::string> all{"batch=8", "context=64",    "dim=32",
                                 "heads=8", "data=" + text_, "layers=" + std::to_string(layers)};
    if (const std::string more = std::get<2>(GetParam()); !more.empty()) all.push_back(more);
    return all;
  }
  double per_layer() const {
    const double t = ranks(), rows = kBatch * kSequence, all = 16 * rows * kWidth + (4 + kHeads) * rows;
    if (way() == Way::tensor_and_sequence) return kBytes * all / t;
    const double whole = 4 * rows * kWidth + 4 * rows;
    return kBytes * (whole + (all - whole) / t);
  }

 private:
  const TemporaryFolder folder_;
  const std::string text_ = folder_.write("long.txt", [] {
    std::string text;
    while (text.size() < 4096) text += read_file(source_dir() + "/tests/golden/whales.txt");
    return text;
  }());
};

/// Exactly: the difference of plans with 3 and 6 layers, on every rank.
TEST_P(ActivationTable, HoldsInAPlan) {
  const Planned three = plan_of("gpt", manifest(), arguments(3)), six = plan_of("gpt", manifest(), arguments(6));
  ASSERT_EQ(three.exit_code, 0) << three.err;
  ASSERT_EQ(three.classes.size(), six.classes.size());
  for (std::size_t i = 0; i < three.classes.size(); ++i) {
    const PlannedRanks &few = three.classes[i], &many = six.classes[i];
    EXPECT_EQ(many.bytes("activations") - few.bytes("activations"), 3 * per_layer());
    EXPECT_EQ(many.numbers.at("working_bytes") - few.numbers.at("working_bytes"), 3 * per_layer());
  }
}

class ActivationsOfARun : public ActivationTable {};

/// What ranks of a run say that they hold.
TEST_P(ActivationsOfARun, AreThoseOfTheTable) {
  const auto one = account_of("gpt", manifest(), ranks(), arguments(1)),
             three = account_of("gpt", manifest(), ranks(), arguments(3));
  for (std::size_t rank = 0; rank < one.size(); ++rank)
    EXPECT_EQ(three[rank].at("planned_bytes.activations") - one[rank].at("planned_bytes.activations"), 2 * per_layer());
}

std::string name_of(const ::testing::TestParamInfo<ActivationTable::ParamType>& info) {
  const auto& [way, ranks, more] = info.param;
  return std::string(way == Way::none     ? "None"
                     : way == Way::tensor ? "Tensor"
                                          : "TensorAndSequence") +
         std::to_string(ranks) + (*more ? "Dropout" : "");
}

constexpr const char *kPlain = "", *kDropout = "dropout=0.1";
INSTANTIATE_TEST_SUITE_P(OneRank, ActivationTable,
                         ::testing::Combine(::testing::Values(Way::none), ::testing::Values(1),
                                            ::testing::Values(kPlain, kDropout)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Ranks, ActivationTable,
                         ::testing::Combine(::testing::Values(Way::tensor, Way::tensor_and_sequence),
                                            ::testing::Values(2, 4, 8), ::testing::Values(kPlain, kDropout)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Ranks, ActivationsOfARun,
                         ::testing::Combine(::testing::Values(Way::tensor, Way::tensor_and_sequence),
                                            ::testing::Values(2), ::testing::Values(kPlain, kDropout)),
                         name_of);

#endif

}  // namespace
}  // namespace baleen::test
