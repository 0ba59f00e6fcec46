/// \file What travels, of all entries of a collective one after the other, as one array of bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "baleen/collective.hpp"

namespace baleen::ucx {

/// Bytes that lie together.
struct Span {
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
};

/// Bytes [begin, end) of a stream.
struct Range {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t size() const { return end - begin; }
};

/// Spans in their order. Members know each other's cuts, for entries are of equal sizes everywhere, but not addresses:
/// a stream may have cuts and no memory.
class Stream {
 public:
  void add(const void* data, std::uint64_t bytes);
  void append(const Stream& other);
  std::uint64_t bytes() const { return ends_.empty() ? 0 : ends_.back(); }
  Range all() const { return {0, bytes()}; }

  /// A range as spans; neighbours in memory are one.
  std::vector<Span> slice(Range range) const;
  /// The messages that a range travels in, a function of the cuts alone: long spans go on their own, short neighbours
  /// together, none above `limit`. `apart`: short ones go on their own too.
  std::vector<Range> messages(Range range, std::uint64_t limit, bool apart = false) const;
  /// The cuts of a range, in contiguous memory.
  Stream moved(Range range, std::byte* base) const;
  /// A range of it as a stream.
  Stream part(Range range) const;

 private:
  std::vector<std::byte*> spans_;
  std::vector<std::uint64_t> ends_;
};

/// The ranges of `range` in which all streams are contiguous.
std::vector<Range> common_ranges(const std::vector<const Stream*>& streams, Range range);

/// All that a member brings and gets, of an operation on whole buffers.
Stream whole_input(const Collective& c);
Stream whole_output(const Collective& c);
/// What a member brings for `to` (REDUCE_SCATTER, ALL_TO_ALL), gets of `from` (ALL_GATHER, ALL_TO_ALL).
Stream input_for(const Collective& c, std::size_t to);
Stream output_from(const Collective& c, std::size_t from);
/// The member's own block, where its input (ALL_GATHER) or output (REDUCE_SCATTER) is one.
Stream own_input(const Collective& c);
Stream own_output(const Collective& c);

}  // namespace baleen::ucx
