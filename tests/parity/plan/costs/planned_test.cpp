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

/// The mean over ranks.
std::map<std::string, double> mean_sent(const Planned& plan) {
  std::map<std::string, double> sent;
  double ranks = 0;
  for (const PlannedRanks& one : plan.classes) {
    ranks += one.numbers.at("count");
    for (const auto& [axis, bytes] : sent_by_axis(one)) sent[axis] += bytes * one.numbers.at("count");
  }
  for (auto& [axis, bytes] : sent) bytes /= ranks;
  return sent;
}

void expect_sent(std::map<std::string, double> sent, const std::map<std::string, double>& expected) {
  double all = 0;
  for (const auto& [axis, bytes] : expected) all += bytes;
  for (const auto& [axis, bytes] : expected) EXPECT_NEAR(sent[axis] / bytes, 1, kSlack) << "sent along " << axis;
  for (const auto& [axis, bytes] : sent)
    if (!expected.contains(axis)) {
      EXPECT_LE(bytes, kSlack * all) << "sent along " << axis;
    }
}

/// What strategies say of a kind of cost is what is written out here, and what is planned.
void expect_form(const PlannedRanks& one, const std::string& of, double expected, double planned_share = 1) {
  const auto found = one.forms.find(of);
  ASSERT_NE(found, one.forms.end()) << "no closed form of " << of;
  EXPECT_NEAR(found->second.formula / expected, 1, kSlack) << of << found->second.text;
  EXPECT_NEAR(found->second.planned / found->second.formula, planned_share, kSlack) << of << found->second.text;
  EXPECT_EQ(found->second.off, std::abs(found->second.planned / found->second.formula - 1) > kSlack);
  EXPECT_NE(found->second.text.find(": "), std::string::npos) << of << " without its strategy and formula";
}

void expect_forms_of_states(const PlannedRanks& one, const ClosedForms& forms) {
  expect_form(one, "parameters", forms.parameters);
  expect_form(one, "optimizer", forms.optimizer);
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
    // Where a piece of rows changes its place, some ranks keep theirs.
    expect_sent(mix.has_summa() && mix.has("3d") ? mean_sent(one) : sent_by_axis(ranks), forms.sent);
    if (mix.members == std::vector<std::string>{"precision"}) continue;  // one rank has no axis to speak of
    expect_forms_of_states(ranks, forms);
    if (!mix.is_said()) continue;
    for (const auto& [axis, bytes] : forms.sent) {
      // Ulysses does not know that beside a cube what attention gives is gathered once more.
      const bool more = mix.has("3d") && mix.has("ulysses") && axis == (mix.has("ring") ? "heads" : "sequence");
      const double plain = more ? ranks.forms.at("sent along " + axis).formula : bytes;
      expect_form(ranks, "sent along " + axis, plain, more ? bytes / plain : 1);
    }
  }
  // What is held from micro-batch to micro-batch.
  const Planned two = plan(sizes, 2);
  ASSERT_EQ(two.exit_code, 0) << two.err;
  for (const PlannedRanks& ranks : two.classes) {
    EXPECT_NEAR(ranks.numbers.at("held_gradients_bytes") / forms.gradients, 1, kSlack);
    if (mix.has("precision")) {
      EXPECT_NEAR(ranks.bytes("copies") / forms.copies, 1, kSlack);
      if (mix.is_said() && !ranks.forms.empty()) expect_form(ranks, "copies", forms.copies);
    }
    // A cube does not know of shards that are reduced in each micro-batch, along its depth too.
    if (mix.is_said() && ranks.forms.contains("gradients") &&
        !(mix.has("3d") && (mix.has("zero2") || mix.has("zero3"))))
      expect_form(ranks, "gradients", forms.gradients);
    for (const auto& [axis, bytes] : forms.sent)
      if (mix.has("data") && mix.zeros().size() == 1 && axis == "data") {
        EXPECT_FALSE(ranks.forms.at("sent along data").off) << "shards are summed once, not in each micro-batch";
      }
  }
  sizes.layers += 2;
  const Planned deep = plan(sizes, 1);
  ASSERT_EQ(deep.exit_code, 0) << deep.err;
  ASSERT_EQ(deep.classes.size(), one.classes.size());
  for (std::size_t i = 0; i < one.classes.size(); ++i) {
    const auto kept = [](const PlannedRanks& ranks) { return ranks.forms.at("activations"); };
    if (mix.is_said() && deep.classes[i].forms.contains("activations")) {
      EXPECT_NEAR((kept(deep.classes[i]).formula - kept(one.classes[i]).formula) / 2 / forms.layer, 1, kSlack);
      EXPECT_FALSE(kept(one.classes[i]).off) << kept(one.classes[i]).planned;
    }
    EXPECT_NEAR((deep.classes[i].bytes("activations") - one.classes[i].bytes("activations")) / 2 / forms.layer, 1,
                kSlack);
  }
}

/// A weight that the script leaves whole where `tensor` says that it is cut shows at once.
TEST(ClosedForm, SaysWhatIsOff) {
  const PlannedMix made = planned_mix({{"zero1", "1d"}});
  const TemporaryFolder folder;
  const std::string text = folder.write("long.txt", text_of_length(4096));
  const auto plan = [&](const std::string& whole) {
    return plan_of("plan/costs/gpt", manifest_of(made.mesh, made.plan),
                   {"batch=8", "context=64", "whole=" + whole, "data=" + text});
  };
  const Planned right = plan("none"), wrong = plan("blocks.*.mlp.up.weight");
  ASSERT_EQ(right.exit_code, 0) << right.err;
  ASSERT_EQ(wrong.exit_code, 0) << wrong.err;
  for (const auto& [of, form] : right.classes.at(0).forms) EXPECT_FALSE(form.off) << of;
  const auto& forms = wrong.classes.at(0).forms;
  EXPECT_TRUE(forms.at("parameters").off);
  EXPECT_TRUE(forms.at("optimizer").off);
  EXPECT_EQ(forms.at("parameters").formula, right.classes.at(0).forms.at("parameters").formula);
  // 3 layers of 256 x 1024, of which a rank has all instead of half.
  EXPECT_EQ(forms.at("parameters").planned - forms.at("parameters").formula, 4.0 * 3 * 256 * 1024 / 2);
  const ProcessResult shown = run_parity({"plan"}, "plan/costs/gpt", manifest_of(made.mesh, made.plan),
                                         {"batch=8", "context=64", "whole=blocks.*.mlp.up.weight", "data=" + text});
  EXPECT_NE(shown.out.find("times as much: OFF"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("zero: 1/N from stage 1 on"), std::string::npos) << shown.out;
}

/// Of five heads one rank has three: no fault, and no excuse for a weight that is whole.
TEST(ClosedForm, KnowsUnevenPieces) {
  const PlannedMix made = planned_mix({{"1d"}});
  const TemporaryFolder folder;
  const std::string text = folder.write("long.txt", text_of_length(4096));
  const auto words = [&](const std::string& whole) {
    return std::vector<std::string>{"dim=160", "heads=5", "batch=8", "context=64", "whole=" + whole, "data=" + text};
  };
  const std::string manifest = manifest_of(made.mesh, made.plan);
  const std::string shown = run_parity({"plan"}, "plan/costs/gpt", manifest, words("none")).out;
  EXPECT_EQ(shown.find("OFF"), std::string::npos) << shown;
  EXPECT_NE(shown.find(" of it: uneven pieces"), std::string::npos) << shown;
  const Planned wrong = plan_of("plan/costs/gpt", manifest, words("blocks.*.mlp.up.weight"));
  ASSERT_EQ(wrong.exit_code, 0) << wrong.err;
  for (const PlannedRanks& ranks : wrong.classes) EXPECT_TRUE(ranks.forms.at("parameters").off);
}

/// With few tokens it is no activations that make a peak.
PlannedRanks of_few_tokens(const CostMix& mix, const char* layers) {
  const PlannedMix made = planned_mix(mix);
  const TemporaryFolder folder;
  const std::string text = folder.write("long.txt", text_of_length(4096));
  const Planned planned =
      plan_of("plan/costs/gpt", manifest_of(made.mesh, made.plan + "[compute]\nmemory = 1000000000\n"),
              {std::string("layers=") + layers, "dim=512", "context=16", "batch=16", "data=" + text});
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  return planned.classes.empty() ? PlannedRanks() : planned.classes[0];
}

/// 12h² weights a layer, over four ranks; for each of them its product and sum were kept too. Local regions make these
/// gradients, which are told as such.
TEST(GradientsOfASquare, AreWhatAllLayersKeep) {
  const PlannedRanks eight = of_few_tokens({{"2d"}}, "8"), four = of_few_tokens({{"2d"}}, "4");
  const double gradients = 4.0 * 4 * 12 * 512 * 512 / 4;
  const auto more = [&](const std::string& number) { return eight.numbers.at(number) - four.numbers.at(number); };
  EXPECT_NEAR(more("held_gradients_bytes") / gradients, 1, kSlack);
  EXPECT_LT(more("planned_bytes.gradients") + more("planned_bytes.activations"), 1.2 * gradients);
}

/// What `zero` cuts beneath a cut of `tensor` is drawn whole, one tensor at a time: the largest is 4h² over two ranks.
TEST(FirstValues, AreDrawnOneTensorAtATime) {
  const PlannedRanks eight = of_few_tokens({{"zero3", "1d"}}, "8"), four = of_few_tokens({{"zero3", "1d"}}, "4");
  EXPECT_LT(eight.bytes("activations") - four.bytes("activations"), 4 * 4 * 4 * 512 * 512 / 2);
}

/// Of 24h² elements of weights a rank has a quarter before the sum along the depth, and half of that behind it.
TEST(GradientsOfACube, AreSaidToCostMoreOverMicroBatches) {
  const PlannedMix made = planned_mix({{"3d"}});
  const TemporaryFolder folder;
  const std::string text = folder.write("long.txt", text_of_length(4096));
  const auto shown = [&](const char* micro_batches) {
    const std::vector<std::string> words{
        "layers=2", "dim=1024", "context=16", "batch=32", std::string("accumulate=") + micro_batches, "data=" + text};
    return run_parity({"plan"}, "plan/costs/gpt", manifest_of(made.mesh, made.plan), words).out;
  };
  const std::string note = "reduced along `tensor.depth`: a rank holds 12 MiB more of them than with one micro-batch\n";
  EXPECT_NE(shown("2").find(note), std::string::npos) << shown("2");
  EXPECT_EQ(shown("1").find("more of them"), std::string::npos) << shown("1");
}

INSTANTIATE_TEST_SUITE_P(Mixes, Costs, ::testing::ValuesIn(all_mixes()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace baleen::test
