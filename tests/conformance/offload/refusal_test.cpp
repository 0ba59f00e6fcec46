/// \file What is refused, in which words; and that nothing has happened then.
#include "suite.hpp"

namespace baleen::conformance {
namespace {

class OffloadRefusal : public OffloadSuite {
 protected:
  static void expect_invalid(const Store& store, const baleen_offload_transfer_t& transfer, const std::string& why) {
    EXPECT_EQ(store.try_put(transfer), BALEEN_INVALID);
    EXPECT_EQ(store.plugin.host->failure(), "put of " + why);
    EXPECT_EQ(store.try_get(transfer), BALEEN_INVALID);
    EXPECT_EQ(store.plugin.host->failure(), "get of " + why);
  }
};

TEST_P(OffloadRefusal, NamesTheRangeThatIsWrong) {
  Store store(GetParam());
  const std::uint64_t block = store.info().alignment, size = 10 * block + 3;
  const std::string number = std::to_string(block), bytes = std::to_string(size);
  store.reserve({size});
  const Memory memory(size + block);
  baleen_event_t done{};
  const auto at = [&](std::uint32_t slot, std::uint64_t offset, std::uint64_t count) {
    return Store::transfer(slot, offset, count, memory.get(), &done);
  };
  expect_invalid(store, at(1, 0, block), "slot 1: there are 1 slots; reserve it first");
  expect_invalid(store, at(0, 1, block), "slot 0 `weight`: offset 1 is no multiple of the alignment " + number);
  expect_invalid(store, at(0, 0, block - 1),
                 "slot 0 `weight`: " + std::to_string(block - 1) + " bytes are no multiple of the alignment " + number +
                     " and do not end at the slot's end (" + bytes + ")");
  expect_invalid(
      store, at(0, 0, size + 1),
      "slot 0 `weight`: " + std::to_string(size + 1) + " bytes at offset 0 are beyond its " + bytes + " bytes");
  expect_invalid(store, at(0, ~std::uint64_t{0} - block + 1, 2 * block),
                 "slot 0 `weight`: " + std::to_string(2 * block) + " bytes at offset " +
                     std::to_string(~std::uint64_t{0} - block + 1) + " are beyond its " + bytes + " bytes");
  expect_invalid(store, Store::transfer(0, 0, block, nullptr, &done), "slot 0 `weight`: the memory is null");
  baleen_offload_transfer_t unsized = at(0, 0, block);
  unsized.size = 0;
  EXPECT_EQ(store.try_put(unsized), BALEEN_INVALID);
  EXPECT_EQ(event_value(done), 0u);
  EXPECT_EQ(store.plugin.table.check(store.get_handle(), BALEEN_OFFLOAD_ANY), BALEEN_OK) << "nothing was begun";
  store.put(0, 10 * block, 3, memory.get());
}

TEST_P(OffloadRefusal, KeepsToTheBudget) {
  const std::uint64_t budget = 1u << 20;
  Store store(GetParam(), budget);
  const std::string text = std::to_string(budget), more = std::to_string(budget + store.info().alignment);
  EXPECT_EQ(store.info().capacity, budget);
  EXPECT_EQ(store.try_reserve({budget, 1}), BALEEN_NO_MEMORY);
  const std::string why = store.plugin.host->failure();
  EXPECT_NE(why.find("rank 3: the slots need " + more + " bytes in "), why.npos) << why;
  EXPECT_NE(why.find("the budget is " + text + " bytes; raise the budget, or offload less"), why.npos) << why;
  EXPECT_EQ(store.info().slots, 0u) << "all or none";
  store.reserve({budget - 1});
  EXPECT_EQ(store.info().in_use, budget);
  EXPECT_EQ(store.try_reserve({1}), BALEEN_NO_MEMORY);
  store.reserve({0});
  EXPECT_EQ(store.info().slots, 2u);
}

TEST_P(OffloadRefusal, NamesWhatThePlaceHasWithoutABudget) {
  Store store(GetParam());
  const std::uint64_t much = std::uint64_t{1} << 50;
  EXPECT_EQ(store.try_reserve({much}), BALEEN_NO_MEMORY);
  const std::string why = store.plugin.host->failure();
  EXPECT_NE(why.find("the slots need " + std::to_string(much) + " bytes in "), why.npos) << why;
  EXPECT_NE(why.find("there is room for " + std::to_string(store.info().capacity) + " bytes; make room"), why.npos)
      << why;
  EXPECT_EQ(store.try_reserve({~std::uint64_t{0}}), BALEEN_INVALID);
  EXPECT_EQ(store.plugin.host->failure(), "the slots' bytes are more than 2^63 in all");
}

TEST_P(OffloadRefusal, HasNoMoreSlotsThanItMay) {
  Store store(GetParam());
  store.reserve({1});
  const std::vector<std::uint64_t> rest(BALEEN_OFFLOAD_MAX_SLOTS, 0);
  EXPECT_EQ(store.try_reserve(rest), BALEEN_INVALID);
  EXPECT_EQ(store.plugin.host->failure(), "1048577 slots are too many; a store has 1048576 at most");
  EXPECT_EQ(store.info().slots, 1u);
}

TEST_P(OffloadRefusal, StartsNoMoreThanItWasMadeFor) {
  Store store(GetParam(), 0, 3);
  store.reserve({4096});
  const Memory memory(4096);
  baleen_event_t after{}, done[4]{};
  for (int i = 0; i < 4; ++i) {
    auto waiting = Store::transfer(0, 0, 4096, memory.get(), &done[i]);
    waiting.after = &after;
    waiting.after_value = 1;
    if (i < 3) {
      store.expect_ok(store.try_put(waiting));
      continue;
    }
    EXPECT_EQ(store.try_put(waiting), BALEEN_INVALID);
    EXPECT_EQ(store.plugin.host->failure(),
              "3 operations are unfinished, as many as the store was made for; wait for some before starting more");
    EXPECT_EQ(store.try_reserve({1}), BALEEN_INVALID);
    EXPECT_EQ(store.plugin.host->failure(),
              "rank 3: 3 operations are unfinished; wait for them before reserving slots");
  }
  event_signal(after, 1);
  for (int i = 0; i < 3; ++i) store.await(done[i], 0);
  store.reserve({1});
}

TEST_P(OffloadRefusal, IsMadeForSomeOperations) {
  for (const std::uint32_t outstanding : {0u, BALEEN_OFFLOAD_MAX_OUTSTANDING + 1u}) {
    try {
      const Store store(GetParam(), 0, outstanding);
      FAIL() << "made for " << outstanding;
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(),
                "an offload store for " + std::to_string(outstanding) + " operations at a time: it must be 1 to 1024");
    }
  }
}

/// Pins nothing, and remembers what it was asked for.
struct Pins {
  std::vector<std::pair<void*, std::uint64_t>> pinned;
  std::size_t unpinned = 0;
  const baleen_host_t* host = nullptr;  ///< not null: it refuses
  baleen_offload_pinning_t table = {sizeof table, this,
                                    [](void* self, void* base, std::uint64_t bytes) -> baleen_status_t {
                                      auto& pins = *static_cast<Pins*>(self);
                                      if (pins.host)
                                        return pins.host->fail(pins.host->self, BALEEN_NO_MEMORY,
                                                               abi("the driver pins no more"));
                                      pins.pinned.emplace_back(base, bytes);
                                      return BALEEN_OK;
                                    },
                                    [](void* self, void*) { ++static_cast<Pins*>(self)->unpinned; }};
};

TEST_P(OffloadRefusal, PinsWhatIsMapped) {
  Pins pins;
  Store store(GetParam(), 0, 4, &pins.table);
  store.reserve({100'000});
  if (!store.plugin.table.map) {
    EXPECT_TRUE(pins.pinned.empty());
    return;
  }
  void* base = nullptr;
  store.expect_ok(store.plugin.table.map(store.get_handle(), 0, &base));
  ASSERT_EQ(pins.pinned.size(), 1u);
  EXPECT_LE(pins.pinned[0].first, base);
  EXPECT_GE(pins.pinned[0].second, 100'000u);
  EXPECT_NE(store.info().flags & BALEEN_OFFLOAD_PINNED, 0u);
  pins.host = store.plugin.host->get();
  EXPECT_EQ(store.try_reserve({5}), BALEEN_NO_MEMORY);
  EXPECT_EQ(store.plugin.host->failure(), "the driver pins no more");
  EXPECT_EQ(store.info().slots, 1u);
  pins.host = nullptr;
  store.destroy();
  EXPECT_EQ(pins.unpinned, 1u);
}

BALEEN_OFFLOAD_SUITE(OffloadRefusal);

}  // namespace
}  // namespace baleen::conformance
