/// \file How far the members of each group have come: barriers, who has left, and who starts something else.
#pragma once
#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "baleen/failure.hpp"
#include "baleen/transport.h"

namespace baleen::nccl {

/// What starts, as attendance sees it.
struct Entrant {
  const std::string* text = nullptr;  ///< as long as the group
  bool is_barrier = false;
};

/// Counts starts, group by group and pair by pair; news comes from the switchboard. [any thread]
class Attendance {
 public:
  explicit Attendance(std::int32_t rank) : rank_(rank) {}

  /// A group (its number is the same on all members), or a direction of a pair. Known from now on.
  void open(const std::string& key, const std::vector<std::int32_t>& ranks);
  /// Its entrants' texts go.
  void close(const std::string& key);

  /// This rank starts something: an error where a member that has to come has left, or has begun a barrier instead.
  Status start(const std::string& key, Entrant entrant);
  /// How many this rank has started there.
  std::uint64_t started(const std::string& key) const;
  /// The announcement of a barrier that this rank is about to begin; the last of `start`'s that is not announced yet.
  std::string announce(const std::string& key);
  /// Waits until all members have announced the barrier of this number, counted from 1. False after `wake`.
  bool await(const std::string& key, std::uint64_t barrier, std::size_t members);
  void wake();
  /// No more announcements will come: barriers that lack some end with false.
  void end();

  /// What this rank tells when it leaves: how far it has come. `clean`: nothing is unfinished.
  std::string farewell(bool clean, const std::string& why) const;

  /// In good order.
  bool has_left(std::int32_t rank) const;

  /// News. An error where it means that this rank waits in vain.
  Status heard_barrier(std::int32_t from, const std::string& announcement);
  Status heard_farewell(std::int32_t from, const std::string& farewell);

 private:
  struct Announcement {
    std::int32_t rank;
    std::uint64_t before;  ///< starts of that rank before it
    std::string text;
  };
  struct Board {
    std::vector<std::int32_t> ranks;
    std::uint64_t started = 0, announced = 0;
    std::array<Entrant, BALEEN_MAX_OUTSTANDING> entrants{};  ///< the last ones, by number
    std::deque<std::uint64_t> barriers;                      ///< starts before each that is to be announced
    std::vector<Announcement> announcements;                 ///< whose place this rank has not come to
    std::map<std::uint64_t, std::size_t> arrivals;
  };
  struct Leaver {
    std::map<std::string, std::uint64_t> started;
    std::string why;
    bool clean = true;
  };

  Status compare(const Board& board, const Announcement& announcement) const;
  Status in_vain(const Board& board, const std::string& key, std::int32_t leaver) const;

  const std::int32_t rank_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Board> boards_;
  std::map<std::int32_t, Leaver> leavers_;
  bool awake_ = false, ended_ = false;
};

}  // namespace baleen::nccl
