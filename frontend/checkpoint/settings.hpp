/// \file What a user says of checkpoints: the section [checkpoint] of the manifest, or `checkpoint` of the job.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "baleen/result.hpp"
#include "core/input/user_value.hpp"

namespace baleen {

struct CheckpointSettings {
  std::filesystem::path folder = "checkpoints";  ///< relative to the working folder
  std::string plugin;                            ///< empty: the best that writes shards
  std::int64_t every = 0;                        ///< steps; 0: not by steps
  double minutes = 0;                            ///< 0: not by time
  std::int64_t keep = 3;                         ///< the last so many stay; 0: all
  bool best = false;                             ///< one is saved, and stays, whenever the held-out loss is lowest
  std::uint64_t memory_bytes = 0;                ///< that a save may take of each rank; 0: no bound
  double grace_seconds = 25;                     ///< from a signal on, to save and end
  std::string where;                             ///< its place in the user's file
};

/// Checks names, types and ranges as plugins' options are checked. Errors are INVALID and begin with the value's place.
Result<CheckpointSettings> read_checkpoint_settings(const UserValues& values, const std::string& where);

}  // namespace baleen
