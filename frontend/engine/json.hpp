/// \file JSON, for the commands with `--json`.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace baleen::app {

/// Objects keep the order in which their keys were set.
using Json = nlohmann::ordered_json;

/// Whole numbers have no point; infinities and nan become null.
Json json_number(double number);

/// On one line. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(const Json& json);

}  // namespace baleen::app
