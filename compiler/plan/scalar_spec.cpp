/// \file The range of an option, for each value of its schedule.
#include <cmath>

#include "compiler/plan/plan.hpp"
#include "core/plugin/option_value.hpp"

namespace baleen {

Status ScalarSpec::check(double value, std::int64_t step) const {
  const std::string at = " at step " + std::to_string(step);
  if (!std::isfinite(value)) return invalid("schedule `" + name + "` gives " + std::to_string(value) + at, where);
  if (title.empty()) return {};  // of no option
  const Status fits = check_option(option, UserValue{value, where});
  return fits ? fits : Error{fits.error().code, title + ": " + fits.error().message + at, where};
}

}  // namespace baleen
