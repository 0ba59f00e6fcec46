/// \file A communicator of the double: memory that its ranks share, and what NCCL says of its state.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "nccl.hpp"

namespace baleen::nccl_double {

using nccl::Code;

/// One call as it is enqueued.
struct Op {
  enum class Kind { kAllReduce, kReduceScatter, kAllGather, kBroadcast, kReduce, kSend, kReceive, kAllToAll };
  Kind kind = Kind::kAllReduce;
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t count = 0;
  int type = 0, op = 0, peer = 0;
  void* stream = nullptr;

  bool is_pairwise() const { return kind == Kind::kSend || kind == Kind::kReceive; }
  const char* name() const;
  std::size_t width() const;
  /// "ncclAllReduce of 10 of type 7, op 0": what all ranks must call alike.
  std::string text() const;
};
/// Of ncclGroup: calls, and how they come to a stream.
struct Turn {
  std::uint64_t number = 0;  ///< in the order of hand_over
  bool captured = false;     ///< then it has none
};

/// What lies in shared memory; zero at first.
struct Shared {
  static constexpr std::size_t kText = 160, kStaging = 64 << 10, kMail = 16 << 10;
  struct Rank {
    std::atomic<std::uint64_t> phase;  ///< meetings that it has come to
    char device[kText];
    std::atomic<std::uint64_t> windows;  ///< that it has come to share
    std::uint64_t window_bytes[2];       ///< by the parity of windows
    char call[2][kText];  ///< by the parity of meetings: who writes the next disturbs no reader of the last
    alignas(64) unsigned char staging[2][kStaging];
  };
  struct Channel {  ///< from one rank to another
    std::atomic<std::uint64_t> full, taken;
    std::uint64_t bytes, total;
    int type;
    alignas(64) unsigned char data[kMail];
  };
  std::atomic<std::uint32_t> attached, broken;
  char why[2 * kText];  ///< of the first who saw it broken
};

/// A window that is to be: where it lies, and where the caller wants the handle.
struct Share {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  void* handle = nullptr;
  nccl::Window* out = nullptr;
};

class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  Communicator(const nccl::UniqueId& id, int ranks, int rank, bool blocking);
  ~Communicator();

  const int ranks, rank;
  const bool blocking;
  int device = 0;  ///< the driver's number of it

  /// Until all ranks are there; on a thread of its own where it does not block.
  void connect(const std::string& device);
  /// As ncclCommGetAsyncError. Work that was handed over lies on its stream only after some calls of this.
  Code state();
  /// Whether a call may come: it is at rest.
  bool is_ready();
  /// A group's calls; kInProgress, or done where it blocks.
  Code hand_over(std::vector<Op> ops);
  /// Until all ranks have come to share a window, of one size; `state` tells when.
  void share(const Share& share);
  void end_window(const void* handle);
  void finalize() { finalizing_ = true; }
  void abort();
  std::string last_error() const;
  /// Whether a kernel of it is on a stream, at work.
  bool is_running() const { return running_ > 0; }

  /// Carries out a group. [a stream's thread]
  void execute(const std::vector<Op>& ops, Turn turn);
  /// Graphs that hold work of this; its end waits for theirs.
  std::atomic<int> holders{0};

 private:
  void attach(const std::string& device);
  void enqueue();
  void fail(Code code, const std::string& why);
  void meet_in_window(const Share& share);
  /// Where the sides that ranks reach at each other lie in windows, which has to be the same on all; "" without
  /// windows.
  std::string windows_of(const Op& op) const;
  /// Spins, then sleeps, until it is true; false: aborted, or broken by some rank.
  bool await(const std::function<bool()>& condition);
  /// What this rank brings to its next meeting, and what a rank has brought to the last.
  unsigned char* own() const { return rank_at(rank).staging[(phase_ + 1) % 2]; }
  const unsigned char* of(int other) const { return rank_at(other).staging[phase_ % 2]; }
  /// The first meeting of a call also compares it.
  bool meet(const Op& op, bool first);
  bool take_turn(Turn turn);
  bool compare();
  bool run_collective(const Op& op);
  bool reduce_all(const Op& op);
  bool gather(const Op& op);
  bool broadcast(const Op& op);
  bool exchange(const Op& op);
  struct Message {
    const Op* op;
    std::size_t bytes, at = 0;
    bool done = false;
  };
  /// Whether some of it has moved.
  bool advance(bool sends, int peer, Message& message);
  bool run_pairs(const std::vector<const Op*>& ops);
  Shared::Rank& rank_at(int number) const { return places_[number]; }
  Shared::Channel& channel(int from, int to) const { return channels_[from * ranks + to]; }

  const std::string name_;
  std::size_t bytes_ = 0;
  Shared* shared_ = nullptr;
  Shared::Rank* places_ = nullptr;
  Shared::Channel* channels_ = nullptr;
  std::uint64_t phase_ = 0;  // of this rank
  bool captured_ = false;    // what runs is part of a graph
  std::atomic<bool> busy_{false};
  std::atomic<int> running_{0};
  std::thread connecting_, sharing_;
  std::atomic<bool> connected_{false}, aborted_{false}, finalizing_{false}, shares_{false};
  std::atomic<int> code_{nccl::kSuccess};
  mutable std::mutex mutex_;
  std::string why_;
  std::vector<Op> handed_over_;
  std::vector<Share> windows_;
  int polls_ = 0;
  std::uint64_t issued_ = 0;
  std::atomic<std::uint64_t> executed_{0};
};

/// Whether what the stream is given now becomes part of a graph.
bool is_captured(void* stream);

/// Appends a line to the file of NCCL_DOUBLE_LOG and the rank, where that is set.
void log_line(int rank, const std::string& line);

/// For tests: what goes wrong, by the environment (README.md). Whether this call, the n-th of its name, is the one.
bool is_to_fail(const char* variable, const char* call);

}  // namespace baleen::nccl_double
