/// \file A rank and its launcher, played by a plugin of the tests.
#include "core/launch/rank_link.hpp"

#include "sample.hpp"

namespace baleen {
namespace {

class RankLinkTest : public SampleTest {
 protected:
  std::unique_ptr<RankLink> link = sample_link();
};

TEST_F(RankLinkTest, PassesCallsOn) {
  EXPECT_TRUE(link->put("key", "value"));
  EXPECT_EQ(*link->get("key"), "value");
  EXPECT_EQ(link->put("key", "again").error().text(), "launcher `sample`: `key` is set already");
  EXPECT_EQ(link->get("other").error().code, BALEEN_TIMEOUT);
  EXPECT_TRUE(link->barrier("b"));
  EXPECT_EQ(*link->get("fence"), "b");
  EXPECT_TRUE(link->finish());
  EXPECT_EQ(*link->get("finish"), "yes");
}

TEST_F(RankLinkTest, TellsHowFarItIs) {
  link->at(12, "backward");
  EXPECT_EQ(*link->get("beat"), "12 backward -1");
  link->begins(3);
  EXPECT_EQ(*link->get("beat"), "12 backward 3");
}

TEST_F(RankLinkTest, TellsWhatItStandsIn) {
  link->at(12, "backward");
  EXPECT_EQ(*link->get("stands"), "");
  link->stands_in("all_reduce of `w`");
  EXPECT_EQ(*link->get("stands"), "all_reduce of `w`");
  link->stands_in("");
  EXPECT_EQ(*link->get("stands"), "");
}

TEST_F(RankLinkTest, TellsWhatItRuns) {
  const auto order = [](const std::vector<std::string>& programs) {
    const auto rank = sample_link();
    for (const std::string& program : programs) rank->runs(program);
    return *rank->get("order");
  };
  EXPECT_TRUE(order({"train", "evaluate"}).starts_with("evaluate 2 "));
  EXPECT_EQ(order({"train", "evaluate"}), order({"train", "evaluate"}));
  EXPECT_NE(order({"train", "evaluate"}), order({"evaluate", "evaluate"})) << "what came before counts";
  EXPECT_NE(order({"ab", "c"}), order({"a", "c"}));
}

TEST_F(RankLinkTest, SaysWhyItFailsAndLearnsWhoShowsIt) {
  EXPECT_TRUE(link->fail(invalid("bad value", "train.lua:3:5"), {"a", "the last line"}));
  EXPECT_EQ(*link->get("failure"), "train.lua:3:5: bad value after the last line");
  EXPECT_FALSE(link->fail({BALEEN_IO, "full", {}}));
}

TEST_F(RankLinkTest, CallsItsWatchersOnce) {
  int gone = 0, calls = 0;
  std::string heard, late;
  {
    const AbortWatch short_lived(*link, [&](const std::string&) { ++gone; });
  }
  const AbortWatch watch(*link, [&](const std::string& reason) { ++calls, heard = reason; });
  EXPECT_TRUE(link->state());
  EXPECT_TRUE(link->put("lose", "the first cause"));
  EXPECT_FALSE(link->put("lose", "another"));
  EXPECT_EQ(heard, "the first cause");
  const AbortWatch too_late(*link, [&](const std::string& reason) { late = reason; });
  EXPECT_EQ(late, "the first cause");
  EXPECT_EQ(link->state().error().code, BALEEN_PEER_LOST);
  EXPECT_EQ(gone, 0);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace baleen
