#include "compiler/codegen/ranges.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "baleen/dtype.hpp"

namespace baleen {

void use_storage(Lowered& lowered, ProgramStep& step, std::uint32_t root, std::uint32_t storage, std::int64_t first,
                 std::map<LowValue, LowValue>& changed) {
  const auto change = [&](LowValue& v) {
    if (v == kNone || lowered.root_of(v) != root) return;
    const auto [own, is_new] = changed.try_emplace(v, kNone);
    if (is_new) {
      LoweredValue other = lowered.values[v];
      other.view.storage = storage;
      other.view.offset -= first;
      own->second = lowered.add_value(std::move(other));
    }
    v = own->second;
  };
  for (auto* list : {&step.reads, &step.writes, &step.zeros}) std::ranges::for_each(*list, change);
  for (Launch& launch : step.launches) std::ranges::for_each(launch.operands, change);
  if (step.call)
    for (EntryOf<LowValue>& entry : step.call->entries) {
      change(entry.input);
      change(entry.output);
    }
  if (!step.on_host) return;
  // Others share the op, and it is compiled later.
  LoweredOp own = lowered.ops[step.op];
  for (auto* list : {&own.op.inputs, &own.op.outputs}) std::ranges::for_each(*list, change);
  lowered.ops.push_back(std::move(own));
  step.op = static_cast<LowOp>(lowered.ops.size() - 1);
}

LowValue add_stretch(Lowered& lowered, LowValue whole, std::uint32_t storage, std::int64_t first, std::int64_t count) {
  LoweredValue stretch = lowered.values[whole];
  stretch.shape = stretch.global = {count};
  stretch.layout = {};
  stretch.micro = {};
  stretch.runs.clear();
  stretch.indexed = false;
  stretch.view = {storage, first, 0, {1}};
  return lowered.add_value(std::move(stretch));
}

std::uint32_t add_part(Lowered& lowered, LowValue whole, std::int64_t first, std::int64_t count) {
  const std::uint64_t size = dtype_size(lowered.values[whole].dtype);
  Storage part = lowered.storages[lowered.root_of(whole)];
  part.bytes = static_cast<std::uint64_t>(count) * size;
  part.slot_offset += static_cast<std::uint64_t>(first) * size;
  return lowered.add_storage(std::move(part));
}

UsedRanges::Range UsedRanges::range_of(LowValue v) const {
  const LoweredValue& value = lowered_.values[v];
  const auto whole = static_cast<std::int64_t>(lowered_.storage_of(v).bytes / dtype_size(value.dtype));
  if (value.view.micro_step != 0 || lowered_.elements(v) == 0) return {0, whole};
  std::int64_t last = value.view.offset;
  for (std::size_t d = 0; d < value.shape.size(); ++d) last += (value.shape[d] - 1) * value.view.strides[d];
  return {value.view.offset, last + 1};
}

std::optional<UsedRanges::Range> UsedRanges::range_of(const ProgramStep& step, std::uint32_t root) const {
  std::optional<Range> all;
  for (const auto* list : {&step.reads, &step.writes})
    for (const LowValue v : *list) {
      if (lowered_.root_of(v) != root) continue;
      const Range range = range_of(v);
      all = all ? Range{std::min(all->first, range.first), std::max(all->end, range.end)} : range;
    }
  return all;
}

UsedRanges::Range UsedRanges::widened(Range range, std::int64_t all) const {
  return {range.first / kStoredElements * kStoredElements,
          std::min(all, (range.end + kStoredElements - 1) / kStoredElements * kStoredElements)};
}

std::vector<LowValue> UsedRanges::split(LowValue whole, const std::vector<std::pair<std::size_t, Range>>& users) {
  std::map<Range, LowValue> parts;
  for (const auto& [s, range] : users) {
    const auto [part, is_new] = parts.try_emplace(range, kNone);
    const std::int64_t count = range.end - range.first;
    if (is_new) part->second = add_stretch(lowered_, whole, add_part(lowered_, whole, range.first, count), 0, count);
    std::map<LowValue, LowValue> changed;
    use_storage(lowered_, steps_[s], lowered_.root_of(whole), lowered_.values[part->second].view.storage, range.first,
                changed);
  }
  std::vector<LowValue> result;
  for (const auto& [range, part] : parts) result.push_back(part);
  return result;
}

std::vector<LowValue> UsedRanges::split_reads(const std::vector<Source>& sources) {
  std::map<std::uint32_t, std::size_t> numbers, results;  // by root
  for (std::size_t n = 0; n < sources.size(); ++n) {
    numbers[lowered_.root_of(sources[n].value)] = n;
    if (sources[n].next != kNone) results[lowered_.root_of(sources[n].next)] = n;
  }
  std::vector<char> is_made(sources.size(), 0);
  std::vector<std::vector<std::pair<std::size_t, Range>>> users(sources.size());
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const ProgramStep& step = steps_[s];
    std::set<std::size_t> used;
    for (const LowValue v : step.writes) {
      if (const auto made = results.find(lowered_.root_of(v)); made != results.end()) is_made[made->second] = 1;
      if (const auto own = numbers.find(lowered_.root_of(v)); own != numbers.end()) is_made[own->second] = 1;
    }
    if (step.call || step.wait_for != kNone) continue;
    for (const LowValue v : step.reads)
      if (const auto own = numbers.find(lowered_.root_of(v)); own != numbers.end() && !is_made[own->second])
        used.insert(own->second);
    for (const std::size_t n : used) {
      const std::int64_t all = lowered_.elements(sources[n].value);
      const Range range = widened(*range_of(step, lowered_.root_of(sources[n].value)), all);
      if (range != Range{0, all}) users[n].emplace_back(s, range);
    }
  }
  std::vector<LowValue> parts;
  for (std::size_t n = 0; n < sources.size(); ++n)
    for (const LowValue part : split(sources[n].value, users[n])) parts.push_back(part);
  return parts;
}

bool UsedRanges::makes_ranges(LowValue value, const std::vector<std::size_t>& makers) const {
  const std::uint32_t root = lowered_.root_of(value);
  const std::int64_t all = lowered_.elements(value);
  std::set<Range> ranges;
  for (const std::size_t s : makers) {
    const auto used = range_of(steps_[s], root);
    if (!used || steps_[s].call || steps_[s].wait_for != kNone || widened(*used, all) != *used) return false;
    ranges.insert(*used);
  }
  std::int64_t end = 0;
  for (const Range& range : ranges) {
    if (range.first != end) return false;
    end = range.end;
  }
  return end == all && ranges.size() > 1;
}

std::vector<LowValue> UsedRanges::split_made(LowValue value, const std::vector<std::size_t>& makers) {
  std::vector<std::pair<std::size_t, Range>> users;
  for (const std::size_t s : makers) users.emplace_back(s, *range_of(steps_[s], lowered_.root_of(value)));
  return split(value, users);
}

}  // namespace baleen
