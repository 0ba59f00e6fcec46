/// \file Counts what an executable sends and moves.
#include "core/execute/traffic.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace baleen {

std::map<std::uint32_t, OffloadTraffic> offload_traffic_by_slot(const Executable& executable) {
  std::map<std::uint32_t, OffloadTraffic> slots;
  for (const Segment& segment : executable.segments)
    for (const Instruction& i : segment.instructions) {
      if (i.kind != Instruction::Kind::transfer) continue;
      const ExecutableTransfer& transfer = executable.transfers[i.call];
      if (transfer.is_copy()) continue;
      const std::int64_t turns = segment.loop >= 0 ? executable.micro_batches : 1;
      for (std::int64_t turn = 0; turn < turns; ++turn)
        if (is_due(i.guard, turn, turns))
          slots[transfer.slot].add(transfer.is_put ? OffloadTraffic{transfer.bytes, 0}
                                                   : OffloadTraffic{0, transfer.bytes});
    }
  return slots;
}

OffloadTraffic offload_traffic_of(const Executable& executable) {
  OffloadTraffic traffic;
  for (const auto& [slot, moved] : offload_traffic_by_slot(executable)) traffic.add(moved);
  return traffic;
}

std::uint32_t transfers_at_once(const Executable& executable) {
  std::uint32_t open = 0, most = 0;
  for (const Segment& segment : executable.segments)  // what begins in a loop is over in the same turn
    for (const Instruction& i : segment.instructions) {
      const bool moves = i.kind == Instruction::Kind::transfer || i.kind == Instruction::Kind::settle;
      if (!moves || executable.transfers[i.call].is_copy()) continue;
      if (i.kind == Instruction::Kind::transfer)
        most = std::max(most, ++open);
      else
        --open;
    }
  return most;
}

std::vector<Traffic> traffic_of(const Executable& executable) {
  std::map<std::pair<std::string, std::string>, Traffic> rows;
  for (const ExecutableCall& call : executable.calls) {
    std::string axes;
    for (const std::string& axis : call.axes) axes += (axes.empty() ? "" : "+") + axis;
    Traffic& row = rows[{std::string(collective_name(call.op)), axes}];
    row.kind = collective_name(call.op);
    row.axes = axes;
    row.calls += call.runs;
    row.bytes += call.runs * sent_bytes(executable, call);
  }
  std::vector<Traffic> result;
  for (auto& [key, row] : rows) result.push_back(std::move(row));
  return result;
}

}  // namespace baleen
