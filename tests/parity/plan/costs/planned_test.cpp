/// \file Bytes of states, gradients and activations, and bytes sent, within 1 % of the closed form: every strategy, and
/// every two and three that mix. Those that do not are refused with the reason.
#include "parity/plan/planned.hpp"
#include "parity/plan/costs/closed_forms.hpp"

namespace baleen::test {
namespace {

constexpr double kSlack = 0.01;

std::string text_of_length(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += read_file(source_dir() + "/tests/golden/whales.txt");
  return text;
}

class Costs : public ::testing::TestWithParam<CostMix> {
 protected:
  Planned plan(const ModelSizes& sizes, int micro_batches) const {
    const PlannedMix made = planned_mix(GetParam());
    const auto word = [](const char* name, double number) {
      return std::string(name) + "=" + std::to_string(static_cast<long>(number));
    };
    return plan_of("plan/costs/gpt", manifest_of(made.mesh, made.plan + "[compute]\nmemory = 1000000000\n"),
                   {word("layers", sizes.layers), word("dim", sizes.width), word("heads", sizes.heads),
                    word("vocab", sizes.vocabulary), word("context", sizes.context), word("batch", sizes.batch),
                    word("accumulate", micro_batches), "data=" + text_});
  }

 private:
  const TemporaryFolder folder_;
  const std::string text_ = folder_.write("long.txt", text_of_length(4096));
};

/// Of what an axis was split into too.
std::map<std::string, double> sent_by_axis(const PlannedRanks& one) {
  const std::string prefix = "sent_bytes.";
  std::map<std::string, double> sent;
  for (const auto& [key, bytes] : one.numbers) {
    if (!key.starts_with(prefix)) continue;
    const std::string axes = key.substr(key.find('.', prefix.size()) + 1);
    sent[axes.substr(0, axes.find_first_of(".+"))] += bytes;
  }
  return sent;
}

void expect_sent(const PlannedRanks& one, const std::map<std::string, double>& expected) {
  double all = 0;
  for (const auto& [axis, bytes] : expected) all += bytes;
  std::map<std::string, double> sent = sent_by_axis(one);
  for (const auto& [axis, bytes] : expected) EXPECT_NEAR(sent[axis] / bytes, 1, kSlack) << "sent along " << axis;
  for (const auto& [axis, bytes] : sent)
    if (!expected.contains(axis)) {
      EXPECT_LE(bytes, kSlack * all) << "sent along " << axis;
    }
}

TEST_P(Costs, AreThoseOfTheClosedForms) {
  const CostMix& mix = GetParam();
  ModelSizes sizes;
  const Planned one = plan(sizes, 1);
  if (const std::string reason = why_not(mix); !reason.empty()) {
    EXPECT_EQ(one.exit_code, 2);
    EXPECT_NE(one.err.find(reason), std::string::npos) << one.err;
    return;
  }
  ASSERT_EQ(one.exit_code, 0) << one.err;
  const ClosedForms forms = closed_forms(mix, sizes);
  for (const PlannedRanks& ranks : one.classes) {
    EXPECT_NEAR(ranks.bytes("parameters") / forms.parameters, 1, kSlack);
    EXPECT_NEAR(ranks.bytes("optimizer") / forms.optimizer, 1, kSlack);
    if (mix.is_plain()) expect_sent(ranks, forms.sent);
  }
  if (!mix.is_plain()) return;
  // What is held from micro-batch to micro-batch.
  const Planned two = plan(sizes, 2);
  ASSERT_EQ(two.exit_code, 0) << two.err;
  for (const PlannedRanks& ranks : two.classes) {
    EXPECT_NEAR(ranks.numbers.at("held_gradients_bytes") / forms.gradients, 1, kSlack);
    if (mix.has("precision")) {
      EXPECT_NEAR(ranks.bytes("copies") / forms.copies, 1, kSlack);
    }
  }
  sizes.layers += 2;
  const Planned deep = plan(sizes, 1);
  ASSERT_EQ(deep.exit_code, 0) << deep.err;
  ASSERT_EQ(deep.classes.size(), one.classes.size());
  for (std::size_t i = 0; i < one.classes.size(); ++i)
    EXPECT_NEAR((deep.classes[i].bytes("activations") - one.classes[i].bytes("activations")) / 2 / forms.layer, 1,
                kSlack);
}

INSTANTIATE_TEST_SUITE_P(Mixes, Costs, ::testing::ValuesIn(all_mixes()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace baleen::test
