/// \file A bit at a time is turned in what the strategy `offload` keeps in the host's memory between two steps: states,
/// parameters and gradients that wait. Each is found by the next step, or by what comes before a save.
#include "unit/frontend/engine/offloaded_bits.hpp"

namespace baleen::app {
namespace {

TEST_F(OffloadedBits, AreFoundWithinAStepAndBeforeASave) {
  BitOfEach each;
  for (;;) {
    ASSERT_NO_FATAL_FAILURE(train());  // a store tells its first failure ever after
    if (!each.next(slots_)) break;
    ASSERT_NO_FATAL_FAILURE(turn(each.buffer(), each.bit()));
    std::vector<std::byte> saved(each.buffer().bytes);
    each.expect_found(each.is_of_step() ? stepped() : session().read_own(each.buffer(), 0, saved), "checksum differs");
  }
  EXPECT_EQ(each.suffixes(), kSuffixes);
}

/// Their store compares those of them that no program uses in place.
TEST_F(OffloadedBits, AreFoundWhereUpdatesRunInSlots) {
  for (const std::string states : {"*", "*weight.m"}) {  // with a state in the device an update is the device's
    BitOfEach each;
    std::set<std::string> in_place;
    int by_store = 0;
    for (;;) {
      ASSERT_NO_FATAL_FAILURE(train(true, states));
      if (!each.next(slots_)) break;
      const PersistentBuffer& buffer = each.buffer();
      ASSERT_TRUE(check_->compare_all());
      ASSERT_NO_FATAL_FAILURE(turn(buffer, each.bit()));
      if (session().own_memory(buffer)) {
        in_place.insert(suffix_of(buffer));
        each.expect_found(each.is_of_step() ? stepped() : check_->compare_all(),
                          "is no longer what the last update wrote");
        continue;
      }
      ++by_store;
      std::vector<std::byte> saved(buffer.bytes);
      each.expect_found(each.is_of_step() ? stepped() : session().read_own(buffer, 0, saved), "checksum differs");
    }
    EXPECT_TRUE(states != "*" || each.suffixes() == kSuffixes);
    EXPECT_EQ(in_place.contains(".m"), states == "*");
    EXPECT_GT(by_store, 0) << "some gradients that wait are got and put by the device";
  }
}

/// What the host writes there, as one that resumes does, is right.
TEST_F(OffloadedBits, AreNoneWhereTheHostWrites) {
  ASSERT_NO_FATAL_FAILURE(train(true));
  for (const PersistentBuffer* buffer : slots_) {
    std::vector<std::byte> bytes(buffer->bytes);
    ASSERT_TRUE(session().read_own(*buffer, 0, bytes));
    for (std::size_t i = 0; i < bytes.size(); i += 4) bytes[i] ^= std::byte{1};
    ASSERT_TRUE(session().write_own(*buffer, bytes));
  }
  EXPECT_TRUE(check_->compare_all());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(stepped());
  EXPECT_TRUE(check_->compare_all());
}

}  // namespace
}  // namespace baleen::app
