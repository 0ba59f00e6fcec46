#include "compiler/codegen/ranges.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "baleen/dtype.hpp"

namespace baleen {

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

std::optional<UsedRanges::Range> UsedRanges::range_of(const ProgramStep& step, std::uint32_t root) const {
  std::optional<Range> all;
  for (const auto* list : {&step.reads, &step.writes})
    for (const LowValue v : *list) {
      if (lowered_.root_of(v) != root) continue;
      const LoweredValue& value = lowered_.values[v];
      std::int64_t last = value.view.offset;
      for (std::size_t d = 0; d < value.shape.size(); ++d) last += (value.shape[d] - 1) * value.view.strides[d];
      Range range{value.view.offset, last + 1};
      const auto whole = static_cast<std::int64_t>(lowered_.storages[root].bytes / dtype_size(value.dtype));
      if (value.view.micro_step != 0 || lowered_.elements(v) == 0) range = {0, whole};
      all = all ? Range{std::min(all->first, range.first), std::max(all->end, range.end)} : range;
    }
  return all;
}

UsedRanges::Range UsedRanges::widened(Range range, std::int64_t all) const {
  return {range.first / kStoredElements * kStoredElements,
          std::min(all, (range.end + kStoredElements - 1) / kStoredElements * kStoredElements)};
}

LowValue UsedRanges::own_buffer(LowValue whole, Range range) {
  const std::uint64_t size = dtype_size(lowered_.values[whole].dtype);
  Storage part = lowered_.storages[lowered_.root_of(whole)];
  part.bytes = static_cast<std::uint64_t>(range.end - range.first) * size;
  part.slot_offset += static_cast<std::uint64_t>(range.first) * size;
  return add_stretch(lowered_, whole, lowered_.add_storage(std::move(part)), 0, range.end - range.first);
}

void UsedRanges::use(ProgramStep& step, std::uint32_t root, std::uint32_t storage, std::int64_t first) {
  const auto change = [&](LowValue& v) {
    if (v == kNone || lowered_.root_of(v) != root) return;
    LoweredValue other = lowered_.values[v];
    other.view.storage = storage;
    other.view.offset -= first;
    v = lowered_.add_value(std::move(other));
  };
  for (auto* list : {&step.reads, &step.writes, &step.zeros}) std::ranges::for_each(*list, change);
  for (Launch& launch : step.launches) std::ranges::for_each(launch.operands, change);
}

std::vector<LowValue> UsedRanges::split(LowValue whole, const std::vector<std::pair<std::size_t, Range>>& users) {
  std::map<Range, LowValue> parts;
  for (const auto& [s, range] : users) {
    const auto [part, is_new] = parts.try_emplace(range, kNone);
    if (is_new) part->second = own_buffer(whole, range);
    use(steps_[s], lowered_.root_of(whole), lowered_.values[part->second].view.storage, range.first);
  }
  std::vector<LowValue> result;
  for (const auto& [range, part] : parts) result.push_back(part);
  return result;
}

std::vector<LowValue> UsedRanges::split_reads(LowValue source, std::size_t until) {
  const std::uint32_t root = lowered_.root_of(source);
  const std::int64_t all = lowered_.elements(source);
  std::vector<std::pair<std::size_t, Range>> users;
  for (std::size_t s = 0; s < std::min(until, steps_.size()); ++s) {
    const ProgramStep& step = steps_[s];
    const auto used = range_of(step, root);
    const bool writes = std::ranges::any_of(step.writes, [&](LowValue v) { return lowered_.root_of(v) == root; });
    if (!used || step.call || step.wait_for != kNone || writes) continue;
    if (const Range range = widened(*used, all); range != Range{0, all}) users.emplace_back(s, range);
  }
  return split(source, users);
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
