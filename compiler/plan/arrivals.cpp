#include "compiler/plan/arrivals.hpp"

#include <algorithm>

namespace baleen {
namespace {

class Arrivals {
 public:
  Arrivals(const ScheduledGraph& scheduled, int loop)
      : graph_(scheduled.graph),
        sections_(scheduled.sections),
        loop_(loop),
        received_(graph_.value_count()),
        wanted_(graph_.value_count(), kNone) {}

  std::map<OpId, std::uint32_t> find() {
    for (const Section& section : sections_)
      for (const OpId id : section.ops)
        if (section.loop == loop_ && is_received(graph_.op(id)))
          for (const ValueId v : graph_.op(id).outputs) received_[v] = 1;
    std::map<OpId, std::uint32_t> arrivals;
    for (auto s = static_cast<std::uint32_t>(sections_.size()); s-- > 0;)
      for (auto it = sections_[s].ops.rbegin(); it != sections_[s].ops.rend(); ++it) {
        const Op& op = graph_.op(*it);
        const std::uint32_t own = stands_in(op, s);
        for (const ValueId v : op.inputs) wanted_[v] = std::min(wanted_[v], own);
        if (sections_[s].loop == loop_ && op.kind->name == "send") arrivals[*it] = own;
      }
    return arrivals;
  }

 private:
  /// From the first op to the last: a send's result, or made of such alone.
  bool is_received(const Op& op) const {
    if (op.kind->name == "send") return true;
    return !op.kind->has(kCollective) && op.kind->name != "accumulate_micro" && !op.inputs.empty() &&
           std::ranges::all_of(op.inputs, [&](ValueId v) { return received_[v] != 0; });
  }
  /// From the last op to the first: its section, or that of what reads it.
  std::uint32_t stands_in(const Op& op, std::uint32_t section) const {
    std::uint32_t first = kNone;
    for (const ValueId v : op.outputs)
      if (received_[v] != 0) first = std::min(first, wanted_[v]);
    return first != kNone && is_later_chunk(section, first) ? first : section;
  }
  bool is_later_chunk(std::uint32_t section, std::uint32_t other) const {
    const MicroPart &from = sections_[section].part, &to = sections_[other].part;
    return other > section && sections_[other].loop == loop_ && from.pass == to.pass && from.chunk != to.chunk;
  }

  const Graph& graph_;
  const std::vector<Section>& sections_;
  const int loop_;
  std::vector<char> received_;         // by value
  std::vector<std::uint32_t> wanted_;  // by value: the first section that reads it on some rank
};

}  // namespace

std::map<OpId, std::uint32_t> find_arrivals(const ScheduledGraph& scheduled, int loop) {
  return Arrivals(scheduled, loop).find();
}

}  // namespace baleen
