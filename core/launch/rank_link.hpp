/// \file A rank's way to the others of its job, through whatever launcher serves it: where it stands, the rendezvous,
/// how far it is, and the news that a peer is lost.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "baleen/result.hpp"
#include "core/launch/launcher.hpp"
#include "core/launch/place.hpp"

namespace baleen {

/// Every member may be called from any thread. Once a peer is lost, what waits or would wait returns BALEEN_PEER_LOST.
class RankLink {
 public:
  /// Takes the launcher of a process that is a rank.
  static Result<std::unique_ptr<RankLink>> over(std::unique_ptr<LauncherMember> launcher);
  ~RankLink();
  RankLink(const RankLink&) = delete;

  const Place& place() const { return *launcher_->place(); }

  /// The launcher's, for messages.
  std::string title() const { return launcher_->title(); }

  /// Sets a key, once in the job.
  Status put(const std::string& key, const std::string& value);
  /// Waits until some rank has set it.
  Result<std::string> get(const std::string& key);
  /// Waits until every rank is there. A name may be used again.
  Status barrier(const std::string& name);

  /// BALEEN_PEER_LOST with the first cause, once a peer is lost.
  Status state() const;
  /// How far this rank is, so that its launcher knows should it die. Locks and allocates nothing; `phase` outlives the
  /// link.
  void at(std::int64_t step, const char* phase);
  /// The same, in the step that it was in last.
  void at(const char* phase);
  /// As `at`: this rank begins its collective of that number, counted from 1. A launcher may name ranks that differ in
  /// it for long.
  void begins(std::int64_t collective);
  /// This rank begins to run a program, or ("") is at the end of its script. A launcher ends the job where ranks do not
  /// run the same ones in one order.
  void runs(const std::string& program);
  /// The collective that this rank stands in now; "": in none. A launcher may tell where all stand in one for long.
  void stands_in(const std::string& collective);
  /// Says why this rank is about to end. BALEEN_PEER_LOST counts as a consequence of what another rank will say. True
  /// where the launcher shows it, so that the rank itself stays silent.
  bool fail(const Error& error, const std::vector<std::string>& recorded = {});
  /// The work is complete. A process that ends without having said so has failed.
  Status finish();

 private:
  friend class AbortWatch;
  explicit RankLink(std::unique_ptr<LauncherMember> launcher) : launcher_(std::move(launcher)) {}
  void lose(const std::string& reason);
  void beat();

  mutable std::mutex mutex_;  ///< of the state
  Status state_;
  std::mutex calling_;  ///< held while callbacks run
  std::map<std::uint64_t, std::function<void(const std::string&)>> callbacks_;
  std::uint64_t last_callback_ = 0;
  bool called_ = false;
  std::atomic<std::int64_t> step_{-1}, collective_{-1};
  std::atomic<const char*> phase_{""}, program_{""}, stands_in_{""};
  std::set<std::string> names_;               ///< of programs and collectives, which the launcher reads
  std::atomic<std::uint64_t> runs_{0};        ///< how many, and the hash of their names above
  std::unique_ptr<LauncherMember> launcher_;  ///< the last: its threads end before what they use
};

/// While it lives, `callback` is called once, on a thread of the launcher, when a peer is lost (at once, on this
/// thread, if one is already). It gets the first cause and must not wait: it makes others stop waiting. Its end waits
/// for a callback that is running.
class AbortWatch {
 public:
  AbortWatch(RankLink& link, std::function<void(const std::string& reason)> callback);
  ~AbortWatch();
  AbortWatch(const AbortWatch&) = delete;

 private:
  RankLink& link_;
  std::uint64_t number_;
};

}  // namespace baleen
