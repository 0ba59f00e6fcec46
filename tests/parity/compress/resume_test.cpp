/// \file What a method keeps from step to step is in checkpoints: a run that is resumed ends in the same bits, and on
/// another number of ranks what was yet to be sent is not lost.
#include "parity/checkpoint/checkpointed_run.hpp"
#include "parity/compress/tensors.hpp"
#include "parity/mixes/mix.hpp"

namespace baleen::test {
namespace {

std::string entry_of(const std::string& options) { return plan_entry("compress", "min_elements = 0\n" + options); }

std::vector<SplitWork> splits() {
  const std::string data = plan_entry("data"), zero1 = plan_entry("zero", "stage = 1\n"),
                    zero2 = plan_entry("zero", "stage = 2\n");
  const std::string bytes = entry_of("method = \"8bit\"\n"), bits = entry_of("method = \"1bit\"\nwarmup_steps = 2\n"),
                    late = entry_of("method = \"1bit\"\nwarmup_steps = 9\n"),
                    power = entry_of("method = \"powersgd\"\nmin_gain = 1\n");
  const MeshAxes two{{"data", 2}}, three{{"data", 3}};
  return {{"BytesData", two, data + bytes},   {"BitsData", three, data + bits},     {"BitsWarmData", two, data + late},
          {"PowerData", three, data + power}, {"BytesZero1", two, zero1 + bytes},   {"BitsZero1", two, zero1 + bits},
          {"PowerZero1", two, zero1 + power}, {"BytesZero2", three, zero2 + bytes}, {"BitsZero2", three, zero2 + bits},
          {"PowerZero2", two, zero2 + power}};
}

class Resumed : public testing::TestWithParam<SplitWork> {};

/// At step 5, which is in the warm-up of one and behind that of the others.
TEST_P(Resumed, EndsInTheSameBits) { expect_same_bits_when_resumed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Compressed, Resumed, testing::ValuesIn(splits()),
                         [](const auto& info) { return info.param.name; });

/// The sum goes to the first of the new ranks; nothing else changes.
TEST(ResumedOnOtherRanks, KeepsTheSumOfWhatIsYetToBeSent) {
  for (const std::string options : {"method = \"1bit\"\nwarmup_steps = 2\n", "method = \"powersgd\"\nmin_gain = 1\n"})
    for (const auto& [before, after] : {std::pair{4, 2}, std::pair{2, 3}}) {
      const TemporaryFolder folder;
      const std::string from = folder / "from", to = folder / "to";
      const auto split = [&](int ranks) {
        return SplitWork{"", {{"data", ranks}}, plan_entry("data") + entry_of(options)};
      };
      ASSERT_EQ(run_saved(split(before), in_folder(from) + "every = 6\nkeep = 0\n").exit_code, 0);
      const std::string middle = from + "/step-000000006";
      const ProcessResult saved = run_saved(split(after), in_folder(to), {"--resume", middle}, {"--save", "now"});
      ASSERT_EQ(saved.exit_code, 0) << saved.err;
      const auto old = tensors_of(middle, "compress.", ".error"), own = tensors_of(to, "compress.", ".error");
      ASSERT_GT(old.size(), 5u);
      ASSERT_EQ(own.size(), old.size());
      double magnitude = 0;
      for (const auto& [name, tensor] : own) {
        const SavedTensor& saved_terms = old.at(name);
        ASSERT_EQ(tensor.shape, (std::vector<std::int64_t>{after, saved_terms.shape[1]}));
        const auto count = static_cast<std::size_t>(tensor.shape[1]);
        for (std::size_t i = 0; i < count; ++i) {
          double sum = 0;
          for (std::size_t r = 0; r < static_cast<std::size_t>(before); ++r) sum += saved_terms.numbers[r * count + i];
          EXPECT_NEAR(tensor.numbers[i], sum, 1e-6 + 1e-5 * std::abs(sum)) << name;
          magnitude += std::abs(sum);
          for (std::size_t r = 1; r < static_cast<std::size_t>(after); ++r) EXPECT_EQ(tensor.numbers[r * count + i], 0);
        }
      }
      EXPECT_GT(magnitude, 0) << "there was something to lose";
      for (const char* whole : {".sum_error", ".factor"})
        for (const auto& [name, tensor] : tensors_of(middle, "compress.", whole))
          EXPECT_EQ(tensors_of(to, name, "").at(name).numbers, tensor.numbers) << name;
      EXPECT_EQ(run_saved(split(after), in_folder(folder / "end"), {"--resume", middle}).exit_code, 0);
    }
}

/// One rank sends nothing and keeps nothing.
TEST(ResumedOnOtherRanks, SaysHowToGoOnAlone) {
  const TemporaryFolder folder;
  const std::string bits = plan_entry("data") + entry_of("method = \"1bit\"\nwarmup_steps = 2\n");
  ASSERT_EQ(run_saved({"", {{"data", 2}}, bits}, in_folder(folder / "two")).exit_code, 0);
  const ProcessResult refused = run_saved({"", {}}, "", {"--resume", folder / "two"}, {"--save", "now"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("--allow-missing PATTERN"), std::string::npos) << refused.err;
  EXPECT_EQ(run_saved({"", {}}, in_folder(folder / "one"),
                      {"--resume", folder / "two", "--allow-missing", "compress.*"}, {"--save", "now"})
                .exit_code,
            0);
}

}  // namespace
}  // namespace baleen::test
