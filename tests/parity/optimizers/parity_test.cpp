/// \file Optimizers with slots of their own shapes, and with products in their update, compute on N ranks what they
/// compute on one, however parameters and slots are cut; and what that sends and keeps.
#include "parity/mixes/mix.hpp"

namespace baleen::test {
namespace {

struct Case {
  std::string name, optimizer;
  Mix mix;
  std::vector<std::string> arguments = {};
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class OptimizerParity : public ::testing::TestWithParam<Case> {};

TEST_P(OptimizerParity, RanksComputeWhatOneRankComputes) {
  const Case& c = GetParam();
  std::vector<std::string> arguments{"optimizer=" + c.optimizer, "batch=10"};
  arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
  verify_parity("gpt", manifest_of(c.mix), arguments);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string optimizer : {"adafactor", "muon"}) {
    const std::string name = optimizer == "muon" ? "Muon" : "Adafactor";
    const std::vector<std::string> everything{"tied", "accumulate=2", "clip=0.5", "dropout=0.2", "masked=101"};
    all.push_back({name + "Data3", optimizer, {.data = 3}, {"accumulate=2"}});
    for (const int stage : {1, 2, 3})
      all.push_back({name + "Zero" + std::to_string(stage), optimizer, {.data = 2, .stage = stage}, everything});
    all.push_back({name + "Zero2On4", optimizer, {.data = 4, .stage = 2}, {"hidden=33"}});
    all.push_back({name + "Tensor", optimizer, {.tensor = 2, .products = "1d"}, {"hidden=33", "clip=0.5"}});
    all.push_back({name + "Square", optimizer, {.tensor = 4, .products = "2d"}, {}});
    all.push_back({name + "DataTensor", optimizer, {.data = 2, .tensor = 2, .products = "1d"}, everything});
    all.push_back(
        {name + "Zero3Tensor", optimizer, {.data = 2, .tensor = 2, .stage = 3, .products = "1d"}, everything});
    all.push_back({name + "Zero1Ulysses",
                   optimizer,
                   {.sequence = 2, .stage = 1, .also = "sequence", .attention = "ulysses"},
                   {"context=13"}});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OptimizerParity, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

double bytes(const std::string& key, const Mix& mix, const std::string& optimizer) {
  const auto account =
      account_of("gpt", manifest_of(mix), mix.ranks(), {"optimizer=" + optimizer, "dim=32", "heads=4"});
  double sum = 0;
  for (const auto& [name, value] : account.at(0))
    if (name.starts_with(key)) sum += value;
  return sum;
}

/// Muon reads each momentum whole: gathered once, beside the updated parameters. Without the tag `whole` every product
/// of its five steps gathers anew.
TEST(OptimizerBytes, MuonGathersAMomentumOnce) {
  if (!has_plugin("strategy", "zero")) GTEST_SKIP() << "no strategy `zero` in this tree";
  const Mix mix{.data = 2, .stage = 1};
  const double adamw = bytes("sent_bytes.", mix, "adamw"), muon = bytes("sent_bytes.", mix, "muon");
  EXPECT_GT(muon, adamw);
  EXPECT_LT(muon, 1.55 * adamw) << "three passes over a matrix in place of two";
}

/// What is kept beside the parameters: two numbers per element, or one per row and one per column.
TEST(OptimizerBytes, AdafactorKeepsRowsAndColumns) {
  if (!has_plugin("strategy", "data")) GTEST_SKIP() << "no strategy `data` in this tree";
  const Mix mix{.data = 2};
  const std::string key = "planned_bytes.optimizer";
  EXPECT_LT(bytes(key, mix, "adafactor"), 0.15 * bytes(key, mix, "adamw"));
}

}  // namespace
}  // namespace baleen::test
