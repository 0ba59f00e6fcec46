/// \file The same of runs: what ranks allocate, and what their transport is given to send.
#include <sstream>

#include "parity/plan/costs/closed_forms.hpp"

namespace baleen::test {
namespace {

constexpr double kSlack = 0.01;

/// Small, but with more tokens than weights have columns.
ModelSizes small_sizes() { return {2, 64, 8, 256, 64, 32}; }

std::vector<std::string> arguments_of(const ModelSizes& sizes) {
  std::vector<std::string> words;
  for (const auto& [name, number] :
       {std::pair{"layers", sizes.layers}, std::pair{"dim", sizes.width}, std::pair{"heads", sizes.heads},
        std::pair{"vocab", sizes.vocabulary}, std::pair{"context", sizes.context}, std::pair{"batch", sizes.batch}})
    words.push_back(std::string(name) + "=" + std::to_string(static_cast<long>(number)));
  return words;
}

class CostsOfARun : public ::testing::TestWithParam<CostMix> {
 protected:
  std::string manifest() const {
    const PlannedMix made = planned_mix(GetParam());
    return manifest_of(made.mesh, made.plan);
  }
  int ranks() const { return planned_mix(GetParam()).ranks; }

  /// Of a step, of all ranks, as the transport counts: what three steps send more than one.
  double sent() const {
    const TemporaryFolder folder;
    double bytes = 0;
    for (const int steps : {1, 3}) {
      const std::string ledger = folder / "ledger" + std::to_string(steps);
      const ProcessResult result =
          run_parity({"run", "--steps", std::to_string(steps), "--plugin-path", COUNTING_FOLDER}, "plan/costs/gpt",
                     manifest() + "[transport]\nplugin = \"counting\"\nledger = \"" + ledger + "\"\n",
                     arguments_of(small_sizes()));
      EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
      for (int rank = 0; rank < ranks(); ++rank) {
        std::istringstream lines(read_file(ledger + "." + std::to_string(rank)));
        std::string kind;
        for (double sent = 0; lines >> kind >> sent;) bytes += steps == 1 ? -sent : sent;
      }
    }
    return bytes / 2;
  }
};

TEST_P(CostsOfARun, AreThoseOfTheClosedForms) {
  const ClosedForms forms = closed_forms(GetParam(), small_sizes());
  double expected = 0;
  for (const auto& [axis, bytes] : forms.sent) expected += bytes;
  EXPECT_NEAR(sent() / ranks() / expected, 1, kSlack) << "sent";
  for (const auto& own : account_of("plan/costs/gpt", manifest(), ranks(), arguments_of(small_sizes()))) {
    EXPECT_NEAR(own.at("planned_bytes.parameters") / forms.parameters, 1, kSlack);
    EXPECT_NEAR(own.at("planned_bytes.optimizer") / forms.optimizer, 1, kSlack);
    EXPECT_EQ(own.at("allocated_bytes"), own.at("planned_bytes.total") - own.at("planned_bytes.device"));
  }
}

INSTANTIATE_TEST_SUITE_P(Mixes, CostsOfARun, ::testing::ValuesIn(mixes_of_ranks_to(8)),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace baleen::test
