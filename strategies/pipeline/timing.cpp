#include "timing.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "text.hpp"

namespace baleen::pipeline {
namespace {

/// Does what can be done until nothing more can.
class Clock {
 public:
  Clock(const Table& table, const PassTimes& times)
      : table_(table),
        times_(times),
        weights_apart_(table.tells_weights_apart()),
        ends_(3 * std::size_t{table.extents.stages()} * table.extents.micro_batches),
        next_(table.ranks.size(), 0),
        free_(table.ranks.size(), 0) {
    timing_.spans.resize(table.ranks.size());
  }

  Result<Timing> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t rank = 0; rank < table_.ranks.size(); ++rank)
        while (step(rank)) moved = true;
    }
    for (std::uint32_t rank = 0; rank < table_.ranks.size(); ++rank) BALEEN_TRY(check_end(rank));
    return std::move(timing_);
  }

 private:
  std::optional<double>& end_of(baleen_pass_t pass, std::uint32_t stage, std::uint32_t micro_batch) {
    const std::size_t stages = table_.extents.stages();
    return ends_[(static_cast<std::size_t>(pass) * stages + stage) * table_.extents.micro_batches + micro_batch];
  }

  double duration(baleen_pass_t pass) const {
    const double backward = times_.backward + (weights_apart_ ? 0 : times_.weights);
    const double whole = pass == BALEEN_PASS_FORWARD    ? times_.forward
                         : pass == BALEEN_PASS_BACKWARD ? backward
                                                        : times_.weights;
    return whole / table_.extents.chunks;
  }

  /// When all that an action needs is there; nothing while some is not.
  std::optional<double> ready(const Action& action, std::uint32_t stage) {
    std::array<std::optional<double>, 2> needs{0.0, 0.0};
    if (action.pass == BALEEN_PASS_FORWARD && stage > 0)
      needs[0] = end_of(BALEEN_PASS_FORWARD, stage - 1, action.micro_batch);
    if (action.pass == BALEEN_PASS_BACKWARD) {
      needs[0] = end_of(BALEEN_PASS_FORWARD, stage, action.micro_batch);
      if (stage + 1 < table_.extents.stages()) needs[1] = end_of(BALEEN_PASS_BACKWARD, stage + 1, action.micro_batch);
    }
    if (action.pass == BALEEN_PASS_WEIGHT_GRADIENTS) needs[0] = end_of(BALEEN_PASS_BACKWARD, stage, action.micro_batch);
    if (!needs[0] || !needs[1]) return std::nullopt;
    return std::max(*needs[0], *needs[1]);
  }

  bool step(std::uint32_t rank) {
    const Actions& actions = table_.ranks[rank];
    if (next_[rank] == actions.size()) return false;
    const Action& action = actions[next_[rank]];
    const std::uint32_t stage = table_.stage(rank, action.chunk);
    const std::optional<double> when = ready(action, stage);
    if (!when) return false;
    ++next_[rank];
    const double begin = std::max(*when, free_[rank]), end = begin + duration(action.pass);
    free_[rank] = end;
    end_of(action.pass, stage, action.micro_batch) = end;
    timing_.spans[rank].push_back({begin, end});
    timing_.makespan = std::max(timing_.makespan, end);
    timing_.longest = std::max(timing_.longest, end - timing_.spans[rank].front().begin);
    return true;
  }

  Status check_end(std::uint32_t rank) const {
    const Actions& actions = table_.ranks[rank];
    if (next_[rank] == actions.size()) return {};
    return invalid("rank " + std::to_string(rank) + " waits for ever before " + to_text(actions[next_[rank]], table_) +
                   ", its action " + std::to_string(next_[rank] + 1) +
                   ": what it needs comes behind what other ranks wait for");
  }

  const Table& table_;
  const PassTimes& times_;
  const bool weights_apart_;
  std::vector<std::optional<double>> ends_;
  std::vector<std::size_t> next_;
  std::vector<double> free_;
  Timing timing_;
};

/// Every pass of every micro-batch once, ascending.
Status check_rank(const Table& table, std::uint32_t rank) {
  const Extents& extents = table.extents;
  std::array<std::vector<std::uint32_t>, 3> done;
  for (auto& one : done) one.assign(extents.chunks, 0);
  const bool weights = table.tells_weights_apart();
  const std::string who = "rank " + std::to_string(rank);
  for (const Action& action : table.ranks[rank]) {
    if (action.chunk >= extents.chunks)
      return invalid(who + " does " + to_text(action, table) + ", and there are chunks 0 to " +
                     std::to_string(extents.chunks - 1) + "; say how many in `chunks`");
    if (action.micro_batch >= extents.micro_batches)
      return invalid(who + " does " + to_text(action, table) +
                     ", and gradient_accumulation_steps = " + std::to_string(extents.micro_batches) +
                     " gives micro-batches 0 to " + std::to_string(extents.micro_batches - 1));
    std::uint32_t& next = done[static_cast<std::size_t>(action.pass)][action.chunk];
    if (action.micro_batch != next)
      return invalid(who + " does " + to_text(action, table) + " where micro-batch " + std::to_string(next) +
                     " is next; each pass takes them in ascending order, so that sums have the same bits");
    ++next;
  }
  for (std::size_t pass = 0; pass < done.size(); ++pass)
    for (std::uint32_t chunk = 0; chunk < extents.chunks; ++chunk)
      if (const std::uint32_t next = done[pass][chunk];
          next < extents.micro_batches && (weights || pass != BALEEN_PASS_WEIGHT_GRADIENTS))
        return invalid(who + " never does " + to_text({static_cast<baleen_pass_t>(pass), next, chunk, 0}, table) +
                       "; add it");
  return {};
}

}  // namespace

Result<Timing> time_table(const Table& table, const PassTimes& times) { return Clock(table, times).run(); }

Status check_table(const Table& table) {
  if (table.ranks.size() != table.extents.ranks)
    return invalid("the table has " + std::to_string(table.ranks.size()) + " lines, and the axis " +
                   std::to_string(table.extents.ranks) + " ranks; each rank has a line");
  for (std::uint32_t rank = 0; rank < table.extents.ranks; ++rank) BALEEN_TRY(check_rank(table, rank));
  BALEEN_TRY_ASSIGN(const Timing timing, time_table(table, {}));
  return timing.spans.size() == table.ranks.size() ? Status() : internal("a table without spans");
}

std::uint32_t peak_in_flight(const Actions& actions) {
  const bool weights =
      std::ranges::any_of(actions, [](const Action& a) { return a.pass == BALEEN_PASS_WEIGHT_GRADIENTS; });
  std::uint32_t now = 0, most = 0;
  for (const Action& action : actions) {
    if (action.pass == BALEEN_PASS_FORWARD) most = std::max(most, ++now);
    if (action.pass == (weights ? BALEEN_PASS_WEIGHT_GRADIENTS : BALEEN_PASS_BACKWARD)) --now;
  }
  return most;
}

}  // namespace baleen::pipeline
