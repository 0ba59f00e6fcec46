/// \file The values of a plugin's options, by name and type.
#pragma once
#include <algorithm>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baleen/descriptor.h"
#include "baleen/host.hpp"
#include "baleen/op.h"

namespace baleen {

/// Settings by name. Asking for an option that the schema lacks, or by a method of another type, is the author's bug
/// and throws.
class Settings {
 public:
  explicit Settings(const baleen_settings_t* settings) : settings_(settings) {}

  bool boolean(std::string_view name) const { return as(name, "boolean", {BALEEN_OPTION_BOOL}).integer != 0; }
  std::int64_t integer(std::string_view name) const { return as(name, "integer", {BALEEN_OPTION_INT}).integer; }
  /// Of a FLOAT or an INT option. A SCHEDULE is no number, for it differs from step to step.
  double number(std::string_view name) const {
    const baleen_setting_t& item = as(name, "number", {BALEEN_OPTION_FLOAT, BALEEN_OPTION_INT});
    return item.type == BALEEN_OPTION_INT ? static_cast<double>(item.integer) : item.number;
  }
  /// Of a STRING option; of a FLOAT one the word in place of a number, or "".
  std::string_view text(std::string_view name) const {
    return view(as(name, "text", {BALEEN_OPTION_STRING, BALEEN_OPTION_FLOAT}).text);
  }
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
  /// The scalar value of a SCHEDULE option in the graph at hand; throws where the call is about no graph.
  std::uint32_t value(std::string_view name) const {
    const std::uint32_t value = as(name, "value", {BALEEN_OPTION_SCHEDULE}).value;
    if (value == BALEEN_NONE) throw Wrong("option `" + std::string(name) + "` has a value in a graph only");
    return value;
  }
  /// The option as it crosses the boundary, of any type.
  const baleen_setting_t& at(std::string_view name) const {
    for (std::uint64_t i = 0; i < settings_->count; ++i)
      if (view(settings_->items[i].name) == name) return settings_->items[i];
    throw Wrong("no option `" + std::string(name) + "` in the schema");
  }
  const baleen_settings_t* get() const { return settings_; }
  std::uint64_t seed() const { return settings_->seed; }
  std::string_view folder() const { return view(settings_->folder); }
  /// This rank's place among those of its host, and their number.
  std::uint32_t local_rank() const { return tells_place() ? settings_->local_rank : 0; }
  std::uint32_t local_ranks() const { return tells_place() ? settings_->local_ranks : 1; }

 private:
  struct Wrong : std::exception {
    explicit Wrong(std::string why) : text(std::move(why)) {}
    const char* what() const noexcept override { return text.c_str(); }
    std::string text;
  };
  const baleen_setting_t& as(std::string_view name, const char* method,
                             std::initializer_list<baleen_option_type_t> types) const {
    constexpr const char* kTypes[] = {"?", "BOOL", "INT", "FLOAT", "STRING", "SCHEDULE", "TABLE"};
    constexpr const char* kMethods[] = {"at", "boolean", "integer", "number", "text", "value", "at"};
    const baleen_setting_t& item = at(name);
    if (std::find(types.begin(), types.end(), item.type) != types.end()) return item;
    const std::uint32_t type = item.type <= BALEEN_OPTION_TABLE ? item.type : 0;
    throw Wrong("option `" + std::string(name) + "` is of type " + kTypes[type] + ": read it by `" + kMethods[type] +
                "`, not by `" + method + "`");
  }
  bool tells_place() const { return settings_->size >= sizeof(baleen_settings_t); }
  const baleen_settings_t* settings_;
};

}  // namespace baleen
