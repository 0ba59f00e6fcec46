/// \file Forks, waits, and reads from shared memory how the case ended.
#include "frontend/validate/apart.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "baleen/file_handle.hpp"

namespace baleen::validate {
namespace {

using Clock = std::chrono::steady_clock;

/// What the case's process leaves behind.
struct Shared {
  Mark mark;
  bool has_ended = false;
  Outcome::State state = Outcome::State::failed;
  std::array<char, 4096> reason{};

  void end(Outcome::State how, std::string_view why) {
    const std::size_t size = std::min(why.size(), reason.size() - 1);
    std::copy_n(why.data(), size, reason.data());
    state = how;
    has_ended = true;
  }
};

struct Unmapped {
  void operator()(Shared* shared) const { ::munmap(shared, sizeof(Shared)); }
};

std::unique_ptr<Shared, Unmapped> make_shared_page() {
  void* const page = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "memory to share with a case");
  return std::unique_ptr<Shared, Unmapped>(new (page) Shared);
}

/// A file in memory, for what a case writes.
class Kept {
 public:
  Kept() : file_(::memfd_create("baleen-validate", MFD_CLOEXEC)) {
    if (!file_) throw std::system_error(errno, std::generic_category(), "a file for a case's output");
  }

  void become_outputs() const {
    ::dup2(file_.get(), STDOUT_FILENO);
    ::dup2(file_.get(), STDERR_FILENO);
  }
  /// The last 2,000 bytes.
  std::string end() const {
    constexpr off_t kMost = 2000;
    const off_t size = ::lseek(file_.get(), 0, SEEK_END), from = std::max<off_t>(0, size - kMost);
    std::string text(static_cast<std::size_t>(std::max<off_t>(0, size - from)), '\0');
    const ssize_t got = ::pread(file_.get(), text.data(), text.size(), from);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
    return text;
  }

 private:
  FileHandle file_;
};

sigset_t ending_signals() {
  sigset_t all;
  sigemptyset(&all);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&all, signal);
  return all;
}

[[noreturn]] void be_the_case(const std::function<void(Mark&)>& body, Shared& shared, const Kept& kept) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const sigset_t endings = ending_signals();
  ::sigprocmask(SIG_UNBLOCK, &endings, nullptr);
  const rlimit none{};
  ::setrlimit(RLIMIT_CORE, &none);
  if (const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC); nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  kept.become_outputs();
  try {
    body(shared.mark);
    shared.end(Outcome::State::passed, {});
  } catch (const Failure& why) {
    shared.end(Outcome::State::failed, why.what());
  } catch (const Skip& why) {
    shared.end(Outcome::State::skipped, why.what());
  } catch (const std::exception& why) {
    shared.end(Outcome::State::failed, std::string("the case itself failed: ") + why.what());
  }
  if (shared.mark.exits()) std::exit(0);
  std::fflush(nullptr);
  ::_exit(0);
}

std::string behind(const Mark& mark) {
  const std::string call = mark.text();
  return call.empty() ? " between two calls" : " in " + call;
}

std::string signal_name(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

/// Processes whose parent this one is, with their names. None where the system does not tell.
std::map<pid_t, std::string> children() {
  std::map<pid_t, std::string> found;
  std::ifstream list("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  for (pid_t child = 0; list >> child;) {
    std::ifstream name("/proc/" + std::to_string(child) + "/comm");
    std::getline(name, found[child]);
  }
  return found;
}

/// Reaps what has ended, for a moment; kills the rest. Says what it has killed, "" where all have ended.
std::string reap_what_is_left() {
  constexpr std::chrono::seconds kMoment(2);
  std::string left;
  for (const auto begin = Clock::now();; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    const auto running = children();
    if (running.empty()) return left;
    if (Clock::now() - begin < kMoment && !HeldSignals::has_come()) continue;
    for (const auto& [process, name] : running) {
      if (::kill(process, SIGKILL) == 0) left += (left.empty() ? "" : ", ") + name + " " + std::to_string(process);
      ::waitpid(process, nullptr, 0);
    }
  }
}

Outcome judged(const Shared& shared, int status, bool over, std::chrono::milliseconds limit) {
  Outcome outcome;
  outcome.state = Outcome::State::failed;
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", std::chrono::duration<double>(limit).count());
  if (over) {
    outcome.reason = std::string("hangs: after ") + seconds + " s it was still" + behind(shared.mark);
  } else if (WIFSIGNALED(status)) {
    outcome.reason = "crashes: killed by " + signal_name(WTERMSIG(status)) + behind(shared.mark);
  } else if (!shared.has_ended) {
    outcome.reason =
        "ends the process, with exit code " + std::to_string(WEXITSTATUS(status)) + "," + behind(shared.mark);
  } else {
    outcome.state = shared.state;
    outcome.reason = shared.reason.data();
  }
  return outcome;
}

}  // namespace

HeldSignals::HeldSignals() {
  sigset_t held = ending_signals();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler == SIG_IGN) sigdelset(&held, signal);
  }
  ::sigprocmask(SIG_BLOCK, &held, &usual_);
}

HeldSignals::~HeldSignals() { ::sigprocmask(SIG_SETMASK, &usual_, nullptr); }

bool HeldSignals::has_come() {
  sigset_t waiting;
  ::sigpending(&waiting);
  return sigismember(&waiting, SIGINT) == 1 || sigismember(&waiting, SIGTERM) == 1 ||
         sigismember(&waiting, SIGHUP) == 1;
}

void Mark::set(std::string_view call) {
  static std::mutex mutex;  // one thread of this process after another
  const std::lock_guard lock(mutex);
  const std::size_t size = std::min(call.size(), text_.size() - 1);
  std::copy_n(call.data(), size, text_.data());
  text_[size] = '\0';
}

Outcome run_apart(const std::function<void(Mark&)>& body, std::chrono::milliseconds limit) {
  const auto shared = make_shared_page();
  const Kept kept;
  std::fflush(nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // what the case leaves behind is seen here
  const auto begin = Clock::now();
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "a process for a case");
  if (child == 0) be_the_case(body, *shared, kept);
  ::setpgid(child, child);  // whoever of the two is first
  int status = 0;
  bool over = false;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    over = Clock::now() - begin > limit;
    if (over || HeldSignals::has_come()) {
      ::kill(-child, SIGKILL);
      ::waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::kill(-child, SIGKILL);  // what it has left running
  const std::string left = reap_what_is_left();
  Outcome outcome = judged(*shared, status, over, limit);
  if (!left.empty() && outcome.state != Outcome::State::failed) {
    outcome.state = Outcome::State::failed;
    outcome.reason = "leaves processes running: " + left;
  }
  outcome.output = kept.end();
  outcome.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return outcome;
}

}  // namespace baleen::validate
