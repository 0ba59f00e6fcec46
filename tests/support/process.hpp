/// \file Runs a command as a user would: its own process, both outputs captured, killed when it takes too long.
#pragma once
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/places.hpp"

namespace baleen::test {

struct ProcessResult {
  int exit_code = -1;  ///< 128 + signal for a process that was killed
  bool timed_out = false;
  std::string out;
  std::string err;
};

struct ProcessOptions {
  std::string folder;  ///< to run in; empty: this one
  std::chrono::milliseconds limit{60'000};
  std::vector<std::string> environment;  ///< "NAME=value", added to this process's
};

namespace detail {

[[noreturn]] inline void become(std::vector<std::string> command, const ProcessOptions& options, int out, int err) {
  setpgid(0, 0);  // so that a time limit reaches the children of a shell too
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) _exit(126);
  std::vector<std::string> environment = options.environment;
  for (std::string& pair : environment) putenv(pair.data());
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  _exit(127);
}

/// Appends what there is to read; false at the end of the stream.
inline bool drain(int descriptor, std::string& to) {
  std::array<char, 4096> buffer;
  const ssize_t count = read(descriptor, buffer.data(), buffer.size());
  if (count > 0) to.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0;
}

}  // namespace detail

/// Runs `command` (program first, sought in PATH) to its end, or to the limit.
inline ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options = {}) {
  std::array<int, 2> out{}, err{};
  if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) detail::become(command, options, out[1], err[1]);
  close(out[1]);
  close(err[1]);

  ProcessResult result;
  std::array<pollfd, 2> ends = {{{out[0], POLLIN, 0}, {err[0], POLLIN, 0}}};
  const auto deadline = std::chrono::steady_clock::now() + options.limit;
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      result.timed_out = true;
      kill(-child, SIGKILL);
      break;
    }
    poll(ends.data(), ends.size(), static_cast<int>(left.count()));
    if (ends[0].revents && !detail::drain(out[0], result.out)) ends[0].fd = -1;
    if (ends[1].revents && !detail::drain(err[0], result.err)) ends[1].fd = -1;
  }
  close(out[0]);
  close(err[0]);
  int status = 0;
  waitpid(child, &status, 0);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

/// Runs the built program `baleen`.
inline ProcessResult run_baleen(std::vector<std::string> words, const ProcessOptions& options = {}) {
  words.insert(words.begin(), build_dir() + "/bin/baleen");
  return run_process(words, options);
}

}  // namespace baleen::test
