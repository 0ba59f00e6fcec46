/// \file A store on a faulty disk, with slots and what they should hold.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "baleen/event.hpp"
#include "faulty_io.hpp"
#include "store.hpp"
#include "support/plugin_under_test.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::nvme {

/// Small requests, few at a time; without O_DIRECT, so that any memory and any short count will do.
inline Options small_options(const std::string& folder) {
  Options options;
  options.folders = {folder};
  options.request = 2 * kBlock;
  options.depth = 4;
  options.timeout = 0.2;
  options.direct = false;
  return options;
}

class FaultyStore {
 public:
  explicit FaultyStore(FaultyIo::Choose choose) : FaultyStore(std::move(choose), [](Options&) {}) {}
  template <class Change>
  FaultyStore(FaultyIo::Choose choose, const Change& change) {
    Options options = small_options(folder.path());
    change(options);
    auto made = NvmeStore::make(
        Host(host.get()), options, {0, 16, nullptr, "rank 1"}, [&](const Host&, const Options&, const BounceBuffers&) {
          return Result<std::unique_ptr<BlockIo>>(std::make_unique<FaultyIo>(std::move(choose)));
        });
    if (!made) throw std::runtime_error(made.error().text());
    store = *std::move(made);
  }

  void reserve(std::uint32_t count, std::uint64_t bytes) {
    std::vector<baleen_offload_slot_t> slots(count, {sizeof(baleen_offload_slot_t), abi("moment"), bytes});
    const Status reserved = store->reserve(slots.data(), count);
    if (!reserved) throw std::runtime_error(reserved.error().text());
  }
  /// Throws where it is refused.
  void start(bool is_put, std::uint32_t slot, std::uint64_t offset, std::uint64_t bytes, std::byte* memory,
             baleen_event_t* done) {
    const baleen_offload_transfer_t transfer = {sizeof transfer, slot, 0, offset, bytes, memory, nullptr, 0, done, 1};
    const Status started = store->start(&transfer, is_put);
    if (!started) throw std::runtime_error(started.error().text());
  }
  /// True where it was done; false where it failed. Throws where it hangs.
  static bool ends_well(baleen_event_t& done) {
    if (!event_wait(done, 1, 30)) throw std::runtime_error("an operation hangs");
    return event_value(done) == 1;
  }
  bool put(std::uint32_t slot, std::vector<std::byte>& data) {
    baleen_event_t done{};
    start(true, slot, 0, data.size(), data.data(), &done);
    return ends_well(done);
  }
  bool get(std::uint32_t slot, std::vector<std::byte>& data) {
    baleen_event_t done{};
    start(false, slot, 0, data.size(), data.data(), &done);
    return ends_well(done);
  }
  Error failure(std::uint32_t slot = 0) const {
    const Status status = store->check(slot);
    return status ? Error{BALEEN_OK, "no failure", {}} : status.error();
  }

  test::TemporaryFolder folder;
  test::TestHost host;
  std::unique_ptr<sdk::OffloadStore> store;
};

}  // namespace baleen::nvme
