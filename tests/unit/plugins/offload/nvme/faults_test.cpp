/// \file Disks that fail, hang, cut short or lie: each is an error that names it, or data that is right; nothing hangs.
#include <atomic>
#include <random>

#include "faulty_store.hpp"
#include "support/seed.hpp"

namespace baleen::nvme {
namespace {

std::vector<std::byte> bytes_of(std::size_t count, unsigned value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

/// The first request of this kind gets the fault, all others none.
FaultyIo::Choose once(bool of_writes, Fault fault) {
  return [=, left = 1](const IoRequest& request) mutable {
    return request.is_write == of_writes && left-- > 0 ? fault : Fault{};
  };
}

TEST(OffloadFault, OfTheDiskIsNamedWithSlotFileAndRemedy) {
  FaultyStore store(once(false, {Fault::kError, EIO}));
  store.reserve(2, 3 * kBlock);
  std::vector<std::byte> data = bytes_of(3 * kBlock, 5);
  ASSERT_TRUE(store.put(1, data));
  EXPECT_FALSE(store.get(1, data));
  EXPECT_EQ(store.failure(1).code, BALEEN_IO);
  EXPECT_EQ(store.failure(1).text(),
            store.folder.path() +
                ", offset 12288 of the swap file: rank 1: get of slot 1 `moment`, bytes 0 to 12287: "
                "Input/output error: the disk failed; see the kernel's log, and name a folder of "
                "another disk in `path`");
  EXPECT_EQ(store.failure(0).code, BALEEN_OK) << "another slot's";
  EXPECT_TRUE(store.get(1, data)) << "the next time the disk reads";
}

TEST(OffloadFault, OfRoomInTheMiddleIsNamedWithBytes) {
  FaultyStore store(once(true, {Fault::kError, ENOSPC}));
  store.reserve(1, kBlock);
  std::vector<std::byte> data = bytes_of(kBlock, 5);
  EXPECT_FALSE(store.put(0, data));
  const std::string why = store.failure().text();
  EXPECT_NE(why.find("No space left on device: 4096 bytes were to be written, "), why.npos) << why;
  EXPECT_NE(why.find(" are free, although the room was reserved; free some, or name a folder of another disk"),
            why.npos)
      << why;
  EXPECT_FALSE(store.get(0, data)) << "a put that failed leaves nothing good";
  EXPECT_TRUE(store.put(0, data));
  EXPECT_TRUE(store.get(0, data));
}

TEST(OffloadFault, OfHalfAPutSpoilsTheOtherHalfToo) {
  FaultyStore store(once(true, {Fault::kError, EIO}), [](Options& options) { options.depth = 1; });
  store.reserve(1, 8 * kBlock);
  std::vector<std::byte> data = bytes_of(8 * kBlock, 5), half(4 * kBlock);
  EXPECT_FALSE(store.put(0, data));
  baleen_event_t done{};
  store.start(false, 0, 4 * kBlock, 4 * kBlock, half.data(), &done);
  EXPECT_FALSE(FaultyStore::ends_well(done)) << "zeros that were there before the put";
}

TEST(OffloadFault, OfACutFileIsNamedWithItsLength) {
  FaultyStore store(once(false, {Fault::kShort, 0}));
  store.reserve(1, 2 * kBlock);
  std::vector<std::byte> data(2 * kBlock);
  EXPECT_FALSE(store.get(0, data));
  const std::string why = store.failure().message;
  EXPECT_NE(why.find("the swap file ends before 8192: it has 8192 bytes; somebody has cut it"), why.npos) << why;
}

TEST(OffloadFault, OfAShortCountIsMadeUpFor) {
  std::atomic<int> requests{0};
  FaultyStore store([&](const IoRequest&) {
    ++requests;
    return Fault{Fault::kShort, kBlock + 100};
  });
  store.reserve(1, 6 * kBlock + 1);
  std::vector<std::byte> data(6 * kBlock + 1), got(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7);
  EXPECT_TRUE(store.put(0, data));
  EXPECT_TRUE(store.get(0, got));
  EXPECT_EQ(data, got);
  EXPECT_EQ(requests, 2 * (3 * 2 + 1)) << "two for each request of two blocks, one for the tail";
}

TEST(OffloadFault, OfADiskThatMovesNothingEnds) {
  FaultyStore store([&](const IoRequest&) { return Fault{Fault::kShort, 1}; });
  store.reserve(1, kBlock);
  std::vector<std::byte> data(kBlock);
  EXPECT_FALSE(store.put(0, data));
  EXPECT_NE(store.failure().message.find("moved 1 of 4096 bytes and no more in 32 tries"), std::string::npos)
      << store.failure().message;
}

TEST(OffloadFault, OfAnInterruptedRequestIsRepeated) {
  int left = 5;
  FaultyStore store([&](const IoRequest&) {
    return left-- > 0 ? Fault{Fault::kError, left % 2 ? std::uint64_t{EINTR} : std::uint64_t{EAGAIN}} : Fault{};
  });
  store.reserve(1, kBlock);
  std::vector<std::byte> data(kBlock);
  EXPECT_TRUE(store.put(0, data));
}

TEST(OffloadFault, OfADiskThatHangsEndsInTime) {
  FaultyStore store(once(true, {Fault::kHangs, 0}));
  store.reserve(1, kBlock);
  std::vector<std::byte> data(kBlock);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(store.put(0, data));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(store.failure().code, BALEEN_TIMEOUT);
  const std::string why = store.failure().message;
  EXPECT_NE(
      why.find("put of slot 0 `moment`, bytes 0 to 4095: no answer from the disk within 0.2 s (option `timeout`)"),
      why.npos)
      << why;
  EXPECT_TRUE(store.put(0, data)) << "the kernel gave the request back, so the store goes on";
}

TEST(OffloadFault, OfADiskThatHangsForEverEndsAllThatFollows) {
  FaultyStore store([&](const IoRequest&) { return Fault{Fault::kHangsOn, 0}; });
  store.reserve(2, 16 * kBlock);
  std::vector<std::byte> data(16 * kBlock), other(16 * kBlock);
  baleen_event_t first{}, second{};
  store.start(true, 0, 0, data.size(), data.data(), &first);
  store.start(true, 1, 0, other.size(), other.data(), &second);
  EXPECT_FALSE(FaultyStore::ends_well(first));
  EXPECT_FALSE(FaultyStore::ends_well(second));
  EXPECT_FALSE(store.get(1, other));
  EXPECT_EQ(store.failure(1).code, BALEEN_TIMEOUT);
  EXPECT_NE(store.failure(1).message.find("has stopped to answer"), std::string::npos) << store.failure(1).message;
}

/// What is wrong with a disk in a random case.
Fault random_fault(std::mt19937_64& random, const IoRequest& request, unsigned one_of) {
  if (random() % one_of != 0) return {};
  switch (random() % 10) {
    case 0: return {Fault::kError, EIO};
    case 1: return {Fault::kError, ENOSPC};
    case 2: return {Fault::kError, EINTR};
    case 3: return {Fault::kShort, random() % request.bytes};
    case 4: return {Fault::kShort, 0};
    case 5: return {Fault::kFlipped, random() % (8ull * request.bytes)};
    case 6: return {Fault::kLost, 0};
    case 7: return {Fault::kLate, random() % 20};
    case 8: return {Fault::kHangs, 0};
    default: return random() % 8 == 0 ? Fault{Fault::kHangsOn, 0} : Fault{Fault::kLate, 1};
  }
}

/// Operations on a disk with faults. What ends well is compared with a model; all have to end. Returns how many failed.
int run_with_faults(std::uint64_t seed) {
  auto random = std::make_shared<std::mt19937_64>(seed);
  std::mt19937_64 choices(seed + 1);
  const auto one_of = static_cast<unsigned>(2 + choices() % 30);
  FaultyStore store([=](const IoRequest& request) { return random_fault(*random, request, one_of); },
                    [&](Options& options) {
                      options.timeout = 0.05;
                      options.depth = static_cast<std::uint32_t>(1 + choices() % 6);
                    });
  constexpr std::uint32_t kSlots = 4;
  constexpr std::uint64_t kBytes = 5 * kBlock + 77;
  store.reserve(kSlots, kBytes);
  std::vector<std::vector<std::byte>> model(kSlots, std::vector<std::byte>(kBytes));
  int failed = 0;
  for (int turn = 0; turn < 4; ++turn) {
    std::vector<std::vector<std::byte>> memory(2 * kSlots, std::vector<std::byte>(kBytes));
    std::vector<baleen_event_t> events(2 * kSlots);
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
      for (std::byte& byte : memory[slot]) byte = static_cast<std::byte>(choices());
      if (choices() % 3 != 0) {
        model[slot] = memory[slot];
        store.start(true, slot, 0, kBytes, memory[slot].data(), &events[slot]);
      } else {
        event_signal(events[slot], 1);
      }
      store.start(false, slot, 0, kBytes, memory[kSlots + slot].data(), &events[kSlots + slot]);
    }
    for (std::uint32_t i = 0; i < 2 * kSlots; ++i) {
      const std::uint32_t slot = i % kSlots;
      if (!FaultyStore::ends_well(events[i])) {
        ++failed;
        EXPECT_NE(store.failure(slot).code, BALEEN_OK);
        EXPECT_NE(store.failure(slot).message.find("slot " + std::to_string(slot)), std::string::npos);
      } else if (i >= kSlots) {
        EXPECT_EQ(memory[i], model[slot]) << "a get that ended well";
      }
    }
  }
  return failed;
}

TEST(OffloadFault, OfAnyKindAtAnyTimeIsAnErrorOrRightData) {
  const std::uint64_t seed = test::seed();
  int failed = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const int now = run_with_faults(seed + i);
    failed += now > 0;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(failed, 100) << "the faults are hardly seen";
}

}  // namespace
}  // namespace baleen::nvme
