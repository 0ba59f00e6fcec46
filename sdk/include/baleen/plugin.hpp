/// \file What every kind of plugin shares: the object behind a handle, and handing over the kind's table.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baleen/descriptor.h"
#include "baleen/host.hpp"
#include "baleen/settings.hpp"
#include "baleen/sized.hpp"
#include "baleen/start.h"

// The tables, each of which its kind's header defines.
struct baleen_compute_t;
struct baleen_optimizer_t;
struct baleen_data_t;
struct baleen_monitor_t;
struct baleen_checkpoint_t;
struct baleen_strategy_t;
struct baleen_ops_t;
struct baleen_transport_t;
struct baleen_launcher_t;
struct baleen_offload_t;

namespace baleen {

/// Copies `table` into the host's, as far as the host knows it, and sets its size.
template <class Table>
void fill_table(void* out, Table table) {
  copy_out(static_cast<Table*>(out), table);
}

/// The kind that a table is of.
template <class Table>
inline constexpr const char* kKindOf = nullptr;
template <>
inline constexpr const char* kKindOf<baleen_compute_t> = "compute";
template <>
inline constexpr const char* kKindOf<baleen_optimizer_t> = "optimizer";
template <>
inline constexpr const char* kKindOf<baleen_data_t> = "data";
template <>
inline constexpr const char* kKindOf<baleen_monitor_t> = "monitor";
template <>
inline constexpr const char* kKindOf<baleen_checkpoint_t> = "checkpoint";
template <>
inline constexpr const char* kKindOf<baleen_strategy_t> = "strategy";
template <>
inline constexpr const char* kKindOf<baleen_ops_t> = "op";
template <>
inline constexpr const char* kKindOf<baleen_transport_t> = "transport";
template <>
inline constexpr const char* kKindOf<baleen_launcher_t> = "launcher";
template <>
inline constexpr const char* kKindOf<baleen_offload_t> = "offload";

/// Whether a descriptor is of the table's kind.
template <class Table>
constexpr bool is_described_by(const baleen_descriptor_t& descriptor) {
  return std::string_view(descriptor.kind) == kKindOf<Table>;
}

/// The whole start function: compares the kinds and hands the table over.
template <class Table>
baleen_status_t give_table(const baleen_host_t* host, void* out, const Table& table) {
  return baleen_give_table(host, kKindOf<Table>, out, &table, sizeof table);
}

/// What the handle of a plugin's object points to in every family: the object, and the host its failures go to.
template <class Base>
struct Instance {
  Host host;
  std::unique_ptr<Base> member;

  static Instance& of(void* handle) { return *static_cast<Instance*>(handle); }
  static void destroy(void* handle) {
    const Host host = of(handle).host;
    guard_nothing(host, "destroy", [&] { delete static_cast<Instance*>(handle); });
  }
  /// The handle of a member that `create` gave.
  static Status keep(const Host& host, std::unique_ptr<Base> member, void** out) {
    if (!member) return internal("create gave no object and no error");
    *out = new Instance{host, std::move(member)};
    return {};
  }
};

/// The `create` of a family: `Member::create(const Host&, const Settings&)` returns Result<std::unique_ptr<Member>>.
template <class Base, class Member>
baleen_status_t create_instance(const baleen_host_t* host, const baleen_settings_t* settings, void** out) {
  return guard(Host(host), [&]() -> Status {
    BALEEN_TRY_ASSIGN(auto member, Member::create(Host(host), Settings(settings)));
    return Instance<Base>::keep(Host(host), std::move(member), out);
  });
}

}  // namespace baleen

/// Exports the one symbol of a plugin, which hands over `table` (an expression). Behind BALEEN_DESCRIPTOR, in one
/// source.
#define BALEEN_EXPORT_TABLE(...)                                                                         \
  extern "C" BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t* host, void* table) { \
    return baleen::give_table(host, table, __VA_ARGS__);                                                 \
  }                                                                                                      \
  static_assert(baleen::is_described_by<decltype(__VA_ARGS__)>(::baleen_plugin_note.descriptor),         \
                "the descriptor names another kind than that of the table")
