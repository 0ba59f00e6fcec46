/// \file Reductions where each member adds what it needs itself, raw, in the order of the members: any number of them,
/// any dtype, and the tree is exact.
#include <algorithm>
#include <optional>

#include "compile.hpp"

namespace baleen::ucx {
namespace {

using Id = ProgramBuilder::Id;

// The two halves of a pairwise reduction: everyone gets its share out of all inputs; then the shares go where they are
// wanted.
class PairwiseReduce {
 public:
  explicit PairwiseReduce(const Compilation& c)
      : c_(c), scatters_(c.mine.op == BALEEN_REDUCE_SCATTER), build_(c.builder(c.step())) {
    const Stream whole = whole_input(c.mine);
    output_ = scatters_ ? own_output(c.mine) : whole_output(c.mine);
    for (std::size_t r = 0; r < c.members(); ++r) {
      inputs_.push_back(scatters_ ? input_for(c.mine, r) : whole);
      shares_.push_back(scatters_ ? inputs_.back().all() : share_of(whole.bytes(), r, c.members()));
    }
  }

  Program build() {
    std::uint64_t pieces = 0;
    for (const Range& share : shares_) pieces = std::max(pieces, parts_of(share, c_.step()));
    for (std::uint64_t k = 0; k < pieces; ++k) {
      const Id reduced = reduce_share(k);
      if (c_.mine.op == BALEEN_ALL_REDUCE) show_to_all(k, reduced);
      if (c_.mine.op == BALEEN_REDUCE) show_to_root(k, reduced);
      build_.end_piece();
    }
    return build_.finish();
  }

 private:
  Range segment(std::size_t r, std::uint64_t k) const { return part_of(shares_[r], k, c_.step()); }
  // Whether a member gets the sum of this one's share.
  bool wants_sums(std::size_t member) const {
    return c_.mine.op == BALEEN_ALL_REDUCE || (c_.mine.op == BALEEN_REDUCE && member == c_.mine.root);
  }
  // Where this member's share goes; its own memory where it has no output.
  bool has_output() const { return c_.mine.op != BALEEN_REDUCE || c_.me() == c_.mine.root; }

  // Raw shares come, and the sum goes where it is wanted: at once where this member reaches it.
  Id reduce_share(std::uint64_t k) {
    const Range mine = segment(c_.me(), k);
    result_ = has_output() ? output_.part(scatters_ ? part_of(output_.all(), k, c_.step()) : mine)
                           : inputs_[c_.me()].moved(mine, build_.scratch(mine.size()));
    for (std::size_t d = 1; d < c_.members(); ++d)
      build_.send(c_.after(d), inputs_[c_.after(d)], segment(c_.after(d), k));
    remote_.assign(c_.members(), {});
    for (std::size_t d = 1; d < c_.members(); ++d)
      if (wants_sums(c_.after(d))) remote_[c_.after(d)] = build_.lands_at(c_.after(d), result_);
    if (c_.members() == 2 && !remote_[c_.after(1)]) return add_other_share(k);
    std::vector<Stream> raw(c_.members());
    std::vector<Id> arrived;
    for (std::size_t d = 1; d < c_.members(); ++d) {
      const std::size_t from = c_.before(d);
      raw[from] = inputs_[c_.me()].moved(mine, build_.scratch(mine.size()));
      arrived.push_back(build_.borrow(from, raw[from]));
    }
    raw[c_.me()] = inputs_[c_.me()].part(mine);
    std::vector<const Stream*> sources, destinations = {&result_};
    for (const Stream& one : raw) sources.push_back(&one);
    for (const std::optional<Stream>& one : remote_)
      if (one) destinations.push_back(&*one);
    const Id reduced = build_.reduce(sources, destinations, result_.all(), arrived);
    build_.give_back(reduced);
    return reduced;
  }

  // In place the result lies where no message is read: the other's share is sent.
  Id add_other_share(std::uint64_t k) {
    const std::size_t other = c_.after(1);
    const Stream own = inputs_[c_.me()].part(segment(c_.me(), k));
    return build_.receive_added(other, own, c_.me() < other, result_, {});
  }

  void show_to_all(std::uint64_t k, Id reduced) {
    for (std::size_t d = 1; d < c_.members(); ++d) {
      build_.receive_written(c_.before(d), output_, segment(c_.before(d), k));
      show(c_.after(d), reduced);
    }
  }

  void show(std::size_t to, Id reduced) {
    if (remote_[to])
      build_.say_written(to, result_, reduced);
    else
      build_.send(to, result_, result_.all(), {reduced});
  }

  void show_to_root(std::uint64_t k, Id reduced) {
    if (c_.me() == c_.mine.root) {
      for (std::size_t d = 1; d < c_.members(); ++d)
        build_.receive_written(c_.before(d), output_, segment(c_.before(d), k));
    } else {
      show(c_.mine.root, reduced);
    }
  }

  const Compilation& c_;
  const bool scatters_;
  ProgramBuilder build_;
  std::vector<Stream> inputs_;  // for each member
  std::vector<Range> shares_;   // of those
  Stream output_, result_;
  std::vector<std::optional<Stream>> remote_;  // where others want this member's sum, as far as it reaches that
};

}  // namespace

Program compile_pairwise_reduce(const Compilation& c) { return PairwiseReduce(c).build(); }

Program compile_direct_reduce(const Compilation& c) {
  ProgramBuilder build = c.builder(c.step());
  const Stream input = whole_input(c.mine), output = whole_output(c.mine);
  const auto wants = [&](std::size_t r) { return c.mine.op == BALEEN_ALL_REDUCE || r == c.mine.root; };
  for (std::uint64_t k = 0; k < parts_of(input.all(), c.step()); ++k) {
    const Range range = part_of(input.all(), k, c.step());
    std::vector<Stream> raw(c.members());
    std::vector<Id> needs;  // the sends too: in place the sum goes where they read
    for (std::size_t d = 1; d < c.members() && wants(c.me()); ++d) {
      raw[c.before(d)] = input.moved(range, build.scratch(range.size()));
      needs.push_back(build.receive(c.before(d), raw[c.before(d)], raw[c.before(d)].all()));
    }
    for (std::size_t d = 1; d < c.members(); ++d)
      if (wants(c.after(d))) needs.push_back(build.send(c.after(d), input, range));
    raw[c.me()] = input.part(range);
    std::vector<const Stream*> sources;
    sources.reserve(raw.size());
    for (const Stream& one : raw) sources.push_back(&one);
    const Stream result = output.part(range);
    if (wants(c.me())) build.reduce(sources, {&result}, result.all(), needs);
    build.end_piece();
  }
  return build.finish();
}

}  // namespace baleen::ucx
