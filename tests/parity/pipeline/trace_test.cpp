/// \file What each of four ranks does in a step, by its trace, is what its line of the table says, in that order.
#include <gtest/gtest.h>

#include <sstream>

#include "baleen/strategy.hpp"
#include "pipeline_run.hpp"
#include "text.hpp"

namespace baleen::test {
namespace {

using pipeline::Kind;

/// The passes of a rank's first step, in the notation of tables.
std::string passes_in(const std::string& trace) {
  std::vector<std::pair<double, std::string>> passes;
  std::istringstream lines(trace);
  const auto after = [](const std::string& line, const std::string& key) {
    const auto at = line.find(key);
    return at == std::string::npos ? std::string() : line.substr(at + key.size());
  };
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\"cat\":\"pass\"") == std::string::npos) continue;
    const std::string name = after(line, "\"name\":\"");
    const std::string letter = name.starts_with("forward") ? "F" : name.starts_with("backward") ? "B" : "W";
    std::string action = letter + std::to_string(std::stoi(after(name, "micro-batch ")));
    if (const std::string chunk = after(name, ", chunk "); !chunk.empty())
      action += "." + std::to_string(std::stoi(chunk));
    passes.emplace_back(std::stod(after(line, "\"ts\":")), action);
  }
  std::stable_sort(passes.begin(), passes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (const auto& [begin, action] : passes) text += (text.empty() ? "" : " ") + action;
  return text;
}

std::string line_of(const pipeline::Table& table, std::size_t rank) {
  std::string text;
  for (const pipeline::Action& action : table.ranks[rank]) text += (text.empty() ? "" : " ") + to_text(action, table);
  return text;
}

struct Traced {
  std::string schedule;
  Kind kind;
  std::uint32_t chunks;
};
void PrintTo(const Traced& c, std::ostream* out) { *out << c.schedule; }

class PipelineTrace : public ::testing::TestWithParam<Traced> {};

TEST_P(PipelineTrace, FollowsTheTable) {
  const Traced& c = GetParam();
  const TemporaryFolder folder;
  const ProcessResult result = run_parity({"run", "--steps", "1", "--trace", folder / "trace.json"}, "gpt",
                                          manifest_of({{"pipeline", 4}}, pipeline_entry(schedule_option(c.schedule))),
                                          {"layers=7", "batch=8", "accumulate=8"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const pipeline::Table table = *make_table(c.kind, {4, 8, c.chunks});
  for (std::size_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(passes_in(read_file(folder / (rank == 0 ? "trace.json" : "trace.rank" + std::to_string(rank) + ".json"))),
              line_of(table, rank))
        << "rank " << rank;
}

INSTANTIATE_TEST_SUITE_P(
    OnFour, PipelineTrace,
    ::testing::Values(Traced{"gpipe", Kind::gpipe, 1}, Traced{"1f1b", Kind::one_forward_one_backward, 1},
                      Traced{"interleaved", Kind::interleaved, 2}, Traced{"looped", Kind::looped, 2},
                      Traced{"zero_bubble", Kind::zero_bubble_h1, 1}, Traced{"zero_bubble_h2", Kind::zero_bubble_h2, 1},
                      Traced{"zero_bubble_v", Kind::zero_bubble_v, 2}),
    [](const auto& info) {
      std::string name = info.param.schedule;
      std::erase(name, '_');
      return name;
    });

}  // namespace
}  // namespace baleen::test
