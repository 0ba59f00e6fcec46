/// \file The choice of a compiler, and the small ones.
#include "compile.hpp"

#include <algorithm>

namespace baleen::ucx {
namespace {

// The longest message of operations that only move data. Its only purpose is that no message is longer than libraries
// can handle.
constexpr std::uint64_t kLongest = std::uint64_t{1} << 26;

std::uint64_t longest_stream(const Collective& c) {
  std::uint64_t bytes = 0;
  for (const CollectiveEntry& e : c.entries) bytes += std::max(e.count, e.block * c.members) * c.width();
  return bytes;
}

}  // namespace

ProgramBuilder Compilation::builder(std::uint64_t limit) const {
  const Reduction reduction = is_reducing(mine.op) ? best_reduction(mine.dtype, mine.reduction) : nullptr;
  ProgramBuilder build(members(), std::max<std::size_t>(mine.width(), 1), reduction, scratch, limit, adds, access);
  if (devices) build.use_devices(*devices, me());
  return build;
}

Range share_of(std::uint64_t bytes, std::size_t r, std::size_t members) {
  constexpr std::uint64_t kLine = 64;
  const std::uint64_t lines = (bytes + kLine - 1) / kLine, each = (lines + members - 1) / members * kLine;
  return {std::min(bytes, r * each), std::min(bytes, (r + 1) * each)};
}

Range part_of(Range range, std::uint64_t k, std::uint64_t step) {
  const std::uint64_t begin = std::min(range.end, range.begin + k * step);
  return {begin, std::min(range.end, begin + step)};
}

std::uint64_t parts_of(Range range, std::uint64_t step) { return (range.size() + step - 1) / step; }

Question question_of(const Collective& c) {
  Question q;
  q.op = c.op;
  q.members = c.members;
  q.bytes = longest_stream(c);
  q.deterministic = c.deterministic;
  q.halves = c.dtype == BALEEN_BF16 || c.dtype == BALEEN_F16;
  q.even = std::all_of(c.entries.begin(), c.entries.end(), [](const CollectiveEntry& e) { return e.sends.empty(); });
  return q;
}

Program compile_permute(const Compilation& c) {
  ProgramBuilder build = c.builder(kLongest);
  const std::int32_t to = c.mine.destinations[c.me()], from = c.mine.source();
  const Stream input = whole_input(c.mine), output = whole_output(c.mine);
  const bool sends = to >= 0, receives = from >= 0;
  if (sends && static_cast<std::size_t>(to) == c.me()) {
    build.copy(output, output.all(), input, input.all());
    return build.finish();
  }
  // In place: what arrives must not overwrite what has not left.
  bool in_place = false;
  for (const CollectiveEntry& e : c.mine.entries) in_place = in_place || (e.count > 0 && e.input == e.output);
  for (std::uint64_t at = 0; at < input.bytes(); at += c.step()) {
    const Range range{at, std::min(at + c.step(), input.bytes())};
    const bool waits = sends && receives && in_place;
    const Stream landing = waits ? input.moved(range, build.scratch(range.size())) : output.part(range);
    ProgramBuilder::Id arrived = Program::kNone, sent = Program::kNone;
    if (receives) arrived = build.receive(static_cast<std::size_t>(from), landing, landing.all());
    if (sends) sent = build.send(static_cast<std::size_t>(to), input, range);
    if (waits) build.copy(output, range, landing, landing.all(), {arrived, sent});
    build.end_piece();
  }
  return build.finish();
}

Program compile_pair(const Compilation& c) {
  ProgramBuilder build = c.builder(kLongest);
  const bool sends = c.mine.op == BALEEN_SEND;
  const Stream stream = sends ? whole_input(c.mine) : whole_output(c.mine);
  for (std::uint64_t at = 0; at < stream.bytes(); at += kLongest) {
    const Range range{at, std::min(at + kLongest, stream.bytes())};
    if (sends)
      build.send(c.mine.root, stream, range);
    else
      build.receive(c.mine.root, stream, range);
    build.end_piece();
  }
  if (stream.bytes() == 0) {  // still an event: the sender was there
    if (sends)
      build.send_token(c.mine.root);
    else
      build.receive_token(c.mine.root);
  }
  return build.finish();
}

Program compile_barrier(const Compilation& c) {
  ProgramBuilder build = c.builder(kLongest);
  ProgramBuilder::Id last = Program::kNone;
  for (std::size_t distance = 1; distance < c.members(); distance *= 2) {
    const auto heard = build.receive_token(c.before(distance));
    build.send_token(c.after(distance), {last});
    last = build.join({heard, last});
  }
  return build.finish();
}

Program compile(const Compilation& c, Algorithm algorithm) {
  using enum Algorithm;
  switch (c.mine.op) {
    case BALEEN_ALL_REDUCE:
    case BALEEN_REDUCE:
    case BALEEN_REDUCE_SCATTER:
      switch (algorithm) {
        case kDirect: return compile_direct_reduce(c);
        case kRecursiveDoubling: return compile_doubling(c);
        case kHalvingDoubling: return compile_halving(c);
        case kRing: return compile_ring_reduce(c);
        case kSubtrees: return compile_subtree_reduce(c);
        default: return compile_pairwise_reduce(c);
      }
    case BALEEN_ALL_GATHER: return compile_gather(c, algorithm);
    case BALEEN_BROADCAST: return compile_broadcast(c, algorithm);
    case BALEEN_ALL_TO_ALL: return compile_exchange(c, algorithm);
    case BALEEN_PERMUTE: return compile_permute(c);
    case BALEEN_SEND:
    case BALEEN_RECEIVE: return compile_pair(c);
    default: return compile_barrier(c);
  }
}

}  // namespace baleen::ucx
