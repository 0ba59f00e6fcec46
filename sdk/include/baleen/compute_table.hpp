/// \file From a C++ class to the C table of a compute plugin.
#pragma once
#include "baleen/compute.hpp"

namespace baleen::sdk {

/// The table of a class `Device` with these members (all may throw; nothing crosses the boundary):
///   static Result<std::unique_ptr<Device>> create(const Host&, const Settings&);
///   const Host& host() const;
///   void info(baleen_device_info_t&) const;
///   Result<void*> arena_create(baleen_arena_kind_t, std::uint64_t bytes);
///   void arena_destroy(baleen_arena_kind_t, void* base, std::uint64_t bytes);
///   std::uint32_t supports(const baleen_region_t&) const;
///   Result<baleen_kernel_t> compile(const baleen_region_t&);
///   void release(void* kernel);
///   Status launch(void* kernel, const baleen_launch_t&);
///   Result<void*> stream_create();
///   void stream_destroy(void*);
///   Status stream_wait(void* stream, baleen_event_t&, std::uint64_t);
///   Status stream_signal(void* stream, baleen_event_t&, std::uint64_t);
///   Status synchronize(void* stream);
///   Status copy(void* stream, void* to, const void* from, std::uint64_t bytes);
///   Status zero(void* stream, void* to, std::uint64_t bytes);
///   const void* query(std::string_view name);
///   static const void* query_plugin(std::string_view name);  (optional: a query without a device)
///   static Result<std::unique_ptr<Device>> described(const Host&, const Settings&);  (optional: for plans, see
///   baleen_described_device_t)
template <class Device>
class ComputeTable {
 public:
  static baleen_compute_t make() {
    baleen_compute_t t{};
    t.create = create;
    t.destroy = [](void* d) {
      const Host host = self(d)->host();
      guard_nothing(host, "destroy", [&] { delete self(d); });
    };
    t.info = [](void* d, baleen_device_info_t* out) {
      return guarded(d, [&](Device& device) -> Status {
        baleen_device_info_t info{};
        device.info(info);
        return copy_out(out, info) ? Status() : no_size("info");
      });
    };
    t.arena_create = [](void* d, baleen_arena_kind_t kind, std::uint64_t bytes, void** base) {
      return guarded(d, [&](Device& device) { return keep(device.arena_create(kind, bytes), base); });
    };
    t.arena_destroy = [](void* d, baleen_arena_kind_t kind, void* base, std::uint64_t bytes) {
      quietly(d, "arena_destroy", [&](Device& device) { device.arena_destroy(kind, base, bytes); });
    };
    t.compile = [](void* d, const baleen_region_t* region, baleen_kernel_t* out) {
      return guarded(d, [&](Device& device) -> Status {
        if (out->size < sizeof(out->size)) return no_size("compile");
        BALEEN_TRY_ASSIGN(const baleen_kernel_t kernel, device.compile(*region));
        copy_out(out, kernel);
        return {};
      });
    };
    t.release = [](void* d, void* kernel) { quietly(d, "release", [&](Device& device) { device.release(kernel); }); };
    t.supports = supports;
    t.query = query;
    add_streams(t);
    return t;
  }

 private:
  static Device* self(void* device) { return static_cast<Device*>(device); }

  template <class Body>
  static baleen_status_t guarded(void* device, Body&& body) noexcept {
    return guard(self(device)->host(), [&] { return body(*self(device)); });
  }
  template <class Body>
  static void quietly(void* device, const char* what, Body&& body) noexcept {
    guard_nothing(self(device)->host(), what, [&] { body(*self(device)); });
  }
  static const void* query(void* device, baleen_string_t name) noexcept {
    return query_quietly([&]() -> const void* {
      if (device) return self(device)->query(view(name));
      if constexpr (requires(const Host& h, const Settings& s) { Device::described(h, s); }) {
        static constexpr baleen_described_device_t kDescribed{
            sizeof(kDescribed), [](const baleen_host_t* host, const baleen_settings_t* settings, void** made) {
              return give(host, settings, made, &Device::described);
            }};
        if (view(name) == BALEEN_DESCRIBED_DEVICE) return &kDescribed;
      }
      if constexpr (requires { Device::query_plugin(std::string_view()); }) return Device::query_plugin(view(name));
      return nullptr;
    });
  }
  template <class T>
  static Status keep(Result<T> result, T* out) {
    if (!result) return std::move(result).error();
    *out = *std::move(result);
    return {};
  }
  static baleen_status_t create(const baleen_host_t* host, const baleen_settings_t* settings, void** device) {
    return give(host, settings, device, &Device::create);
  }
  using Maker = Result<std::unique_ptr<Device>> (*)(const Host&, const Settings&);
  static baleen_status_t give(const baleen_host_t* host, const baleen_settings_t* settings, void** device, Maker make) {
    const Host h(host);
    return guard(h, [&]() -> Status {
      auto made = make(h, Settings(settings));
      if (!made) return std::move(made).error();
      if (!*made) return internal("create gave no device and no error");
      *device = (*made).release();
      return {};
    });
  }
  static std::uint32_t supports(void* device, const baleen_region_t* region) {
    try {
      return self(device)->supports(*region);
    } catch (...) {
      return 0;  // a region that cannot even be read is not supported
    }
  }
  static void add_streams(baleen_compute_t& t) {
    t.launch = [](void* d, void* kernel, const baleen_launch_t* launch) {
      return guarded(d, [&](Device& device) { return device.launch(kernel, *launch); });
    };
    t.stream_create = [](void* d, void** stream) {
      return guarded(d, [&](Device& device) { return keep(device.stream_create(), stream); });
    };
    t.stream_destroy = [](void* d, void* stream) {
      quietly(d, "stream_destroy", [&](Device& device) { device.stream_destroy(stream); });
    };
    t.stream_wait = [](void* d, void* stream, baleen_event_t* event, std::uint64_t value) {
      return guarded(d, [&](Device& device) { return device.stream_wait(stream, *event, value); });
    };
    t.stream_signal = [](void* d, void* stream, baleen_event_t* event, std::uint64_t value) {
      return guarded(d, [&](Device& device) { return device.stream_signal(stream, *event, value); });
    };
    t.synchronize = [](void* d, void* stream) {
      return guarded(d, [&](Device& device) { return device.synchronize(stream); });
    };
    t.copy = [](void* d, void* stream, void* to, const void* from, std::uint64_t bytes) {
      return guarded(d, [&](Device& device) { return device.copy(stream, to, from, bytes); });
    };
    t.zero = [](void* d, void* stream, void* to, std::uint64_t bytes) {
      return guarded(d, [&](Device& device) { return device.zero(stream, to, bytes); });
    };
  }
};

template <class Device>
baleen_compute_t compute_table() {
  return ComputeTable<Device>::make();
}

}  // namespace baleen::sdk

/// Exports `Device` as this plugin. Once, at global scope, behind BALEEN_DESCRIPTOR.
#define BALEEN_COMPUTE(Device) BALEEN_EXPORT_TABLE(baleen::sdk::compute_table<Device>())
