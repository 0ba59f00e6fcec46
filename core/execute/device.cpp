/// \file The calls of a compute plugin's device and the owners of its arenas.
#include "core/execute/device.hpp"

#include <bit>
#include <utility>

#include "baleen/plugin.hpp"

namespace baleen {

Result<std::unique_ptr<Device>> Device::create(Plugin plugin, const baleen_settings_t& settings) {
  BALEEN_TRY_ASSIGN(auto device, make(plugin, nullptr, settings));
  BALEEN_TRY(device->check(device->table_.stream_create(device->device_, &device->stream_)));
  return device;
}

Result<std::unique_ptr<Device>> Device::describe(Plugin plugin, const baleen_settings_t& settings) {
  BALEEN_TRY_ASSIGN(const baleen_compute_t* table, plugin.table<baleen_compute_t>("compute"));
  const auto extension = extension_of<baleen_described_device_t>(*table, nullptr, BALEEN_DESCRIBED_DEVICE);
  return extension && extension->create ? make(plugin, extension->create, settings) : create(plugin, settings);
}

Result<std::unique_ptr<Device>> Device::make(Plugin plugin, Maker maker, const baleen_settings_t& settings) {
  BALEEN_TRY_ASSIGN(const baleen_compute_t* table, plugin.table<baleen_compute_t>("compute"));
  std::unique_ptr<Device> device(new Device(plugin));
  device->table_ = *table;
  BALEEN_TRY(device->check((maker ? maker : table->create)(plugin.host(), &settings, &device->device_)));
  device->info_.size = sizeof(device->info_);
  BALEEN_TRY(device->check(table->info(device->device_, &device->info_)));
  if (!std::has_single_bit(device->info_.alignment))
    return internal("compute plugin `" + plugin.descriptor().name + "` wants arena offsets aligned to " +
                    std::to_string(device->info_.alignment) + " bytes; it must be a power of two");
  device->memory_ = device->extension<baleen_device_memory_t>(BALEEN_DEVICE_MEMORY);
  return device;
}

Device::~Device() {
  if (stream_) table_.stream_destroy(device_, stream_);
  if (device_) table_.destroy(device_);
}

Result<Arena> Arena::create(Device& device, std::uint64_t bytes, baleen_arena_kind_t kind) {
  Arena arena;
  if (bytes == 0) return arena;
  BALEEN_TRY(device.check(device.table().arena_create(device.handle(), kind, bytes, &arena.base_)));
  arena.device_ = &device;
  arena.kind_ = kind;
  arena.bytes_ = bytes;
  return arena;
}

Result<Arena> Arena::create_shared(Device& device, Communicator& communicator, std::uint64_t bytes) {
  if (bytes == 0) return Arena();
  if (communicator.allocates() && device.host_reaches()) {
    Arena arena;
    BALEEN_TRY_ASSIGN(arena.base_, communicator.allocate(bytes));
    arena.communicator_ = &communicator;
    arena.bytes_ = bytes;
    return arena;
  }
  auto of_transport = create_by_transport(device, communicator, bytes);
  if (of_transport || of_transport.error().code != BALEEN_UNSUPPORTED) return of_transport;
  BALEEN_TRY_ASSIGN(Arena arena, create(device, bytes, BALEEN_ARENA_SHARED));
  if (!communicator.registers()) return arena;
  BALEEN_TRY(communicator.add_arena(arena.base_, bytes));
  arena.communicator_ = &communicator;
  return arena;
}

Result<Arena> Arena::create_by_transport(Device& device, Communicator& communicator, std::uint64_t bytes) {
  Arena arena;
  BALEEN_TRY_ASSIGN(arena.lease_, communicator.lease(device.handle(), device.table()));
  if (!arena.lease_) return unsupported("the transport does not work on the device");
  BALEEN_TRY_ASSIGN(arena.base_, communicator.allocate_on_device(bytes));
  arena.communicator_ = &communicator;
  arena.bytes_ = bytes;
  return arena;
}

Arena::Arena(Arena&& other) noexcept { *this = std::move(other); }

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(lease_, other.lease_);
  std::swap(device_, other.device_);
  std::swap(communicator_, other.communicator_);
  std::swap(kind_, other.kind_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Arena::~Arena() {
  if (communicator_ && device_) communicator_->remove_arena(base_);
  if (lease_ && communicator_)
    communicator_->release_on_device(base_);
  else if (communicator_ && !device_)
    communicator_->release(base_);
  if (device_) device_->table().arena_destroy(device_->handle(), kind_, base_, bytes_);
}

}  // namespace baleen
