/// \file A launcher as the program uses it: what starts the ranks of a job, or knows who else has.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "baleen/launcher.h"
#include "baleen/result.hpp"
#include "core/launch/place.hpp"
#include "core/plugin/plugin.hpp"
#include "core/plugin/settings.hpp"

namespace baleen {

/// A host of a job.
struct LaunchHost {
  std::string name = "localhost";
  int ranks = 1;
  std::string address = {};  ///< as the others reach it; empty: by its name
};

/// What a launcher is told of a job, in a rank as in the process that starts the ranks.
struct LaunchJob {
  std::vector<LaunchHost> hosts = {};  ///< empty: the user named none
  int ranks = 1;                       ///< of the mesh
  std::optional<int> host_index = {};  ///< the user starts each host, and this is that one
  std::string secret_file = {};        ///< that such hosts share; "-": standard input
  std::string word = {};               ///< in a rank: what its launcher put behind the mark
};

/// What to start.
struct LaunchOrder {
  std::vector<std::string> command;       ///< of a rank: the program's name, then its arguments
  std::string mark;                       ///< begins the word that a launcher adds behind the program's name
  std::vector<std::string> host_command;  ///< of another host, with BALEEN_LAUNCH_INDEX for its number
  std::string facts;                      ///< what must be the same on every host, a line each
  std::string obstacle = {};              ///< why this host cannot start its ranks, which all hosts are to hear
  int threads = 1;                        ///< of each rank of this host
  std::vector<std::vector<int>> cpus;     ///< of each rank of this host; empty: they move freely
};

/// How a job ended.
struct Outcome {
  Status status;                           ///< or the first cause, its message naming the ranks and the moment
  std::vector<std::string> recorded = {};  ///< the last lines of the log of the rank that failed first, if it sent them
  int exit_code = -1;    ///< of the process that the cause is about, where it ended with one of its own
  int signal = 0;        ///< the launcher was told to end by this signal, and the ranks did; `status` is good then
  bool is_told = false;  ///< by another host's launcher, which speaks for this one
};

/// An open member of the kind `launcher`. What it says is checked; errors name it.
class LauncherMember {
 public:
  /// Whether it serves the job though nobody names it.
  static Result<bool> fits(const Plugin& plugin, const LaunchJob& job);
  static Result<std::unique_ptr<LauncherMember>> create(const Plugin& plugin, const baleen_settings_t& settings,
                                                        const LaunchJob& job);
  /// Writes a new secret of this launcher's hosts to a file. UNSUPPORTED where it knows none.
  static Status make_secret(const Plugin& plugin, const std::string& file);
  ~LauncherMember();
  LauncherMember(const LauncherMember&) = delete;

  /// Which rank this process is; nothing where it is none.
  const std::optional<Place>& place() const { return place_; }
  /// As messages name it: "launcher `x`".
  std::string title() const;
  /// The names of the job's hosts; empty where the launcher does not tell them.
  const std::vector<std::string>& hosts() const { return hosts_; }

  /// Starts the ranks of this host and waits for the end of the job. [the calling thread lives as long as the ranks]
  Result<Outcome> start(const LaunchOrder& order);

  // Of a rank; see launcher.h. [any thread]
  Status put(const std::string& key, const std::string& value);
  Result<std::string> get(const std::string& key);
  Status fence(const std::string& name);
  void beat(const baleen_progress_t& progress);
  /// Whether the launcher shows it to the user.
  bool fail(const Error& error, const std::vector<std::string>& recorded);
  Status finish();
  /// `lost` is called once, on any thread, when a rank is lost.
  Status watch(std::function<void(const std::string& reason)> lost);

 private:
  explicit LauncherMember(const Plugin& plugin) : plugin_(plugin) {}
  Status read_place();
  Error nonsense(const std::string& what) const;

  Plugin plugin_;
  const baleen_launcher_t* table_ = nullptr;
  void* self_ = nullptr;
  std::optional<Place> place_;
  std::vector<std::string> hosts_;
  std::function<void(const std::string& reason)> lost_;
};

}  // namespace baleen
