/// \file A transport as a C++ class: derive from Transport, then `BALEEN_TRANSPORT(Mine)`.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/captured.h"
#include "baleen/device_memory.h"
#include "baleen/native_events.h"
#include "baleen/plugin.hpp"
#include "baleen/rendezvous.hpp"
#include "baleen/transport.h"

namespace baleen {

/// The set of all collectives.
inline constexpr baleen_operations_t kAllOperations = BALEEN_OPERATION(BALEEN_BARRIER + 1) - 2;

/// Base of a member; the contracts stand in transport.h. Its destructor is `destroy`. A member also has
/// `static Result<std::unique_ptr<Member>> create(const Host&, const Settings&, const Rendezvous&,
/// baleen_transport_flags_t)`. Groups and slots are handles that the member makes and owns.
class Transport {
 public:
  /// A member that sets this true has no memory of its own, and needs no `allocate` and `release`.
  static constexpr bool kRegisters = false;
  /// Beside kRegisters: it has memory of its own too.
  static constexpr bool kAllocatesToo = false;

  /// A runtime, such as "cuda": the member enqueues its work on streams of devices of it, between `use` and `leave`
  /// (baleen_transport_native_t).
  static constexpr std::string_view kNativeRuntime = {};
  /// Beside kNativeRuntime: it has memory of its own there (baleen_transport_device_memory_t).
  static constexpr bool kHasDeviceMemory = false;
  /// Beside kNativeRuntime: it may take part in the device's sequences (baleen_transport_captured_t).
  static constexpr bool kCaptures = false;

  virtual ~Transport() = default;
  virtual Result<void*> allocate(std::uint64_t bytes) {
    (void)bytes;
    return unsupported("it has no memory of its own");
  }
  virtual void release(void* base) { (void)base; }
  /// Only where kRegisters.
  virtual Status register_arena(void* base, std::uint64_t bytes) {
    (void)base, (void)bytes;
    return {};
  }
  virtual void unregister_arena(void* base) { (void)base; }
  virtual Result<void*> group_create(std::vector<std::int32_t> ranks) = 0;
  virtual void group_destroy(void* group) = 0;
  virtual Result<void*> prepare(void* group, const baleen_collective_spec_t& spec) = 0;
  virtual Status start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
                       std::uint64_t done_value) = 0;
  virtual Status check() = 0;
  virtual void abort(std::string_view reason) = 0;
  /// Whether collectives also work in memory of this kind (baleen_transport_memory_t).
  virtual bool takes(std::string_view memory) const {
    (void)memory;
    return false;
  }
  /// Likewise, before there is a transport. A member that takes any hides it.
  static bool would_take(const Host& host, const Settings& settings, std::string_view memory) {
    (void)host, (void)settings, (void)memory;
    return false;
  }
  /// Which collectives do, where not all of them do; the same on all ranks. SEND and RECEIVE go together.
  virtual baleen_operations_t takes_operations(std::string_view memory) const {
    return takes(memory) ? kAllOperations : 0;
  }
  /// Likewise, before there is a transport. A member that takes some hides it.
  static baleen_operations_t would_take_operations(const Host& host, const Settings& settings,
                                                   std::string_view memory) {
    (void)host, (void)settings, (void)memory;
    return 0;
  }
  /// Only where kNativeRuntime says something.
  virtual Status use(void* device, const baleen_compute_t* compute, const baleen_native_events_t* events) {
    (void)device, (void)compute, (void)events;
    return {};
  }
  virtual void leave() {}
  /// Only where kHasDeviceMemory.
  virtual Result<void*> allocate_on_device(std::uint64_t bytes) {
    (void)bytes;
    return unsupported("the transport has no memory on the device");
  }
  virtual void release_on_device(void* base) { (void)base; }
  /// Only where kCaptures; the others only where `captures`.
  virtual bool captures() const { return false; }
  virtual Status begin_capture() { return unsupported("the transport takes part in no sequences"); }
  virtual Result<void*> end_capture() { return unsupported("the transport takes part in no sequences"); }
  virtual Result<bool> agree_on(const std::vector<void*>& captures) {
    (void)captures;
    return false;
  }
  virtual Status enter(void* capture, baleen_event_t* rests, std::uint64_t rests_value) {
    (void)capture, (void)rests, (void)rests_value;
    return unsupported("the transport takes part in no sequences");
  }
  virtual Status replayed(void* capture, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
                          std::uint64_t done_value) {
    (void)capture, (void)after, (void)after_value, (void)done, (void)done_value;
    return unsupported("the transport takes part in no sequences");
  }
  virtual void release_capture(void* capture) { (void)capture; }
  virtual const void* query(std::string_view name) {
    (void)name;
    return nullptr;
  }
  /// A query of the plugin, without a transport; a member that has something to say hides it.
  static const void* query_plugin(std::string_view name) {
    (void)name;
    return nullptr;
  }
};

namespace detail {

template <class T>
Status keep(Result<T> result, T* out) {
  if (!result) return std::move(result).error();
  *out = *std::move(result);
  return {};
}

template <class Member>
void add_memory(baleen_transport_t& table) {
  using Self = Instance<Transport>;
  if constexpr (Member::kRegisters) {
    table.register_arena = [](void* self, void* base, std::uint64_t bytes) {
      return guard(Self::of(self).host, [&] { return Self::of(self).member->register_arena(base, bytes); });
    };
    table.unregister_arena = [](void* self, void* base) {
      guard_nothing(Self::of(self).host, "unregister_arena", [&] { Self::of(self).member->unregister_arena(base); });
    };
  }
  if constexpr (!Member::kRegisters || Member::kAllocatesToo) {
    static_assert(!std::is_same_v<decltype(&Member::allocate), decltype(&Transport::allocate)> &&
                      !std::is_same_v<decltype(&Member::release), decltype(&Transport::release)>,
                  "a transport without kRegisters has memory of its own: write `allocate` and `release`");
    table.allocate = [](void* self, std::uint64_t bytes, void** base) {
      return guard(Self::of(self).host, [&] { return keep(Self::of(self).member->allocate(bytes), base); });
    };
    table.release = [](void* self, void* base) {
      guard_nothing(Self::of(self).host, "release", [&] { Self::of(self).member->release(base); });
    };
  }
}

/// The answer to the query for memory, of the plugin. What throws takes nothing.
template <class Member>
const baleen_transport_memory_t* transport_memory() {
  static const baleen_transport_memory_t memory = {
      sizeof(baleen_transport_memory_t),
      [](void* self, baleen_string_t kind) -> std::int32_t {
        return guard_value(Instance<Transport>::of(self).host, 0, [&]() -> std::int32_t {
          return Instance<Transport>::of(self).member->takes(view(kind)) ? 1 : 0;
        });
      },
      [](const baleen_host_t* host, const baleen_settings_t* settings, baleen_string_t kind) -> std::int32_t {
        bool would = false;
        const baleen_status_t status = guard(Host(host), [&]() -> Status {
          would = Member::would_take(Host(host), Settings(settings), view(kind));
          return {};
        });
        return status == BALEEN_OK && would ? 1 : 0;
      },
      [](void* self, baleen_string_t kind) -> baleen_operations_t {
        return guard_value(Instance<Transport>::of(self).host, baleen_operations_t{0},
                           [&] { return Instance<Transport>::of(self).member->takes_operations(view(kind)); });
      },
      [](const baleen_host_t* host, const baleen_settings_t* settings, baleen_string_t kind) {
        baleen_operations_t would = 0;
        const baleen_status_t status = guard(Host(host), [&]() -> Status {
          would = Member::would_take_operations(Host(host), Settings(settings), view(kind));
          return {};
        });
        return status == BALEEN_OK ? would : 0;
      }};
  return &memory;
}

/// The answer to the query for native events, of a transport.
template <class Member>
const baleen_transport_native_t* transport_native() {
  using Self = Instance<Transport>;
  static constexpr baleen_transport_native_t kNative = {
      sizeof(baleen_transport_native_t),
      {Member::kNativeRuntime.data(), Member::kNativeRuntime.size()},
      [](void* self, void* device, const baleen_compute_t* compute, const baleen_native_events_t* events) {
        return guard(Self::of(self).host, [&] { return Self::of(self).member->use(device, compute, events); });
      },
      [](void* self) { guard_nothing(Self::of(self).host, "leave", [&] { Self::of(self).member->leave(); }); }};
  return &kNative;
}

/// The answer to the query for memory on the device, of a transport.
template <class Member>
const baleen_transport_device_memory_t* transport_device_memory() {
  using Self = Instance<Transport>;
  static constexpr baleen_transport_device_memory_t kMemory = {
      sizeof(baleen_transport_device_memory_t),
      [](void* self, std::uint64_t bytes, void** base) {
        return guard(Self::of(self).host, [&] { return keep(Self::of(self).member->allocate_on_device(bytes), base); });
      },
      [](void* self, void* base) {
        guard_nothing(Self::of(self).host, "release", [&] { Self::of(self).member->release_on_device(base); });
      }};
  return &kMemory;
}

/// The answer to the query for captured collectives, of a transport.
template <class Member>
const baleen_transport_captured_t* transport_captured() {
  using Self = Instance<Transport>;
  static constexpr baleen_transport_captured_t kCaptured = {
      sizeof(baleen_transport_captured_t),
      [](void* self) { return guard(Self::of(self).host, [&] { return Self::of(self).member->begin_capture(); }); },
      [](void* self, void** capture) {
        return guard(Self::of(self).host, [&] { return keep(Self::of(self).member->end_capture(), capture); });
      },
      [](void* self, void* const* captures, std::uint64_t count, std::int32_t* agreed) {
        return guard(Self::of(self).host, [&]() -> Status {
          BALEEN_TRY_ASSIGN(const bool all, Self::of(self).member->agree_on({captures, captures + count}));
          *agreed = all ? 1 : 0;
          return {};
        });
      },
      [](void* self, void* capture, baleen_event_t* rests, std::uint64_t value) {
        return guard(Self::of(self).host, [&] { return Self::of(self).member->enter(capture, rests, value); });
      },
      [](void* self, void* capture, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
         std::uint64_t done_value) {
        return guard(Self::of(self).host,
                     [&] { return Self::of(self).member->replayed(capture, after, after_value, done, done_value); });
      },
      [](void* self, void* capture) {
        guard_nothing(Self::of(self).host, "release", [&] { Self::of(self).member->release_capture(capture); });
      }};
  return &kCaptured;
}

template <class Member>
const void* query_transport(void* self, baleen_string_t name) noexcept {
  if (view(name) == BALEEN_TRANSPORT_MEMORY) return transport_memory<Member>();
  if (!self) return query_quietly([&] { return Member::query_plugin(view(name)); });
  if constexpr (!Member::kNativeRuntime.empty())
    if (view(name) == BALEEN_TRANSPORT_NATIVE) return transport_native<Member>();
  if constexpr (Member::kHasDeviceMemory)
    if (view(name) == BALEEN_TRANSPORT_DEVICE_MEMORY) return transport_device_memory<Member>();
  if constexpr (Member::kCaptures)
    if (view(name) == BALEEN_TRANSPORT_CAPTURED)
      return Instance<Transport>::of(self).member->captures() ? transport_captured<Member>() : nullptr;
  return guard_value(Instance<Transport>::of(self).host, static_cast<const void*>(nullptr),
                     [&]() -> const void* { return Instance<Transport>::of(self).member->query(view(name)); });
}

}  // namespace detail

/// The C table of a member.
template <class Member>
baleen_transport_t transport_table() {
  using Self = Instance<Transport>;
  baleen_transport_t table{};
  table.create = [](const baleen_host_t* host, const baleen_settings_t* settings, const baleen_rendezvous_t* rendezvous,
                    baleen_transport_flags_t flags, void** out) {
    return guard(Host(host), [&]() -> Status {
      BALEEN_TRY_ASSIGN(auto member, Member::create(Host(host), Settings(settings), Rendezvous(rendezvous), flags));
      return Self::keep(Host(host), std::move(member), out);
    });
  };
  table.destroy = &Self::destroy;
  baleen::detail::add_memory<Member>(table);
  table.group_create = [](void* self, const std::int32_t* ranks, std::uint64_t count, void** group) {
    return guard(Self::of(self).host, [&] {
      return baleen::detail::keep(Self::of(self).member->group_create({ranks, ranks + count}), group);
    });
  };
  table.group_destroy = [](void* self, void* group) {
    guard_nothing(Self::of(self).host, "group_destroy", [&] { Self::of(self).member->group_destroy(group); });
  };
  table.prepare = [](void* self, void* group, const baleen_collective_spec_t* spec, void** slot) {
    return guard(Self::of(self).host,
                 [&] { return baleen::detail::keep(Self::of(self).member->prepare(group, *spec), slot); });
  };
  table.start = [](void* self, void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
                   std::uint64_t done_value) {
    return guard(Self::of(self).host,
                 [&] { return Self::of(self).member->start(slot, after, after_value, done, done_value); });
  };
  table.check = [](void* self) { return guard(Self::of(self).host, [&] { return Self::of(self).member->check(); }); };
  table.abort = [](void* self, baleen_string_t reason) {
    guard_nothing(Self::of(self).host, "abort", [&] { Self::of(self).member->abort(view(reason)); });
  };
  table.query = &baleen::detail::query_transport<Member>;
  return table;
}

}  // namespace baleen

/// Exports `Member` (a baleen::Transport) as this plugin. Once, at global scope, behind BALEEN_DESCRIPTOR.
#define BALEEN_TRANSPORT(Member) BALEEN_EXPORT_TABLE(baleen::transport_table<Member>())
