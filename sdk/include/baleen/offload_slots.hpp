/// \file The slots of an offload store: names, sizes, where each lies, and what of a transfer is refused.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "baleen/offload.h"
#include "baleen/result.hpp"
#include "baleen/sized.hpp"

namespace baleen::sdk {

/// A slot's place among all bytes of the store: slots follow each other, each begins at a multiple of the alignment.
struct OffloadSlot {
  std::string name;
  std::uint64_t begin = 0, bytes = 0;
};

/// "5 GiB" is for manifests; messages have exact bytes.
inline std::string offload_bytes(std::uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

/// [calling thread] Names and sizes never change once reserved, and no address of a slot does: workers read them.
class OffloadSlots {
 public:
  explicit OffloadSlots(std::uint64_t alignment) : alignment_(alignment) {}

  std::uint64_t alignment() const { return alignment_; }
  /// All bytes up to here are taken.
  std::uint64_t end() const { return end_; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(slots_.size()); }
  const OffloadSlot& at(std::uint32_t slot) const { return slots_[slot]; }
  std::uint64_t rounded(std::uint64_t bytes) const { return (bytes + alignment_ - 1) & ~(alignment_ - 1); }

  /// Where the slots would end; an error where they are too many or their sum is no number.
  Result<std::uint64_t> end_with(const baleen_offload_slot_t* slots, std::uint64_t count) const {
    if (count > BALEEN_OFFLOAD_MAX_SLOTS - slots_.size())
      return invalid(std::to_string(slots_.size() + count) + " slots are too many; a store has " +
                     std::to_string(BALEEN_OFFLOAD_MAX_SLOTS) + " at most");
    std::uint64_t end = end_;
    for (std::uint64_t i = 0; i < count; ++i) {
      const baleen_offload_slot_t slot = copy_in(&element(slots, i));
      if (slot.size == 0) return no_size("slot to reserve");
      if (slot.bytes > std::numeric_limits<std::int64_t>::max() - alignment_ - end)
        return invalid("the slots' bytes are more than 2^63 in all");
      end += rounded(slot.bytes);
    }
    return end;
  }
  /// Slots to `add`, for which there is room then: what may fail for lack of memory fails here.
  std::vector<OffloadSlot> make(const baleen_offload_slot_t* slots, std::uint64_t count) {
    std::vector<OffloadSlot> made;
    made.reserve(count);
    std::uint64_t begin = end_;
    for (std::uint64_t i = 0; i < count; ++i) {
      const baleen_offload_slot_t slot = copy_in(&element(slots, i));
      made.push_back({slot.name.data ? std::string(slot.name.data, slot.name.size) : std::string(), begin, slot.bytes});
      begin += rounded(slot.bytes);
    }
    if (slots_.capacity() < slots_.size() + count) slots_.reserve(std::max(2 * slots_.size(), slots_.size() + count));
    return made;
  }
  void add(std::vector<OffloadSlot> made) {
    for (OffloadSlot& slot : made) {
      end_ = slot.begin + rounded(slot.bytes);
      slots_.push_back(std::move(slot));
    }
  }
  /// Takes the last one off.
  void remove_last() {
    end_ = slots_.back().begin;
    slots_.pop_back();
  }

  /// "slot 5 `blocks.0.weight`".
  std::string text(std::uint32_t slot) const {
    return "slot " + std::to_string(slot) + (slots_[slot].name.empty() ? "" : " `" + slots_[slot].name + "`");
  }
  /// "get of slot 5 `blocks.0.weight`, bytes 0 to 4095".
  std::string text(const baleen_offload_transfer_t& transfer, bool is_put) const {
    return std::string(is_put ? "put" : "get") + " of " + text(transfer.slot) + ", " +
           (transfer.bytes == 0 ? "no bytes"
                                : "bytes " + std::to_string(transfer.offset) + " to " +
                                      std::to_string(transfer.offset + transfer.bytes - 1));
  }

  /// Refuses what the contract of baleen_offload_transfer_t does not allow.
  Status check(const baleen_offload_transfer_t& transfer, bool is_put) const {
    const char* const what = is_put ? "put" : "get";
    if (transfer.slot >= slots_.size())
      return invalid(std::string(what) + " of slot " + std::to_string(transfer.slot) + ": there are " +
                     std::to_string(slots_.size()) + " slots; reserve it first");
    const OffloadSlot& slot = slots_[transfer.slot];
    const auto refuse = [&](const std::string& why) {
      return invalid(std::string(what) + " of " + text(transfer.slot) + ": " + why);
    };
    if (transfer.offset > slot.bytes || transfer.bytes > slot.bytes - transfer.offset)
      return refuse(offload_bytes(transfer.bytes) + " at offset " + std::to_string(transfer.offset) +
                    " are beyond its " + offload_bytes(slot.bytes));
    if (transfer.offset % alignment_ != 0 && transfer.bytes != 0)
      return refuse("offset " + std::to_string(transfer.offset) + " is no multiple of the alignment " +
                    std::to_string(alignment_));
    if (transfer.bytes % alignment_ != 0 && transfer.bytes != slot.bytes - transfer.offset)
      return refuse(offload_bytes(transfer.bytes) + " are no multiple of the alignment " + std::to_string(alignment_) +
                    " and do not end at the slot's end (" + std::to_string(slot.bytes) + ")");
    if (transfer.bytes != 0 && !transfer.memory) return refuse("the memory is null");
    return {};
  }

 private:
  std::uint64_t alignment_, end_ = 0;
  std::vector<OffloadSlot> slots_;
};

}  // namespace baleen::sdk
