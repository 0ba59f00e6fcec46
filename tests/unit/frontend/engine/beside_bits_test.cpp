/// \file A bit at a time is turned in slots where updates run on the host's cores beside an emulated device: each is
/// found by the next step, or by what comes before a save.
#include <cstdlib>

#include "unit/frontend/engine/offloaded_bits.hpp"

namespace baleen::app {
namespace {

class BesideBits : public OffloadedBits {
 protected:
  void SetUp() override {
    OffloadedBits::SetUp();
    setenv("EMULATED_CUDA_DEVICES", "1", 1);
    options_.device = "cuda";
    options_.device_options = {{"libraries", {std::vector<std::string>{test::emulated_folder()}, "test"}},
                               {"cache", {test::emulated_folder() + "/cache", "test"}}};
  }
  /// Some slots that updates alone write: of each kind one, the same at each call. A gradient that waits is the
  /// device's.
  void train_beside() {
    ASSERT_NO_FATAL_FAILURE(train(true));
    ASSERT_TRUE(session().updates_beside());
    std::erase_if(slots_, [&](const PersistentBuffer* one) { return !session().beside_memory(*one); });
    ASSERT_FALSE(slots_.empty());
    if (!order_) order_ = test::seed();
    std::mt19937_64 random(*order_);
    std::ranges::shuffle(slots_, random);
    std::set<std::string> seen;
    std::erase_if(slots_, [&](const PersistentBuffer* one) { return !seen.insert(suffix_of(*one)).second; });
  }

 private:
  std::optional<std::uint64_t> order_;
};

TEST_F(BesideBits, AreFoundWithinAStepAndBeforeASave) {
  BitOfEach each;
  for (;;) {
    ASSERT_NO_FATAL_FAILURE(train_beside());
    if (!each.next(slots_)) break;
    ASSERT_TRUE(check_->compare_all());
    ASSERT_NO_FATAL_FAILURE(turn(each.buffer(), each.bit()));
    each.expect_found(each.is_of_step() ? stepped() : check_->compare_all(), "is no longer what the last update wrote");
  }
  EXPECT_EQ(each.suffixes(), (std::set<std::string>{".m", ".v", "parameter"}));
}

/// What the host writes there, as one that resumes does, is right.
TEST_F(BesideBits, AreNoneWhereTheHostWrites) {
  ASSERT_NO_FATAL_FAILURE(train_beside());
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
