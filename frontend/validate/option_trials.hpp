/// \file Values at the limits of what an option's schema allows.
#pragma once
#include <vector>

#include "core/plugin/descriptor.hpp"

namespace baleen::validate {

/// Each passes `check_option`. None for options that name other plugins.
std::vector<UserValue> trials_of(const Option& option);

}  // namespace baleen::validate
