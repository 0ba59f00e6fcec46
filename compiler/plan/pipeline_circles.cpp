/// \file Whether ranks that follow a pipeline schedule wait for each other for ever: found by walking through it.
#include <algorithm>
#include <map>
#include <optional>

#include "compiler/plan/arrivals.hpp"
#include "compiler/plan/passes.hpp"

namespace baleen {
namespace {

/// One rank per coordinate of the axis; sends go as soon as they are come to, and who needs one waits for it.
class Walk {
 public:
  explicit Walk(const ScheduledGraph& scheduled)
      : scheduled_(scheduled),
        graph_(scheduled.graph),
        sections_(scheduled.sections),
        pipelines_(scheduled.pipelines) {}

  Status run() {
    if (!find_loop()) return {};
    received_ = find_arrivals(scheduled_, loop_);
    std::erase_if(received_, [&](const auto& one) { return !is_send(graph_.op(one.first)); });
    for (std::size_t s = 0; s < sections_.size(); ++s)
      if (sections_[s].loop == loop_) list_events(s);
    for (const PipelineSchedule& schedule : pipelines_) list_turns(schedule);
    for (bool moved = true; moved;) {
      moved = false;
      for (Rank& rank : ranks_) moved |= walk(rank);
    }
    return check_end();
  }

 private:
  /// A rank sends the value of `send`, or needs it.
  struct Event {
    OpId send = kNone;
    bool needs = false;
  };
  struct Rank {
    std::int64_t coordinate = 0;
    std::vector<std::pair<std::size_t, std::int64_t>> turns;  ///< sections with their micro-batches
    std::size_t turn = 0, event = 0;
  };

  bool find_loop() {
    const auto all = [&](const PipelineSchedule& p) { return p.axis == pipelines_.front().axis; };
    if (pipelines_.empty() || !std::ranges::all_of(pipelines_, all)) return false;
    axis_ = pipelines_.front().axis;
    for (const Section& section : sections_)
      if (section.loop >= 0 && section.phase == Phase::backward) loop_ = section.loop;
    return loop_ >= 0;
  }

  /// Along the axis; nothing where the value is not at one coordinate.
  std::optional<std::int64_t> coordinate(ValueId value) const {
    const Layout& layout = graph_.value(value).layout;
    if (layout.empty() || !layout[static_cast<std::size_t>(axis_)].is_at()) return std::nullopt;
    return layout[static_cast<std::size_t>(axis_)].argument;
  }

  bool is_send(const Op& op) const {
    return op.kind->name == "send" && coordinate(op.inputs[0]) != coordinate(op.outputs[0]);
  }

  void list_events(std::size_t section) {
    std::map<OpId, bool> needed;  // what is received here, and whether it has been needed
    for (const auto& [send, at] : received_)
      if (at == section) needed[send] = false;
    const auto need = [&](OpId send) {
      const auto found = needed.find(send);
      if (found == needed.end() || found->second) return;
      found->second = true;
      events_[{section, *coordinate(graph_.op(send).outputs[0])}].push_back({send, true});
    };
    for (const OpId id : sections_[section].ops) {
      const Op& op = graph_.op(id);
      for (const ValueId v : op.inputs) need(graph_.value(v).producer);
      if (received_.contains(id)) events_[{section, *coordinate(op.inputs[0])}].push_back({id, false});
    }
    for (const auto& [send, done] : std::map(needed)) need(send);
  }

  void list_turns(const PipelineSchedule& schedule) {
    Rank& rank = ranks_.emplace_back();
    rank.coordinate = schedule.coordinate;
    const bool apart = std::ranges::any_of(
        schedule.actions, [](const auto& a) { return a.part.pass == MicroPart::Pass::weight_gradients; });
    for (const PipelineSchedule::Action& action : schedule.actions)
      for (std::size_t s = 0; s < sections_.size(); ++s) {
        MicroPart part = sections_[s].part;
        if (!apart && part.pass == MicroPart::Pass::weight_gradients) part.pass = MicroPart::Pass::backward;
        if (sections_[s].loop == loop_ && part == action.part) rank.turns.emplace_back(s, action.micro_batch);
      }
  }

  bool walk(Rank& rank) {
    bool moved = false;
    for (; rank.turn < rank.turns.size(); ++rank.turn, rank.event = 0) {
      const auto& [section, micro_batch] = rank.turns[rank.turn];
      const std::vector<Event>& events = events_[{section, rank.coordinate}];
      for (; rank.event < events.size(); ++rank.event) {
        const Event& event = events[rank.event];
        if (event.needs && sent_[event.send] <= micro_batch) return moved;
        if (!event.needs) ++sent_[event.send];
        moved = true;
      }
      moved = true;
    }
    return moved;
  }

  Status check_end() {
    std::string all, where;
    for (const Rank& rank : ranks_) {
      if (rank.turn == rank.turns.size()) continue;
      const auto& [section, micro_batch] = rank.turns[rank.turn];
      const Op& op = graph_.op(events_[{section, rank.coordinate}][rank.event].send);
      if (where.empty()) where = op.where;
      all += (all.empty() ? "" : "; ") + std::to_string(rank.coordinate) + ", in the " + sections_[section].name +
             " pass of micro-batch " + std::to_string(micro_batch) + ", for " + title_of(op) + " of " +
             std::to_string(*coordinate(op.inputs[0]));
    }
    if (all.empty()) return {};
    return invalid("coordinates of axis `" + graph_.mesh().axes[static_cast<std::size_t>(axis_)].name +
                       "` would wait for each other for ever: " + all +
                       "; take another schedule, or have what is sent made in an earlier pass",
                   where);
  }

  const ScheduledGraph& scheduled_;
  const Graph& graph_;
  const std::vector<Section>& sections_;
  const std::vector<PipelineSchedule>& pipelines_;
  int axis_ = 0, loop_ = -1;
  std::map<OpId, std::uint32_t> received_;  // sends of the loop, by op: where their value is received
  std::map<std::pair<std::size_t, std::int64_t>, std::vector<Event>> events_;  // by section and coordinate
  std::vector<Rank> ranks_;
  std::map<OpId, std::int64_t> sent_;  // micro-batches
};

}  // namespace

Status check_pipeline_circles(const ScheduledGraph& scheduled) {
  return scheduled.pipelines.empty() ? Status() : Walk(scheduled).run();
}

}  // namespace baleen
