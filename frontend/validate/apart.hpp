/// \file Runs one case in a process of its own, so that a crash, a hang or an `exit` in a plugin is that case's
/// failure.
#pragma once
#include <signal.h>

#include <array>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace baleen::validate {

/// How a case ended.
struct Outcome {
  enum class State { passed, failed, skipped };
  State state = State::passed;
  std::string reason;  ///< of a case that did not pass
  std::string output;  ///< the end of what the case wrote to both standard outputs
  double seconds = 0;
};

/// Thrown in a case: the plugin does not do what it must.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Thrown in a case: why it does not concern this plugin, or cannot be tried here.
struct Skip : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What the case is doing, for whoever waits outside. In memory that both processes see.
class Mark {
 public:
  /// Cut to what fits. "" between calls. [any thread]
  void set(std::string_view call);
  std::string text() const { return {text_.data()}; }
  /// The process ends as a program does, with its static objects destroyed; otherwise they are left alone.
  void exit_afterwards() { exits_ = true; }
  bool exits() const { return exits_; }

 private:
  std::array<char, 256> text_{};
  bool exits_ = false;
};

/// While this lives, SIGINT, SIGTERM and SIGHUP wait, but those that are ignored anyway. One that has come ends this
/// process, as it does without this, when this goes: until then what was made can be removed.
class HeldSignals {
 public:
  HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  ~HeldSignals();
  /// Whether one waits.
  static bool has_come();

 private:
  sigset_t usual_;
};

/// Runs `body` in a forked process with its standard outputs kept. To be called where this process has one thread and
/// no children. The process and those that it has made are killed when `limit` is over, when it ends, and when a held
/// signal comes. Those that have left its group, and do not end by themselves soon, are its failure.
Outcome run_apart(const std::function<void(Mark&)>& body, std::chrono::milliseconds limit);

}  // namespace baleen::validate
