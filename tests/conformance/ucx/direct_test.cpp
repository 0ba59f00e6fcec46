/// \file Ranks of a host that read and write each other's arenas give what messages give, where they can and where not.
#include <sched.h>
#include <sys/mount.h>

#include "ucx_run.hpp"

namespace baleen::conformance {
namespace {

std::string logged(Rank& rank) {
  std::string all;
  for (const std::string& line : rank.host().logged()) all += line + "\n";
  return all;
}

bool reaches(Rank& rank) {
  const std::string all = logged(rank);
  const std::size_t said = all.find(" ends of messages are reached");
  return said != all.npos && all.substr(0, said).find(": 0", said - 4) == std::string::npos;
}

struct Way {
  std::string name;
  test::RankOptions options;
  bool is_direct = true;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class DirectAccess : public testing::TestWithParam<Way> {};

// Long buffers and short ones, in pieces of which there are more than may be under way.
void run_all(Rank& rank, Memory memory) {
  const auto members = static_cast<std::size_t>(rank.ranks), place = static_cast<std::size_t>(rank.rank);
  std::byte* arena = arena_of(rank, 16 << 20);
  void* world = rank.world();
  std::uint64_t seed = 900;
  for (const baleen_collective_t op : kCollectives)
    for (const bool in_place : {false, true})
      run_case(rank, world, place,
               case_of(op, in_place ? BALEEN_BF16 : BALEEN_F32, members, {9'000, 3, 0, 30'002, 10}, ++seed), memory,
               in_place, arena);
}

TEST_P(DirectAccess, GivesWhatTheCollectiveMeans) {
  for (const std::int32_t ranks : {2, 3, 4})
    for (const Memory memory : {Memory::kArena, Memory::kMixed})
      EXPECT_EQ(run_ucx(ranks, GetParam().options,
                        [&](Rank& rank) {
                          run_all(rank, memory);
                          expect(reaches(rank) == GetParam().is_direct, "not as it should be: " + logged(rank));
                        }),
                "")
          << ranks << " ranks";
}

TEST_P(DirectAccess, EndsWithItsArena) {
  EXPECT_EQ(run_ucx(2, GetParam().options,
                    [](Rank& rank) {
                      void* world = rank.world();
                      for (int round = 0; round < 10; ++round) {
                        std::byte* arena = arena_of(rank, 2 << 20);
                        run_case(rank, world, static_cast<std::size_t>(rank.rank),
                                 case_of(BALEEN_ALL_REDUCE, BALEEN_F32, 2, {100'000}, 4), Memory::kArena, true, arena);
                        rank.table.release(rank.get(), arena);
                      }
                    }),
            "");
}

INSTANTIATE_TEST_SUITE_P(
    Ways, DirectAccess,
    testing::Values(Way{"posix", {{"tls", "posix"}, {"segment", "16384"}}},
                    Way{"sysv", {{"tls", "sysv"}, {"segment", "65536"}}}, Way{"UcxChooses", {{"segment", "40000"}}},
                    Way{"Halving", {{"tls", "posix"}, {"algorithm", "all_reduce=halving_doubling"}}},
                    Way{"Forbidden", {{"tls", "posix"}, {"direct", "false"}}, false},
                    Way{"Checksums", {{"tls", "posix"}, {"integrity", "true"}}, false},
                    Way{"Tcp", {{"tls", "tcp"}}, false}),
    [](const auto& info) { return info.param.name; });

void mount_little_shared_memory() {
  expect(unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
             mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=4m") == 0,
         "no mounts here");
}

// Containers have 64 MiB of /dev/shm by default.
TEST(DirectAccessWithoutRoom, IsDoneWithoutAndSaysSo) {
  if (!test::run_bodies(As::kProcesses, 1, [](std::int32_t) { mount_little_shared_memory(); }).empty())
    GTEST_SKIP() << "needs mounts";
  EXPECT_EQ(run_ucx(2, {{"tls", "posix"}},
                    [](Rank& rank) {
                      mount_little_shared_memory();
                      run_all(rank, Memory::kArena);
                      expect_contains(logged(rank), "cannot reach an arena of 16777216 bytes (UCX says: Not enough");
                      expect_contains(logged(rank), "give /dev/shm more room");
                    }),
            "");
}

}  // namespace
}  // namespace baleen::conformance
