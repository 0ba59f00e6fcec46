/// \file What `tensor` refuses before the first step, with the nearest that works.
#include <gtest/gtest.h>

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
  const ProcessResult result =
      run_tensor({"run", "--steps", "1"}, r.script, tensor_manifest(r.mesh, r.options), r.arguments);
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  for (const std::string& words : r.says) EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
}

std::vector<Refusal> refusals() {
  return {
      {"TooFewHeads",
       {{"tensor", 4}},
       "",
       "gpt",
       {"heads=3"},
       {"`blocks.0.attention.qkv.weight` has `heads` = 3", "4 ranks along `tensor`",
        "make `heads` 4 or more, or `tensor` 3"}},
      {"TooNarrow", {{"tensor", 3}}, "", "gpt", {"hidden=2"}, {"mlp.up.weight` has `ff` = 2", "make `ff` 3 or more"}},
      {"GroupsOfHeads",
       {{"tensor", 4}},
       "",
       "gpt",
       {"heads=12", "kv_heads=6"},
       {"blocks.0.attention: 12 heads that share 6", "heads = 16 and kv_heads = 8", "make `tensor` 3"}},
      {"NoInnerAxes", {{"tensor", 2}}, "", "mlp", {}, {"nothing to cut along `tensor`", "axes = { \"ff\" }"}},
      {"NoSuchAxis",
       {{"tensor", 2}},
       "axis = \"rows\"\n",
       "mlp",
       {},
       {"works along the mesh axis `rows`, and the mesh has none", "option `axis`"}},
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
      {"TooFewRowsForACube",
       {{"tensor", 8}},
       "mode = \"3d\"\n",
       "mlp",
       {"batch=3"},
       {"a batch of 3 rows cannot feed the 4 rows of the cube"}},
      {"NoDepth", {{"tensor", 8}}, "mode = \"2.5d\"\n", "mlp", {}, {"mode = \"2.5d\" needs `depth`"}},
      {"DepthOfNothing", {{"tensor", 4}}, "mode = \"2d\"\ndepth = 2\n", "mlp", {}, {"`depth` is of mode = \"2.5d\""}},
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
       {"has `heads` = 2", "3 ranks along `tensor.col`"}},
      {"NoSuchMode", {{"tensor", 2}}, "mode = \"1\"\n", "mlp", {}, {"mode", "1d"}},
  };
}

INSTANTIATE_TEST_SUITE_P(All, TensorRefusal, ::testing::ValuesIn(refusals()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
