/// \file Letters come back from their bytes; each buffer of a collective has its place in them.
#include "letter.hpp"

#include <gtest/gtest.h>

namespace baleen::shm {
namespace {

Letter sample() {
  Letter letter;
  letter.proposal = *propose(1, 4, {0, 1, 3}, 7);
  Collective& c = letter.proposal.collective.emplace();
  c.op = BALEEN_ALL_REDUCE;
  c.members = 3;
  c.entries.resize(2);
  letter.places = {{{2, 64, true}, {-1, 0, true}}, {{-1, 0, false}, {3, 128, true}}};
  letter.news = {{5, 4096}, {2, 0}};
  letter.memory_bytes = 8192;
  return letter;
}

TEST(ShmLetter, ComesBackFromItsBytes) {
  const std::string bytes = encode(sample());
  const auto again = decode(bytes);
  ASSERT_TRUE(again);
  EXPECT_EQ(encode(*again), bytes);
  EXPECT_EQ(again->places[1].second.offset, 128u);
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode(bytes.substr(0, size))) << size;
  EXPECT_FALSE(decode(bytes + "x"));
}

/// The reader takes the places in step with the buffers.
TEST(ShmLetter, HasAPlaceForEachBuffer) {
  Letter fewer = sample(), none = sample();
  fewer.places.pop_back();
  none.proposal.collective.reset();
  EXPECT_FALSE(decode(encode(fewer)));
  EXPECT_FALSE(decode(encode(none)));
  none.places.clear();
  EXPECT_TRUE(decode(encode(none)));
}

}  // namespace
}  // namespace baleen::shm
