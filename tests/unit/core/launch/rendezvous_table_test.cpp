/// \file The table that transports get, over a RankLink.
#include "core/launch/rendezvous_table.hpp"

#include <gtest/gtest.h>

#include <future>

#include "fake_launcher.hpp"

namespace baleen {
namespace {

baleen_string_t borrowed(const std::string& text) { return {text.data(), text.size()}; }

class ARendezvousTable : public testing::Test {
 protected:
  FakeLauncher launcher;
  std::unique_ptr<RankLink> link = launcher.link();
  Error failure;
  RendezvousTable rendezvous{*link, [this](const Error& error) { failure = error; }};
  const baleen_rendezvous_t& table = *rendezvous.get();

  std::int64_t get(const std::string& key, std::string& value, std::uint64_t capacity, const Message& reply) {
    value.assign(capacity, '.');
    auto size = std::async([&] { return table.get(table.self, borrowed(key), value.data(), capacity); });
    const Message asked = launcher.hear(MessageKind::get);
    EXPECT_EQ(asked.key, key);
    launcher.say({reply.kind, asked.request, reply.code, {}, reply.value});
    return size.get();
  }
};

TEST_F(ARendezvousTable, KnowsTheRanks) {
  EXPECT_EQ(table.size, sizeof(baleen_rendezvous_t));
  EXPECT_EQ(table.rank, 1);
  EXPECT_EQ(table.ranks, 4);
}

TEST_F(ARendezvousTable, PutsBytes) {
  const std::string bytes("a\0b", 3);
  auto status = std::async([&] { return table.put(table.self, borrowed("key"), borrowed(bytes)); });
  const Message asked = launcher.hear(MessageKind::put);
  EXPECT_EQ(asked.value, bytes);
  launcher.say({MessageKind::reply, asked.request});
  EXPECT_EQ(status.get(), BALEEN_OK);
}

TEST_F(ARendezvousTable, GetsAsMuchAsFitsAndTellsTheSize) {
  std::string value;
  const Message reply{MessageKind::reply, 0, BALEEN_OK, {}, "seven.."};
  EXPECT_EQ(get("a", value, 10, reply), 7);
  EXPECT_EQ(value, "seven.....");
  EXPECT_EQ(get("b", value, 3, reply), 7);
  EXPECT_EQ(value, "sev");
  EXPECT_EQ(get("c", value, 0, reply), 7);
}

TEST_F(ARendezvousTable, KeepsTheReasonOfAFailure) {
  std::string value;
  EXPECT_EQ(table.over(table.self), 0);
  EXPECT_EQ(get("key", value, 3, {MessageKind::abort, 0, BALEEN_PEER_LOST, {}, "rank 3 is gone"}), -1);
  EXPECT_EQ(failure.message, "rank 3 is gone");
  EXPECT_NE(table.over(table.self), 0);
  failure = {};
  EXPECT_EQ(table.put(table.self, borrowed("key"), borrowed("v")), BALEEN_PEER_LOST);
  EXPECT_EQ(failure.code, BALEEN_PEER_LOST);
}

}  // namespace
}  // namespace baleen
