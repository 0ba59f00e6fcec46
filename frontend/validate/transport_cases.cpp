/// \file What every transport must do: each collective gives what plain loops give, on ranks that are processes.
#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "baleen/event.hpp"
#include "baleen/host.hpp"
#include "baleen/transport.h"
#include "frontend/validate/cases.hpp"
#include "frontend/validate/rank_processes.hpp"
#include "frontend/validate/tried_collective.hpp"

namespace baleen::validate {
namespace {

constexpr std::size_t kAround = 64;  // bytes before and behind each buffer
constexpr unsigned char kBeside = 0xa5;

/// A rank that has joined.
class Joined {
 public:
  Joined(const Subject& subject, const RankPlace& place, Mark& mark)
      : plugin_(subject, mark), settings_(settings_of(subject)), place_(place) {
    const baleen_status_t status = plugin_.call("`create`", table().create, plugin_.host(), settings_.get(),
                                                static_cast<const baleen_rendezvous_t*>(&place_.rendezvous),
                                                baleen_transport_flags_t{0}, &handle_);
    if (status == BALEEN_UNSUPPORTED || status == BALEEN_NOT_FOUND)
      throw Skip("no ranks can join here: " + plugin_.refusal("`create`", status).message);
    if (status != BALEEN_OK) throw Failure("`create` fails: " + plugin_.refusal("`create`", status).message);
    if (!handle_) throw Failure("`create` returns OK and gives no transport");
  }
  Joined(const Joined&) = delete;

  void leave() { plugin_.call("`destroy`", table().destroy, handle_); }
  const baleen_transport_t& table() const { return plugin_.table<baleen_transport_t>(); }
  const Opened& plugin() const { return plugin_; }
  void* get() const { return handle_; }
  std::int32_t rank() const { return place_.rank; }
  std::int32_t ranks() const { return place_.ranks; }

  void* group(const std::vector<std::int32_t>& members) {
    void* made = nullptr;
    plugin_.ok("`group_create`", table().group_create, handle_, members.data(), std::uint64_t{members.size()}, &made);
    return made;
  }
  void* world() {
    std::vector<std::int32_t> all;
    for (std::int32_t rank = 0; rank < ranks(); ++rank) all.push_back(rank);
    return group(all);
  }
  /// Starts a slot and waits for its end.
  void run(const std::string& what, void* slot) {
    baleen_event_t done{};
    done.size = sizeof done;
    plugin_.ok("`start` of " + what, table().start, handle_, slot, static_cast<baleen_event_t*>(nullptr),
               std::uint64_t{0}, &done, std::uint64_t{1});
    plugin_.call("the wait for " + what, [&] { event_wait(done, 1); });
    if (event_value(done) != BALEEN_EVENT_FAILED) return;
    const baleen_status_t status = plugin_.call("`check`", table().check, handle_);
    if (status == BALEEN_OK) throw Failure(what + " fails, and `check` knows of nothing");
    throw Failure(what + " fails: " + plugin_.refusal("`check`", status).message);
  }

 private:
  Opened plugin_;
  SettingsStorage settings_;
  RankPlace place_;
  void* handle_ = nullptr;
};

/// A buffer with bytes around it that nobody may touch.
class Guarded {
 public:
  Guarded(std::size_t bytes, unsigned char* own) : bytes_(bytes) {
    if (!own) kept_.resize(bytes + 2 * kAround);
    base_ = own ? own : kept_.data();
    std::fill_n(base_, bytes + 2 * kAround, kBeside);
  }
  unsigned char* data() const { return bytes_ > 0 ? base_ + kAround : nullptr; }
  void check(const std::string& what) const {
    for (std::size_t i = 0; i < kAround; ++i)
      if (base_[i] != kBeside || base_[kAround + bytes_ + i] != kBeside)
        throw Failure(what + ": memory beside a buffer has changed");
  }

 private:
  std::size_t bytes_;
  std::vector<unsigned char> kept_;
  unsigned char* base_ = nullptr;
};

/// One tensor of a collective on a member: its buffers, what goes in, and what must come out.
class Part {
 public:
  Part(const Part&) = delete;
  Part(const TriedCollective& what, std::int32_t member, unsigned char* own)
      : what_(what),
        width_(dtype_size(what.dtype)),
        input_((what.in_place ? what.whole() : what.given(member)) * width_, own),
        output_((what.in_place ? 0 : what.got(member)) * width_,
                own ? own + what.given(member) * width_ + 2 * kAround : nullptr),
        inputs_(what.given(member) * width_),
        outputs_(what.got(member) * width_),
        in_(input_.data()),
        out_(what.in_place ? input_.data() : output_.data()) {
    const std::uint64_t block = std::min(what.count, static_cast<std::uint64_t>(member) * what.block()) * width_;
    if (what.in_place && in_ && what.op == BALEEN_ALL_GATHER) in_ += block;
    if (what.in_place && in_ && what.op == BALEEN_REDUCE_SCATTER) out_ += block;
    for (std::uint64_t i = 0; i < what.given(member); ++i)
      put_number(inputs_.data() + i * width_, what.dtype, what.input(member, i));
    for (std::uint64_t i = 0; i < what.got(member); ++i)
      put_number(outputs_.data() + i * width_, what.dtype, what.expected(member, i));
  }

  baleen_collective_entry_t entry() const { return {in_, out_, what_.whole(), what_.block(), nullptr, nullptr}; }
  void fill() const { std::ranges::copy(inputs_, in_); }
  void check() const {
    for (std::size_t i = 0; i < outputs_.size(); i += width_) {
      if (std::equal(outputs_.data() + i, outputs_.data() + i + width_, out_ + i)) continue;
      if (is_nan(outputs_.data() + i, what_.dtype) && is_nan(out_ + i, what_.dtype)) continue;
      throw Failure(what_.text() + " gives a wrong element " + std::to_string(i / width_) +
                    (what_.in_tree ? ": not the sum in the order that `deterministic` stands for" : ""));
    }
    if (!what_.in_place && !std::equal(inputs_.begin(), inputs_.end(), in_))
      throw Failure(what_.text() + " changes its input, which is not its output");
    input_.check(what_.text());
    output_.check(what_.text());
  }

 private:
  TriedCollective what_;
  std::size_t width_;
  Guarded input_, output_;
  std::vector<unsigned char> inputs_, outputs_;
  unsigned char *in_, *out_;
};

/// Prepares one collective over tensors that differ in their counts alone, and runs it three times over. Memory of the
/// transport's own where `own` is not null; then there is one tensor.
void exchange_list(Joined& rank, void* group, std::int32_t member, const std::vector<TriedCollective>& list,
                   unsigned char* own) {
  const TriedCollective& what = list.front();
  std::deque<Part> parts;
  std::vector<baleen_collective_entry_t> entries;
  for (const TriedCollective& one : list) entries.push_back(parts.emplace_back(one, member, own).entry());
  std::vector<std::int32_t> destinations;
  for (std::int32_t m = 0; m < what.members; ++m) destinations.push_back((m + 1) % what.members);
  baleen_collective_spec_t spec{};
  spec.size = sizeof spec;
  spec.op = what.op == BALEEN_SEND && member == 1 ? baleen_collective_t{BALEEN_RECEIVE} : what.op;
  spec.reduction = what.reduces() ? what.reduction : 0;
  spec.dtype = what.dtype;
  spec.root = what.op == BALEEN_SEND ? 1 - member : what.root();
  spec.entries = entries.data();
  spec.entry_count = what.op == BALEEN_BARRIER ? 0 : entries.size();
  spec.destinations = what.op == BALEEN_PERMUTE ? destinations.data() : nullptr;
  spec.deterministic = what.in_tree ? 1 : 0;
  spec.where = abi("validate");
  void* slot = nullptr;
  const std::string name = what.text() + (list.size() > 1 ? ", the first of several tensors" : "");
  const baleen_status_t prepared = rank.plugin().call("`prepare` of " + name, rank.table().prepare, rank.get(), group,
                                                      static_cast<const baleen_collective_spec_t*>(&spec), &slot);
  if (prepared != BALEEN_OK) {
    const Error why = rank.plugin().refusal("`prepare` of " + name, prepared);
    if (what.in_tree && prepared == BALEEN_UNSUPPORTED) throw Skip("it does not sum in one order: " + why.message);
    throw Failure("`prepare` of " + name + " fails: " + why.message);
  }
  for (int again = 0; again < 3; ++again) {
    for (const Part& part : parts) part.fill();
    rank.run(name, slot);
    for (const Part& part : parts) part.check();
  }
}

void exchange(Joined& rank, void* group, std::int32_t member, const TriedCollective& what, unsigned char* own) {
  exchange_list(rank, group, member, {what}, own);
}

/// Nothing, one element, odd numbers of them, and more than fits into a page.
constexpr std::uint64_t kCounts[] = {0, 1, 7, 1000, 70'001};

void exchange_each_count(const Subject& subject, Mark& mark, const TriedCollective& what) {
  for (const std::int32_t ranks : {1, 2, 3, 4}) {
    if (what.op == BALEEN_SEND && ranks != 2) continue;
    run_ranks(ranks, mark, [&](const RankPlace& place, Mark& own_mark) {
      Joined rank(subject, place, own_mark);
      void* const group = rank.world();
      TriedCollective one = what;
      one.members = ranks;
      for (const std::uint64_t count : kCounts) {
        one.count = count;
        exchange(rank, group, place.rank, one, nullptr);
      }
      rank.leave();
    });
  }
}

Case collective_case(baleen_collective_t op) {
  return {"transport." + std::string(collective_name(op)),
          "gives what plain loops give, on 1 to 4 ranks, from no element to 70,001",
          [op](const Subject& subject, Mark& mark) {
            TriedCollective what;
            what.op = op;
            for (const baleen_dtype_t dtype : {BALEEN_F32, BALEEN_F64, BALEEN_I32}) {
              what.dtype = dtype;
              exchange_each_count(subject, mark, what);
            }
            if (!what.reduces()) return;
            for (const baleen_dtype_t dtype : {BALEEN_BF16, BALEEN_F16}) {
              what.dtype = dtype;
              exchange_each_count(subject, mark, what);
            }
            what.dtype = BALEEN_I32;
            what.reduction = BALEEN_MAXIMUM;
            exchange_each_count(subject, mark, what);
          }};
}

/// Those with tensors.
constexpr baleen_collective_t kOps[] = {BALEEN_ALL_REDUCE, BALEEN_REDUCE_SCATTER, BALEEN_ALL_GATHER, BALEEN_BROADCAST,
                                        BALEEN_REDUCE,     BALEEN_ALL_TO_ALL,     BALEEN_PERMUTE,    BALEEN_SEND};

/// Of each operation but those of `but`, on 2 and 3 ranks.
void exchange_lists(const Subject& subject, Mark& mark, const TriedCollective& what,
                    const std::vector<std::uint64_t>& counts, const std::vector<baleen_collective_t>& but) {
  for (const std::int32_t ranks : {2, 3})
    run_ranks(ranks, mark, [&](const RankPlace& place, Mark& own_mark) {
      Joined rank(subject, place, own_mark);
      void* const group = rank.world();
      for (const baleen_collective_t op : kOps) {
        if (std::ranges::count(but, op) > 0 || (op == BALEEN_SEND && ranks != 2)) continue;
        std::vector<TriedCollective> list(counts.size(), what);
        for (std::size_t i = 0; i < list.size(); ++i) {
          list[i].op = op;
          list[i].members = ranks;
          list[i].count = counts[i];
        }
        exchange_list(rank, group, place.rank, list, nullptr);
      }
      rank.leave();
    });
}

void takes_lists(const Subject& subject, Mark& mark) {
  exchange_lists(subject, mark, {}, {1000, 7, 3001}, {});
  exchange_lists(subject, mark, {}, {5, 0, 20'000, 1}, {});
}

void works_in_place(const Subject& subject, Mark& mark) {
  TriedCollective what;
  what.in_place = true;
  for (const std::uint64_t count : {std::uint64_t{7}, std::uint64_t{3001}})
    exchange_lists(subject, mark, what, {count}, {BALEEN_ALL_TO_ALL, BALEEN_SEND});
}

void lets_nan_win(const Subject& subject, Mark& mark) {
  TriedCollective what;
  what.reduction = BALEEN_MAXIMUM;
  for (const baleen_dtype_t dtype : {BALEEN_F32, BALEEN_F64, BALEEN_BF16, BALEEN_F16})
    for (what.nan_of = 0; what.nan_of < 2; ++what.nan_of) {
      what.dtype = dtype;
      exchange_lists(subject, mark, what, {1000},
                     {BALEEN_ALL_GATHER, BALEEN_BROADCAST, BALEEN_ALL_TO_ALL, BALEEN_PERMUTE, BALEEN_SEND});
    }
}

void sums_in_one_order(const Subject& subject, Mark& mark) {
  for (const baleen_collective_t op : {BALEEN_ALL_REDUCE, BALEEN_REDUCE_SCATTER, BALEEN_REDUCE}) {
    TriedCollective what;
    what.op = op;
    what.in_tree = true;
    exchange_each_count(subject, mark, what);
  }
}

void joins_and_leaves(const Subject& subject, Mark& mark) {
  for (const std::int32_t ranks : {1, 2, 4})
    run_ranks(ranks, mark, [&](const RankPlace& place, Mark& own_mark) {
      Joined rank(subject, place, own_mark);
      rank.leave();
    });
}

void works_in_own_memory(const Subject& subject, Mark& mark) {
  constexpr std::uint64_t kBytes = 1 << 20, kPage = 4096;
  run_ranks(3, mark, [&](const RankPlace& place, Mark& own_mark) {
    Joined rank(subject, place, own_mark);
    const baleen_transport_t& table = rank.table();
    if (!table.allocate != !table.release) throw Failure("has one of `allocate` and `release`, and not the other");
    if (!table.register_arena != !table.unregister_arena)
      throw Failure("has one of `register_arena` and `unregister_arena`, and not the other");
    if (!table.allocate) throw Skip("it has no memory of its own");
    void* base = nullptr;
    rank.plugin().ok("`allocate`", table.allocate, rank.get(), kBytes, &base);
    auto* const bytes = static_cast<unsigned char*>(base);
    if (!base || reinterpret_cast<std::uintptr_t>(base) % kPage != 0)
      throw Failure("`allocate` gives memory that does not begin a page");
    if (std::any_of(bytes, bytes + kBytes, [](unsigned char byte) { return byte != 0; }))
      throw Failure("`allocate` gives memory that is not zero");
    void* const group = rank.world();
    for (const baleen_collective_t op :
         {BALEEN_ALL_REDUCE, BALEEN_ALL_GATHER, BALEEN_REDUCE_SCATTER, BALEEN_ALL_TO_ALL}) {
      TriedCollective what;
      what.op = op;
      what.members = 3;
      what.count = 1001;
      exchange(rank, group, place.rank, what, bytes);
    }
    rank.plugin().call("`group_destroy`", table.group_destroy, rank.get(), group);
    rank.plugin().call("`release`", table.release, rank.get(), base);
    rank.leave();
  });
}

void has_groups(const Subject& subject, Mark& mark) {
  run_ranks(4, mark, [&](const RankPlace& place, Mark& own_mark) {
    Joined rank(subject, place, own_mark);
    const std::int32_t member = place.rank / 2;
    void* const half =
        rank.group(place.rank % 2 == 0 ? std::vector<std::int32_t>{0, 2} : std::vector<std::int32_t>{1, 3});
    void* const world = rank.world();
    TriedCollective in_half, in_world;
    in_half.members = 2;
    in_world.members = 4;
    in_half.count = in_world.count = 333;
    exchange(rank, half, member, in_half, nullptr);
    exchange(rank, world, place.rank, in_world, nullptr);
    exchange(rank, half, member, in_half, nullptr);
    rank.leave();
  });
}

/// A mistake of the plan is told to everyone; nobody is left waiting.
void names_disagreement(const Subject& subject, Mark& mark) {
  run_ranks(2, mark, [&](const RankPlace& place, Mark& own_mark) {
    Joined rank(subject, place, own_mark);
    void* const group = rank.world();
    std::vector<float> numbers(16);
    const baleen_collective_entry_t entry{numbers.data(), numbers.data(), place.rank == 0 ? 8ull : 9ull, 0,
                                          nullptr,        nullptr};
    baleen_collective_spec_t spec{};
    spec.size = sizeof spec;
    spec.op = BALEEN_ALL_REDUCE;
    spec.reduction = BALEEN_SUM;
    spec.dtype = BALEEN_F32;
    spec.entries = &entry;
    spec.entry_count = 1;
    void* slot = nullptr;
    const baleen_status_t status =
        rank.plugin().call("`prepare` with other counts", rank.table().prepare, rank.get(), group,
                           static_cast<const baleen_collective_spec_t*>(&spec), &slot);
    if (status == BALEEN_OK) throw Failure("`prepare` returns OK where two members give other counts");
    rank.plugin().refusal("`prepare` with other counts", status);
  });
}

void ends_by_abort(const Subject& subject, Mark& mark) {
  run_ranks(2, mark, [&](const RankPlace& place, Mark& own_mark) {
    Joined rank(subject, place, own_mark);
    rank.world();
    rank.plugin().call("`abort`", rank.table().abort, rank.get(), abi("validate ends the run"));
    const baleen_status_t status = rank.plugin().call("`check`", rank.table().check, rank.get());
    if (status != BALEEN_PEER_LOST)
      throw Failure("after `abort` its `check` returns " + std::to_string(status) + ", not BALEEN_PEER_LOST");
    if (rank.plugin().refusal("`check`", status).message.find("validate ends the run") == std::string::npos)
      throw Failure("`check` does not tell the reason that `abort` was given");
    rank.leave();
  });
}

}  // namespace

std::vector<Case> transport_cases() {
  std::vector<Case> all = {{"transport.join", "1, 2 and 4 ranks join and leave", &joins_and_leaves}};
  for (const baleen_collective_t op : kOps) all.push_back(collective_case(op));
  all.push_back(collective_case(BALEEN_BARRIER));
  all.push_back(
      {"transport.lists", "does each of several tensors of one collective, whatever their sizes", &takes_lists});
  all.push_back(
      {"transport.in_place", "gives the same where the output is the input, or a part of it", &works_in_place});
  all.push_back({"transport.maximum_of_nan", "the maximum of numbers with a NaN is NaN", &lets_nan_win});
  all.push_back({"transport.order", "where it is deterministic, sums are those of the balanced tree, bit for bit",
                 &sums_in_one_order});
  all.push_back({"transport.own_memory", "works in memory of its own too", &works_in_own_memory});
  all.push_back({"transport.groups", "works in groups that share ranks", &has_groups});
  all.push_back({"transport.disagree", "`prepare` refuses arguments that differ between members", &names_disagreement});
  all.push_back({"transport.abort", "`abort` ends it with its reason", &ends_by_abort});
  return all;
}

}  // namespace baleen::validate
