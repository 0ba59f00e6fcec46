/// \file An offload plugin's store as the kernel drives it: slots of states, moved in steps and read between them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "baleen/offload.h"
#include "compiler/codegen/executable.hpp"
#include "core/execute/device.hpp"
#include "core/execute/direct_copies.hpp"
#include "core/plugin/plugin.hpp"

namespace baleen {

/// Sets `is_in_place` of the slots that the program uses where they lie. `slots`: all of them, by number.
void mark_in_place(const Executable& program, std::vector<OutsideSlot>& slots);

/// Owns a store. It outlives the runs of programs that use it; the memory of what is moved outlives it. [one thread]
class OffloadStore {
 public:
  struct Needs {
    std::uint32_t outstanding = 0;  ///< transfers of programs that are not over at a time, at most
    std::uint64_t budget = 0;       ///< bytes that all slots may take; 0: as the place has
    std::string who;                ///< "rank 3", for messages
    /// A device with memory of its own whose copies are to reach the slots of a store that maps them; it outlives the
    /// store. Null: what is moved is the host's memory.
    const Device* device = nullptr;
    bool maps = false;  ///< slots that are used in place are mapped; of a store that maps them
  };
  /// What is moved: bytes of a slot, and memory of the host, or of the device that copies to and from slots.
  struct Part {
    std::uint32_t slot = 0;
    std::uint64_t offset = 0, bytes = 0;
    void* memory = nullptr;
  };
  /// When it begins, and what is raised when it is over. Events may be null.
  struct Events {
    baleen_event_t* after = nullptr;
    std::uint64_t after_value = 0;
    baleen_event_t* done = nullptr;
    std::uint64_t done_value = 0;
  };

  /// Where a slot lies, to be used in place; null where the store was not asked to map it, which then has checksums of
  /// it.
  std::byte* memory(std::uint32_t slot) const { return slot < bases_.size() ? bases_[slot] : nullptr; }

  /// Whether slots of this plugin's stores lie in the host's memory, where a device's copies may reach them.
  static Result<bool> maps(const Plugin& plugin);
  static Result<std::unique_ptr<OffloadStore>> create(Plugin plugin, const baleen_settings_t& settings,
                                                      const Needs& needs);
  ~OffloadStore();
  OffloadStore(const OffloadStore&) = delete;
  OffloadStore& operator=(const OffloadStore&) = delete;

  /// Once. Slots are mapped that are used in place, or all of them where the device's copies reach them. NO_MEMORY
  /// where the place has too little room.
  Status reserve(const std::vector<OutsideSlot>& slots);
  /// Whether transfers are copies of the device, which nothing on the host waits for.
  bool is_direct() const { return copies_ != nullptr; }
  /// Begins a put or get. Allocates nothing.
  Status start(bool is_put, const Part& part, const Events& events);
  /// How fast it is, measured for about `seconds` (0.05 to 60); nothing is under way.
  Result<baleen_offload_speed_t> measure(double seconds);
  /// The same where the device's copies reach the slots, before any is reserved: they are measured.
  Result<baleen_offload_speed_t> measure_copies(Device& device, double seconds);
  /// The first failure of any that was begun.
  Status check() const;

  /// Bytes of a slot from `from` on, waited for. The slot has `bytes`.
  Status read(std::uint32_t slot, std::uint64_t bytes, std::uint64_t from, std::span<std::byte> to);
  /// The whole of a slot, waited for.
  Status write(std::uint32_t slot, std::span<const std::byte> from);

 private:
  explicit OffloadStore(Plugin plugin) : plugin_(plugin) {}
  Status enqueue(bool is_put, const Part& part, const Events& events);
  Status map_slot(std::size_t slot);
  Status wait_for(bool is_put, const Part& part);

  Plugin plugin_;
  const baleen_offload_t* table_ = nullptr;
  void* store_ = nullptr;
  std::uint64_t alignment_ = 1, capacity_ = 0;
  baleen_offload_pinning_t pinning_{};
  const Device* device_ = nullptr;  ///< whose copies reach the slots
  bool maps_ = false;
  std::vector<std::byte*> bases_;  ///< of slots that are used in place
  std::unique_ptr<DirectCopies> copies_;
};

}  // namespace baleen
