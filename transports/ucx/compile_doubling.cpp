/// \file Reductions that add partial sums on the way. Distances double from 1, so that among a power of two of members
/// what is added are the subtrees of the balanced tree. And the ring, whose order is its own.
#include "compile.hpp"

namespace baleen::ucx {
namespace {

using Id = ProgramBuilder::Id;

Range within(Range inner, Range outer) { return {inner.begin - outer.begin, inner.end - outer.begin}; }

// Sums of two members' subtrees, the lower's first.
Id add_ordered(ProgramBuilder& build, bool lower, const Stream& mine, const Stream& theirs, const Stream& to,
               const std::vector<Id>& needs) {
  const std::vector<const Stream*> sources = {lower ? &mine : &theirs, lower ? &theirs : &mine};
  return build.reduce(sources, {&to}, to.all(), needs);
}

// One piece of halving and doubling.
class Halving {
 public:
  Halving(const Compilation& c, ProgramBuilder& build, const Stream& input, const Stream& output, Range piece)
      : c_(c), build_(build), output_(output), held_(piece), sum_(input.part(piece)) {}

  void run() {
    for (std::size_t distance = 1; distance < c_.members(); distance *= 2) halve(distance);
    for (std::size_t i = steps_.size(); i-- > 0;) {
      const Step& step = steps_[i];
      const Id arrived = build_.receive(step.peer, output_, step.given);
      build_.send(step.peer, output_, step.kept, {ready_});
      ready_ = build_.join({ready_, arrived});
    }
  }

 private:
  struct Step {
    std::size_t peer;
    Range kept, given;
  };

  void halve(std::size_t distance) {
    const bool lower = (c_.me() & distance) == 0;
    const Range low = share_of(held_.size(), 0, 2), high = share_of(held_.size(), 1, 2);
    const auto absolute = [&](Range r) { return Range{held_.begin + r.begin, held_.begin + r.end}; };
    const Step step{c_.me() ^ distance, absolute(lower ? low : high), absolute(lower ? high : low)};
    const Stream own = sum_.part(within(step.kept, held_));
    const Stream landing = own.moved(own.all(), build_.scratch(own.bytes()));
    const Id arrived = build_.receive(step.peer, landing, landing.all());
    build_.send(step.peer, sum_, within(step.given, held_), {ready_});
    const bool last = distance * 2 == c_.members();
    const Stream next = last ? output_.part(step.kept) : own.moved(own.all(), build_.scratch(own.bytes()));
    const Id added = add_ordered(build_, lower, own, landing, next, {arrived, ready_});
    ready_ = build_.join({added});
    sum_ = next;
    held_ = step.kept;
    steps_.push_back(step);
  }

  const Compilation& c_;
  ProgramBuilder& build_;
  const Stream& output_;
  Range held_;                 // what this member sums
  Stream sum_;                 // its bytes
  Id ready_ = Program::kNone;  // when they are there
  std::vector<Step> steps_;
};

}  // namespace

Program compile_doubling(const Compilation& c) {
  ProgramBuilder build = c.builder(c.step());
  const Stream input = whole_input(c.mine), output = whole_output(c.mine);
  for (std::uint64_t k = 0; k < parts_of(input.all(), c.step()); ++k) {
    const Range range = part_of(input.all(), k, c.step());
    Stream sum = input.part(range);
    Id ready = Program::kNone;
    std::vector<Id> sends;
    for (std::size_t distance = 1; distance < c.members(); distance *= 2) {
      const std::size_t peer = c.me() ^ distance;
      const bool last = distance * 2 == c.members();
      const Stream landing = sum.moved(sum.all(), build.scratch(sum.bytes()));
      std::vector<Id> needs = {ready, build.receive(peer, landing, landing.all())};
      sends.push_back(build.send(peer, sum, sum.all(), {ready}));
      const Stream next = last ? output.part(range) : sum.moved(sum.all(), build.scratch(sum.bytes()));
      if (last) needs.insert(needs.end(), sends.begin(), sends.end());  // in place it is where the first one reads
      ready = add_ordered(build, c.me() < peer, sum, landing, next, needs);
      sum = next;
    }
    if (c.members() == 1) build.copy(output, range, input, range);
    build.end_piece();
  }
  return build.finish();
}

Program compile_halving(const Compilation& c) {
  const std::uint64_t step = c.step() * c.members();  // so that the last halves are segments
  ProgramBuilder build = c.builder(step);
  const Stream input = whole_input(c.mine), output = whole_output(c.mine);
  for (std::uint64_t k = 0; k < parts_of(input.all(), step); ++k) {
    const Range piece = part_of(input.all(), k, step);
    if (c.members() == 1)
      build.copy(output, piece, input, piece);
    else
      Halving(c, build, input, output, piece).run();
    build.end_piece();
  }
  return build.finish();
}

// Share r starts at member r + 1 and comes, summed, to member r; then goes round once more.
Program compile_ring_reduce(const Compilation& c) {
  ProgramBuilder build = c.builder(c.step());
  const std::size_t n = c.members(), next = c.after(1), last = c.before(1);
  const bool scatters = c.mine.op == BALEEN_REDUCE_SCATTER;
  const Stream whole = whole_input(c.mine), output = scatters ? own_output(c.mine) : whole_output(c.mine);
  std::vector<Stream> inputs;
  std::uint64_t pieces = 0;
  for (std::size_t r = 0; r < n; ++r) {
    inputs.push_back(scatters ? input_for(c.mine, r) : whole.part(share_of(whole.bytes(), r, n)));
    pieces = std::max(pieces, parts_of(inputs.back().all(), c.step()));
  }
  const auto output_range = [&](std::size_t r, std::uint64_t k) {
    return part_of(scatters ? output.all() : share_of(whole.bytes(), r, n), k, c.step());
  };
  for (std::uint64_t k = 0; k < pieces; ++k) {
    const auto segment = [&](std::size_t r) { return inputs[r].part(part_of(inputs[r].all(), k, c.step())); };
    Stream sum = segment(last);
    Id ready = Program::kNone;
    for (std::size_t t = 0; t + 1 < n; ++t) {
      const std::size_t share = c.before(t + 2);
      const Stream own = segment(share);
      const Stream landing = own.moved(own.all(), build.scratch(own.bytes()));
      const Id arrived = build.receive(last, landing, landing.all());
      build.send(next, sum, sum.all(), {ready});
      sum = t + 2 == n ? output.part(output_range(c.me(), k)) : own.moved(own.all(), build.scratch(own.bytes()));
      ready = build.reduce({&landing, &own}, {&sum}, sum.all(), {arrived});
    }
    if (n == 1) build.copy(output, output_range(0, k), inputs[0], part_of(inputs[0].all(), k, c.step()));
    for (std::size_t t = 0; !scatters && t + 1 < n; ++t) {
      const Id arrived = build.receive(last, output, output_range(c.before(t + 1), k));
      build.send(next, output, output_range(c.before(t), k), {ready});
      ready = arrived;
    }
    build.end_piece();
  }
  return build.finish();
}

}  // namespace baleen::ucx
