/// \file From the table that a script returns to a Job with its graphs.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/lua/description.hpp"
#include "frontend/lua/interfaces.hpp"
#include "frontend/lua/lua_include.hpp"

namespace baleen {

struct DescribedJob {
  Job job;
  std::int64_t steps = 0;
  std::int64_t evaluate_batches = 0;  ///< that an evaluation reads; 0: all that is held out
  std::vector<std::string> doubts;    ///< what the job asks for and its data has too little of, with its place
  std::shared_ptr<ScriptData> data;
  std::optional<UserValues> checkpoint;    ///< how the run is to be saved as it goes
  std::map<std::string, UserValues> loop;  ///< what the training loop does beside steps: `evaluate`, `generate`
};

/// Reads the job at `index`, which `baleen.job` has made and checked, and describes its graphs: train, evaluate
/// where rows are held out, and the named programs. Runs inside a protected call; throws ScriptError.
DescribedJob read_job(lua_State* L, int index, Description& description);

/// Adds `new_job` to the table on the top of the stack: it marks a table as a job.
void bind_job(lua_State* L);
/// Was it made by `new_job`?
bool is_job(lua_State* L, int index);

}  // namespace baleen
