/// \file Lists what a rank begins, and compares digests of the lists on rank 0.
#include "frontend/engine/start_order.hpp"

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "baleen/collective.hpp"
#include "frontend/checkpoint/digests.hpp"
#include "frontend/engine/line_difference.hpp"

namespace baleen::app {
namespace {

using Members = std::vector<std::int64_t>;

/// Who begins what together: the members of a group, or two that send to each other.
struct Circle {
  Members ranks;
  bool messages = false;
  friend auto operator<=>(const Circle&, const Circle&) = default;
};

/// Lists what a run of each program begins.
class Lister {
 public:
  Lister(const Mesh& mesh, std::int64_t rank) : mesh_(mesh), rank_(rank) {}

  void add(const std::string& program, const Executable& all) {
    for (const ExecutableCall& call : all.calls) prepare(program, call);
    static_cast<void>(for_each_turn(all, [&](std::size_t segment, std::int64_t micro, std::int64_t turns) {
      begin(all, all.segments[segment], micro, turns);
      return Status();
    }));
  }

  std::vector<SharedStarts> take() {
    std::vector<SharedStarts> list;
    for (auto& [circle, starts] : starts_) {
      if (circle.messages) sort(starts);
      list.push_back(std::move(starts));
    }
    return list;
  }

 private:
  static void sort(SharedStarts& starts) {
    std::ranges::sort(starts.order, {}, [&](std::uint32_t number) { return starts.texts[number]; });
  }

  Circle circle_of(const ExecutableCall& call) const {
    std::vector<int> numbers;
    for (const std::string& axis : call.axes) numbers.push_back(mesh_.find(axis));
    const Members members = group(mesh_, rank_, numbers);
    if (!is_pairwise(call.op)) return {members, false};
    const std::int64_t peer = members[call.root];
    return {{std::min(rank_, peer), std::max(rank_, peer)}, true};
  }

  /// Transports compare the arguments of what is prepared, in this order: a number stands for them.
  void prepare(const std::string& program, const ExecutableCall& call) {
    const Circle circle = circle_of(call);
    SharedStarts& starts = starts_[circle];
    starts.ranks = circle.ranks;
    starts.messages = circle.messages;
    std::string text = std::string(collective_name(call.op)) + " at " + line_of_place(call.where) + " (collective " +
                       std::to_string(starts.texts.size() + 1) + " of these ranks)";
    if (circle.messages) {
      const bool sends = call.op == BALEEN_SEND;
      const std::int64_t peer = circle.ranks[circle.ranks[0] == rank_ ? 1 : 0];
      text = "a message from rank " + std::to_string(sends ? rank_ : peer) + " to rank " +
             std::to_string(sends ? peer : rank_);
    }
    places_[&call] = {&starts, static_cast<std::uint32_t>(starts.texts.size())};
    starts.texts.push_back(text + " in `" + program + "`");
  }

  void begin(const Executable& all, const Segment& segment, std::int64_t micro, std::int64_t turns) {
    for (const Instruction& one : segment.instructions) {
      if (one.kind != Instruction::Kind::begin || !is_due(one.guard, micro, turns)) continue;
      const auto& [starts, number] = places_.at(&all.calls[one.call]);
      starts->order.push_back(number);
    }
  }

  const Mesh& mesh_;
  const std::int64_t rank_;
  std::map<Circle, SharedStarts> starts_;
  std::map<const ExecutableCall*, std::pair<SharedStarts*, std::uint32_t>> places_;
};

std::string key_of(const SharedStarts& one) {
  return digest_text(XXH3_64bits(one.ranks.data(), one.ranks.size() * sizeof one.ranks[0])) +
         (one.messages ? "m:" : ":") + std::to_string(one.ranks.size());
}

std::string text_of(const SharedStarts& one) {
  std::string text;
  for (const std::string& line : one.lines()) text += line + '\n';
  return text;
}

std::string digest_of(const SharedStarts& one) {
  std::vector<XXH64_hash_t> texts, order;
  for (const std::string& text : one.texts) texts.push_back(XXH3_64bits(text.data(), text.size()));
  for (const std::uint32_t number : one.order) order.push_back(texts[number]);
  return digest_text(XXH3_64bits(order.data(), order.size() * sizeof(XXH64_hash_t)));
}

std::string digests_of(const std::vector<SharedStarts>& all) {
  std::string text;
  for (const SharedStarts& one : all) text += key_of(one) + ' ' + digest_of(one) + '\n';
  return text;
}

/// In place of a rank: some of a group list nothing for it.
constexpr std::int64_t kNobody = -1;

/// What rank 0 finds: two ranks that differ, and in which group.
struct Difference {
  std::int64_t one = 0, two = 0;
  std::string key;
};

Result<std::optional<Difference>> find_difference(RankLink& link, const std::string& name) {
  struct First {
    std::string digest;
    std::int64_t rank;
    std::size_t told = 0;
  };
  std::map<std::string, First> firsts;
  for (int rank = 0; rank < link.place().ranks; ++rank) {
    BALEEN_TRY_ASSIGN(const std::string digests, link.get(name + std::to_string(rank)));
    std::istringstream lines(digests);
    for (std::string key, digest; lines >> key >> digest;) {
      First& first = firsts.try_emplace(key, First{digest, rank}).first->second;
      if (first.digest != digest) return std::optional(Difference{first.rank, rank, key});
      ++first.told;
    }
  }
  for (const auto& [key, first] : firsts)
    if (std::to_string(first.told) != key.substr(key.find(':') + 1))
      return std::optional(Difference{first.rank, kNobody, key});
  return std::optional<Difference>();
}

std::string text_of(const Difference& found, const LineDifference& lines) {
  return (found.two == kNobody ? "another of its ranks" : "rank " + std::to_string(found.two)) + " begins " +
         lines.two + " where rank " + std::to_string(found.one) + " begins " + lines.one + ": number " +
         std::to_string(lines.number) + " of what they begin together";
}

}  // namespace

std::vector<std::string> SharedStarts::lines() const {
  std::vector<std::string> all;
  for (const std::uint32_t number : order) all.push_back(texts[number]);
  return all;
}

NamedExecutables executables_of(const std::vector<JobProgram>& programs) {
  NamedExecutables list;
  for (const JobProgram& one : programs) list.emplace_back(one.name, &one.program.executable());
  return list;
}

std::vector<SharedStarts> shared_starts(const NamedExecutables& programs, const Mesh& mesh, std::int64_t rank) {
  Lister lister(mesh, rank);
  for (const auto& [name, executable] : programs) lister.add(name, *executable);
  return lister.take();
}

Status compare_starts(RankLink& link, const std::vector<SharedStarts>& own) {
  const std::string digests = "collectives begun by rank ", details = "collectives in detail of rank ";
  const std::string verdict = "collectives compared";
  const std::int64_t rank = link.place().rank;
  BALEEN_TRY(link.put(digests + std::to_string(rank), digests_of(own)));
  if (rank == 0) {
    BALEEN_TRY_ASSIGN(const auto found, find_difference(link, digests));
    std::ostringstream text;
    if (found) text << found->one << ' ' << found->two << ' ' << found->key;
    BALEEN_TRY(link.put(verdict, text.str()));
  }
  BALEEN_TRY_ASSIGN(const std::string told, link.get(verdict));
  if (told.empty()) return {};
  Difference found;
  std::istringstream(told) >> found.one >> found.two >> found.key;
  if (rank == found.one || rank == found.two) {
    const auto mine = std::ranges::find(own, found.key, key_of);
    if (mine == own.end()) return internal("rank " + std::to_string(rank) + " shares no collectives as it said");
    BALEEN_TRY(link.put(details + std::to_string(rank), text_of(*mine)));
  }
  BALEEN_TRY_ASSIGN(const std::string one, link.get(details + std::to_string(found.one)));
  std::string two;
  if (found.two != kNobody) {
    BALEEN_TRY_ASSIGN(two, link.get(details + std::to_string(found.two)));
  }
  const auto differ = first_difference(one, two);
  if (!differ) return internal("ranks that begin the same have different digests of it");
  return invalid(
      text_of(found, *differ) +
      "; a strategy must plan the same on every rank (in equal calls of equal functions, whatever the rank)");
}

}  // namespace baleen::app
