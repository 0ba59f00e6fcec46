/// \file Small trainings with the plugin, by this very program, as a user would start them.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/validate/subject.hpp"

namespace baleen::validate {

/// How a run of the program ended.
struct Ended {
  int code = 0;  ///< its exit code; 128 + signal where one ended it
  std::string out, err;

  /// Whether the input was refused, for whatever reason: nothing was computed.
  bool is_refusal() const { return code == 2 || code == 3; }
  /// The first line of what it complained of.
  std::string complaint() const;
  /// "ends with exit code 70: WORDS".
  std::string text() const;
};

/// Jobs of the folder sdk/validate.
inline constexpr std::string_view kJobs[] = {"rows", "tokens"};

/// `baleen COMMAND JOB.lua --manifest MANIFEST WORDS...`, with the plugin at hand. `manifest`: its text. Throws Failure
/// where the program does not start.
Ended run_program(const Subject& subject, Mark& mark, std::string_view command, std::string_view job,
                  const std::string& manifest, const std::vector<std::string>& words = {});

/// A file of the folder of jobs.
std::string text_of_file(const Subject& subject, std::string_view name);
/// Lines of a manifest by which another strategy uses so many ranks, `[[plan]]` first.
std::string beside_on(const Subject& subject, int ranks);
/// Nine digits.
std::string digits_of(double number);

/// The plugin and its options as lines of a manifest: `KEY = "name"`, then an option a line.
std::string manifest_lines(const Subject& subject, std::string_view key);

/// A number of each step ("loss") that such a run computes. Throws Failure where it does not end well; Skip where its
/// plan is refused.
std::vector<double> steps_of(const Subject& subject, Mark& mark, std::string_view job, const std::string& manifest,
                             const std::vector<std::string>& words = {});

}  // namespace baleen::validate
