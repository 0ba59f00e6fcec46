/// \file Starting this program on another host, through ssh or what stands for it.
#pragma once
#include <poll.h>
#include <signal.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "baleen/file_handle.hpp"
#include "baleen/result.hpp"
#include "common/output.hpp"
#include "common/topology.hpp"
#include "secret.hpp"

namespace baleen::launchers {

/// What to run on a host.
struct RemoteStart {
  /// A command to which one word is added: what the other host's shell runs. {name}, {address} and {index} stand for
  /// the host's.
  std::vector<std::string> through;
  std::vector<std::string> command;  ///< the program's file and its arguments, the same on every host
  std::string folder;                ///< to run in, the same on every host
};

/// The word for the other host's shell: goes to the folder and becomes the command; ends with a code of its own where
/// either is missing.
std::string shell_line(const RemoteStart& start);

/// The process of this host that talks to another's shell. Destroyed while it lives, it kills it. [one thread]
class Starter {
 public:
  static Result<std::unique_ptr<Starter>> start(const RemoteStart& what, const LaunchHost& host, int index,
                                                const StartWord& word, const sigset_t& signals);
  ~Starter();
  Starter(const Starter&) = delete;

  void add_polls(std::vector<pollfd>& all) const;
  /// Passes on what the other side writes, each line marked with the host.
  void read_output(LineSink& err);
  /// Whether the process is there. Its last lines have been passed on when it is not.
  bool is_running(LineSink& err);
  /// There is nothing more to say: what waits for that may end.
  void end_input() { in_.close(); }
  void kill();
  /// Why it ended, if that was before the host joined.
  Error why() const;

 private:
  Starter(const RemoteStart& what, const LaunchHost& host);
  std::string program_, folder_, file_;
  FileHandle in_, out_;
  LinePrefix lines_;
  pid_t process_ = -1;
  bool running_ = false;
  int status_ = 0;
};

}  // namespace baleen::launchers
