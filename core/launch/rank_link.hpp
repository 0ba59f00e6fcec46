/// \file A rank's way back to its launcher: where it stands, the rendezvous, heartbeats, and the news that a peer is
/// lost.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "baleen/result.hpp"
#include "core/launch/failure.hpp"
#include "core/launch/place.hpp"

namespace baleen {

/// A thread of its own beats and listens, so a busy rank counts as alive and a stopped one does not. Every member may
/// be called from any thread. Once a peer is lost, everything that waits or would wait returns BALEEN_PEER_LOST with
/// the first cause; if the launcher is gone (with several hosts: or stopped for long) and the process still there after
/// the grace time, the process ends itself.
class RankLink {
 public:
  /// How the launcher begins the one word that it adds to the command, and what it says first.
  static constexpr const char* kWord = "--rank-link=";
  static constexpr const char* kGreeting = "baleen ranks 1";

  /// If a launcher started this process: takes its word from the front of `words` (the arguments without the program's
  /// name) and greets it. Null if none did. Call before any thread is made.
  static Result<std::unique_ptr<RankLink>> inherited(std::vector<std::string>& words);
  /// The same over a connected stream socket, which it owns from now on.
  static Result<std::unique_ptr<RankLink>> over(int socket);
  ~RankLink();
  RankLink(const RankLink&) = delete;

  const Place& place() const;

  /// Sets a key, once in the job.
  Status put(const std::string& key, std::string value);
  /// Waits until some rank has set it.
  Result<std::string> get(const std::string& key);
  /// Waits until every rank is there. A name may be used again.
  Status barrier(const std::string& name);

  /// BALEEN_PEER_LOST with the first cause, once a peer is lost.
  Status state() const;
  /// How far this rank is: told with each heartbeat, so that its launcher knows should it die. Locks and allocates
  /// nothing; `phase` outlives the link.
  void at(std::int64_t step, const char* phase);
  /// As `at`: this rank begins its collective of that number, counted from 1. Ranks that differ in it for long are
  /// named by the launcher.
  void begins(std::int64_t collective);
  /// Says why this rank is about to end. The launcher shows it: the rank itself stays silent. BALEEN_PEER_LOST counts
  /// as a consequence of what another rank will say.
  void fail(const Error& error, std::vector<std::string> recorded = {});
  void fail(const Failure& failure);
  /// The work is complete. A process that ends without having said so has failed.
  void finish();

 private:
  friend class AbortWatch;
  struct Impl;
  explicit RankLink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// While it lives, `callback` is called once, on the link's thread, when a peer is lost (at once, on this thread, if
/// one is already). It gets the first cause and must not wait: it makes others stop waiting. Its end waits for a
/// callback that is running.
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
