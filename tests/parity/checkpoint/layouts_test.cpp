/// \file What one layout saves every other one loads: for all pairs of thirty, the state that the second saves at once
/// is the one that the first saved.
#include "parity/checkpoint/checkpointed_run.hpp"

namespace baleen::test {
namespace {

std::string zero(int stage, const std::string& axis = "data", const std::string& more = "") {
  return strategy("zero", "stage = " + std::to_string(stage) + "\naxis = \"" + axis + "\"\n" + more);
}
std::string tensor(const std::string& mode) { return strategy("tensor", "mode = \"" + mode + "\"\n"); }
std::string sequence(const std::string& mode) { return strategy("sequence", "mode = \"" + mode + "\"\n"); }

const std::vector<SplitWork>& thirty() {
  static const std::vector<SplitWork> all = [] {
    std::vector<SplitWork> list{{"one", {}}};
    for (const int ranks : {2, 3, 8})
      list.push_back({"data" + std::to_string(ranks), {{"data", ranks}}, strategy("data")});
    for (const int stage : {1, 2, 3})
      for (const int ranks : {2, 3, 5})
        list.push_back({"zero" + std::to_string(stage) + "on" + std::to_string(ranks), {{"data", ranks}}, zero(stage)});
    list.push_back({"tensor2", {{"tensor", 2}}, tensor("1d")});
    list.push_back({"tensor4", {{"tensor", 4}}, tensor("1d")});
    list.push_back({"grid4", {{"tensor", 4}}, tensor("2d")});
    list.push_back({"deep8", {{"tensor", 8}}, strategy("tensor", "mode = \"2.5d\"\ndepth = 2\n")});
    list.push_back({"cube8", {{"tensor", 8}}, tensor("3d")});
    list.push_back({"ulysses2", {{"sequence", 2}}, sequence("ulysses")});
    list.push_back({"ulysses4", {{"sequence", 4}}, sequence("ulysses")});
    list.push_back({"ring2", {{"sequence", 2}}, sequence("ring")});
    const MeshAxes both{{"data", 2}, {"tensor", 2}}, turned{{"tensor", 2}, {"data", 2}};
    list.push_back({"data_tensor", both, strategy("data") + tensor("1d")});
    for (const int stage : {1, 2, 3})
      list.push_back({"zero" + std::to_string(stage) + "_tensor", both, zero(stage) + tensor("1d")});
    list.push_back({"tensor_zero3", turned, zero(3) + tensor("1d")});
    list.push_back({"hybrid", {{"data", 2}, {"shard", 3}}, strategy("data") + zero(3, "shard")});
    list.push_back({"zero3_sequence", {{"data", 2}, {"sequence", 2}}, zero(3) + sequence("ulysses")});
    list.push_back({"data_grid", {{"data", 2}, {"tensor", 4}}, zero(1) + tensor("2d")});
    list.push_back(
        {"three_axes", {{"data", 2}, {"sequence", 2}, {"tensor", 2}}, zero(2) + sequence("ulysses") + tensor("1d")});
    return list;
  }();
  return all;
}

class Layouts : public testing::TestWithParam<std::size_t> {};

TEST(LayoutsOfCheckpoints, AreThirty) { EXPECT_EQ(thirty().size(), 30u); }

TEST_P(Layouts, AreLoadedByAllOthers) {
  const SplitWork& from = thirty()[GetParam()];
  const TemporaryFolder folder;
  const ProcessResult saved = run_saved(from, in_folder(folder / "from"), {"--steps", "3"});
  ASSERT_EQ(saved.exit_code, 0) << saved.err;
  const std::string state = state_of(folder / "from");
  for (const SplitWork& to : thirty()) {
    const ProcessResult loaded =
        run_saved(to, in_folder(folder / to.name), {"--steps", "3", "--resume", folder / "from"}, {"--save", "now"});
    ASSERT_EQ(loaded.exit_code, 0) << from.name << " to " << to.name << ": " << loaded.err;
    EXPECT_EQ(state_of(folder / to.name), state) << from.name << " to " << to.name;
  }
}
INSTANTIATE_TEST_SUITE_P(Of, Layouts, testing::Range<std::size_t>(0, 30),
                         [](const auto& info) { return thirty()[info.param].name; });

}  // namespace
}  // namespace baleen::test
