/// \file What is said when the process dies of a signal: in which plugin, and during what.
#pragma once
#include <cstdint>
#include <exception>

namespace baleen {

/// From now on one line on standard error tells of SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT in which plugin they
/// came, or inside which library that a plugin uses, with addresses for the author; the process ends by the signal, as
/// it does without. Of a signal that another process sends nothing is said. Called once, early, on the main thread.
/// Does nothing in builds with sanitizers, which tell more.
void report_crashes();

/// Until the process says that it ends by itself, `exit` in it, which only a plugin or a library calls, is told of on
/// standard error as a crash is, and the process ends with exit code 70. Not in processes that it forks. Called once.
void refuse_exit();
/// `exit` is ours from here on.
void allow_exit();

/// Names the code of a plugin's library, by its handle of dlopen, and of the libraries that came with it. Nothing is
/// said of libraries past the first 1024, nor of those opened before `report_crashes`.
/// `title`, such as "optimizer `mine`", lives as long as the process. [any thread]
void name_code(void* library, const char* title);

/// While it lives, a crash outside of all plugins is that of the library with this title, whose static objects are
/// made; what these throw ends the process with exit code 2 and a line that names the plugin. [one thread at a time]
class LoadingCode {
 public:
  explicit LoadingCode(const char* title);
  ~LoadingCode();
  LoadingCode(const LoadingCode&) = delete;
  /// Ends the process so, because of the exception that is handled.
  [[noreturn]] static void refuse();

 private:
  const std::terminate_handler before_;
};

/// What the process does, such as "training"; lives as long as the process. `step`: -1: none. Another phase than before
/// looks for libraries that plugins have opened meanwhile. [any thread]
void now_doing(const char* phase, std::int64_t step = -1);

}  // namespace baleen
