/// \file The losses that a run wrote with --log-json.
#pragma once
#include <string>
#include <vector>

#include "support/run_log.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {

using Losses = std::vector<std::string>;

/// Of its steps, every digit: as they stand there.
inline Losses losses_in(const std::string& file) {
  Losses found;
  for (const nlohmann::json& record : records_in(read_file(file), "step"))
    if (const auto loss = record.find("loss"); loss != record.end()) found.push_back(loss->dump());
  return found;
}

}  // namespace baleen::test
