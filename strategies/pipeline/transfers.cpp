/// \file A simulation of actions, messages and links, event by event.
#include "transfers.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "text.hpp"

namespace baleen::pipeline {
namespace {

/// From the action that makes it to the one that reads it.
struct Message {
  std::uint32_t source = 0, target = 0;  ///< ranks
  std::size_t reader = 0;                ///< action of the target
  bool made = false, posted = false, here = false;
};

/// What happens next, in the order of time.
class Simulation {
 public:
  Simulation(const Table& table, const PassTimes& times, const Transfers& transfers)
      : table_(table), times_(times), transfers_(transfers), ranks_(table.ranks.size()) {
    timing_.spans.resize(table.ranks.size());
    find_places();
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
      for (std::size_t number = 0; number < table.ranks[rank].size(); ++number) find_messages(rank, number);
  }

  Result<Timing> run() {
    const bool at_once = transfers_.posted == Transfers::Posted::at_once;
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
      for (std::size_t number = 0; number < (at_once ? table_.ranks[rank].size() : 2); ++number) post(rank, number, 0);
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) begin(rank, 0);
    while (!events_.empty()) {
      const auto [time, order, what, number] = events_.top();
      events_.pop();
      if (what == What::end) end(number, time);
      if (what == What::carried) carry(number, time);
      if (what == What::here) {
        messages_[number].here = true;
        begin(messages_[number].target, time);
      }
    }
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
      if (const std::size_t next = ranks_[rank].next; next < table_.ranks[rank].size())
        return invalid("rank " + std::to_string(rank) + " waits for ever before " +
                       to_text(table_.ranks[rank][next], table_));
    return std::move(timing_);
  }

  /// That the rank with the most sends.
  std::size_t most_sent() const {
    std::vector<std::size_t> sent(ranks_.size(), 0);
    for (const Message& message : messages_) ++sent[message.source];
    return *std::ranges::max_element(sent);
  }

 private:
  enum class What { end, carried, here };
  using Event = std::tuple<double, std::size_t, What, std::uint32_t>;  ///< time, order, of which message or rank
  using Place = std::pair<std::uint32_t, std::size_t>;                 ///< rank, action

  struct Rank {
    std::size_t next = 0;
    bool busy = false;
    std::array<double, 2> links{};                            ///< when they are free: for what comes, for what goes
    std::vector<std::vector<std::uint32_t>> receives, sends;  ///< messages by action
  };

  void find_places() {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].receives.resize(table_.ranks[rank].size());
      ranks_[rank].sends.resize(table_.ranks[rank].size());
      for (std::size_t number = 0; number < table_.ranks[rank].size(); ++number) {
        const Action& action = table_.ranks[rank][number];
        places_[{action.pass, table_.stage(rank, action.chunk), action.micro_batch}] = {rank, number};
      }
    }
  }

  /// What the action needs of another rank; a rank's own earlier actions are over before.
  void find_messages(std::uint32_t rank, std::size_t number) {
    const Action& action = table_.ranks[rank][number];
    const std::uint32_t stage = table_.stage(rank, action.chunk);
    if (action.pass == BALEEN_PASS_FORWARD && stage > 0)
      need(rank, number, {action.pass, stage - 1, action.micro_batch});
    if (action.pass == BALEEN_PASS_BACKWARD && stage + 1 < table_.extents.stages())
      need(rank, number, {action.pass, stage + 1, action.micro_batch});
  }

  void need(std::uint32_t rank, std::size_t number,
            const std::tuple<baleen_pass_t, std::uint32_t, std::uint32_t>& what) {
    const auto found = places_.find(what);
    if (found == places_.end() || found->second.first == rank) return;
    const auto id = static_cast<std::uint32_t>(messages_.size());
    messages_.push_back({found->second.first, rank, number});
    ranks_[rank].receives[number].push_back(id);
    ranks_[found->second.first].sends[found->second.second].push_back(id);
  }

  double duration(baleen_pass_t pass) const {
    const double backward = times_.backward + (table_.tells_weights_apart() ? 0 : times_.weights);
    const double whole = pass == BALEEN_PASS_FORWARD    ? times_.forward
                         : pass == BALEEN_PASS_BACKWARD ? backward
                                                        : times_.weights;
    return whole / table_.extents.chunks;
  }

  void add(double time, What what, std::uint32_t number) { events_.emplace(time, order_++, what, number); }

  void post(std::uint32_t rank, std::size_t number, double time) {
    if (number >= table_.ranks[rank].size()) return;
    for (const std::uint32_t id : ranks_[rank].receives[number])
      if (!std::exchange(messages_[id].posted, true) && messages_[id].made) add(time, What::carried, id);
  }

  void begin(std::uint32_t rank, double time) {
    Rank& own = ranks_[rank];
    if (own.busy || own.next == table_.ranks[rank].size()) return;
    for (const std::uint32_t id : own.receives[own.next])
      if (!messages_[id].here) return;
    own.busy = true;
    const double end = time + duration(table_.ranks[rank][own.next].pass);
    timing_.spans[rank].push_back({time, end});
    timing_.makespan = std::max(timing_.makespan, end);
    timing_.longest = std::max(timing_.longest, end - timing_.spans[rank].front().begin);
    add(end, What::end, rank);
  }

  void end(std::uint32_t rank, double time) {
    Rank& own = ranks_[rank];
    for (const std::uint32_t id : own.sends[own.next]) {
      messages_[id].made = true;
      if (messages_[id].posted) add(time, What::carried, id);
    }
    own.busy = false;
    ++own.next;
    post(rank, own.next + 1, time);
    begin(rank, time);
  }

  double& link(std::uint32_t rank, bool sends) { return ranks_[rank].links[sends && transfers_.both_ways ? 1 : 0]; }

  void carry(std::uint32_t id, double time) {
    double &away = link(messages_[id].source, true), &here = link(messages_[id].target, false);
    away = std::max(away, time) + transfers_.time;
    here = std::max(here, time) + transfers_.time;
    add(here, What::here, id);
  }

  const Table& table_;
  const PassTimes times_;
  const Transfers transfers_;
  std::vector<Rank> ranks_;
  std::map<std::tuple<baleen_pass_t, std::uint32_t, std::uint32_t>, Place> places_;  ///< by pass, stage, micro-batch
  std::vector<Message> messages_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::size_t order_ = 0;
  Timing timing_;
};

}  // namespace

Result<Timing> time_with_transfers(const Table& table, const PassTimes& times, const Transfers& transfers) {
  return Simulation(table, times, transfers).run();
}

std::size_t most_sent(const Table& table) { return Simulation(table, {}, {}).most_sent(); }

Result<double> hidden_share(const Table& table, const PassTimes& times, const Transfers& transfers) {
  Simulation simulation(table, times, transfers);
  const double sends = static_cast<double>(simulation.most_sent()) * transfers.time;
  BALEEN_TRY_ASSIGN(const Timing with, simulation.run());
  BALEEN_TRY_ASSIGN(const Timing without, time_table(table, times));
  return sends > 0 ? 1 - (with.makespan - without.makespan) / sends : 1;
}

}  // namespace baleen::pipeline
