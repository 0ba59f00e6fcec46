/// \file Preloaded into a program: counts its calls that change files below a path, and at the n-th of them ends the
/// process, cuts the power, or has the call fail.
///
/// BALEEN_TEST_CALLS is "PATH:WHAT:N:WORD", WHAT one of count, kill, cut, shutdown, shutdown-log, half, or an errno
/// ("28+": at all calls from the n-th on).
/// Calls are counted in each process whose command line holds WORD (empty: all). `cut`: before the process ends,
/// files lose what was not synced, and renames of which the folder was not synced are undone, as a power cut may do it.
/// `shutdown`: the same by the folder's file system, an ext4, which goes no further than its journal is;
/// `shutdown-log`: the journal is written, and of the files only what was on the disk. `half`: a write takes half of
/// its bytes and the next call finds the disk full. `count` appends a line a call to PATH.calls: the process and the
/// call's name. What C++ and C print goes through `write` here, which glibc's own streams do not.
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ext/stdio_sync_filebuf.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

struct State {
  std::mutex mutex;
  std::string folder, what, word;
  long at = 0, calls = 0;
  bool is_on = false;
  std::set<std::string> unsynced;                            // files with bytes that may be lost
  std::vector<std::pair<std::string, std::string>> renames;  // from, to; not durable yet

  State() {
    const char* said = getenv("BALEEN_TEST_CALLS");
    if (!said) return;
    std::string text = said;
    std::vector<std::string> parts;
    for (std::size_t at_colon; (at_colon = text.find(':')) != std::string::npos; text.erase(0, at_colon + 1))
      parts.push_back(text.substr(0, at_colon));
    parts.push_back(text);
    if (parts.size() != 4) return;
    folder = parts[0], what = parts[1], at = std::atol(parts[2].c_str()), word = parts[3];
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    const std::string command{std::istreambuf_iterator<char>(file), {}};
    is_on = word.empty() || command.find(word) != std::string::npos;
  }
};

/// Never destroyed: threads call until the end.
State& state() {
  static State& made = *new State;
  return made;
}

std::string path_of(int descriptor) {
  char link[64], path[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

std::string absolute(const char* path) {
  if (path[0] == '/') return path;
  char folder[PATH_MAX];
  return (getcwd(folder, sizeof folder) ? std::string(folder) : std::string()) + "/" + path;
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

void cut_power(State& s) {
  for (const std::string& path : s.unsynced)
    if (truncate(path.c_str(), 0) != 0) continue;
  for (auto one = s.renames.rbegin(); one != s.renames.rend(); ++one)
    real<int(const char*, const char*)>("rename")(one->second.c_str(), one->first.c_str());
}

/// EXT4_IOC_SHUTDOWN of Linux (fs/ext4/ext4.h), which no header for programs has. Ends the process by itself where the
/// folder is on no ext4.
void shut_down(const State& s, bool with_log) {
  constexpr unsigned long kShutdown = _IOR('X', 125, std::uint32_t);
  std::uint32_t flags = with_log ? 1 : 2;
  const int folder = real<int(const char*, int, ...)>("open")(parent_of(s.folder).c_str(), O_RDONLY | O_DIRECTORY);
  if (folder < 0 || ioctl(folder, kShutdown, &flags) != 0) _exit(98);
}

void note_call(const State& s, const char* name) {
  const std::string file = s.folder + ".calls", line = std::to_string(getpid()) + " " + name + "\n";
  const int out = real<int(const char*, int, ...)>("open")(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (real<ssize_t(int, const void*, size_t)>("write")(out, line.data(), line.size()) < 0) _exit(99);
  real<int(int)>("close")(out);
}

constexpr int kHalf = -1;

/// The errno with which the call is to fail; 0: it is to be made; kHalf: in part.
int touched(const char* name, const std::string& path) {
  State& s = state();
  if (!s.is_on || !path.starts_with(s.folder)) return 0;
  const std::lock_guard lock(s.mutex);
  ++s.calls;
  if (s.what == "count") note_call(s, name);
  if (s.what == "half") return s.calls == s.at ? kHalf : s.calls == s.at + 1 ? ENOSPC : 0;
  if (s.calls != s.at && !(s.calls > s.at && s.what.ends_with('+'))) return 0;
  if (s.what == "cut") cut_power(s);
  if (s.what.starts_with("shutdown")) shut_down(s, s.what == "shutdown-log");
  if (std::isalpha(s.what[0])) kill(getpid(), SIGKILL);
  return std::atoi(s.what.c_str());
}

bool fails(const char* name, const std::string& path) {
  const int reason = touched(name, path);
  if (reason > 0) errno = reason;
  return reason > 0;
}

/// How many of a write's bytes are to be written; -1: it fails.
ssize_t allowed(const char* name, const std::string& path, size_t count) {
  const int reason = touched(name, path);
  if (reason > 0) errno = reason;
  return reason > 0 ? -1 : static_cast<ssize_t>(reason == kHalf ? (count + 1) / 2 : count);
}

void note(void (*change)(State&, const std::string&, const std::string&), const std::string& a,
          const std::string& b = {}) {
  State& s = state();
  if (!s.is_on || s.what != "cut" || !a.starts_with(s.folder)) return;
  const std::lock_guard lock(s.mutex);
  change(s, a, b);
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t count) {
  const std::string path = path_of(descriptor);
  const ssize_t most = allowed("write", path, count);
  if (most < 0) return -1;
  note([](State& s, const std::string& file, const std::string&) { s.unsynced.insert(file); }, path);
  return real<ssize_t(int, const void*, size_t)>("write")(descriptor, bytes, static_cast<size_t>(most));
}

ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t at) {
  const std::string path = path_of(descriptor);
  const ssize_t most = allowed("pwrite", path, count);
  if (most < 0) return -1;
  note([](State& s, const std::string& file, const std::string&) { s.unsynced.insert(file); }, path);
  return real<ssize_t(int, const void*, size_t, off_t)>("pwrite")(descriptor, bytes, static_cast<size_t>(most), at);
}

int fallocate(int descriptor, int mode, off_t at, off_t count) {
  if (fails("fallocate", path_of(descriptor))) return -1;
  return real<int(int, int, off_t, off_t)>("fallocate")(descriptor, mode, at, count);
}

int fsync(int descriptor) {
  const std::string path = path_of(descriptor);
  if (fails("fsync", path)) return -1;
  const int result = real<int(int)>("fsync")(descriptor);
  note(
      [](State& s, const std::string& synced, const std::string&) {
        s.unsynced.erase(synced);
        std::erase_if(s.renames, [&](const auto& one) { return parent_of(one.second) == synced; });
      },
      path);
  return result;
}

int rename(const char* from, const char* to) {
  const std::string one = absolute(from), two = absolute(to);
  if (fails("rename", two)) return -1;
  const int result = real<int(const char*, const char*)>("rename")(from, to);
  // One that takes the place of a file cannot be undone here: a journal would bring back the file that was there.
  struct stat none {};
  const bool is_folder = result == 0 && stat(to, &none) == 0 && S_ISDIR(none.st_mode);
  if (is_folder)
    note([](State& s, const std::string& a, const std::string& b) { s.renames.emplace_back(a, b); }, one, two);
  return result;
}

int mkdir(const char* path, mode_t mode) {
  if (fails("mkdir", absolute(path))) return -1;
  return real<int(const char*, mode_t)>("mkdir")(path, mode);
}

int unlink(const char* path) {
  if (fails("unlink", absolute(path))) return -1;
  return real<int(const char*)>("unlink")(path);
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
  va_end(more);
  if ((flags & (O_CREAT | O_WRONLY)) && fails("open", absolute(path))) return -1;
  return real<int(const char*, int, ...)>("open")(path, flags, mode);
}

int ftruncate(int descriptor, off_t size) {
  if (fails("ftruncate", path_of(descriptor))) return -1;
  return real<int(int, off_t)>("ftruncate")(descriptor, size);
}

/// One that fails has closed, as Linux does it.
int close(int descriptor) {
  const int access = fcntl(descriptor, F_GETFL);
  const bool failed = access >= 0 && (access & O_ACCMODE) != O_RDONLY && fails("close", path_of(descriptor));
  const int reason = errno;
  const int result = real<int(int)>("close")(descriptor);
  if (failed) errno = reason;
  return failed ? -1 : result;
}

}  // extern "C"

namespace {

/// All of it or none, as glibc's own streams: what a write leaves is written by the next.
ssize_t print(void*, const char* bytes, size_t count) {
  for (size_t at = 0; at < count;) {
    const ssize_t written = write(STDOUT_FILENO, bytes + at, count - at);
    if (written < 0) return 0;
    at += static_cast<size_t>(written);
  }
  return static_cast<ssize_t>(count);
}

[[gnu::constructor]] void take_streams() {
  if (!state().is_on) return;
  stdout = fopencookie(nullptr, "w", {nullptr, print, nullptr, nullptr});
  std::cout.rdbuf(new __gnu_cxx::stdio_sync_filebuf<char>(stdout));
}

}  // namespace
