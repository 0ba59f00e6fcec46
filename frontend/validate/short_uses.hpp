/// \file Uses a member for a moment: what takes an option must also bear it.
#pragma once
#include <string_view>

#include "frontend/validate/subject.hpp"

namespace baleen::validate {

/// Makes a member of the subject's options and uses it: an optimizer for two steps, a data set for some rows, a monitor
/// for a short run. What it refuses with a reason is no failure. `create`: for messages. Members of other kinds are
/// made alone.
void use_shortly(const Subject& subject, const Opened& plugin, std::string_view create);

}  // namespace baleen::validate
