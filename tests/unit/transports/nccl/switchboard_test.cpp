/// \file Ranks that meet, write to each other, leave, and die.
#include "switchboard.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <vector>

#include "support/free_port.hpp"
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

/// Stays until that rank has written.
void board_says(Switchboard& board, std::int32_t from) { expect(static_cast<bool>(board.letter_of(from)), "a letter"); }

TEST(NcclWire, HearsTheLastWordsOfWhoTakesNothingAnyMore) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  Wire near{FileHandle(ends[0])};
  near.trust();
  Wire(FileHandle(ends[1])).send({FrameKind::kLeft, 1, -1, "because"});
  near.send({FrameKind::kLetter, 0, 1, "are you there?"});
  EXPECT_FALSE(near.exchange());
  const auto heard = near.take();
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->bytes, "because");
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

bool is_open(const FileHandle& socket) {
  char heard = 0;
  return recv(socket.get(), &heard, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}
template <class Condition>
bool comes_true(const Condition& condition) {
  for (int tries = 0; tries < 2000 && !condition(); ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return condition();
}

/// Who holds connections and says nothing is hung up on, the oldest first, and the job begins; then nobody listens.
TEST(NcclSwitchboard, BearsStrangers) {
  constexpr std::ptrdiff_t kStrangers = 200, kMost = 64 + 1;  // and the rank that is to come
  test::SharedRendezvous meeting;
  EXPECT_EQ(test::run_bodies(As::kThreads, 2,
                             [&](std::int32_t rank) {
                               std::vector<FileHandle> strangers;
                               if (rank == 0) return board_says(*join(meeting, 0, 2), 1);
                               const baleen_rendezvous_t view = meeting.of(1, 2);
                               const std::uint16_t port = place_from(Rendezvous(&view).get("nccl.hub"))->port;
                               while (std::ssize(strangers) < kStrangers)
                                 strangers.push_back(test::connect_to_loopback(port));
                               const auto open = [&] { return std::ranges::count_if(strangers, is_open); };
                               expect(comes_true([&] { return open() <= kMost; }), "all are borne");
                               expect(is_open(strangers.back()), "the last one is hung up on first");
                               const auto board = join(meeting, 1, 2);
                               expect(comes_true([&] { return open() == 0; }), "strangers are heard for ever");
                               expect(!test::connect_to_loopback(port), "rank 0 listens though all have come");
                               board->send(FrameKind::kLetter, 0, "over");
                             }),
            "");
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
