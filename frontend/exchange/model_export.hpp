/// \file Parameters to a folder of another framework, and what both ways share that has no session.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>

#include "frontend/exchange/model_folder.hpp"

namespace baleen {

/// What is done with the tensors on their way out.
struct ExportOptions {
  std::filesystem::path folder;         ///< must not be there, or be empty
  std::optional<baleen_dtype_t> dtype;  ///< of all floating tensors; nothing: their own
  Overflows& overflows;                 ///< counts what that does not hold
};

/// How tensors (name, bytes) are divided into files, and what lies beside them.
using PlanFiles = std::function<Result<ExportPlan>(const std::vector<std::pair<std::string, std::int64_t>>& tensors)>;

/// Writes a model's parameters as the map says, file by file; memory holds one file's tensors. All or nothing: to a
/// folder beside it that takes its place at the end. Errors name the tensor, both shapes, and the nearest name.
Status export_model(const Registry& plugins, const TensorSource& source, const ModelMap& map, const PlanFiles& plan,
                    const ExportOptions& options);

/// The same tensors under the same names.
Status copy_model(const Registry& plugins, const TensorSource& source, const PlanFiles& plan,
                  const ExportOptions& options);

/// All of a folder's parameters, with padded vocabularies; their own dtypes unless one is given.
Result<HostTensors> import_model(const ModelFolder& folder, std::optional<baleen_dtype_t> dtype, Overflows& overflows);

}  // namespace baleen
