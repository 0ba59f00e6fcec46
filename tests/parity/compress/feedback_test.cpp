/// \file Errors that are fed back: what compression keeps from parameters is what its states hold, and nothing else.
#include <cmath>

#include "parity/compress/tensors.hpp"
#include "parity/mixes/mix.hpp"

namespace baleen::test {
namespace {

constexpr double kRate = 1e-4;

struct Case {
  std::string name, method, sums;
  int ranks = 2, accumulate = 1;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Feedback : public testing::TestWithParam<Case> {
 protected:
  void train(const std::string& folder, const std::string& entry) const {
    const ProcessResult result = run_parity(
        {"run"}, "compress/feedback",
        "[checkpoint]\nfolder = \"" + folder + "\"\n" +
            manifest_of({{"data", GetParam().ranks}}, GetParam().sums + entry),
        {"data=" + source_dir() + "/tests/golden/whales.txt", "accumulate=" + std::to_string(GetParam().accumulate)});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
};

/// Of plain descent, whose parameters are sums of gradients: (theirs - those of fp32) / rate is the sum of what ranks
/// have yet to send, and of what those have yet to send who add up.
TEST_P(Feedback, LosesNothing) {
  const TemporaryFolder folder;
  train(folder / "exact", "");
  train(folder / "own", plan_entry("compress", GetParam().method));
  const auto exact = tensors_of(folder / "exact", "", ""), own = tensors_of(folder / "own", "", "");
  std::size_t checked = 0;
  for (const auto& [name, parameter] : exact) {
    const auto error = own.find("compress.data." + name + ".error");
    if (error == own.end()) continue;
    const auto behind = own.find("compress.data." + name + ".sum_error");
    const std::size_t count = parameter.numbers.size();
    double missing = 0, difference = 0;
    for (std::size_t i = 0; i < count; ++i) {
      double held = behind == own.end() ? 0 : behind->second.numbers[i];
      for (std::size_t rank = 0; rank * count < error->second.numbers.size(); ++rank)
        held += error->second.numbers[rank * count + i];
      const double apart = (static_cast<double>(own.at(name).numbers[i]) - parameter.numbers[i]) / kRate;
      missing += held * held;
      difference += (apart - held) * (apart - held);
    }
    EXPECT_GT(missing, 0) << name;
    EXPECT_LT(std::sqrt(difference), 0.07 * std::sqrt(missing)) << name << ": rounding of parameters alone";
    ++checked;
  }
  EXPECT_EQ(checked, 10u);
}

INSTANTIATE_TEST_SUITE_P(
    Methods, Feedback,
    testing::Values(Case{"Power", "method = \"powersgd\"\n", plan_entry("data")},
                    Case{"Power3", "method = \"powersgd\"\nrank = 2\n", plan_entry("data"), 3},
                    Case{"PowerZero1", "method = \"powersgd\"\n", plan_entry("zero", "stage = 1\n")},
                    Case{"Bits", "method = \"1bit\"\nwarmup_steps = 5\n", plan_entry("data")},
                    Case{"Bits3", "method = \"1bit\"\nwarmup_steps = 0\n", plan_entry("data"), 3},
                    Case{"BitsAccumulating", "method = \"1bit\"\nwarmup_steps = 5\n", plan_entry("data"), 2, 2},
                    Case{"BitsZero1", "method = \"1bit\"\nwarmup_steps = 5\n", plan_entry("zero", "stage = 1\n")}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
