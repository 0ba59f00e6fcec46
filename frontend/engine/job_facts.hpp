/// \file What ranks of one job must have in common, as lines: compared before the first step, so that no rank trains
/// with another learning rate, other rows or other parameters than the rest.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "compiler/plan/job.hpp"
#include "core/runtime/dataset.hpp"

namespace baleen::app {

/// The graph that is trained first, for what differs there differs in others too; then the others by name.
std::vector<std::pair<std::string, const JobGraph*>> graphs_of(const Job& job);

/// What the job is beside its graphs: numbers, members with all options that were given, schedules at some steps (the
/// first ones, then ever fewer, and the last), groups, parameters with their initial values, annotations.
std::string job_lines(const Job& job, std::int64_t steps);

/// Of a job whose data is there: rows, fields, and a digest: the plugin's own ("baleen.data.digest/1"), else of rows
/// spread over both parts. Paths are none of it: hosts may keep their copies where they like.
Result<std::string> data_lines(const Dataset& data);

/// The digest of a file, or of all files below a folder with their names. Of a file that is longer than 256 MiB, and of
/// one in a folder that is longer than 1 MiB, its length and pieces spread over it: a start never waits for terabytes.
Result<std::string> digest_of_files(const std::filesystem::path& path);

}  // namespace baleen::app
