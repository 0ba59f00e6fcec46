/// \file A reduction to a root that sends nothing. On the way from the root's leaf up the balanced tree a subtree of
/// other members joins at every step: its members sum it in shares, and send the sums to the root.
#include <algorithm>

#include "compile.hpp"

namespace baleen::ucx {
namespace {

using Id = ProgramBuilder::Id;

// Members [begin, end) of a subtree that has not the root.
struct Sibling {
  std::size_t begin, end;
  std::size_t size() const { return end - begin; }
  bool has(std::size_t member) const { return begin <= member && member < end; }
};

// In the order in which they join the root's.
std::vector<Sibling> siblings_of(std::size_t root, std::size_t members) {
  std::vector<Sibling> siblings;
  for (std::size_t low = 0, high = members; high - low > 1;) {
    const std::size_t middle = tree_middle(low, high);
    if (root < middle) {
      siblings.push_back({middle, high});
      high = middle;
    } else {
      siblings.push_back({low, middle});
      low = middle;
    }
  }
  std::reverse(siblings.begin(), siblings.end());
  return siblings;
}

class SubtreeReduce {
 public:
  explicit SubtreeReduce(const Compilation& c)
      : c_(c),
        siblings_(siblings_of(c.mine.root, c.members())),
        input_(whole_input(c.mine)),
        output_(whole_output(c.mine)),
        build_(c.builder(c.step())) {}

  Program build() {
    std::size_t largest = 1;
    for (const Sibling& one : siblings_) largest = std::max(largest, one.size());
    const std::uint64_t step = c_.step() * largest;  // so that the largest subtree's shares are segments
    for (std::uint64_t k = 0; k < parts_of(input_.all(), step); ++k) {
      const Range range = part_of(input_.all(), k, step);
      if (c_.me() == c_.mine.root)
        collect(range);
      else
        contribute(range, *std::ranges::find_if(siblings_, [&](const Sibling& one) { return one.has(c_.me()); }));
      build_.end_piece();
    }
    return build_.finish();
  }

 private:
  // What a member sums of a range for its subtree.
  static Range share(const Sibling& one, std::size_t member, Range of) {
    const Range share = share_of(of.size(), member - one.begin, one.size());
    return {of.begin + share.begin, of.begin + share.end};
  }

  void contribute(Range range, const Sibling& own) {
    const auto around = [&](std::size_t distance) { return own.begin + (c_.me() - own.begin + distance) % own.size(); };
    const Range mine = share(own, c_.me(), range);
    if (own.size() == 1) {
      build_.send(c_.mine.root, input_, mine);
      return;
    }
    for (std::size_t d = 1; d < own.size(); ++d) build_.send(around(d), input_, share(own, around(d), range));
    std::vector<Stream> raw(own.size());
    std::vector<Id> arrived;
    for (std::size_t d = 1; d < own.size(); ++d) {
      const std::size_t from = around(own.size() - d);
      raw[from - own.begin] = input_.moved(mine, build_.scratch(mine.size()));
      arrived.push_back(build_.borrow(from, raw[from - own.begin]));
    }
    raw[c_.me() - own.begin] = input_.part(mine);
    std::vector<const Stream*> sources;
    for (const Stream& one : raw) sources.push_back(&one);
    const Stream sum = input_.moved(mine, build_.scratch(mine.size()));
    const Id reduced = build_.reduce(sources, {&sum}, sum.all(), arrived);
    build_.give_back(reduced);
    build_.send(c_.mine.root, sum, sum.all(), {reduced});
  }

  // The root: its own input, and the sums of the subtrees, each in the tree's order.
  void collect(Range range) {
    if (siblings_.empty()) build_.copy(output_, range, input_, range);
    const Stream* own = &input_;
    Id ready = Program::kNone;
    for (const Sibling& one : siblings_) {
      std::vector<Id> added;
      for (std::size_t member = one.begin; member < one.end; ++member)
        added.push_back(add(*own, member, share(one, member, range), ready));
      ready = build_.join(added);
      own = &output_;
    }
  }

  Id add(const Stream& own, std::size_t member, Range range, Id ready) {
    const Stream mine = own.part(range), sum = output_.part(range);
    const bool own_first = c_.me() < member;
    if (ready == Program::kNone) return build_.receive_added(member, mine, own_first, sum, {});
    Stream landing = mine.moved(mine.all(), build_.scratch(mine.bytes()));
    const Id arrived = build_.borrow(member, landing);
    const Id added = build_.reduce({own_first ? &mine : &landing, own_first ? &landing : &mine}, {&sum}, sum.all(),
                                   {arrived, ready});
    build_.give_back(added);
    return added;
  }

  const Compilation& c_;
  const std::vector<Sibling> siblings_;
  const Stream input_, output_;
  ProgramBuilder build_;
};

}  // namespace

Program compile_subtree_reduce(const Compilation& c) { return SubtreeReduce(c).build(); }

}  // namespace baleen::ucx
