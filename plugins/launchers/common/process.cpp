/// \file fork, exec, and what must happen between the two.
#include "common/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include "baleen/file_handle.hpp"

namespace baleen::launchers {
namespace {

constexpr int kStartMilliseconds = 2'000;

/// Everything that the new process needs, made before fork: in the child only async-signal-safe calls are allowed.
struct Child {
  std::vector<char*> words;
  cpu_set_t cpus;
  const ProcessStart& start;
  pid_t parent;
  int report;  ///< where to write errno if the program does not start
};

bool connect_streams(const ProcessStart& start) {
  if (start.out >= 0 && dup2(start.out, STDOUT_FILENO) < 0) return false;
  if (start.err >= 0 && dup2(start.err, STDERR_FILENO) < 0) return false;
  if (start.in >= 0) return dup2(start.in, STDIN_FILENO) >= 0;
  if (start.keeps_input) return true;
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  return nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0;
}

[[noreturn]] void become(const Child& child) {
  const ProcessStart& start = child.start;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != child.parent) _exit(127);  // it died before the line above
  if (!start.cpus.empty()) sched_setaffinity(0, sizeof child.cpus, &child.cpus);
  if (start.own_session) setsid();
  if (connect_streams(start) && (start.link < 0 || fcntl(start.link, F_SETFD, 0) == 0)) {
    pthread_sigmask(SIG_SETMASK, &start.signals, nullptr);
    execv(start.program.empty() ? "/proc/self/exe" : start.program.c_str(), child.words.data());
  }
  const int why = errno;
  [[maybe_unused]] const ssize_t written = write(child.report, &why, sizeof why);
  _exit(127);
}

/// Whether the child reports that it can't become the program. Silence is no failure: it may have been stopped on the
/// way, which the launcher's watch finds out.
bool failed_within(int milliseconds, int report, int& why) {
  pollfd ready{report, POLLIN, 0};
  int count = 0;
  do count = poll(&ready, 1, milliseconds);
  while (count < 0 && errno == EINTR);
  return count > 0 && read(report, &why, sizeof why) == static_cast<ssize_t>(sizeof why);
}

Error cannot_start(int why, const ProcessStart& start) {
  const std::string what = start.program.empty() ? "a process for a rank" : start.program;
  return {BALEEN_IO, "cannot start " + what + ": " + std::strerror(why), {}};
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : std::string();
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = (folder.empty() ? "." : folder) + '/' + name;
    std::error_code none;
    if (access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file, none)) return file;
  }
  return {};
}

Result<pid_t> start_process(const ProcessStart& start) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return cannot_start(errno, start);
  FileHandle read_end(ends[0]), write_end(ends[1]);

  Child child{{}, {}, start, getpid(), write_end.get()};
  std::vector<std::string> command = start.command;
  for (std::string& word : command) child.words.push_back(word.data());
  child.words.push_back(nullptr);
  CPU_ZERO(&child.cpus);
  for (const int cpu : start.cpus) CPU_SET(static_cast<std::size_t>(cpu), &child.cpus);

  const pid_t process = fork();
  if (process < 0) return cannot_start(errno, start);
  if (process == 0) become(child);
  write_end.close();
  int why = 0;
  if (!failed_within(kStartMilliseconds, read_end.get(), why)) return process;
  waitpid(process, nullptr, 0);
  return cannot_start(why, start);
}

char process_state(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  // The program's name comes before, in parentheses, and may itself hold any character.
  const std::size_t name_end = text.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= text.size() ? '?' : text[name_end + 2];
}

std::uint64_t bytes_passed() {
  const FileHandle file(open("/proc/self/io", O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text{};
  if (!file || read(file.get(), text.data(), text.size() - 1) <= 0) return 0;
  std::uint64_t in = 0, out = 0;
  return std::sscanf(text.data(), "rchar: %" SCNu64 " wchar: %" SCNu64, &in, &out) == 2 ? in + out : 0;
}

}  // namespace baleen::launchers
