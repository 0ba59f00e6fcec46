/// \file The table of what there is, and where which pays.
#include "algorithm.hpp"

#include <algorithm>
#include <bit>

#include "baleen/collective.hpp"

namespace baleen::ucx {
namespace {

constexpr std::string_view kNames[] = {
    "direct",  "recursive_doubling", "halving_doubling", "pairwise", "subtrees", "ring", "bruck", "tree",
    "scatter", "dissemination"};

// The algorithms of an operation.
std::vector<Algorithm> known(baleen_collective_t op) {
  using enum Algorithm;
  switch (op) {
    case BALEEN_ALL_REDUCE: return {kDirect, kRecursiveDoubling, kHalvingDoubling, kPairwise, kRing};
    case BALEEN_REDUCE_SCATTER: return {kPairwise, kRing};
    case BALEEN_REDUCE: return {kDirect, kSubtrees, kPairwise};
    case BALEEN_ALL_GATHER: return {kPairwise, kRing, kBruck};
    case BALEEN_BROADCAST: return {kTree, kScatter};
    case BALEEN_ALL_TO_ALL: return {kPairwise, kBruck};
    case BALEEN_BARRIER: return {kDissemination};
    default: return {kDirect};
  }
}

constexpr baleen_collective_t kChoosable[] = {BALEEN_ALL_REDUCE, BALEEN_REDUCE_SCATTER, BALEEN_REDUCE,
                                              BALEEN_ALL_GATHER, BALEEN_BROADCAST,      BALEEN_ALL_TO_ALL};

// Above these sizes moving fewer bytes is worth more than fewer messages.
constexpr std::uint64_t kDirectBytes = 16 << 10, kDoublingBytes = 32 << 10, kBruckBytes = 4 << 10,
                        kTreeBytes = 64 << 10;

std::string choices() {
  std::string all;
  for (const baleen_collective_t op : kChoosable) {
    all += all.empty() ? "" : "; ";
    all += std::string(collective_name(op)) + ":";
    for (const Algorithm algorithm : known(op)) all += " " + std::string(algorithm_name(algorithm));
  }
  return all;
}

Algorithm best(const Question& q) {
  using enum Algorithm;
  const bool power = std::has_single_bit(q.members), few = q.members <= 4;
  switch (q.op) {
    case BALEEN_ALL_REDUCE:
      if (q.bytes * (q.members - 1) <= kDirectBytes || (few && q.bytes <= kDirectBytes)) return kDirect;
      if (power && !q.halves && q.bytes <= kDoublingBytes) return kRecursiveDoubling;
      return kPairwise;
    // The root sends nothing, as transport.h counts it. Where partial sums would be rounded it would receive too much
    // of many.
    case BALEEN_REDUCE:
      if (q.bytes <= kDirectBytes) return kDirect;
      if (objection(kSubtrees, q).empty()) return kSubtrees;
      return few ? kDirect : kPairwise;
    case BALEEN_ALL_GATHER:
    case BALEEN_ALL_TO_ALL: return !few && q.bytes <= kBruckBytes && objection(kBruck, q).empty() ? kBruck : kPairwise;
    case BALEEN_BROADCAST: return q.members <= 2 || q.bytes <= kTreeBytes ? kTree : kScatter;
    case BALEEN_REDUCE_SCATTER: return kPairwise;
    case BALEEN_BARRIER: return kDissemination;
    default: return kDirect;
  }
}

}  // namespace

std::string_view algorithm_name(Algorithm algorithm) { return kNames[static_cast<std::size_t>(algorithm)]; }

Result<Overrides> Overrides::parse(const std::vector<std::string_view>& entries) {
  Overrides all;
  for (const std::string_view entry : entries) {
    const std::size_t equals = entry.find('=');
    const std::string_view op_name = entry.substr(0, equals),
                           name = equals == entry.npos ? std::string_view() : entry.substr(equals + 1);
    const auto op = std::find_if(std::begin(kChoosable), std::end(kChoosable),
                                 [&](baleen_collective_t one) { return collective_name(one) == op_name; });
    const auto refuse = [&] {
      return invalid("`algorithm` has the entry `" + std::string(entry) +
                     "`; write `operation=algorithm`, of these: " + choices());
    };
    if (op == std::end(kChoosable)) return refuse();
    const std::vector<Algorithm> possible = known(*op);
    const auto found =
        std::find_if(possible.begin(), possible.end(), [&](Algorithm one) { return algorithm_name(one) == name; });
    if (found == possible.end()) return refuse();
    all.chosen_[static_cast<std::size_t>(*op)] = *found;
  }
  return all;
}

std::string Overrides::text() const {
  std::string text;
  for (const baleen_collective_t op : kChoosable)
    if (const auto algorithm = of(op))
      text += std::string(algorithm_name(*algorithm)) + ",";
    else
      text += "-,";
  return text;
}

std::string objection(Algorithm algorithm, const Question& q) {
  using enum Algorithm;
  const bool doubles = algorithm == kRecursiveDoubling || algorithm == kHalvingDoubling;
  if (doubles && !std::has_single_bit(q.members))
    return "needs a power of two of members, not " + std::to_string(q.members);
  const bool adds_on_the_way = doubles || (algorithm == kRing && is_reducing(q.op));
  if (algorithm == kSubtrees && q.halves && q.deterministic && q.members > 2)
    return "sends partial sums, which bf16 and fp16 would round";
  if (adds_on_the_way && q.halves && q.deterministic) return "sends partial sums, which bf16 and fp16 would round";
  if (algorithm == kRing && is_reducing(q.op) && q.deterministic && q.members > 2)
    return "adds in the order of the ring, and the sums are to be deterministic";
  if (algorithm == kBruck && q.on_device) return "joins messages, which stay apart in a device's memory";
  if (algorithm == kBruck && q.op == BALEEN_ALL_TO_ALL && !q.even) return "needs pieces of one size";
  return {};
}

Algorithm choose(const Question& question, const Overrides& overrides) {
  const auto wanted = overrides.of(question.op);
  return wanted && objection(*wanted, question).empty() ? *wanted : best(question);
}

}  // namespace baleen::ucx
