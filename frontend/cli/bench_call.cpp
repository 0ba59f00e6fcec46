/// \file Sizes, entries and expected results of a measured collective.
#include "frontend/cli/bench_call.hpp"

#include <algorithm>

#include "baleen/plugin.hpp"

namespace baleen::app {
namespace {

/// What a member has at a place of its buffer. Sums over some thousand members are exact in fp32.
float number(std::uint64_t member, std::uint64_t at) { return static_cast<float>((member + 1) * (at % 5 + 1)); }

/// How many of `found` differ from expected(place).
template <class Expected>
std::uint64_t differing(const float* found, std::uint64_t length, const Expected& expected) {
  std::uint64_t differ = 0;
  for (std::uint64_t at = 0; at < length; ++at) differ += found[at] != expected(at);
  return differ;
}

}  // namespace

const BenchKind* find_bench_kind(std::string_view name) {
  const auto* found = std::find_if(std::begin(kBenchKinds), std::end(kBenchKinds),
                                   [&](const BenchKind& kind) { return name == kind.name; });
  return found == std::end(kBenchKinds) ? nullptr : found;
}

BenchCall::BenchCall(const BenchKind& what, std::uint64_t own_place, std::uint64_t count_of_members,
                     std::uint64_t bytes, float* from, float* to)
    : kind(what), place(own_place), members(count_of_members), input(from), output(to) {
  const std::uint64_t elements = kind.shape == BenchShape::nothing ? 0 : std::max<std::uint64_t>(1, (bytes + 3) / 4);
  block = (elements + members - 1) / members;
  count = kind.shape == BenchShape::whole || kind.shape == BenchShape::pair ? elements : block * members;
  for (std::uint64_t other = 0; other < members; ++other) {
    destinations.push_back(static_cast<std::int32_t>((other + 1) % members));
    sends.push_back(piece(place, other));
    receives.push_back(piece(other, place));
  }
}

std::uint64_t BenchCall::piece(std::uint64_t from, std::uint64_t to) const {
  switch (kind.shape) {
    case BenchShape::gather: return to == 0 ? block : 0;
    case BenchShape::scatter: return from == 0 ? block : 0;
    case BenchShape::uneven: return (from + to) % 2 ? block + block / 3 : block - block / 3;
    default: return block;
  }
}

std::uint64_t BenchCall::most() const {
  std::uint64_t most = count;
  if (!exchanges()) return most;
  for (std::uint64_t member = 0; member < members; ++member) {
    std::uint64_t sent = 0, received = 0;
    for (std::uint64_t other = 0; other < members; ++other) {
      sent += piece(member, other);
      received += piece(other, member);
    }
    most = std::max({most, sent, received});
  }
  return most;
}

void BenchCall::fill() const {
  const std::uint64_t length = most();
  for (std::uint64_t at = 0; at < length; ++at) {
    input[at] = number(place, at);
    output[at] = -1;
  }
}

CollectiveEntry BenchCall::entry() const {
  const std::uint64_t own = place * block;
  switch (kind.op) {
    case BALEEN_REDUCE_SCATTER: return {input, input + own, count, block, {}, {}};
    case BALEEN_ALL_GATHER: return {input + own, input, count, block, {}, {}};
    case BALEEN_ALL_TO_ALL:
      if (kind.shape == BenchShape::pieces) return {input, output, count, block, {}, {}};
      return {input, output, 0, 0, sends, receives};
    case BALEEN_PERMUTE: return {input, output, count, 0, {}, {}};
    case BALEEN_REDUCE: return {input, place == 0 ? input : nullptr, count, 0, {}, {}};
    default: return {input, input, count, 0, {}, {}};
  }
}

Status BenchCall::add(Communicator& communicator, const std::vector<std::string>& axes, baleen_collective_t op,
                      std::size_t root, CollectiveEntry only) {
  CollectiveArgs call;
  call.op = op;
  if (is_reducing(op)) call.reduction = BALEEN_SUM;
  call.dtype = BALEEN_F32;
  call.root = root;
  if (op != BALEEN_BARRIER) call.entries = {std::move(only)};
  if (op == BALEEN_PERMUTE) call.destinations = destinations;
  call.where = kind.name;
  BALEEN_TRY_ASSIGN(void* slot, communicator.prepare(axes, std::move(call)));
  slots.push_back(slot);
  return {};
}

Status BenchCall::prepare(Communicator& communicator, const std::vector<std::string>& axes) {
  if (kind.shape != BenchShape::pair) return add(communicator, axes, kind.op, 0, entry());
  BALEEN_TRY(communicator.meet(axes));
  if (place > 1) return {};
  const std::size_t peer = place == 0 ? 1 : 0;
  for (const bool sending : {place == 0, place != 0}) {
    const CollectiveEntry out{input, nullptr, count, 0, {}, {}}, in{nullptr, output, count, 0, {}, {}};
    BALEEN_TRY(add(communicator, axes, sending ? BALEEN_SEND : BALEEN_RECEIVE, peer, sending ? out : in));
  }
  return {};
}

std::uint64_t BenchCall::wrong_sums() const {
  if (kind.op == BALEEN_REDUCE && place != 0) return 0;
  const std::uint64_t sum = members * (members + 1) / 2;
  const auto of_members = static_cast<float>(sum);
  const std::uint64_t begin = kind.op == BALEEN_REDUCE_SCATTER ? place * block : 0;
  return differing(input + begin, kind.op == BALEEN_REDUCE_SCATTER ? block : count,
                   [&](std::uint64_t at) { return of_members * number(0, begin + at); });
}

std::uint64_t BenchCall::wrong_pieces() const {
  std::uint64_t wrong = 0;
  const float* found = output;
  for (std::uint64_t from = 0; from < members; ++from) {
    std::uint64_t before = 0;  // of this piece in its sender's buffer
    for (std::uint64_t to = 0; to < place; ++to) before += piece(from, to);
    wrong += differing(found, piece(from, place), [&](std::uint64_t at) { return number(from, before + at); });
    found += piece(from, place);
  }
  return wrong;
}

std::uint64_t BenchCall::wrong() const {
  switch (kind.op) {
    case BALEEN_ALL_REDUCE:
    case BALEEN_REDUCE:
    case BALEEN_REDUCE_SCATTER: return wrong_sums();
    case BALEEN_ALL_GATHER: return differing(input, count, [&](std::uint64_t at) { return number(at / block, at); });
    case BALEEN_BROADCAST: return differing(input, count, [](std::uint64_t at) { return number(0, at); });
    case BALEEN_ALL_TO_ALL: return wrong_pieces();
    case BALEEN_PERMUTE:
      return differing(output, count, [&](std::uint64_t at) { return number((place + members - 1) % members, at); });
    case BALEEN_SEND:
      return slots.empty() ? 0 : differing(output, count, [&](std::uint64_t at) { return number(1 - place, at); });
    default: return 0;
  }
}

}  // namespace baleen::app
