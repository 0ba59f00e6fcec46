/// \file Keys, waits and barriers, without processes.
#include "common/store.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace baleen::launchers {
namespace {

/// "0/7=value" for each answer, sorted; a failure's code stands before its text.
std::vector<std::string> texts(const Store::Answers& answers) {
  std::vector<std::string> all;
  for (const auto& [rank, request, code, value] : answers)
    all.push_back(std::to_string(rank) + "/" + std::to_string(request) + "=" +
                  (code == BALEEN_OK ? "" : std::to_string(code) + ": ") + value);
  std::ranges::sort(all);
  return all;
}
using Texts = std::vector<std::string>;

TEST(Store, KeepsWhatWasPut) {
  Store store(Topology(2));
  EXPECT_EQ(texts(store.put(0, 7, "k", "v")), (Texts{"0/7="}));
  EXPECT_EQ(texts(store.get(1, 3, "k")), (Texts{"1/3=v"}));
  EXPECT_EQ(texts(store.get(0, 8, "k")), (Texts{"0/8=v"}));
}

TEST(Store, AnswersThoseWhoWaitWhenTheKeyComes) {
  Store store(Topology(3));
  EXPECT_TRUE(store.get(1, 3, "k").empty());
  EXPECT_TRUE(store.get(2, 4, "k").empty());
  EXPECT_TRUE(store.get(2, 5, "other").empty());
  EXPECT_EQ(texts(store.put(0, 7, "k", "v")), (Texts{"0/7=", "1/3=v", "2/4=v"}));
}

TEST(Store, NamesTheHostsOfThoseWhoAreMissing) {
  Store store(Topology({{"a", 2}, {"b", 2}, {"c", 1}}));
  store.barrier(0, 1, "start");
  EXPECT_EQ(store.waiting_text(),
            "rank 0 waits at barrier `start`; still waiting for ranks 1, 2, 3, 4 (hosts a, b, c)");
  store.barrier(1, 1, "start");
  store.barrier(2, 1, "start");
  store.barrier(4, 1, "start");
  EXPECT_EQ(store.waiting_text(), "ranks 0, 1, 2, 4 wait at barrier `start`; still waiting for rank 3 (host b)");
}

TEST(Store, RefusesASecondValue) {
  Store store(Topology(2));
  store.put(0, 1, "k", "v");
  EXPECT_EQ(texts(store.put(1, 1, "k", "w")), (Texts{"1/1=1: rendezvous: the key `k` is already set"}));
  EXPECT_EQ(texts(store.get(1, 2, "k")), (Texts{"1/2=v"}));
}

TEST(Store, OpensABarrierForTheLastRank) {
  Store store(Topology(3));
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(store.barrier(2, 1, "b").empty());
    EXPECT_TRUE(store.barrier(0, 2, "b").empty());
    EXPECT_EQ(texts(store.barrier(1, 3, "b")), (Texts{"0/2=", "1/3=", "2/1="}));
  }
}

TEST(Store, KeepsBarriersApart) {
  Store store(Topology(2));
  EXPECT_TRUE(store.barrier(0, 1, "a").empty());
  EXPECT_TRUE(store.barrier(1, 2, "b").empty());
  EXPECT_EQ(texts(store.barrier(1, 3, "a")), (Texts{"0/1=", "1/3="}));
}

TEST(Store, BreaksBarriersThatSomebodyLeft) {
  Store store(Topology(3));
  store.barrier(0, 1, "b");
  EXPECT_EQ(texts(store.leave(2)), (Texts{"0/1=8: rendezvous: rank 2 ended without coming to the barrier `b`"}));
  EXPECT_EQ(texts(store.barrier(1, 2, "c")),
            (Texts{"1/2=8: rendezvous: rank 2 ended without coming to the barrier `c`"}));
  EXPECT_FALSE(store.oldest_wait());
}

TEST(Store, ForgetsThoseWhoLeft) {
  Store store(Topology(4));
  store.get(0, 1, "key");
  store.leave(2);
  EXPECT_EQ(store.waiting_text(), "rank 0 waits for key `key`; still waiting for ranks 1, 3");
}

TEST(Store, SaysForWhomTheOldestWaitIs) {
  Store store(Topology(6));
  for (const int rank : {4, 0, 1}) store.barrier(rank, 1, "start");
  store.get(2, 1, "key");
  EXPECT_EQ(store.waiting_text(), "ranks 0, 1, 4 wait at barrier `start`; still waiting for ranks 2, 3, 5");
  ASSERT_TRUE(store.oldest_wait());
  EXPECT_EQ(store.oldest_wait()->rank, 4);
}

TEST(Store, SuspectsThoseWhoWaitForNothing) {
  Store store(Topology(4));
  store.get(2, 1, "key");
  store.barrier(0, 1, "start");
  EXPECT_EQ(store.waiting_text(), "rank 2 waits for key `key`; still waiting for ranks 1, 3");
  store.get(1, 1, "key");
  store.get(3, 1, "another");
  EXPECT_EQ(store.waiting_text(), "ranks 1, 2 wait for key `key`; nobody is left to come");
}

TEST(Store, TellsWhenAnotherWaitIsTheOldest) {
  Store store(Topology(2));
  store.get(0, 1, "a");
  const auto first = store.oldest_wait();
  store.get(0, 2, "b");
  EXPECT_EQ(store.oldest_wait(), first);
  store.put(1, 1, "a", "");
  EXPECT_NE(store.oldest_wait(), first);
  store.put(1, 2, "b", "");
  EXPECT_EQ(store.oldest_wait(), std::nullopt);
}

}  // namespace
}  // namespace baleen::launchers
