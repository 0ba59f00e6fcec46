/// \file A compute plugin's device with RAII and C++ errors.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "baleen/compute.h"
#include "baleen/result.hpp"
#include "baleen/sized.hpp"
#include "core/execute/communicator.hpp"
#include "core/plugin/plugin.hpp"

namespace baleen {

/// Owns a device made by a compute plugin, and one stream on it. Not copyable. Outlives the programs and arenas made on
/// it.
class Device {
 public:
  static Result<std::unique_ptr<Device>> create(Plugin plugin, const baleen_settings_t& settings);
  /// For plans: a device that is described and need not be there, where the plugin has that; else one of `create`.
  /// Nothing is run on it.
  static Result<std::unique_ptr<Device>> describe(Plugin plugin, const baleen_settings_t& settings);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const baleen_compute_t& table() const { return table_; }
  void* handle() const { return device_; }
  const baleen_device_info_t& info() const { return info_; }
  void* stream() const { return stream_; }
  /// An optional extension by name and revision, a struct that begins with its size; nothing: it has not got it. What
  /// an older plugin's lacks is zero.
  template <class Extension>
  std::optional<Extension> extension(std::string_view name) const {
    return extension_of<Extension>(table_, device_, name);
  }
  /// The same of a plugin, where `device` is null.
  template <class Extension>
  static std::optional<Extension> extension_of(const baleen_compute_t& table, void* device, std::string_view name) {
    const void* found = table.query ? table.query(device, abi(name)) : nullptr;
    if (!found) return std::nullopt;
    return copy_in(static_cast<const Extension*>(found));
  }
  /// What it says of its arenas; null: they are the host's own memory.
  const baleen_device_memory_t* memory() const { return memory_ ? &*memory_ : nullptr; }
  /// Whether the host reads and writes arenas by their addresses, and so every transport does.
  bool host_reaches() const { return !memory_ || (memory_->flags & BALEEN_MEMORY_HOST_REACHES); }
  /// What each of the ranks on this host may plan for.
  std::uint64_t memory_of_rank(std::int64_t local_ranks) const {
    return divides_memory() ? info_.memory_bytes : info_.memory_bytes / static_cast<std::uint64_t>(local_ranks);
  }
  /// Whether the plugin itself has told ranks apart.
  bool divides_memory() const { return memory_ && (memory_->flags & BALEEN_MEMORY_OF_RANK); }
  /// Of arena offsets; a power of two.
  std::uint64_t alignment() const { return info_.alignment; }

  /// Turns a status of this device into an Error with the text that the plugin gave on this thread.
  Status check(baleen_status_t status) const { return plugin_.check(status); }

 private:
  explicit Device(Plugin plugin) : plugin_(plugin) {}
  using Maker = decltype(baleen_compute_t::create);
  static Result<std::unique_ptr<Device>> make(Plugin plugin, Maker maker, const baleen_settings_t& settings);

  Plugin plugin_;
  baleen_compute_t table_{};
  baleen_device_info_t info_{};
  std::optional<baleen_device_memory_t> memory_;
  void* device_ = nullptr;
  void* stream_ = nullptr;
};

/// Zeroed device memory; empty for 0 bytes.
class Arena {
 public:
  /// Fails with NO_MEMORY where the device has not got `bytes`.
  static Result<Arena> create(Device& device, std::uint64_t bytes, baleen_arena_kind_t kind = BALEEN_ARENA_PRIVATE);
  /// For collectives too: the transport's own memory where it has such and the device can use it, or has it on the
  /// device, else the device's, made known to the transport.
  static Result<Arena> create_shared(Device& device, Communicator& communicator, std::uint64_t bytes);
  Arena() = default;
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();

  void* base() const { return base_; }
  std::byte* at(std::uint64_t offset) const { return static_cast<std::byte*>(base_) + offset; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  static Result<Arena> create_by_transport(Device& device, Communicator& communicator, std::uint64_t bytes);

  Lease lease_;                           ///< where it is the transport's memory on the device
  Device* device_ = nullptr;              ///< whose memory it is
  Communicator* communicator_ = nullptr;  ///< whose memory it is, if not the device's; or that knows it
  void* base_ = nullptr;
  baleen_arena_kind_t kind_ = BALEEN_ARENA_PRIVATE;
  std::uint64_t bytes_ = 0;
};

}  // namespace baleen
