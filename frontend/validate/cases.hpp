/// \file The suites: named cases that a plugin of a kind must pass.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/validate/apart.hpp"
#include "frontend/validate/subject.hpp"

namespace baleen::validate {

struct Case {
  std::string name;                                 ///< "optimizer.slices"
  std::string what;                                 ///< one line: what is true of a plugin that passes
  std::function<void(const Subject&, Mark&)> body;  ///< in a process of its own; throws Failure or Skip
  bool needs_member = false;                        ///< is of no use where `kCreateCase` fails
};

/// The case that makes a member of the user's options.
inline constexpr const char* kCreateCase = "create.gives_an_object";

/// All that concern this plugin, in the order in which they run.
std::vector<Case> cases_of(const Subject& subject);

/// Those of every kind: the file, the start, options, creation.
std::vector<Case> generic_cases(const Subject& subject);
/// Throws Skip where a compute plugin says that its device is not there, which is no fault of the plugin.
void needs_device(const Subject& subject, const Opened& opened, const baleen_settings_t* settings);
/// Plans with each value at the option's limits.
void tries_option_of_strategy(const Subject& subject, Mark& mark, const Option& option);
/// Where values come from that are not the user's.
inline constexpr const char* kOwnValue = "validate";
/// The option that names the file a monitor writes, for cases to set: `path`, or one with PATH, required ones first.
/// Null where there is none, and where the user has set it; where the user has set others with PATH, one that is
/// not required is taken for none.
const Option* file_option(const Descriptor& descriptor, const UserValues& values);
/// Trains on two ranks with one of the words that the option lets choose from, as `strategy.rows_on_2` does.
void trains_with_word(const Subject& subject, Mark& mark, const Option& option, const std::string& word);

std::vector<Case> optimizer_cases();
std::vector<Case> data_cases();
/// Those of them that look at what rows hold and at extensions.
std::vector<Case> data_content_cases();
std::vector<Case> monitor_cases();
std::vector<Case> checkpoint_cases();
std::vector<Case> transport_cases();
std::vector<Case> strategy_cases();
std::vector<Case> compute_cases();
std::vector<Case> offload_cases();
std::vector<Case> launcher_cases();
/// A case for each kind.
std::vector<Case> op_cases(const Subject& subject);

}  // namespace baleen::validate
