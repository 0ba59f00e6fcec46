/// \file Ranks of a transport that works on devices: each gets an emulated one of its own, handed over as the program
/// does it.
#pragma once
#include <map>
#include <mutex>

#include "baleen/native_events.h"
#include "support/ranks.hpp"

namespace baleen::test {

/// A device of the plugin cuda on tests/support/emulated_cuda.
class EmulatedDevice {
 public:
  explicit EmulatedDevice(std::int32_t index) : settings_(plugin().descriptor) {
    settings_.set("index", static_cast<double>(index))
        .set("libraries", emulated_folder())
        .set("cache", emulated_folder() + "/cache");
    if (plugin().table.create(plugin().host->get(), settings_.get(), &device_) != BALEEN_OK)
      throw std::runtime_error(plugin().host->failure());
  }
  ~EmulatedDevice() {
    if (device_) plugin().table.destroy(device_);
  }
  EmulatedDevice(const EmulatedDevice&) = delete;

  void* get() const { return device_; }
  const baleen_compute_t& table() const { return plugin().table; }
  const baleen_native_events_t& events() const {
    return *static_cast<const baleen_native_events_t*>(table().query(device_, abi(BALEEN_DEVICE_NATIVE_EVENTS)));
  }

 private:
  /// As many devices as any test has ranks.
  static const PluginUnderTest<baleen_compute_t>& plugin() {
    static const PluginUnderTest<baleen_compute_t> one = [] {
      setenv("EMULATED_CUDA_DEVICES", "16", 1);
      return PluginUnderTest<baleen_compute_t>(built_plugin("compute", "cuda"));
    }();
    return one;
  }

  TestSettings settings_;
  void* device_ = nullptr;
};

/// Options of the transport nccl for the double.
inline RankOptions double_of_nccl() {
  return {{"library", emulated_folder() + "/libnccl.so.2"}, {"driver", emulated_folder() + "/libcuda.so.1"}};
}

namespace detail {

/// The table as the plugin gave it, and the devices of transports.
struct HandedOver {
  baleen_transport_t inner{};
  std::mutex mutex;
  std::map<void*, std::unique_ptr<EmulatedDevice>> devices;

  static HandedOver& all() {
    static HandedOver& one = *new HandedOver;
    return one;
  }
  const baleen_transport_native_t& native(void* transport) const {
    return *static_cast<const baleen_transport_native_t*>(inner.query(transport, abi(BALEEN_TRANSPORT_NATIVE)));
  }
};

}  // namespace detail

/// Hands a device over while it lives.
class UsedDevice {
 public:
  UsedDevice(void* transport, const baleen_transport_t& table, const EmulatedDevice& device)
      : transport_(transport),
        native_(*static_cast<const baleen_transport_native_t*>(table.query(transport, abi(BALEEN_TRANSPORT_NATIVE)))) {
    if (native_.use(transport, device.get(), &device.table(), &device.events()) != BALEEN_OK)
      throw std::runtime_error("the transport does not take the device");
  }
  ~UsedDevice() { native_.leave(transport_); }
  UsedDevice(const UsedDevice&) = delete;

 private:
  void* const transport_;
  const baleen_transport_native_t& native_;
};

/// Of a transport that `hand_over_devices` has given one.
inline EmulatedDevice& device_of(void* transport) {
  auto& all = detail::HandedOver::all();
  const std::lock_guard lock(all.mutex);
  return *all.devices.at(transport);
}

/// From now on each transport that the plugin makes has the device of its rank's number.
inline void hand_over_devices(TransportPlugin& plugin) {
  setenv("EMULATED_CUDA_DEVICES", "16", 1);
  detail::HandedOver::all().inner = plugin.table;
  plugin.table.create = [](const baleen_host_t* host, const baleen_settings_t* settings,
                           const baleen_rendezvous_t* rendezvous, baleen_transport_flags_t flags, void** out) {
    auto& all = detail::HandedOver::all();
    const baleen_status_t made = all.inner.create(host, settings, rendezvous, flags, out);
    if (made != BALEEN_OK) return made;
    auto device = std::make_unique<EmulatedDevice>(rendezvous->rank);
    const baleen_status_t used = all.native(*out).use(*out, device->get(), &device->table(), &device->events());
    if (used != BALEEN_OK) return used;
    const std::lock_guard lock(all.mutex);
    all.devices.emplace(*out, std::move(device));
    return made;
  };
  plugin.table.destroy = [](void* transport) {
    auto& all = detail::HandedOver::all();
    std::unique_ptr<EmulatedDevice> device;
    {
      const std::lock_guard lock(all.mutex);
      device = std::move(all.devices[transport]);
      all.devices.erase(transport);
    }
    if (device) all.native(transport).leave(transport);
    all.inner.destroy(transport);
  };
}

}  // namespace baleen::test
