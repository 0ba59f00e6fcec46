/// \file Walks through an executable's instructions in the order in which they would run.
#include "frontend/engine/plan_measures.hpp"

#include <algorithm>
#include <deque>

#include "baleen/dtype.hpp"
#include "compiler/layout/mesh.hpp"

namespace baleen::app {

RankWork work_of(const Executable& executable) {
  RankWork work;
  const auto ranks = static_cast<double>(rank_count(executable.mesh));
  work.even_share = executable.flops / ranks;
  work.recomputed = executable.recomputed_flops / ranks;
  // What was computed when a call began; several turns of a loop may be under way.
  std::vector<std::deque<double>> begun(executable.calls.size());
  const auto finish = [&](std::uint32_t call) {
    const std::uint64_t bytes = sent_bytes(executable, executable.calls[call]);
    work.sent += bytes;
    if (work.flops > begun[call].front()) work.sent_meanwhile += bytes;
    begun[call].pop_front();
  };
  (void)for_each_turn(executable, [&](std::size_t segment, std::int64_t turn, std::int64_t turns) -> Status {
    for (const Instruction& i : executable.segments[segment].instructions) {
      if (!is_due(i.guard, turn, turns)) continue;
      if (i.kind == Instruction::Kind::launch) work.flops += i.work.flops;
      if (i.kind == Instruction::Kind::begin) begun[i.call].push_back(work.flops);
      if (i.kind != Instruction::Kind::wait) continue;
      const bool all = i.behind == kAllOfCall;
      if (all || static_cast<std::int64_t>(i.behind) <= turn)
        for (bool more = !begun[i.call].empty(); more; more = all && !begun[i.call].empty()) finish(i.call);
    }
    return {};
  });
  return work;
}

std::vector<StoredPart> stored_parts(const PersistentLayout& persistent, const Mesh& mesh) {
  std::vector<StoredPart> parts;
  for (const PersistentBuffer& buffer : persistent.buffers) {
    StoredPart part{buffer.spec.category, {}, buffer.bytes, 0};
    for (std::size_t axis = 0; axis < buffer.spec.layout.size(); ++axis)
      if (buffer.spec.layout[axis].cut() && mesh.axes[axis].size > 1) part.axes.push_back(mesh.axes[axis].name);
    part.whole = static_cast<std::uint64_t>(element_count(buffer.spec.type.shape)) * dtype_size(buffer.spec.type.dtype);
    const auto same = std::ranges::find_if(
        parts, [&](const StoredPart& one) { return one.category == part.category && one.axes == part.axes; });
    if (same == parts.end()) {
      parts.push_back(std::move(part));
    } else {
      same->bytes += part.bytes;
      same->whole += part.whole;
    }
  }
  std::vector<std::string> order;
  for (const StoredPart& part : parts)
    if (std::ranges::find(order, part.category) == order.end()) order.push_back(part.category);
  std::ranges::stable_sort(parts, [&](const StoredPart& a, const StoredPart& b) {
    const auto at = [&](const StoredPart& part) { return std::ranges::find(order, part.category) - order.begin(); };
    return at(a) != at(b) ? at(a) < at(b) : a.axes.size() > b.axes.size();
  });
  return parts;
}

}  // namespace baleen::app
