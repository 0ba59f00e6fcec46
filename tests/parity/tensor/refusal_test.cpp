/// \file What `tensor` refuses before the first step, with the nearest that works.
#include <gtest/gtest.h>

#include "support/case_lists.hpp"
#include "support/refusal.hpp"
#include "tensor_run.hpp"

namespace baleen::test {
namespace {

struct Refusal {
  std::string name;
  MeshAxes mesh;
  std::string options, script;
  std::vector<std::string> arguments;
  std::vector<std::string> says;
};

void PrintTo(const Refusal& r, std::ostream* out) { *out << r.name; }

class TensorRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(TensorRefusal, SaysWhatAndOffersTheNearest) {
  const Refusal& r = GetParam();
  expect_refusal(run_parity({"run", "--steps", "1"}, r.script, tensor_manifest(r.mesh, r.options), r.arguments),
                 {.after_others = true, .parts = r.says});
}

std::vector<Refusal> too_small_for_a_line() {
  return {
      {"TooFewHeads",
       {{"tensor", 4}},
       "",
       "gpt",
       {"heads=3"},
       {"`blocks.0.attention.qkv.weight` has `heads` = 3", "4 ranks along `tensor`",
        "make `heads` 4 or more, or make `tensor` 3 or less"}},
      {"TooNarrow",
       {{"tensor", 3}},
       "",
       "gpt",
       {"hidden=2"},
       {"mlp.up.weight` has `ff` = 2", "make `ff` 3 or more, or make `tensor` 2 or less"}},
      {"OneColumn", {{"tensor", 3}}, "", "gpt", {"hidden=1"}, {"mlp.up.weight` has `ff` = 1", "make `ff` 3 or more\n"}},
      {"GroupsOfHeads",
       {{"tensor", 4}},
       "",
       "gpt",
       {"heads=12", "kv_heads=6"},
       {"blocks.0.attention: 12 heads that share 6", "heads = 16 and kv_heads = 8", "make `tensor` 3"}},
      {"NoInnerAxes", {{"tensor", 2}}, "", "mlp", {}, {"nothing to cut along `tensor`", "axes = { \"ff\" }"}},
  };
}

std::vector<Refusal> too_small_for_a_grid() {
  return {
      {"TooFewRowsForACube",
       {{"tensor", 8}},
       "mode = \"3d\"\n",
       "mlp",
       {"batch=3"},
       {"a batch of 3 rows cannot feed the 4 rows of the cube"}},
      {"TooFewRows",
       {{"tensor", 9}},
       "mode = \"2d\"\n",
       "mlp",
       {"batch=2"},
       {"a batch of 2 rows cannot feed the 3 rows of the grid", "take a batch of 3 or more"}},
      {"TooFewHeadsOnAGrid",
       {{"tensor", 9}},
       "mode = \"2d\"\n",
       "gpt",
       {"heads=2"},
       {"has `heads` = 2", "3 ranks along `tensor.col`", "make `heads` 3 or more, or make `tensor` 4 (2 x 2)"}},
  };
}

std::vector<Refusal> ranks_and_options() {
  return {
      {"NoSquare",
       {{"tensor", 5}},
       "mode = \"2d\"\n",
       "mlp",
       {},
       {"takes a square of ranks, and `tensor` has 5", "4 (2 x 2) or 9 (3 x 3)"}},
      {"NoStackOfSquares",
       {{"tensor", 6}},
       "mode = \"2.5d\"\ndepth = 2\n",
       "mlp",
       {},
       {"a square of ranks times depth = 2, and `tensor` has 6", "8 (2 x 2 x 2) or 18 (2 x 3 x 3)"}},
      {"NoCube",
       {{"tensor", 6}},
       "mode = \"3d\"\n",
       "mlp",
       {},
       {"takes a cube of ranks, and `tensor` has 6", "8 (2 x 2 x 2) or 27 (3 x 3 x 3)"}},
      {"NoDepth", {{"tensor", 8}}, "mode = \"2.5d\"\n", "mlp", {}, {"mode = \"2.5d\" needs `depth`"}},
      {"DepthOfNothing", {{"tensor", 4}}, "mode = \"2d\"\ndepth = 2\n", "mlp", {}, {"`depth` is of mode = \"2.5d\""}},
      {"NoSuchAxis",
       {{"tensor", 2}},
       "axis = \"rows\"\n",
       "mlp",
       {},
       {"works along the mesh axis `rows`, and the mesh has none", "option `axis`"}},
      {"NoSuchMode", {{"tensor", 2}}, "mode = \"1\"\n", "mlp", {}, {"mode", "1d"}},
  };
}

/// On more ranks than a test should start: by a plan. A GPT of one layer, four heads, a width of 64.
class PlannedRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(PlannedRefusal, SaysWhatAndOffersTheNearest) {
  const Refusal& r = GetParam();
  std::vector<std::string> arguments{"layers=1", "dim=64",       "context=16",
                                     "batch=54", "accumulate=1", "data=" + source_dir() + "/tests/golden/whales.txt"};
  arguments.insert(arguments.end(), r.arguments.begin(), r.arguments.end());
  const ProcessResult result = run_parity({"plan"}, r.script, tensor_manifest(r.mesh, r.options), arguments);
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  for (const std::string& words : r.says) EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
}

/// Each mode with too few heads, too narrow a layer, too few words, and groups of heads that do not divide.
std::vector<Refusal> planned_refusals() {
  struct Way {
    std::string name, options, axis;
    int ranks;
    std::string fewer, fewer_for_groups;
  };
  const Way ways[] = {
      {"Line", "", "tensor", 3, "`tensor` 2 or less", "`tensor` 2"},
      {"Square", "mode = \"2d\"\n", "tensor.col", 9, "`tensor` 4 (2 x 2)", "`tensor` 4 (2 x 2)"},
      {"Squares", "mode = \"2.5d\"\ndepth = 2\n", "tensor.col", 18, "`tensor` 8 (2 x 2 x 2)", "`tensor` 8 (2 x 2 x 2)"},
      {"Cube", "mode = \"3d\"\n", "tensor.col", 27, "`tensor` 8 (2 x 2 x 2)", "`tensor` 8 (2 x 2 x 2)"}};
  struct Model {
    std::string name, script;
    std::vector<std::string> arguments;
    std::string what, larger;
  };
  const std::string large = "plan/gpt_large";
  const Model models[] = {
      {"Heads", large, {"heads=2"}, "qkv.weight` has `heads` = 2", "make `heads` 3 or more"},
      {"Words", large, {"data=drawn", "vocab=2", "heads=4"}, "has `vocab` = 2", "make `vocab` 3 or more"},
      {"Width", "gpt", {"hidden=2", "heads=4"}, "mlp.up.weight` has `ff` = 2", "make `ff` 3 or more"},
      {"Groups", "gpt", {"heads=8", "kv_heads=4"}, "8 heads that share 4", "take heads = 9 and kv_heads = 3"}};
  std::vector<Refusal> all;
  for (const Way& way : ways)
    for (const Model& model : models)
      all.push_back({way.name + model.name,
                     {{"tensor", way.ranks}},
                     way.options,
                     model.script,
                     model.arguments,
                     {model.what, "the 3 ranks along `" + way.axis + "`", model.larger,
                      "or make " + (model.name == "Groups" ? way.fewer_for_groups : way.fewer)}});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Modes, PlannedRefusal, ::testing::ValuesIn(planned_refusals()),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(All, TensorRefusal,
                         ::testing::ValuesIn(concatenated({too_small_for_a_line(), too_small_for_a_grid(),
                                                           ranks_and_options()})),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
