/// \file What every transport must do: each collective gives what plain loops give, on ranks that are processes.
#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "baleen/collective_name.hpp"
#include "baleen/dtype.hpp"
#include "baleen/event.hpp"
#include "baleen/host.hpp"
#include "baleen/transport.h"
#include "frontend/validate/cases.hpp"
#include "frontend/validate/rank_processes.hpp"

namespace baleen::validate {
namespace {

constexpr std::size_t kAround = 64;  // bytes before and behind each buffer
constexpr unsigned char kUntouched = 0xa5;

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

/// One collective over all members, and what it must give.
struct Collective {
  baleen_collective_t op = BALEEN_ALL_REDUCE;
  std::int32_t members = 1;
  std::uint64_t count = 0;
  baleen_dtype_t dtype = BALEEN_F32;
  baleen_reduction_t reduction = BALEEN_SUM;
  bool in_tree = false;  ///< numbers whose sum hangs on the order, summed as `deterministic` says

  bool reduces() const { return op == BALEEN_ALL_REDUCE || op == BALEEN_REDUCE_SCATTER || op == BALEEN_REDUCE; }
  std::int32_t root() const {
    if (op == BALEEN_SEND) return 0;  // as the receiver says it
    return op == BALEEN_BROADCAST || op == BALEEN_REDUCE ? members - 1 : 0;
  }
  std::uint64_t block() const {
    if (op != BALEEN_REDUCE_SCATTER && op != BALEEN_ALL_GATHER && op != BALEEN_ALL_TO_ALL) return 0;
    const auto all = static_cast<std::uint64_t>(members);
    return op == BALEEN_ALL_TO_ALL ? count : (count + all - 1) / all;
  }
  /// Elements of the larger side.
  std::uint64_t whole() const { return op == BALEEN_ALL_TO_ALL ? count * static_cast<std::uint64_t>(members) : count; }
  std::uint64_t block_of(std::int32_t member) const {
    const std::uint64_t begin = std::min(count, static_cast<std::uint64_t>(member) * block());
    return std::min(count, begin + block()) - begin;
  }
  std::uint64_t given(std::int32_t member) const {
    if (op == BALEEN_BARRIER) return 0;
    if (op == BALEEN_ALL_GATHER) return block_of(member);
    if (op == BALEEN_BROADCAST) return member == root() ? count : 0;
    if (op == BALEEN_SEND) return member == 0 ? count : 0;
    return whole();
  }
  std::uint64_t got(std::int32_t member) const {
    if (op == BALEEN_BARRIER) return 0;
    if (op == BALEEN_REDUCE_SCATTER) return block_of(member);
    if (op == BALEEN_BROADCAST) return member == root() ? 0 : count;
    if (op == BALEEN_REDUCE) return member == root() ? count : 0;
    if (op == BALEEN_SEND) return member == 1 ? count : 0;
    return whole();
  }
  /// Small whole numbers, exact in every dtype and order; or such that no two orders give one sum.
  double number(std::int32_t member, std::uint64_t at) const {
    if (!in_tree) return static_cast<double>((static_cast<std::uint64_t>(member) * 31 + at * 7) % 17) - 5;
    constexpr double kPowers[] = {1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1e3, 1e4};
    const double varied = 1 + 0.37 * member + 0.013 * static_cast<double>(at % 101);
    return static_cast<float>(kPowers[(static_cast<std::uint64_t>(member) * 5 + at) % 9] * varied);
  }
  double input(std::int32_t member, std::uint64_t i) const {
    return number(member, op == BALEEN_ALL_GATHER ? static_cast<std::uint64_t>(member) * block() + i : i);
  }
  /// The balanced tree of transport.h, over members `low` to `high` - 1, in fp32.
  float tree(std::int32_t low, std::int32_t high, std::uint64_t at) const {
    if (high - low == 1) return static_cast<float>(number(low, at));
    const std::int32_t middle = low + (high - low + 1) / 2;
    return tree(low, middle, at) + tree(middle, high, at);
  }
  double reduced(std::uint64_t at) const {
    if (in_tree) return tree(0, members, at);
    double all = number(0, at);
    for (std::int32_t member = 1; member < members; ++member)
      all = reduction == BALEEN_SUM ? all + number(member, at) : std::max(all, number(member, at));
    return all;
  }
  double expected(std::int32_t member, std::uint64_t i) const {
    const std::uint64_t own = static_cast<std::uint64_t>(member) * block();
    switch (op) {
      case BALEEN_REDUCE_SCATTER: return reduced(own + i);
      case BALEEN_ALL_GATHER: return number(static_cast<std::int32_t>(i / block()), i);
      case BALEEN_BROADCAST: return number(root(), i);
      case BALEEN_ALL_TO_ALL: return number(static_cast<std::int32_t>(i / block()), own + i % block());
      case BALEEN_PERMUTE: return number((member + members - 1) % members, i);
      case BALEEN_SEND: return number(0, i);
      default: return reduced(i);
    }
  }
  std::string text() const {
    return std::string(collective_name(op)) + " of " + std::to_string(count) + " " + std::string(dtype_name(dtype)) +
           " among " + std::to_string(members);
  }
};

void put_number(unsigned char* at, baleen_dtype_t dtype, double number) {
  const auto store = [&](auto value) { std::memcpy(at, &value, sizeof value); };
  if (dtype == BALEEN_F64) return store(number);
  if (dtype == BALEEN_I32) return store(static_cast<std::int32_t>(number));
  store(static_cast<float>(number));
}

/// A buffer with bytes around it that nobody may touch.
class Guarded {
 public:
  Guarded(std::size_t bytes, unsigned char* own) : bytes_(bytes) {
    if (!own) kept_.resize(bytes + 2 * kAround);
    base_ = own ? own : kept_.data();
    std::fill_n(base_, bytes + 2 * kAround, kUntouched);
  }
  unsigned char* data() const { return bytes_ > 0 ? base_ + kAround : nullptr; }
  void check(const std::string& what) const {
    for (std::size_t i = 0; i < kAround; ++i)
      if (base_[i] != kUntouched || base_[kAround + bytes_ + i] != kUntouched)
        throw Failure(what + ": memory beside a buffer has changed");
  }

 private:
  std::size_t bytes_;
  std::vector<unsigned char> kept_;
  unsigned char* base_ = nullptr;
};

/// Prepares, and runs three times over. Memory of the transport's own where `own` is not null.
void exchange(Joined& rank, void* group, std::int32_t member, const Collective& what, unsigned char* own) {
  const std::size_t width = dtype_size(what.dtype);
  const std::uint64_t given = what.given(member), got = what.got(member);
  const Guarded input(given * width, own);
  const Guarded output(got * width, own ? own + given * width + 2 * kAround : nullptr);
  const baleen_collective_entry_t entry{input.data(), output.data(), what.whole(), what.block(), nullptr, nullptr};
  std::vector<std::int32_t> destinations;
  for (std::int32_t m = 0; m < what.members; ++m) destinations.push_back((m + 1) % what.members);
  baleen_collective_spec_t spec{};
  spec.size = sizeof spec;
  spec.op = what.op == BALEEN_SEND && member == 1 ? baleen_collective_t{BALEEN_RECEIVE} : what.op;
  spec.reduction = what.reduces() ? what.reduction : 0;
  spec.dtype = what.dtype;
  spec.root = what.op == BALEEN_SEND ? 1 - member : what.root();
  spec.entries = &entry;
  spec.entry_count = what.op == BALEEN_BARRIER ? 0 : 1;
  spec.destinations = what.op == BALEEN_PERMUTE ? destinations.data() : nullptr;
  spec.deterministic = what.in_tree ? 1 : 0;
  spec.where = abi("validate");
  void* slot = nullptr;
  const std::string name = what.text();
  const baleen_status_t prepared = rank.plugin().call("`prepare` of " + name, rank.table().prepare, rank.get(), group,
                                                      static_cast<const baleen_collective_spec_t*>(&spec), &slot);
  if (prepared != BALEEN_OK) {
    const Error why = rank.plugin().refusal("`prepare` of " + name, prepared);
    if (what.in_tree && prepared == BALEEN_UNSUPPORTED) throw Skip("it does not sum in one order: " + why.message);
    throw Failure("`prepare` of " + name + " fails: " + why.message);
  }
  std::vector<unsigned char> inputs(given * width), outputs(got * width);
  for (std::uint64_t i = 0; i < given; ++i) put_number(inputs.data() + i * width, what.dtype, what.input(member, i));
  for (std::uint64_t i = 0; i < got; ++i) put_number(outputs.data() + i * width, what.dtype, what.expected(member, i));
  for (int again = 0; again < 3; ++again) {
    std::ranges::copy(inputs, input.data());
    rank.run(name, slot);
    const auto wrong = std::mismatch(outputs.begin(), outputs.end(), output.data()).first - outputs.begin();
    if (wrong < std::ssize(outputs))
      throw Failure(name + " gives a wrong element " + std::to_string(static_cast<std::size_t>(wrong) / width) +
                    (what.in_tree ? ": not the sum in the order that `deterministic` stands for" : ""));
    if (!std::equal(inputs.begin(), inputs.end(), input.data()))
      throw Failure(name + " changes its input, which is not its output");
    input.check(name);
    output.check(name);
  }
}

/// Nothing, one element, odd numbers of them, and more than fits into a page.
constexpr std::uint64_t kCounts[] = {0, 1, 7, 1000, 70'001};

void exchange_each_count(const Subject& subject, Mark& mark, const Collective& what) {
  for (const std::int32_t ranks : {1, 2, 3, 4}) {
    if (what.op == BALEEN_SEND && ranks != 2) continue;
    run_ranks(ranks, mark, [&](const RankPlace& place, Mark& own_mark) {
      Joined rank(subject, place, own_mark);
      void* const group = rank.world();
      Collective one = what;
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
            Collective what;
            what.op = op;
            for (const baleen_dtype_t dtype : {BALEEN_F32, BALEEN_F64, BALEEN_I32}) {
              what.dtype = dtype;
              exchange_each_count(subject, mark, what);
            }
            if (!what.reduces()) return;
            what.reduction = BALEEN_MAXIMUM;
            exchange_each_count(subject, mark, what);
          }};
}

void sums_in_one_order(const Subject& subject, Mark& mark) {
  for (const baleen_collective_t op : {BALEEN_ALL_REDUCE, BALEEN_REDUCE_SCATTER, BALEEN_REDUCE}) {
    Collective what;
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
      Collective what;
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
    Collective in_half, in_world;
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
  for (const baleen_collective_t op : {BALEEN_ALL_REDUCE, BALEEN_REDUCE_SCATTER, BALEEN_ALL_GATHER, BALEEN_BROADCAST,
                                       BALEEN_REDUCE, BALEEN_ALL_TO_ALL, BALEEN_PERMUTE, BALEEN_SEND, BALEEN_BARRIER})
    all.push_back(collective_case(op));
  all.push_back({"transport.order", "where it is deterministic, sums are those of the balanced tree, bit for bit",
                 &sums_in_one_order});
  all.push_back({"transport.own_memory", "works in memory of its own too", &works_in_own_memory});
  all.push_back({"transport.groups", "works in groups that share ranks", &has_groups});
  all.push_back({"transport.disagree", "`prepare` refuses arguments that differ between members", &names_disagreement});
  all.push_back({"transport.abort", "`abort` ends it with its reason", &ends_by_abort});
  return all;
}

}  // namespace baleen::validate
