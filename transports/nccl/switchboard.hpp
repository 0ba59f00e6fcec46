/// \file A rank's connection to the others beside NCCL: letters at plan time, barriers, and news of who fails, leaves
/// or is gone. NCCL itself reports none of these within a host.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "baleen/rendezvous.hpp"
#include "hub.hpp"
#include "wire.hpp"

namespace baleen::nccl {

/// [any thread], but for `join`.
class Switchboard {
 public:
  static constexpr const char* kEnded = "rank 0 has left, by which the others meet";
  /// Told on the switchboard's own thread.
  using Listener = std::function<void(const Frame&)>;

  /// Collective over all ranks. `facts`: what must be the same everywhere (hub.hpp). Ends early where the run is over.
  static Result<std::unique_ptr<Switchboard>> join(const Rendezvous& rendezvous, const std::string& interface,
                                                   const std::string& facts, double seconds);
  /// Rank 0's takes the hub along.
  ~Switchboard();
  Switchboard(const Switchboard&) = delete;

  std::int32_t rank() const { return rank_; }
  std::int32_t ranks() const { return ranks_; }
  /// Frames but letters go to `listener` from now on; those that have come already, first.
  void listen(Listener listener);
  void send(FrameKind kind, std::int32_t to, std::string bytes);
  /// The next letter of a rank; waits for it. An error after `wake`, and where rank 0 is gone: then no more will come.
  Result<std::string> letter_of(std::int32_t rank);
  /// Letters are not waited for any more.
  void wake();
  /// Sends what is to be sent, and hears no more: the listener is not called any longer once this returns. Whoever
  /// listens and also uses this object calls it before giving the object up.
  void stop();

 private:
  Switchboard(std::int32_t rank, std::int32_t ranks, Wire wire, std::unique_ptr<Hub> hub);
  Status await_welcome(const Rendezvous& rendezvous);
  /// What has come; `open` is cleared where the connection has ended.
  std::deque<Frame> hear(bool& open);
  void run();

  const std::int32_t rank_, ranks_;
  std::unique_ptr<Hub> hub_;  // of rank 0
  const FileHandle woken_;
  Wire wire_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int32_t, std::deque<std::string>> letters_;
  std::deque<Frame> outgoing_;
  Listener listener_;
  bool awake_ = false, leaving_ = false, ended_ = false;
  std::thread thread_;
};

}  // namespace baleen::nccl
