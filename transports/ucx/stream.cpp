/// \file Adds, cuts and joins streams of several buffers.
#include "stream.hpp"

#include <algorithm>

namespace baleen::ucx {
namespace {

// Shorter spans are copied together: a message costs about as much.
constexpr std::uint64_t kShort = 16 << 10;

std::byte* at(const void* data, std::uint64_t bytes) {
  return data ? static_cast<std::byte*>(const_cast<void*>(data)) + bytes : nullptr;
}

}  // namespace

void Stream::add(const void* data, std::uint64_t bytes) {
  if (bytes == 0) return;
  spans_.push_back(at(data, 0));
  ends_.push_back(this->bytes() + bytes);
}

void Stream::append(const Stream& other) {
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < other.spans_.size(); begin = other.ends_[i++])
    add(other.spans_[i], other.ends_[i] - begin);
}

Stream Stream::part(Range range) const {
  Stream out;
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < spans_.size() && begin < range.end; begin = ends_[i++]) {
    const std::uint64_t low = std::max(begin, range.begin), high = std::min(ends_[i], range.end);
    if (low < high) out.add(at(spans_[i], low - begin), high - low);
  }
  return out;
}

Stream Stream::moved(Range range, std::byte* base) const {
  Stream out = part(range);
  for (std::size_t i = 0; i < out.spans_.size(); ++i) out.spans_[i] = base + (i == 0 ? 0 : out.ends_[i - 1]);
  return out;
}

std::vector<Span> Stream::slice(Range range) const {
  std::vector<Span> all;
  const Stream cut = part(range);
  for (std::size_t i = 0; i < cut.spans_.size(); ++i) {
    const std::uint64_t bytes = cut.ends_[i] - (i == 0 ? 0 : cut.ends_[i - 1]);
    if (!all.empty() && all.back().data && all.back().data + all.back().bytes == cut.spans_[i])
      all.back().bytes += bytes;
    else
      all.push_back({cut.spans_[i], bytes});
  }
  return all;
}

std::vector<Range> Stream::messages(Range range, std::uint64_t limit, bool apart) const {
  std::vector<Range> all;
  const Stream cut = part(range);
  bool open = false;  // the last message takes more short spans
  std::uint64_t begin = 0;
  for (const std::uint64_t end : cut.ends_) {
    const bool is_short = end - begin < kShort && !apart;
    if (open && is_short && range.begin + end - all.back().begin <= limit) {
      all.back().end = range.begin + end;
    } else {
      for (std::uint64_t low = begin; low < end; low += std::min(limit, end - low))
        all.push_back({range.begin + low, range.begin + std::min(end, low + std::min(limit, end - low))});
    }
    open = is_short;
    begin = end;
  }
  return all;
}

std::vector<Range> common_ranges(const std::vector<const Stream*>& streams, Range range) {
  std::vector<std::uint64_t> cuts = {range.begin, range.end};
  for (const Stream* stream : streams) {
    std::uint64_t at = range.begin;
    for (const Span& span : stream->slice(range)) cuts.push_back(at += span.bytes);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<Range> ranges;
  for (std::size_t i = 1; i < cuts.size(); ++i) ranges.push_back({cuts[i - 1], cuts[i]});
  return ranges;
}

Stream whole_input(const Collective& c) {
  Stream stream;
  for (const CollectiveEntry& e : c.entries) stream.add(e.input, e.count * c.width());
  return stream;
}

Stream whole_output(const Collective& c) {
  Stream stream;
  for (const CollectiveEntry& e : c.entries) stream.add(e.output, e.count * c.width());
  return stream;
}

Stream input_for(const Collective& c, std::size_t to) {
  Stream stream;
  for (const CollectiveEntry& e : c.entries) {
    std::uint64_t first = e.block_of(to).begin, count = e.block_of(to).size();
    if (c.op == BALEEN_ALL_TO_ALL) {
      first = 0;
      for (std::size_t before = 0; before < to; ++before) first += c.sends(e, before);
      count = c.sends(e, to);
    }
    stream.add(at(e.input, first * c.width()), count * c.width());
  }
  return stream;
}

Stream output_from(const Collective& c, std::size_t from) {
  Stream stream;
  for (const CollectiveEntry& e : c.entries) {
    std::uint64_t first = e.block_of(from).begin, count = e.block_of(from).size();
    if (c.op == BALEEN_ALL_TO_ALL) {
      first = 0;
      for (std::size_t before = 0; before < from; ++before) first += c.receives(e, before);
      count = c.receives(e, from);
    }
    stream.add(at(e.output, first * c.width()), count * c.width());
  }
  return stream;
}

Stream own_input(const Collective& c) {
  Stream stream;
  for (const CollectiveEntry& e : c.entries) stream.add(e.input, e.block_of(c.place).size() * c.width());
  return stream;
}

Stream own_output(const Collective& c) {
  Stream stream;
  for (const CollectiveEntry& e : c.entries) stream.add(e.output, e.block_of(c.place).size() * c.width());
  return stream;
}

}  // namespace baleen::ucx
