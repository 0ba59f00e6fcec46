/// \file Values of an offload store of which steps use a part of the elements each: every part has a buffer of its own.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/codegen/passes.hpp"

namespace baleen {

/// Elements of a part are multiples of this, counted from the first of the whole: the largest alignment of a store
/// (offload.h), in elements of one byte.
inline constexpr std::int64_t kStoredElements = 65536;

/// Lets a step use another storage, from element `first` of the buffer `root` on, where it uses that. Each value is
/// changed once: `changed` has those of before, for steps that share them.
void use_storage(Lowered& lowered, ProgramStep& step, std::uint32_t root, std::uint32_t storage, std::int64_t first,
                 std::map<LowValue, LowValue>& changed);

/// Appends a value: so many elements in a row of `whole`, from element `first` of a storage on.
LowValue add_stretch(Lowered& lowered, LowValue whole, std::uint32_t storage, std::int64_t first, std::int64_t count);

/// Appends a storage for so many elements of `whole`, from its element `first` on, at their place in its slot.
std::uint32_t add_part(Lowered& lowered, LowValue whole, std::int64_t first, std::int64_t count);

/// Splits the buffers of what is used part by part.
class UsedRanges {
 public:
  UsedRanges(Lowered& lowered, std::vector<ProgramStep>& steps) : lowered_(lowered), steps_(steps) {}

  struct Source {
    LowValue value = kNone;  ///< fills its storage
    LowValue next = kNone;   ///< what it is assigned, or kNone
  };
  /// Steps that read a part of a source have a buffer for that part: these are returned, one per part. Steps behind the
  /// one that makes `next`, and all others, use the buffer of the whole as before. Parts may overlap.
  std::vector<LowValue> split_reads(const std::vector<Source>& sources);
  /// Whether these steps, which make `value`, each make a part of it that nobody else of them uses.
  bool makes_ranges(LowValue value, const std::vector<std::size_t>& makers) const;
  /// The parts, which then have buffers of their own in these steps.
  std::vector<LowValue> split_made(LowValue value, const std::vector<std::size_t>& makers);

 private:
  struct Range {
    std::int64_t first = 0, end = 0;
    auto operator<=>(const Range&) const = default;
  };

  /// What a value is of its storage, from the first to the last element.
  Range range_of(LowValue value) const;
  /// What a step uses of a storage; nothing where it uses none.
  std::optional<Range> range_of(const ProgramStep& step, std::uint32_t root) const;
  /// Widened to whole blocks of a store.
  Range widened(Range range, std::int64_t all) const;
  /// Steps by number, with what they use: a buffer for each range.
  std::vector<LowValue> split(LowValue whole, const std::vector<std::pair<std::size_t, Range>>& users);

  Lowered& lowered_;
  std::vector<ProgramStep>& steps_;
};

}  // namespace baleen
