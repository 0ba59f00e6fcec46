/// \file Variables of this process's environment, read as NCCL does.
#pragma once
#include <optional>
#include <string>

#include "baleen/environment.hpp"

namespace baleen::nccl {

using sdk::set_variables;

/// What a user has set for NCCL, and where: "the environment", or a file.
struct UserVariable {
  std::string value, where;
};

/// As NCCL reads it: from the environment, else from the file that NCCL_CONF_FILE names (~/.nccl.conf where it names
/// none), else from /etc/nccl.conf. Nothing where it is set nowhere, or to nothing.
std::optional<UserVariable> user_variable(const std::string& name);

}  // namespace baleen::nccl
