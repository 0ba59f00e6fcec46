/// \file One rank as the launcher sees it: its process, its control channel, its output, and what it said last.
#pragma once
#include <sys/types.h>

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "baleen/file_handle.hpp"
#include "baleen/result.hpp"
#include "common/output.hpp"
#include "common/process.hpp"
#include "common/timeouts.hpp"
#include "common/wire.hpp"

namespace baleen::launchers {

/// Nothing here waits. Destroyed while its process lives, it kills it. [one thread]
class RankProcess {
 public:
  /// `start.command` is the command of a run without ranks; the word that makes it a rank's is added, which begins with
  /// `mark`. Rank 0 speaks through this process's outputs.
  static Result<std::unique_ptr<RankProcess>> start(const Place& place, ProcessStart start, const std::string& mark);
  RankProcess(const RankProcess&) = delete;
  ~RankProcess();

  const Place& place() const { return place_; }
  pid_t process() const { return process_; }
  int link() const { return link_.get(); }  ///< -1 once the rank closed it
  int out() const { return out_.get(); }    ///< -1 where there is nothing to read
  int err() const { return err_.get(); }

  /// Sends now what the channel takes; `send_rest` tries again.
  void send(const Message& message);
  void send_rest();
  bool has_rest() const { return !rest_.empty(); }
  /// The requests, `fail` and `done` that arrived. Beats are taken note of.
  Result<std::vector<Message>> receive(Clock::time_point now);

  /// Moves what there is of its output.
  void read_output(LineSink& out, LineSink& err);
  /// The same to the end; closes both.
  void finish_output(LineSink& out, LineSink& err);

  /// How the process ended (as waitpid tells), once, when it did.
  std::optional<int> take_end();
  bool is_running() const { return running_; }
  void signal(int signal) const;
  /// The launcher ends it; what follows is no news.
  void kill();
  bool was_killed() const { return killed_; }

  Clock::time_point last_heard() const { return last_heard_; }
  /// So long this process could not listen.
  void forgive(Clock::duration pause) { last_heard_ += pause; }
  bool has_greeted() const { return greeted_; }
  const ProgressSnapshot& moment() const { return moment_; }

  bool done = false;  ///< it said so
  bool debugger_seen = false;

 private:
  explicit RankProcess(const Place& place);
  Status spawn(ProcessStart start, const std::string& mark);
  Place place_;
  FileHandle link_, out_, err_;
  LinePrefix out_lines_, err_lines_;
  pid_t process_ = -1;
  std::time_t begin_ = 0;
  bool running_ = false, killed_ = false, greeted_ = false;
  Clock::time_point last_heard_;
  ProgressSnapshot moment_;
  Frames frames_;
  std::string rest_;
};

}  // namespace baleen::launchers
