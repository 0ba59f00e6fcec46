/// \file A thread that watches a file for one that sleeps on something else.
#pragma once
#include <atomic>
#include <functional>
#include <thread>

#include "baleen/file_handle.hpp"

namespace baleen::ucx {

/// No call of Linux waits for an event (a futex) and a file at once. So who sleeps on events asks the watcher, which
/// calls `ring` once when the file becomes readable.
class Watcher {
 public:
  Watcher(int file, std::function<void()> ring);
  ~Watcher();
  Watcher(const Watcher&) = delete;

  /// Cheap while an earlier request stands.
  void ask();

 private:
  void watch();
  void wake();

  const int file_;
  const std::function<void()> ring_;
  const FileHandle woken_;
  std::atomic<bool> asked_{false}, leaving_{false};
  std::thread thread_;
};

/// A thread that no signal interrupts: they are for the program's own threads.
std::thread quiet_thread(const char* name, std::function<void()> body);

}  // namespace baleen::ucx
