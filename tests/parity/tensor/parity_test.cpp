/// \file With layers cut over ranks, N ranks compute what one rank computes: `baleen verify`, in fp64, over modes,
/// meshes and what a step may hold.
#include <gtest/gtest.h>

#include "tensor_run.hpp"

namespace baleen::test {
namespace {

struct Case {
  std::string mode;
  MeshAxes mesh;
  std::string script;
  std::vector<std::string> arguments;
  std::string more = {};  ///< lines of the manifest behind the plan's entry
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.mode << " " << c.script; }

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return test_name(info.param.mode, info.param.mesh, info.param.script, info.param.arguments);
}

class TensorParity : public ::testing::TestWithParam<Case> {};

TEST_P(TensorParity, RanksComputeWhatOneRankComputes) {
  const Case& c = GetParam();
  verify_parity(c.script, tensor_manifest(c.mesh, "mode = \"" + c.mode + "\"\n" + c.more), c.arguments);
}

const std::vector<std::string> kEverything{"tied",        "accumulate=2", "clip=0.5",
                                           "dropout=0.2", "masked=101",   "optimizer=lamb"};

std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// Three heads, 96 wide, on two ranks: blocks of two and one.
std::vector<Case> one_dimensional() {
  std::vector<Case> all;
  for (int ranks : {2, 3, 4, 8}) {
    const std::string heads = "heads=" + std::to_string(ranks == 8 ? 8 : ranks == 4 ? 4 : 3);
    all.push_back({"1d", {{"tensor", ranks}}, "gpt", {heads}});
    all.push_back({"1d", {{"tensor", ranks}}, "gpt", with({heads}, kEverything)});
    all.push_back({"1d", {{"tensor", ranks}}, "mlp", {"inner=ff"}});
  }
  all.push_back({"1d", {{"tensor", 4}}, "mlp", {"inner=ff", "batch=26", "accumulate=2", "clip=0.1"}});
  all.push_back(
      {"1d", {{"tensor", 2}}, "gpt", {"heads=6", "kv_heads=2", "norm=rms", "activation=swiglu", "hidden=33"}});
  all.push_back({"1d", {{"tensor", 4}}, "gpt", {"heads=12", "kv_heads=4", "rotary", "hidden=10"}});
  all.push_back({"1d", {{"data", 2}, {"tensor", 2}}, "gpt", kEverything});
  all.push_back({"1d", {{"tensor", 2}, {"data", 2}}, "gpt", kEverything});
  all.push_back({"1d", {{"data", 2}, {"tensor", 4}}, "gpt", with({"heads=4", "batch=10"}, {"accumulate=2", "clip=1"})});
  all.push_back({"1d", {{"data", 4}, {"tensor", 2}}, "mlp", {"inner=ff", "batch=9"}});
  all.push_back({"1d", {{"tensor", 3}}, "tensor/products", {"accumulate=3"}});
  return all;
}

/// Sizes that no side divides: 13 rows, widths of 17, 3, 11 and 5, 33 columns, three heads.
std::vector<Case> squares() {
  const MeshAxes grid{{"tensor", 4}};
  const std::vector<std::string> uneven{"heads=6", "kv_heads=2", "norm=rms", "activation=swiglu", "hidden=33"};
  return {{"2d", grid, "mlp", {}},
          {"2d", grid, "mlp", {"batch=26", "accumulate=2", "clip=0.1"}},
          {"2d", grid, "gpt", {}},
          {"2d", grid, "gpt", kEverything},
          {"2d", grid, "gpt", with(uneven, {"batch=5"})},
          {"2d", grid, "gpt", with(uneven, {"batch=6", "accumulate=2", "rotary"})},
          {"2d", {{"tensor", 9}}, "gpt", {}},
          // Heads 2, 2, 0 and rows 2, 2, 1; rows 2, 2, 0: pieces that are short in one dimension and empty in another.
          {"2d", {{"tensor", 9}}, "gpt", {"heads=4", "batch=5"}},
          {"2d", {{"tensor", 9}}, "mlp", {"batch=4"}},
          {"2d", {{"tensor", 9}}, "unnamed", {}},
          {"2d", grid, "tensor/products", {"accumulate=3"}},
          {"2d", {{"data", 2}, {"tensor", 4}}, "gpt", kEverything},
          {"2d", {{"tensor", 4}, {"data", 2}}, "gpt", with(kEverything, {"batch=10"})},
          {"2d", {{"data", 2}, {"tensor", 4}}, "mlp", {"batch=9"}}};
}

std::vector<Case> stacked_squares() {
  const MeshAxes two{{"tensor", 8}};
  const std::string depth = "depth = 2\n";
  return {
      {"2.5d", two, "mlp", {}, depth},
      {"2.5d", two, "mlp", {"batch=26", "accumulate=2", "clip=0.1"}, depth},
      {"2.5d", two, "gpt", {}, depth},
      {"2.5d", two, "gpt", kEverything, depth},
      {"2.5d", two, "gpt", {"heads=6", "kv_heads=2", "norm=rms", "activation=swiglu", "hidden=33", "batch=5"}, depth},
      {"2.5d", {{"tensor", 4}}, "gpt", {}, "depth = 1\n"}};
}

std::vector<Case> cubes() {
  const MeshAxes cube{{"tensor", 8}};
  return {{"3d", cube, "mlp", {}},
          {"3d", cube, "mlp", {"batch=26", "accumulate=2", "clip=0.1"}},
          {"3d", cube, "gpt", {}},
          {"3d", cube, "tensor/products", {}},
          {"3d", cube, "unnamed", {}},
          {"3d", cube, "gpt", kEverything},
          {"3d", cube, "gpt", {"heads=6", "kv_heads=2", "norm=rms", "activation=swiglu", "hidden=33", "batch=5"}},
          {"3d", cube, "gpt", {"heads=2", "rotary", "accumulate=2"}},
          {"3d", {{"data", 2}, {"tensor", 8}}, "gpt", with(kEverything, {"batch=16"})},
          {"3d", {{"tensor", 8}, {"data", 2}}, "gpt", with(kEverything, {"batch=16"})}};
}

#ifdef WITH_ZERO
/// States, and parameters, of a rank's part cut once more over `data`.
std::vector<Case> with_zero() {
  std::vector<Case> all;
  for (const auto& [mode, ranks] : {std::pair{"1d", 2}, std::pair{"2d", 4}, std::pair{"3d", 8}})
    for (int stage : {1, 3})
      all.push_back({mode,
                     {{"data", 2}, {"tensor", ranks}},
                     "gpt",
                     with(kEverything, {"batch=16"}),
                     "[[plan]]\nstrategy = \"zero\"\nstage = " + std::to_string(stage) + "\n"});
  return all;
}
std::string name_with_stage(const ::testing::TestParamInfo<Case>& info) {
  return name_of(info) + "_stage_" + info.param.more[info.param.more.size() - 2];
}
INSTANTIATE_TEST_SUITE_P(WithZero, TensorParity, ::testing::ValuesIn(with_zero()), name_with_stage);
#endif
INSTANTIATE_TEST_SUITE_P(Cube, TensorParity, ::testing::ValuesIn(cubes()), name_of);
INSTANTIATE_TEST_SUITE_P(Square, TensorParity, ::testing::ValuesIn(squares()), name_of);
INSTANTIATE_TEST_SUITE_P(StackedSquares, TensorParity, ::testing::ValuesIn(stacked_squares()), name_of);
INSTANTIATE_TEST_SUITE_P(OneDimensional, TensorParity, ::testing::ValuesIn(one_dimensional()), name_of);

}  // namespace
}  // namespace baleen::test
