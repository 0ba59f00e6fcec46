/// \file What ranks of one job must have in common, as lines: compared before the first step, so that no rank trains
/// with another learning rate, other rows or other parameters than the rest.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "compiler/plan/job.hpp"
#include "core/plugin/descriptor.hpp"
#include "core/runtime/dataset.hpp"

namespace baleen::app {

/// The graph that is trained first, for what differs there differs in others too; then the others by name.
std::vector<std::pair<std::string, const JobGraph*>> graphs_of(const Job& job);

/// What the job is beside its graphs: numbers, members with all options that were given, schedules at some steps (the
/// first ones, then ever fewer, and the last), groups, parameters with their initial values, annotations.
std::string job_lines(const Job& job, std::int64_t steps);

/// Which data plugin a job's data set is of, with the options that it was given, but for paths and what hosts may have
/// otherwise: one line.
std::string option_line(const MemberSpec& data, const Descriptor& descriptor);

/// Whether the plugin gives a digest of its own.
bool has_digest(const Dataset& data);

/// Of the content of a job's data: the plugin's own ("baleen.data.digest/1"), else of rows spread over both parts.
Result<std::string> digest_of_data(const Dataset& data);

/// Of a job whose data is there: rows, fields, that digest, and where it is the plugin's own, one of its first rows in
/// the order in which they are read. Paths are none of it: hosts may keep their copies where they like.
std::string data_lines(const Dataset& data, const std::string& digest);

/// Of a file that is longer than 256 MiB, its length and pieces spread over it: a start never waits for terabytes.
Result<std::string> digest_of_file(const std::filesystem::path& path);

/// A line for each of these files of a folder, with its name there and its digest. Of what is longer than 256 MiB
/// together each has its share.
Result<std::string> file_lines(const std::filesystem::path& folder, std::vector<std::filesystem::path> files);

}  // namespace baleen::app
