/// \file A byte that is damaged on its way: this program stands in for the socket calls that UCX makes.
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <atomic>

#include "ucx_run.hpp"

namespace {

// How many bytes more are to be damaged; one in each long message.
std::atomic<int> damage{0};

constexpr std::size_t kLong = 4000;

}  // namespace

extern "C" ssize_t send(int socket, const void* data, std::size_t bytes, int flags) {
  static const auto real = reinterpret_cast<decltype(&send)>(dlsym(RTLD_NEXT, "send"));
  if (bytes < kLong || damage.load() == 0) return real(socket, data, bytes, flags);
  --damage;
  std::vector<char> copy(static_cast<const char*>(data), static_cast<const char*>(data) + bytes);
  copy[bytes / 2] = static_cast<char>(copy[bytes / 2] ^ 0x10);
  return real(socket, copy.data(), bytes, flags);
}

extern "C" ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  static const auto real = reinterpret_cast<decltype(&sendmsg)>(dlsym(RTLD_NEXT, "sendmsg"));
  for (std::size_t i = 0; i < message->msg_iovlen && damage.load() > 0; ++i) {
    const iovec& part = message->msg_iov[i];
    if (part.iov_len < kLong) continue;
    --damage;
    std::vector<char> copy(static_cast<char*>(part.iov_base), static_cast<char*>(part.iov_base) + part.iov_len);
    copy[part.iov_len / 2] = static_cast<char>(copy[part.iov_len / 2] ^ 0x10);
    std::vector<iovec> parts(message->msg_iov, message->msg_iov + message->msg_iovlen);
    parts[i].iov_base = copy.data();
    msghdr changed = *message;
    changed.msg_iov = parts.data();
    return real(socket, &changed, flags);
  }
  return real(socket, message, flags);
}

namespace baleen::conformance {
namespace {

constexpr std::uint64_t kCount = 40'000;

// Rank 1 sends one damaged message.
std::string run_damaged(const char* integrity) {
  return run_ucx(2, {{"tls", "tcp"}, {"integrity", integrity}}, [](Rank& rank) {
    void* world = rank.world();
    expect_sum(rank, world, kCount);
    damage = rank.rank == 1 ? 1 : 0;
    expect_sum(rank, world, kCount);
    expect(damage == 0, "nothing was damaged");
  });
}

TEST(Integrity, ADamagedMessageIsNamed) {
  const std::string text = run_damaged("true");
  EXPECT_NE(text.find("rank 0: ucx: a message of "), std::string::npos) << text;
  EXPECT_NE(text.find("from rank 1 to rank 0 was damaged on its way (xxh3 0x"), std::string::npos) << text;
  EXPECT_NE(text.find("in all_reduce of 40000 fp32 at a.lua:1"), std::string::npos) << text;
}

// Or the test above would show nothing.
TEST(Integrity, WithoutItDamageGoesUnseen) {
  EXPECT_NE(run_damaged("false").find("rank 0: another sum"), std::string::npos);
}

TEST(Integrity, GoodMessagesPassOverEveryWay) {
  for (const char* tls : {"tcp", "posix", "posix\ncma"}) {
    EXPECT_EQ(run_ucx(3, {{"tls", tls}, {"integrity", "true"}},
                      [](Rank& rank) {
                        std::byte* arena = arena_of(rank, 24 << 20);
                        void* world = rank.world();
                        for (const baleen_collective_t op : kCollectives)
                          for (const auto& counts : std::vector<std::vector<std::uint64_t>>{
                                   {1}, {0, 17, 250}, {99'991, 5, 160'000}, {600'000}})
                            run_case(rank, world, static_cast<std::size_t>(rank.rank),
                                     case_of(op, BALEEN_F32, 3, counts, 5), Memory::kMixed, true, arena);
                        const baleen_collective_spec_t barrier{
                            sizeof barrier, BALEEN_BARRIER, 0, 0, 0, nullptr, 0, nullptr, 0, 0, {}};
                        rank.run(rank.prepare(world, barrier));
                      }),
              "")
        << tls;
  }
}

}  // namespace
}  // namespace baleen::conformance
