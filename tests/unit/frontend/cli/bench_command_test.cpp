/// \file `baleen bench transport` as a user runs it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "support/process.hpp"
#include "support/refusal.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

class Bench : public testing::Test {
 protected:
  std::vector<std::string> command(std::vector<std::string> more) const {
    std::vector<std::string> words = {"bench", "transport", "--manifest", manifest_, "--seconds", "0.001"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void expect_refused(std::vector<std::string> more, const std::string& message) const {
    expect_refusal(run_baleen(command(std::move(more))), {.whole = message});
  }

  TemporaryFolder folder_;
  std::string manifest_ = folder_.write("grid.toml",
                                        "[cluster]\nhosts = [{ name = \"localhost\", ranks = 4 }]\n"
                                        "[mesh]\norder = [\"data\", \"tensor\"]\ndata = 2\ntensor = 2\n");
};

TEST_F(Bench, MeasuresEveryCollectiveOfEveryGroup) {
  const ProcessResult result = run_baleen(command({"--from", "100", "--to", "1KiB", "--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["ranks"], 4);
  std::set<std::string> kinds, groups;
  for (const auto& point : report["points"]) {
    kinds.insert(point["collective"]);
    groups.insert(point["group"]);
    EXPECT_GT(point["seconds"], 0) << point;
    EXPECT_EQ(point["members"], point["group"] == "data+tensor" ? 4 : 2);
    EXPECT_GE(point["bytes"], point["collective"] == "barrier" ? 0 : 100);
  }
  EXPECT_EQ(kinds.size(), 12u);
  EXPECT_EQ(groups, (std::set<std::string>{"data", "tensor", "data+tensor"}));
  EXPECT_EQ(report["points"].size(), 3 * (11 * 3 + 1));  // 100, 400 and 1024 bytes; a barrier has no size
}

TEST_F(Bench, PrintsATableOnOtherMemoryToo) {
  const ProcessResult result =
      run_baleen(command({"--to", "64", "--own-memory", "--group", "tensor", "--collective", "send"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("transport shm, 4 ranks"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("send            tensor                 2       64 B"), std::string::npos) << result.out;
}

TEST_F(Bench, RefusesWhatItDoesNotKnow) {
  expect_refused({"--collective", "allreduce"},
                 "--collective: unknown collective `allreduce`; did you mean `all_reduce`?");
  expect_refused({"--group", "dat"}, "--group: unknown axis of the mesh `dat`; did you mean `data`?");
  expect_refused({"--from", "1MiB", "--to", "8"}, "`--from` is 1048576 bytes and `--to` only 8");
  expect_refused({"--to", "2"}, "--to: Value 2 not in range 4 to 1099511627776 (see `baleen bench --help`)");
  expect_refused({"--set", "transport.plugin=\"smh\""},
                 "--set transport.plugin=\"smh\": unknown transport plugin `smh`; did you mean `shm`?");
}

TEST_F(Bench, NeedsSeveralRanks) {
  expect_refusal(run_baleen({"bench", "transport"}),
                 {.whole = "one rank has nobody to talk to; give a manifest with several `ranks`"});
}

}  // namespace
}  // namespace baleen::test
