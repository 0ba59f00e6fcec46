/// \file The same of what crosses the network: ranks speak over TCP alone, on the loopback of a network namespace of
/// their own, whose interface counts all bytes. Beside theirs these are headers, one in a thousand.
#include <sstream>

#include "parity/plan/costs/closed_forms.hpp"

namespace baleen::test {
namespace {

/// Large enough that headers and words between ranks are less than a hundredth.
ModelSizes wire_sizes() { return {2, 256, 8, 1024, 64, 16}; }

class CostsOnTheWire : public ::testing::TestWithParam<CostMix> {
 protected:
  void SetUp() override {
    const ProcessResult made = run_process({"unshare", "--net", "ip", "link", "set", "lo", "up"});
    if (made.exit_code != 0) GTEST_SKIP() << "needs root and iproute2 for a network of its own: " << made.err;
  }

  /// What the interface has carried during a run.
  double carried(int steps) const {
    const ModelSizes sizes = wire_sizes();
    const PlannedMix made = planned_mix(GetParam());
    const TemporaryFolder folder;
    const std::string text = folder.write("text.txt", std::string(4096, 'a'));
    const std::string manifest =
        folder.write("ranks.toml", manifest_of(made.mesh, made.plan) +
                                       "[transport]\nplugin = \"ucx\"\ntls = [\"tcp\"]\ndevices = [\"lo\"]\n");
    const std::string script = folder.write("run.sh",
                                            "set -e\nip link set lo up\n"
                                            "carried() { awk '$1 == \"lo:\" { print $10 }' /proc/net/dev; }\n"
                                            "before=$(carried)\n\"$@\" > /dev/null\n"
                                            "echo $(($(carried) - before))\n");
    std::vector<std::string> words{"unshare",
                                   "--net",
                                   "bash",
                                   script,
                                   build_dir() + "/bin/baleen",
                                   "run",
                                   source_dir() + "/tests/parity/plan/costs/gpt.lua",
                                   "--manifest",
                                   manifest,
                                   "--steps",
                                   std::to_string(steps),
                                   "--",
                                   "--data",
                                   text};
    for (const auto& [name, number] : {std::pair{"--layers", sizes.layers}, std::pair{"--dim", sizes.width},
                                       std::pair{"--heads", sizes.heads}, std::pair{"--vocab", sizes.vocabulary},
                                       std::pair{"--context", sizes.context}, std::pair{"--batch", sizes.batch}})
      words.insert(words.end(), {name, std::to_string(static_cast<long>(number))});
    const ProcessResult result = run_process(words, {{}, std::chrono::seconds(100), {}});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    return result.out.empty() ? 0 : std::stod(result.out);
  }
};

TEST_P(CostsOnTheWire, AreThoseOfTheClosedForms) {
  double expected = 0;
  for (const auto& [axis, bytes] : closed_forms(GetParam(), wire_sizes()).sent) expected += bytes;
  const double sent = (carried(5) - carried(1)) / 4 / planned_mix(GetParam()).ranks;
  EXPECT_NEAR(sent / expected, 1, 0.01);
}

INSTANTIATE_TEST_SUITE_P(Mixes, CostsOnTheWire, ::testing::ValuesIn(mixes_of_ranks_to(8)),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace baleen::test
