/// \file The rendezvous as the launcher keeps it: keys with values, ranks that wait for them, barriers. No clock, no
/// descriptor: who is to be answered comes back as a list.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "baleen/result.hpp"
#include "common/topology.hpp"

namespace baleen::launchers {

class Store {
 public:
  /// An answer that is due: to which rank, to which of its requests.
  struct Answer {
    int rank = 0;
    std::uint32_t request = 0;
    baleen_status_t code = BALEEN_OK;
    std::string value = {};
  };
  using Answers = std::vector<Answer>;

  explicit Store(Topology topology) : topology_(std::move(topology)) {}

  /// A key is set once: a second time is INVALID.
  Answers put(int rank, std::uint32_t request, const std::string& key, const std::string& value);
  Answers get(int rank, std::uint32_t request, const std::string& key);
  /// Answers everyone when the last rank comes; the name may be used again after that.
  Answers barrier(int rank, std::uint32_t request, const std::string& key);
  /// The rank will ask for nothing more. A barrier that it is missing from can't open any more: those who wait there
  /// are answered, and so is everyone who comes later.
  Answers leave(int rank);

  struct Wait {
    std::uint64_t number = 0;  ///< every request that has to wait gets a higher one
    int rank = 0;

    auto operator<=>(const Wait&) const = default;
  };
  /// Nothing where nobody waits.
  std::optional<Wait> oldest_wait() const;
  std::set<int> waiting_ranks() const;
  /// About the oldest wait: "ranks 0, 1 wait at barrier `start`; still waiting for ranks 3, 5 (hosts a, b)". For a key
  /// those are missed who wait for nothing themselves.
  std::string waiting_text() const;

 private:
  struct Pending {
    int rank;
    std::uint32_t request;
    std::uint64_t number;
  };
  using Waiting = std::map<std::string, std::vector<Pending>>;
  Answers break_barrier(Waiting::iterator barrier);

  Topology topology_;
  std::uint64_t number_ = 0;
  std::map<std::string, std::string> values_;
  Waiting getting_;
  Waiting barriers_;
  std::set<int> left_;
};

}  // namespace baleen::launchers
