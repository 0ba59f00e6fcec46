/// \file Ranks that meet, write to each other, leave, and die.
#include "switchboard.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/ranks.hpp"

namespace baleen::nccl {
namespace {

using test::As;
using test::expect;

/// A rank's switchboard in a shared rendezvous; throws where it cannot join.
std::unique_ptr<Switchboard> join(test::SharedRendezvous& meeting, std::int32_t rank, std::int32_t ranks,
                                  const std::string& facts = "NCCL=2.28.9\n", double seconds = 20) {
  const baleen_rendezvous_t view = meeting.of(rank, ranks);
  auto joined = Switchboard::join(Rendezvous(&view), "", facts, seconds);
  if (!joined) throw std::runtime_error(joined.error().text());
  return *std::move(joined);
}

TEST(NcclSwitchboard, BringsLettersInOrder) {
  test::SharedRendezvous meeting;
  EXPECT_EQ(test::run_bodies(As::kThreads, 3,
                             [&](std::int32_t rank) {
                               const auto board = join(meeting, rank, 3);
                               const std::string long_one(300'000, 'x');
                               for (std::int32_t to = 0; to < 3; ++to) {
                                 if (to == rank) continue;
                                 board->send(FrameKind::kLetter, to, "from " + std::to_string(rank));
                                 board->send(FrameKind::kLetter, to, long_one);
                               }
                               for (std::int32_t from = 0; from < 3; ++from) {
                                 if (from == rank) continue;
                                 expect(*board->letter_of(from) == "from " + std::to_string(from), "the first letter");
                                 expect(*board->letter_of(from) == long_one, "the second letter");
                               }
                               // By rank 0 all letters go: it stays until the others have theirs.
                               if (rank != 0) return board->send(FrameKind::kLetter, 0, "all read");
                               for (const std::int32_t from : {1, 2})
                                 expect(*board->letter_of(from) == "all read", "the last letter");
                             }),
            "");
}

TEST(NcclSwitchboard, TellsADeathFromALeaving) {
  test::SharedRendezvous meeting;
  const std::string failures = test::run_bodies(As::kProcesses, 3, [&](std::int32_t rank) {
    const auto board = join(meeting, rank, 3);
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::int32_t, FrameKind> last;
    board->listen([&](const Frame& frame) {
      const std::lock_guard lock(mutex);
      last[frame.from] = frame.kind;
      changed.notify_all();
    });
    if (rank == 1) _exit(9);
    if (rank == 2) {
      board->send(FrameKind::kLeft, -1, "all is well");
      return;
    }
    std::unique_lock lock(mutex);
    const bool both = changed.wait_for(lock, std::chrono::seconds(20), [&] { return last.size() == 2; });
    expect(both && last[1] == FrameKind::kGone && last[2] == FrameKind::kLeft, "what rank 0 heard");
  });
  EXPECT_EQ(failures, "rank 1 ended with status 2304\n");
}

TEST(NcclSwitchboard, ComparesFacts) {
  EXPECT_EQ(different_fact(3, "NCCL=2.28.9\nalgorithm=ring\n", "NCCL=2.28.9\nalgorithm=tree\n"),
            "rank 3 has algorithm ring where rank 0 has tree; every rank needs the same one");
  EXPECT_EQ(different_fact(3, "NCCL=2.28.9\n", "NCCL=2.28.9\n"), "");
  EXPECT_EQ(different_fact(3, "NCCL=2.28.9\n", "NCCL=2.28.9\nmore=1\n"), "rank 3 runs another version of the plugin");
}

TEST(NcclSwitchboard, KnowsTheInterfacesOfThisHost) {
  const auto loopback = addresses_of("lo");
  ASSERT_TRUE(loopback) << loopback.error().text();
  EXPECT_NE(loopback->find("127.0.0.1"), std::string::npos);
  const auto none = addresses_of("nowhere0");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("`interface` is `nowhere0`, and the interfaces that are up are "),
            std::string::npos);
}

}  // namespace
}  // namespace baleen::nccl
