/// \file From what a user gave to what a plugin gets: values checked against the schema, defaults filled in.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "baleen/host.h"
#include "baleen/result.hpp"
#include "core/input/user_value.hpp"
#include "core/plugin/descriptor.hpp"

namespace baleen {

/// Owns a `baleen_settings_t` and all that it points to. Moving keeps every address.
class SettingsStorage {
 public:
  /// What all settings of a job share.
  struct Context {
    std::uint64_t seed = 0;
    std::string folder;                             ///< what relative paths are relative to, without a trailing '/'
    std::string where;                              ///< the place of the whole choice, for a missing required option
    std::uint32_t local_rank = 0, local_ranks = 1;  ///< the rank's place on its host
  };

  /// Checks `values` against the descriptor's options: unknown names (with the nearest known one), types, ranges,
  /// choices, required ones. `group` overrides single options of a parameter group; only PER_GROUP options may stand
  /// there. Every error is INVALID and begins with the value's own `where`. A SCHEDULE takes a number: for a user's
  /// function, its value at step 0.
  static Result<SettingsStorage> build(const Descriptor& descriptor, UserValues values, const Context& context,
                                       UserValues group = {});

  SettingsStorage(SettingsStorage&&) noexcept;
  SettingsStorage& operator=(SettingsStorage&&) noexcept;
  ~SettingsStorage();

  /// Valid as long as the storage (or what it was moved into) lives.
  const baleen_settings_t* get() const;
  /// Null for an option that the schema lacks.
  const baleen_setting_t* find(std::string_view option) const;
  /// Sets the graph value of a SCHEDULE option, before each call that is about another graph. False for any other
  /// option.
  bool set_value(std::string_view option, std::uint32_t value);

 private:
  struct State;
  explicit SettingsStorage(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace baleen
