/// \file Ranks that the launcher under test has started, or that find themselves in the environment: what each does.
#pragma once
#include <string>
#include <string_view>

#include "baleen/launcher.h"
#include "frontend/validate/subject.hpp"

namespace baleen::validate {

/// Behind the program's name in a rank that `start` made; what follows is the launcher's own.
inline constexpr const char* kLaunchWord = "--launch-word";

/// The job of a case, all on this host.
struct OneHost {
  explicit OneHost(std::int32_t ranks, std::string_view word = {});
  baleen_launch_host_t host;
  baleen_launch_job_t job;
};

/// A launcher made for a job. Destroyed with this.
class Launcher {
 public:
  Launcher(const Subject& subject, Mark& mark, const OneHost& job);
  Launcher(const Launcher&) = delete;
  ~Launcher() noexcept(false);  // NOLINT(*exception-escape)

  const Opened& plugin() const { return plugin_; }
  const baleen_launcher_t& table() const { return plugin_.table<baleen_launcher_t>(); }
  void* get() const { return handle_; }
  /// As it says it, checked.
  baleen_place_t place() const;

 private:
  Opened plugin_;
  SettingsStorage settings_;
  void* handle_ = nullptr;
};

/// What ranks do; the exit code of the rank. Throws Failure.
int play_rank(const Launcher& launcher, Mark& mark, const baleen_place_t& place, std::string_view script,
              bool is_started);

/// The whole life of a rank that `start` made: a failure goes to a file of the folder where it stands.
int be_launched_rank(const Subject& subject, std::string_view script, std::string_view word);

/// Such files begin so.
inline constexpr const char* kFailureFile = "failure.";
/// How many threads each rank is told to compute with, and the words of the failure that ranks play.
inline constexpr std::int32_t kThreads = 3;
inline constexpr const char* kCause = "the planted cause";

}  // namespace baleen::validate
