/// \file The table that transports get, over a RankLink.
#include "core/launch/rendezvous_table.hpp"

#include "sample.hpp"

namespace baleen {
namespace {

baleen_string_t borrowed(const std::string& text) { return {text.data(), text.size()}; }

class ARendezvousTable : public SampleTest {
 protected:
  std::unique_ptr<RankLink> link = sample_link(1, 4);
  Error failure;
  RendezvousTable rendezvous{*link, [this](const Error& error) { failure = error; }};
  const baleen_rendezvous_t& table = *rendezvous.get();

  std::int64_t get(const std::string& key, std::string& value, std::uint64_t capacity) {
    value.assign(capacity, '.');
    return table.get(table.self, borrowed(key), value.data(), capacity);
  }
};

TEST_F(ARendezvousTable, KnowsTheRanks) {
  EXPECT_EQ(table.size, sizeof(baleen_rendezvous_t));
  EXPECT_EQ(table.rank, 1);
  EXPECT_EQ(table.ranks, 4);
}

TEST_F(ARendezvousTable, PutsBytes) {
  const std::string bytes("a\0b", 3);
  EXPECT_EQ(table.put(table.self, borrowed("key"), borrowed(bytes)), BALEEN_OK);
  EXPECT_EQ(*link->get("key"), bytes);
}

TEST_F(ARendezvousTable, GetsAsMuchAsFitsAndTellsTheSize) {
  std::string value;
  ASSERT_TRUE(link->put("a", "seven.."));
  EXPECT_EQ(get("a", value, 10), 7);
  EXPECT_EQ(value, "seven.....");
  EXPECT_EQ(get("a", value, 3), 7);
  EXPECT_EQ(value, "sev");
  EXPECT_EQ(get("a", value, 0), 7);
}

TEST_F(ARendezvousTable, KeepsTheReasonOfAFailure) {
  std::string value;
  EXPECT_EQ(table.over(table.self), 0);
  EXPECT_EQ(get("key", value, 3), -1);
  EXPECT_EQ(failure.code, BALEEN_TIMEOUT);
  EXPECT_EQ(failure.message, "launcher `sample`: `key` is not there");
  ASSERT_TRUE(link->put("lose", "rank 3 is gone"));
  EXPECT_NE(table.over(table.self), 0);
  EXPECT_EQ(table.put(table.self, borrowed("lose"), borrowed("v")), BALEEN_INVALID);
  EXPECT_EQ(failure.code, BALEEN_INVALID);
}

}  // namespace
}  // namespace baleen
