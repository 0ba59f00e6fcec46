/// \file Slots that are used in place beside others: those others are compared as ever.
#include <gtest/gtest.h>

#include <vector>

#include "baleen/event.hpp"
#include "store.hpp"
#include "support/plugin_under_test.hpp"

namespace baleen::host_memory {
namespace {

class MappedSlots : public testing::Test {
 protected:
  static constexpr std::uint64_t kBytes = 2 * kBlock;
  void SetUp() override {
    store_ = std::make_unique<HostStore>(sdk::OffloadSpec{0, 16, nullptr, "rank 1"},
                                         sdk::OffloadTraits{kBlock, 64, 1 << 30, "memory"}, 2, false);
    std::vector<baleen_offload_slot_t> slots(3,
                                             {sizeof(baleen_offload_slot_t), abi(std::string_view("moment")), kBytes});
    ASSERT_TRUE(store_->reserve(slots.data(), slots.size()));
  }
  /// Whether it is done well.
  bool move(bool is_put, std::uint32_t slot, std::vector<std::byte>& data) {
    baleen_event_t done{};
    const baleen_offload_transfer_t transfer = {sizeof transfer, slot,    0, 0,     data.size(),
                                                data.data(),     nullptr, 0, &done, 1};
    EXPECT_TRUE(store_->start(&transfer, is_put));
    EXPECT_TRUE(event_wait(done, 1, 30));
    return event_value(done) == 1;
  }
  std::byte* map(std::uint32_t slot) {
    const Result<void*> base = store_->mapped(slot);
    return base ? static_cast<std::byte*>(*base) : nullptr;
  }
  sdk::OffloadStore& store() { return *store_; }

  std::unique_ptr<HostStore> store_;
};

TEST_F(MappedSlots, LeaveOthersCompared) {
  std::vector<std::byte> given(kBytes, std::byte{7}), got(kBytes);
  for (const std::uint32_t slot : {0u, 1u, 2u}) ASSERT_TRUE(move(true, slot, given));
  std::byte* const base = map(1);
  ASSERT_NE(base, nullptr);
  base[5] = std::byte{8};
  EXPECT_TRUE(move(false, 1, got)) << "who uses it in place may write there";
  EXPECT_EQ(got[5], std::byte{8});
  // Slots lie one behind the other.
  for (const auto& [slot, place] : {std::pair(0u, base - 1), std::pair(2u, base + kBytes)}) {
    ASSERT_TRUE(move(false, slot, got));
    *place ^= std::byte{1};
    EXPECT_FALSE(move(false, slot, got)) << "slot " << slot;
    const Status failure = store().check(slot);
    ASSERT_FALSE(failure);
    EXPECT_EQ(failure.error().code, BALEEN_DAMAGED);
    EXPECT_NE(failure.error().message.find("its checksum differs"), std::string::npos) << failure.error().message;
  }
}

TEST_F(MappedSlots, AreNotSaidToBeCompared) {
  baleen_offload_info_t info{};
  info.size = sizeof info;
  ASSERT_TRUE(store().describe(&info));
  EXPECT_TRUE(info.flags & BALEEN_OFFLOAD_CHECKED);
  ASSERT_NE(map(0), nullptr);
  ASSERT_TRUE(store().describe(&info));
  EXPECT_FALSE(info.flags & BALEEN_OFFLOAD_CHECKED) << "not every block is";
  EXPECT_TRUE(info.flags & BALEEN_OFFLOAD_MAPPED);
}

}  // namespace
}  // namespace baleen::host_memory
