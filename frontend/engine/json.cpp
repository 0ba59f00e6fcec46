/// \file Where numbers and texts do not fit JSON.
#include "frontend/engine/json.hpp"

#include <cmath>
#include <cstdint>

namespace baleen::app {

Json json_number(double number) {
  constexpr double kExact = 9007199254740992;  // 2^53: beyond it, not every whole number is a double
  if (std::floor(number) == number && std::abs(number) < kExact) return static_cast<std::int64_t>(number);
  return number;
}

std::string json_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace baleen::app
