/// \file The sugar every kind of plugin shares: the guard that stops exceptions at the boundary, and reading settings.
#pragma once
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/descriptor.h"
#include "baleen/host.h"
#include "baleen/result.hpp"

namespace baleen {

inline std::string_view view(baleen_string_t text) { return {text.data, text.data ? text.size : 0}; }
inline baleen_string_t abi(std::string_view text) { return {text.data(), text.size()}; }

/// A borrowed host with C++ manners. Copyable; valid as long as the plugin is loaded.
class Host {
 public:
  Host() = default;
  explicit Host(const baleen_host_t* host) : host_(host) {}

  void log(baleen_level_t level, std::string_view text) const { host_->log(host_->self, level, abi(text)); }
  baleen_status_t fail(baleen_status_t code, std::string_view text) const {
    return host_->fail(host_->self, code, abi(text));
  }
  baleen_status_t fail(const Error& error) const { return fail(error.code, error.text()); }
  const baleen_host_t* get() const { return host_; }
  /// An optional power, or null.
  template <class Power>
  const Power* query(std::string_view name) const {
    return static_cast<const Power*>(host_->query(host_->self, abi(name)));
  }

 private:
  const baleen_host_t* host_ = nullptr;
};

/// Thrown where a call into the host failed: the host has the text already, so `guard` passes the bare status on.
struct Failed : std::exception {
  explicit Failed(baleen_status_t status) : status(status) {}
  const char* what() const noexcept override { return "a call into the host failed"; }
  baleen_status_t status;
};

/// Runs `body` (returning Status or Result<...>-like Status) and turns its Error or exception into a status with text.
template <class Body>
baleen_status_t guard(const Host& host, Body&& body) noexcept {
  try {
    Status status = body();
    return status ? BALEEN_OK : host.fail(status.error());
  } catch (const Failed& failure) {
    return failure.status;
  } catch (const std::bad_alloc&) {
    return host.fail(BALEEN_NO_MEMORY, "out of memory");
  } catch (const std::exception& e) {
    return host.fail(BALEEN_INTERNAL, e.what());
  } catch (...) {
    return host.fail(BALEEN_INTERNAL, "unknown exception");
  }
}

/// Settings by name. Asking for an option that the schema lacks is the author's bug and throws.
class Settings {
 public:
  explicit Settings(const baleen_settings_t* settings) : settings_(settings) {}

  bool boolean(std::string_view name) const { return at(name).integer != 0; }
  std::int64_t integer(std::string_view name) const { return at(name).integer; }
  double number(std::string_view name) const { return at(name).number; }
  std::string_view text(std::string_view name) const { return view(at(name).text); }
  /// The entries of a MANY option; none where it is empty.
  std::vector<std::string_view> list(std::string_view name) const {
    std::vector<std::string_view> entries;
    std::string_view rest = text(name);
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      if (end != 0) entries.push_back(rest.substr(0, end));
      rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
    }
    return entries;
  }
  /// The scalar value of a SCHEDULE option in the graph at hand.
  std::uint32_t value(std::string_view name) const { return at(name).value; }
  const baleen_setting_t& at(std::string_view name) const {
    for (std::uint64_t i = 0; i < settings_->count; ++i)
      if (view(settings_->items[i].name) == name) return settings_->items[i];
    throw Missing(name);
  }
  const baleen_settings_t* get() const { return settings_; }
  std::uint64_t seed() const { return settings_->seed; }
  std::string_view folder() const { return view(settings_->folder); }
  /// This rank's place among those of its host, and their number.
  std::uint32_t local_rank() const { return tells_place() ? settings_->local_rank : 0; }
  std::uint32_t local_ranks() const { return tells_place() ? settings_->local_ranks : 1; }

 private:
  struct Missing : std::exception {
    explicit Missing(std::string_view name) : text("no option `" + std::string(name) + "` in the schema") {}
    const char* what() const noexcept override { return text.c_str(); }
    std::string text;
  };
  bool tells_place() const { return settings_->size >= sizeof(baleen_settings_t); }
  const baleen_settings_t* settings_;
};

/// Copies `table` into the host's, as far as the host knows it, and sets its size.
template <class Table>
void fill_table(void* out, Table table) {
  auto* head = static_cast<std::uint64_t*>(out);
  const std::uint64_t known = *head < sizeof(Table) ? *head : sizeof(Table);
  table.size = known;
  __builtin_memcpy(out, &table, known);
}

/// What the handle of a plugin's object points to in every family: the object, and the host its failures go to.
template <class Base>
struct Instance {
  Host host;
  std::unique_ptr<Base> member;

  static Instance& of(void* handle) { return *static_cast<Instance*>(handle); }
  static void destroy(void* handle) { delete static_cast<Instance*>(handle); }
};

/// The `create` of a family: `Member::create(const Host&, const Settings&)` returns Result<std::unique_ptr<Member>>.
template <class Base, class Member>
baleen_status_t create_instance(const baleen_host_t* host, const baleen_settings_t* settings, void** out) {
  return guard(Host(host), [&]() -> Status {
    BALEEN_TRY_ASSIGN(auto member, Member::create(Host(host), Settings(settings)));
    *out = new Instance<Base>{Host(host), std::move(member)};
    return {};
  });
}

}  // namespace baleen

/// Exports the one symbol of a plugin, which hands over `table` (an expression).
#define BALEEN_EXPORT_TABLE(...)                                                                    \
  extern "C" BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t*, void* table) { \
    baleen::fill_table(table, __VA_ARGS__);                                                         \
    return BALEEN_OK;                                                                               \
  }                                                                                                 \
  static_assert(true, "takes the semicolon")
