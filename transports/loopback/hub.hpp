/// \file Where the ranks of one in-process job meet: to agree at plan time, and to run a collective when all have come.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "baleen/proposal.hpp"

namespace baleen::loopback {

using namespace sdk;

/// What the members of a group prepared together; one each.
struct Slot {
  Collective collective;
  std::vector<std::int32_t> ranks;  ///< of the members
  std::uint64_t group = 0;          ///< the same number on every member
  std::uint64_t number = 0;         ///< in its group, or of its pair
  std::uint64_t runs = 0;           ///< of a pair's slot, begun so far; the rank's worker counts
  std::uint64_t* begun = nullptr;   ///< the count that numbers its operations: its group's, or `runs`
};

/// One start of a slot on one rank. `finish` is called once, from any rank's worker.
struct Operation {
  const Slot* slot = nullptr;
  std::uint64_t sequence = 0;  ///< of its group's collectives, or of its pair's slot
  std::function<void(const Status&)> finish;
};

/// Shared by the ranks of a job. [any thread]
class Hub {
 public:
  explicit Hub(std::int32_t ranks);

  /// Gives everybody else who is present a copy and takes theirs; then all agree, or none does. Returns the first's
  /// number.
  Result<std::uint64_t> meet(const Proposal& mine);
  /// Adds a rank's part; who comes last runs the collective. Never waits.
  void post(Operation operation);
  /// The rank is over: wakes its `meet`, fails its operations.
  void withdraw(std::int32_t rank, const Error& error);
  /// After `withdraw`: no call into the rank runs or begins any more; others that wait for it fail.
  void leave(std::int32_t rank);
  /// The last of the ranks frees the hub.
  bool forget();

 private:
  struct Station {
    std::vector<Operation> members;  // by place in the group; without slot: not here yet
    std::size_t present = 0;
  };
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;  // group, pair, slot, sequence
  struct Rank {
    bool over = false, gone = false;
    std::string why;
    std::size_t running = 0;  // calls into it from other ranks' workers, now
  };

  std::string left_text(std::int32_t rank) const;
  static Key key_of(const Operation& operation);
  static std::size_t rank_of(const Operation& operation);
  // An error where the operation's members cannot all come any more.
  Status hope_for(const Operation& operation) const;
  // Of operations that were counted as running.
  void run(const std::vector<Operation>& operations);
  void finish(const std::vector<Operation>& operations, const Status& outcome);
  std::vector<Operation> take_those_who_wait_for(std::int32_t rank);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Rank> ranks_;
  std::size_t users_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::deque<Proposal>> letters_;  // from, to
  std::map<Key, Station> stations_;
};

}  // namespace baleen::loopback
