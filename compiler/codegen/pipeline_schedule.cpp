/// \file The order of micro-batches of this rank, from what strategies want for its coordinates.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compiler/codegen/passes.hpp"
#include "compiler/plan/arrivals.hpp"

namespace baleen {
namespace {

/// The loop that has both parts; -1 where none has.
int loop_with_parts(const Lowered& lowered) {
  for (const LoweredSection& section : lowered.sections) {
    if (section.loop < 0 || section.phase != Phase::forward) continue;
    for (const LoweredSection& other : lowered.sections)
      if (other.loop == section.loop && other.phase == Phase::backward) return section.loop;
  }
  return -1;
}

/// The sections of an action, in their order. Weight gradients that a schedule does not tell apart follow at once.
std::vector<std::uint32_t> sections_of(const Lowered& lowered, int loop, MicroPart part, bool with_weights) {
  std::vector<std::uint32_t> found;
  MicroPart weights = part;
  weights.pass = MicroPart::Pass::weight_gradients;
  for (std::uint32_t s = 0; s < lowered.sections.size(); ++s) {
    const LoweredSection& section = lowered.sections[s];
    const bool follows = with_weights && part.pass == MicroPart::Pass::backward && section.part == weights;
    if (section.loop == loop && (section.part == part || follows)) found.push_back(s);
  }
  return found;
}

bool tells_weights_apart(const PipelineSchedule& order) {
  return std::ranges::any_of(order.actions, [](const PipelineSchedule::Action& action) {
    return action.part.pass == MicroPart::Pass::weight_gradients;
  });
}

/// From the first action of a micro-batch to its last one; with `ahead` from the action before it.
std::int64_t most_in_flight(const PipelineSchedule& order, bool ahead) {
  std::map<std::int64_t, std::size_t> left;
  for (const PipelineSchedule::Action& action : order.actions) ++left[action.micro_batch];
  std::set<std::int64_t> begun;
  std::size_t most = 1;
  for (auto action = order.actions.begin(); action != order.actions.end(); ++action) {
    begun.insert(action->micro_batch);
    if (const auto next = action + 1; ahead && next != order.actions.end()) begun.insert(next->micro_batch);
    most = std::max(most, begun.size());
    if (--left[action->micro_batch] == 0) begun.erase(action->micro_batch);
  }
  return static_cast<std::int64_t>(most);
}

/// Does the forward pass of these ranks begin with what others send?
bool receives_forward(const ScheduledGraph& scheduled, const PipelineSchedule& order) {
  const Graph& graph = scheduled.graph;
  return std::ranges::any_of(graph.ops(), [&](OpId id) {
    const Op& op = graph.op(id);
    if (op.kind->name != "send" || op.phase != Phase::forward) return false;
    const Placement& to = graph.value(op.outputs[0]).layout[static_cast<std::size_t>(order.axis)];
    return to.is_at() && to.argument == order.coordinate;
  });
}

/// Every section of the loop is run by some action.
Status check_all_run(const Lowered& lowered, int loop, const PipelineSchedule& order) {
  for (std::uint32_t s = 0; s < lowered.sections.size(); ++s) {
    const LoweredSection& section = lowered.sections[s];
    if (section.loop != loop) continue;
    const auto runs = [&](const auto& action) { return action.section == s; };
    if (std::ranges::any_of(lowered.pipeline.actions, runs)) continue;
    return invalid("ops belong to chunk " + std::to_string(section.part.chunk) +
                   " of the model, and the pipeline schedule of coordinate " + std::to_string(order.coordinate) +
                   " of axis `" + lowered.mesh.axes[static_cast<std::size_t>(order.axis)].name + "` has no such chunk");
  }
  return {};
}

bool receives(const LoweredOp& op) {
  return op.means == LoweringKind::collective && op.call && op.call->op == BALEEN_RECEIVE;
}

/// The order of calls before ops are moved stays the order in which they are prepared.
void keep_turns(Lowered& lowered) {
  if (std::ranges::any_of(lowered.ops, [](const LoweredOp& op) { return op.turn.has_value(); })) return;
  const std::vector<std::vector<LowOp>> calls = order_calls(lowered);
  for (std::size_t turn = 0; turn < calls.size(); ++turn)
    for (const LowOp op : calls[turn]) lowered.ops[op].turn = turn;
}

/// Puts the receives of each part into a section of their own in front of it, and that before the action in front.
class ReceivesAhead {
 public:
  explicit ReceivesAhead(Lowered& lowered) : lowered_(lowered) {}

  void run() {
    std::vector<std::vector<LowOp>> received(lowered_.sections.size());
    bool any = false;
    for (std::uint32_t s = 0; s < lowered_.sections.size(); ++s)
      for (const LowOp op : lowered_.sections[s].ops)
        if (lowered_.in_pipeline(s) && receives(lowered_.ops[op])) {
          received[s].push_back(op);
          any = true;
        }
    if (!any) return;
    keep_turns(lowered_);
    split(received);
    number_ops();
    order_actions();
  }

 private:
  void split(const std::vector<std::vector<LowOp>>& received) {
    std::vector<LoweredSection> sections;
    for (std::uint32_t s = 0; s < received.size(); ++s) {
      LoweredSection& section = lowered_.sections[s];
      if (!received[s].empty()) {
        std::erase_if(section.ops, [&](LowOp op) { return std::ranges::count(received[s], op) > 0; });
        sections.push_back({section.name, section.phase, section.loop, received[s], section.part, true});
        receiving_[s] = static_cast<std::uint32_t>(sections.size() - 1);
      }
      sections.push_back(std::move(section));
      moved_.push_back(static_cast<std::uint32_t>(sections.size() - 1));
    }
    lowered_.sections = std::move(sections);
  }

  void number_ops() {
    for (std::uint32_t s = 0; s < lowered_.sections.size(); ++s)
      for (const LowOp op : lowered_.sections[s].ops) lowered_.ops[op].section = s;
    for (LoweredAssign& assign : lowered_.assigns) assign.section = moved_[assign.section];
  }

  void order_actions() {
    using Action = LoweredPipeline::Action;
    const std::vector<Action> actions = std::exchange(lowered_.pipeline.actions, {});
    const auto receive = [&](std::size_t number) {
      if (number >= actions.size()) return;
      const auto found = receiving_.find(actions[number].section);
      if (found != receiving_.end()) lowered_.pipeline.actions.push_back({found->second, actions[number].micro_batch});
    };
    receive(0);
    for (std::size_t number = 0; number < actions.size(); ++number) {
      receive(number + 1);
      lowered_.pipeline.actions.push_back({moved_[actions[number].section], actions[number].micro_batch});
    }
  }

  Lowered& lowered_;
  std::map<std::uint32_t, std::uint32_t> receiving_;  // by old section: the new one of its receives
  std::vector<std::uint32_t> moved_;                  // by old section
};

/// Moves what is made of received values alone to the chunk that reads it, in the same pass. A receive stands in the
/// same chunk on all ranks of a stage, which may wait for each other there.
class ReceiveSinker {
 public:
  ReceiveSinker(const ScheduledGraph& scheduled, Lowered& lowered)
      : lowered_(lowered),
        arrivals_(find_arrivals(scheduled, lowered.pipeline.loop)),
        wanted_(lowered.values.size(), kNone) {}

  void run() {
    find_received();
    if (!find_moves()) return;
    keep_turns(lowered_);
    move();
  }

 private:
  bool in_loop(std::uint32_t section) const { return lowered_.sections[section].loop == lowered_.pipeline.loop; }
  /// What the backward pass alone reads has come with the forward pass, for its sender waits in that pass's next turn.
  bool is_later_chunk(std::uint32_t section, std::uint32_t other) const {
    const MicroPart &from = lowered_.sections[section].part, &to = lowered_.sections[other].part;
    return in_loop(other) && from.pass == to.pass && from.chunk != to.chunk;
  }

  std::uint32_t arrival_of(const LoweredOp& op) const {
    const auto found = receives(op) ? arrivals_.find(op.exchanged) : arrivals_.end();
    return found == arrivals_.end() ? kNone : found->second;
  }

  void find_received() {
    for (std::uint32_t s = 0; s < lowered_.sections.size(); ++s)
      for (const LowOp number : lowered_.sections[s].ops) {
        const LoweredOp& op = lowered_.ops[number];
        const auto& inputs = op.op.inputs;
        const bool derived =
            op.means != LoweringKind::collective && op.means != LoweringKind::accumulate && !inputs.empty() &&
            std::ranges::all_of(inputs, [&](LowValue v) {
              return lowered_.values[v].producer != kNone && received_.contains(lowered_.values[v].producer);
            });
        if (in_loop(s) && (receives(op) || derived)) received_.insert(number);
      }
  }

  /// From the last op to the first: each stands where the first of its readers does.
  bool find_moves() {
    bool any = false;
    for (auto s = static_cast<std::uint32_t>(lowered_.sections.size()); s-- > 0;)
      for (auto it = lowered_.sections[s].ops.rbegin(); it != lowered_.sections[s].ops.rend(); ++it) {
        const Op& op = lowered_.ops[*it].op;
        std::uint32_t own = s;
        if (received_.contains(*it)) {
          std::uint32_t first = arrival_of(lowered_.ops[*it]);
          for (const LowValue v : op.outputs) first = std::min(first, wanted_[v]);
          if (first != kNone && first > s && is_later_chunk(s, first)) {
            own = moves_[*it] = first;
            any = true;
          }
        }
        for (const LowValue v : op.inputs) wanted_[v] = std::min(wanted_[v], own);
      }
    return any;
  }

  void move() {
    std::map<std::uint32_t, std::vector<LowOp>> arriving;
    for (LoweredSection& section : lowered_.sections) {
      std::vector<LowOp> staying;
      for (const LowOp op : section.ops) {
        const auto to = moves_.find(op);
        if (to == moves_.end()) {
          staying.push_back(op);
          continue;
        }
        arriving[to->second].push_back(op);
        lowered_.ops[op].section = to->second;
      }
      section.ops = std::move(staying);
    }
    for (auto& [section, ops] : arriving) {
      std::vector<LowOp>& all = lowered_.sections[section].ops;
      all.insert(all.begin(), ops.begin(), ops.end());
    }
  }

  Lowered& lowered_;
  const std::map<OpId, std::uint32_t> arrivals_;
  std::vector<std::uint32_t> wanted_;  // by value: the first section that reads it here
  std::set<LowOp> received_;
  std::map<LowOp, std::uint32_t> moves_;
};

}  // namespace

std::int64_t LoweredPipeline::between(std::uint32_t first, std::uint32_t last) const {
  std::int64_t now = 0, most = 1;
  for (const Action& action : actions) {
    if (action.section == first) most = std::max(most, ++now);
    if (action.section == last) --now;
  }
  return most;
}

Status apply_pipeline_schedule(const ScheduledGraph& scheduled, Lowered& lowered, bool ahead) {
  const PipelineSchedule* own = nullptr;
  for (const PipelineSchedule& order : scheduled.pipelines) {
    if (lowered.at[static_cast<std::size_t>(order.axis)] != order.coordinate) continue;
    if (own) return unsupported("two strategies order the micro-batches of one rank");
    own = &order;
  }
  const int loop = loop_with_parts(lowered);
  if (!own || loop < 0) return {};
  lowered.pipeline.loop = loop;
  lowered.pipeline.axis = own->axis;
  lowered.pipeline.in_flight = most_in_flight(*own, false);
  for (const PipelineSchedule& order : scheduled.pipelines)
    lowered.pipeline.slots =
        std::max(lowered.pipeline.slots, most_in_flight(order, ahead && receives_forward(scheduled, order)));
  const bool with_weights = !tells_weights_apart(*own);
  for (const PipelineSchedule::Action& action : own->actions)
    for (const std::uint32_t section : sections_of(lowered, loop, action.part, with_weights))
      lowered.pipeline.actions.push_back({section, action.micro_batch});
  BALEEN_TRY(check_all_run(lowered, loop, *own));
  ReceiveSinker(scheduled, lowered).run();
  if (ahead) ReceivesAhead(lowered).run();
  return {};
}

}  // namespace baleen
