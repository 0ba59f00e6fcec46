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
      {"NoSuchMode", {{"tensor", 2}}, "mode = \"1\"\n", "mlp", {}, {"mode", "1d"}},
  };
}

INSTANTIATE_TEST_SUITE_P(All, TensorRefusal, ::testing::ValuesIn(refusals()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
