/// \file A rank's way back to the launcher that started it: where it stands, the rendezvous, heartbeats, and the news
/// that a peer is lost.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/result.hpp"
#include "common/failure.hpp"
#include "common/place.hpp"

namespace baleen::launchers {

/// A thread of its own beats and listens, so a busy rank counts as alive and a stopped one does not. Every member may
/// be called from any thread. Once a peer is lost, everything that waits or would wait returns BALEEN_PEER_LOST with
/// the first cause; if the launcher is gone (with several hosts: or stopped for long) and the process still there after
/// the grace time, the process ends itself.
class RankChannel {
 public:
  /// What the launcher says first.
  static constexpr const char* kGreeting = "baleen ranks 1";

  /// Greets the launcher that told this process `word`. INVALID where it is no word of a launcher.
  static Result<std::unique_ptr<RankChannel>> inherited(std::string_view word);
  /// The same over a connected stream socket, which it owns from now on.
  static Result<std::unique_ptr<RankChannel>> over(int socket);
  ~RankChannel();
  RankChannel(const RankChannel&) = delete;

  const Place& place() const;

  /// Sets a key, once in the job.
  Status put(const std::string& key, std::string value);
  /// Waits until some rank has set it.
  Result<std::string> get(const std::string& key);
  /// Waits until every rank is there. A name may be used again.
  Status barrier(const std::string& name);

  /// BALEEN_PEER_LOST with the first cause, once a peer is lost.
  Status state() const;
  /// `lost` is called once, on the channel's thread, when a peer is lost (at once, on this thread, if one is already).
  /// It gets the first cause and must not wait.
  void watch(std::function<void(const std::string& reason)> lost);
  /// How far this rank is: told with each heartbeat, so that its launcher knows should it die. Locks and allocates
  /// nothing; `phase` outlives the link.
  void at(std::int64_t step, const char* phase);
  /// As `at`: this rank begins its collective of that number, counted from 1. Ranks that differ in it for long are
  /// named by the launcher.
  void begins(std::int64_t collective);
  /// As `at`: how many runs of programs it has begun, a hash of their names in this order, and the last name, which
  /// outlives the link. Ranks that differ in the hash end the job.
  void runs(std::uint32_t count, std::uint32_t order, const char* program);
  /// The collective that it stands in, which outlives the link; "": none.
  void stands_in(const char* collective);
  /// Says why this rank is about to end. The launcher shows it: the rank itself stays silent. BALEEN_PEER_LOST counts
  /// as a consequence of what another rank will say.
  void fail(const Error& error, std::vector<std::string> recorded = {});
  void fail(const Failure& failure);
  /// The work is complete. A process that ends without having said so has failed.
  void finish();

 private:
  struct Impl;
  explicit RankChannel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baleen::launchers
