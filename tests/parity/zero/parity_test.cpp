/// \file With model states in shards, N ranks compute what one rank computes: `baleen verify`, in fp64, over stages,
/// meshes and what a step may hold.
#include "parity/parity_run.hpp"

namespace baleen::test {
namespace {

struct Case {
  int stage;
  MeshAxes mesh;
  std::string script;
  std::vector<std::string> arguments;
  std::string options = {};  ///< of the plan's entry
  std::string label = {};
};

void PrintTo(const Case& c, std::ostream* out) { *out << "stage " << c.stage << " " << c.script << " " << c.options; }

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return test_name("stage" + std::to_string(c.stage) + c.label, c.mesh, c.script, c.arguments);
}

class ZeroParity : public ::testing::TestWithParam<Case> {};

TEST_P(ZeroParity, RanksComputeWhatOneRankComputes) {
  const Case& c = GetParam();
  const std::string plan = "[[plan]]\nstrategy = \"zero\"\nstage = " + std::to_string(c.stage) + "\n" + c.options;
  verify_parity(c.script, manifest_of(c.mesh, plan), c.arguments);
}

std::vector<Case> cases() {
  const std::vector<std::string> everything{"tied",        "accumulate=2", "clip=0.5",
                                            "dropout=0.2", "masked=101",   "optimizer=lamb"};
  std::vector<Case> all;
  for (int stage : {1, 2, 3}) {
    for (int ranks : {2, 4, 8}) {
      all.push_back({stage, {{"data", ranks}}, "gpt", {}});
      all.push_back({stage, {{"data", ranks}}, "mlp", {"batch=26", "accumulate=2", "clip=0.1"}});
    }
    all.push_back({stage, {{"data", 3}}, "gpt", {"batch=10", "accumulate=2"}});
    all.push_back({stage, {{"data", 4}}, "gpt", everything});
    all.push_back({stage, {{"data", 2}}, "gpt", {"optimizer=sgd"}});
    all.push_back({stage, {{"data", 3}}, "zero/scalar", {"accumulate=3", "clip=0.5", "optimizer=lamb"}});
    all.push_back({stage, {{"data", 4}}, "gpt", everything, "reduce_gradients = \"once_per_step\"\n", "local"});
    all.push_back({stage, {{"data", 2}}, "gpt", everything, "replicate_below = 100\nbucket_mb = 0\n", "small"});
    // Shards inside, copies outside.
    all.push_back({stage, {{"data", 2}, {"shard", 2}}, "gpt", everything, "axis = \"shard\"\n", "hybrid"});
  }
  all.push_back({3, {{"data", 2}}, "gpt", everything, "bucket_mb = 0.01\nprefetch = 2\nlive_mb = 0.08\n", "bounded"});
  all.push_back({3, {{"data", 4}}, "gpt", {}, "bucket_mb = 0.01\nprefetch = 0\n", "noprefetch"});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Zero, ZeroParity, ::testing::ValuesIn(cases()), name_of);

}  // namespace
}  // namespace baleen::test
