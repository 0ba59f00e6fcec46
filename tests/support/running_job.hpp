/// \file A program of several processes while it runs: in a session of its own, so that everything it leaves behind can
/// be found and counted.
#pragma once
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/process.hpp"

namespace baleen::test {

/// Shared memory: names under /dev/shm of ours and of UCX's, and System V segments. `abandoned`: of these only those
/// that nobody would remove any more, since their makers are dead and nobody is attached.
inline std::set<std::string> shared_memory_names(bool abandoned = false) {
  std::set<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", none))
    if (const std::string name = entry.path().filename().string();
        name.find("baleen") != std::string::npos || name.starts_with("ucx_shm"))
      names.insert("/dev/shm/" + name);
  std::ifstream segments("/proc/sysvipc/shm");
  std::string line;
  std::getline(segments, line);
  while (std::getline(segments, line)) {
    std::istringstream words(line);
    std::string key, id, rights, bytes, maker, last, attached;
    words >> key >> id >> rights >> bytes >> maker >> last >> attached;
    const bool is_abandoned = attached == "0" && !std::filesystem::exists("/proc/" + maker);
    if (key == "0" && (is_abandoned || !abandoned)) names.insert("System V segment " + id + " of " + bytes + " bytes");
  }
  return names;
}

/// Those that were not there `before` and stay. (What other tests use has its name for a moment.)
inline std::set<std::string> shared_memory_left(const std::set<std::string>& before) {
  std::set<std::string> left;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (bool is_first = true;; is_first = false) {
    const std::set<std::string> now = shared_memory_names(true);
    std::set<std::string> both;
    for (const std::string& name : now)
      if (!before.contains(name) && (is_first || left.contains(name))) both.insert(name);
    left = both;
    if (left.empty() || std::chrono::steady_clock::now() > deadline) return left;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

/// 'T': stopped; 'S': sleeps; '?': there is no such process.
inline char state_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && name_end + 2 < text.size() ? text[name_end + 2] : '?';
}

/// Calls `condition` until it holds; false if it does not within `limit`.
inline bool holds_within(std::chrono::milliseconds limit, const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

class RunningJob {
 public:
  struct Options {
    int terminal = -1;     ///< becomes its terminal, input and outputs; -1: pipes, nothing to read
    std::string input;     ///< through a pipe
    std::string folder{};  ///< where it may leave temporary files; empty: as this process
  };

  explicit RunningJob(const std::vector<std::string>& command) : RunningJob(command, Options()) {}
  RunningJob(std::vector<std::string> command, const Options& options) {
    std::array<int, 2> in = make_pipe(), out = make_pipe(), err = make_pipe();
    leader_ = fork();
    if (leader_ < 0) throw std::runtime_error("fork failed");
    if (leader_ == 0) become(command, options, in[0], out[1], err[1]);
    close(in[0]), close(out[1]), close(err[1]);
    // From here on `processes` finds it, however late it gets to run; if it has not been killed before that.
    while (getsid(leader_) != leader_ && state_of(leader_) != 'Z' && state_of(leader_) != '?')
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (!options.input.empty() && write(in[1], options.input.data(), options.input.size()) < 0)
      throw std::runtime_error("cannot give the job its input");
    close(in[1]);
    ends_ = {{{out[0], POLLIN, 0}, {err[0], POLLIN, 0}}};
  }
  ~RunningJob() {
    for (const pid_t process : processes()) ::kill(process, SIGKILL);
    if (!reaped_) kill(SIGKILL), waitpid(leader_, nullptr, 0);
    for (const pollfd& end : ends_)
      if (end.fd >= 0) close(end.fd);
  }
  RunningJob(const RunningJob&) = delete;

  /// The first process: the launcher.
  pid_t leader() const { return leader_; }
  void kill(int signal) const { ::kill(leader_, signal); }
  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }

  /// Waits until the standard output holds `text`, this many times.
  bool prints(const std::string& text, int times = 1, std::chrono::milliseconds limit = std::chrono::seconds(60)) {
    return holds_within(limit, [&] {
      read_for(5);
      int found = 0;
      for (std::size_t at = 0; (at = out_.find(text, at)) != std::string::npos; ++at) ++found;
      return found >= times;
    });
  }
  /// Waits until the standard error holds `text`.
  bool complains(const std::string& text, std::chrono::milliseconds limit = std::chrono::seconds(60)) {
    return holds_within(limit, [&] { return read_for(5), err_.find(text) != std::string::npos; });
  }
  /// Waits for the leader's end: its exit code, 128 + signal if one killed it, or nothing if it is still there.
  std::optional<int> ends(std::chrono::milliseconds limit = std::chrono::seconds(60)) {
    int status = 0;
    reaped_ = holds_within(limit, [&] {
      read_for(5);
      return waitpid(leader_, &status, WNOHANG) == leader_;
    });
    if (!reaped_) return std::nullopt;
    while (read_for(0)) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  /// Its processes that live: all of its session that are no zombies.
  std::set<pid_t> processes() const {
    std::set<pid_t> found;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
      std::string stat;
      if (std::isdigit(entry.path().filename().string().front()))
        std::getline(std::ifstream(entry.path() / "stat"), stat);
      const std::size_t name_end = stat.rfind(')');
      if (name_end == std::string::npos) continue;
      std::istringstream fields(stat.substr(name_end + 1));
      char state = '?';
      pid_t parent = 0, group = 0, session = 0;
      fields >> state >> parent >> group >> session;
      if (session == leader_ && state != 'Z') found.insert(std::stoi(entry.path().filename()));
    }
    return found;
  }

 private:
  static std::array<int, 2> make_pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
    return ends;
  }
  [[noreturn]] static void become(std::vector<std::string>& command, const Options& options, int in, int out, int err) {
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is ended by its time limit leaves nothing behind
    if (options.terminal >= 0) {
      ioctl(options.terminal, TIOCSCTTY, 0);
      in = out = err = options.terminal;
    }
    dup2(in, STDIN_FILENO), dup2(out, STDOUT_FILENO), dup2(err, STDERR_FILENO);
    if (!options.folder.empty()) setenv("TMPDIR", options.folder.c_str(), 1);
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(127);
  }
  /// False when both outputs are at their end, or nothing came.
  bool read_for(int milliseconds) {
    if (poll(ends_.data(), ends_.size(), milliseconds) <= 0) return false;
    if (ends_[0].revents && !detail::drain(ends_[0].fd, out_)) close(std::exchange(ends_[0].fd, -1));
    if (ends_[1].revents && !detail::drain(ends_[1].fd, err_)) close(std::exchange(ends_[1].fd, -1));
    return true;
  }

  pid_t leader_ = -1;
  bool reaped_ = false;
  std::array<pollfd, 2> ends_{};
  std::string out_, err_;
};

}  // namespace baleen::test
