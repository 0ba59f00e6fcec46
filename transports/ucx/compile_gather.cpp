/// \file Operations that only move bytes: all_gather, broadcast, all_to_all.
#include <algorithm>

#include "compile.hpp"

namespace baleen::ucx {
namespace {

using Id = ProgramBuilder::Id;

// Nothing is worked on, so fewer and longer messages than a reduction's do.
std::uint64_t moved_at_once(const Compilation& c) { return 4 * c.step(); }

Stream joined(const std::vector<const Stream*>& streams) {
  Stream all;
  for (const Stream* one : streams) all.append(*one);
  return all;
}

// Everyone's to everyone: `inputs[r]` to member r, `outputs[r]` from it.
Program exchange(const Compilation& c, const std::vector<Stream>& inputs, const std::vector<Stream>& outputs) {
  const std::uint64_t step = moved_at_once(c);
  ProgramBuilder build = c.builder(step);
  std::uint64_t pieces = 1;
  for (std::size_t r = 0; r < c.members(); ++r)
    pieces = std::max({pieces, parts_of(inputs[r].all(), step), parts_of(outputs[r].all(), step)});
  for (std::uint64_t k = 0; k < pieces; ++k) {
    for (std::size_t d = 1; d < c.members(); ++d) {
      const Stream& from = outputs[c.before(d)];
      build.receive(c.before(d), from, part_of(from.all(), k, step));
    }
    for (std::size_t d = 1; d < c.members(); ++d) {
      const Stream& to = inputs[c.after(d)];
      build.send(c.after(d), to, part_of(to.all(), k, step));
    }
    if (k == 0) build.copy(outputs[c.me()], outputs[c.me()].all(), inputs[c.me()], inputs[c.me()].all());
    build.end_piece();
  }
  return build.finish();
}

Program gather_ring(const Compilation& c, const Stream& own, const std::vector<Stream>& outputs) {
  ProgramBuilder build = c.builder(c.step());
  std::uint64_t pieces = 1;
  for (const Stream& one : outputs) pieces = std::max(pieces, parts_of(one.all(), c.step()));
  for (std::uint64_t k = 0; k < pieces; ++k) {
    Id ready = Program::kNone;
    for (std::size_t t = 0; t + 1 < c.members(); ++t) {
      const Stream &sent = t == 0 ? own : outputs[c.before(t)], &got = outputs[c.before(t + 1)];
      const Id arrived = build.receive(c.before(1), got, part_of(got.all(), k, c.step()));
      build.send(c.after(1), sent, part_of(sent.all(), k, c.step()), {ready});
      ready = arrived;
    }
    if (k == 0) build.copy(outputs[c.me()], own.all(), own, own.all());
    build.end_piece();
  }
  return build.finish();
}

// After a step of distance d a member has the blocks of the 2 d members from itself on.
Program gather_bruck(const Compilation& c, const Stream& own, const std::vector<Stream>& outputs) {
  ProgramBuilder build = c.builder(moved_at_once(c));
  const std::size_t n = c.members();
  const auto block = [&](std::size_t i) -> const Stream& { return i == 0 ? own : outputs[c.after(i)]; };
  Id ready = Program::kNone;
  for (std::size_t held = 1; held < n; held *= 2) {
    std::vector<const Stream*> given, taken;
    for (std::size_t i = 0; i < std::min(held, n - held); ++i) {
      given.push_back(&block(i));
      taken.push_back(&block(held + i));
    }
    const Stream sent = joined(given), got = joined(taken);
    const Id arrived = build.receive(c.after(held), got, got.all());
    build.send(c.before(held), sent, sent.all(), {ready});
    ready = build.join({ready, arrived});
  }
  build.copy(outputs[c.me()], own.all(), own, own.all());
  return build.finish();
}

// Block i is on its way by i members: along each bit of i in turn.
Program exchange_bruck(const Compilation& c, const std::vector<Stream>& inputs, const std::vector<Stream>& outputs) {
  ProgramBuilder build = c.builder(moved_at_once(c));
  const std::size_t n = c.members();
  std::vector<Stream> blocks;
  for (std::size_t i = 0; i < n; ++i) blocks.push_back(inputs[c.after(i)]);
  Id ready = Program::kNone;
  for (std::size_t distance = 1; distance < n; distance *= 2) {
    std::vector<const Stream*> moving;
    for (std::size_t i = distance; i < n; ++i)
      if (i & distance) moving.push_back(&blocks[i]);
    const Stream sent = joined(moving), landing = sent.moved(sent.all(), build.scratch(sent.bytes()));
    const Id arrived = build.receive(c.before(distance), landing, landing.all());
    build.send(c.after(distance), sent, sent.all(), {ready});
    ready = build.join({ready, arrived});
    std::uint64_t at = 0;
    for (std::size_t i = distance; i < n; ++i) {
      if (!(i & distance)) continue;
      const std::uint64_t bytes = blocks[i].bytes();
      blocks[i] = landing.part({at, at + bytes});
      at += bytes;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    const Stream& to = outputs[c.before(i)];
    build.copy(to, to.all(), blocks[i], blocks[i].all(), {i == 0 ? Program::kNone : ready});
  }
  return build.finish();
}

// The root's own output, where it has one elsewhere.
void copy_at_root(const Compilation& c, ProgramBuilder& build) {
  if (c.me() != c.mine.root) return;
  Stream input, output;
  for (const CollectiveEntry& e : c.mine.entries) {
    if (!e.output || e.output == e.input) continue;
    input.add(e.input, e.count * c.mine.width());
    output.add(e.output, e.count * c.mine.width());
  }
  build.copy(output, output.all(), input, input.all());
  build.end_piece();
}

Program broadcast_tree(const Compilation& c) {
  ProgramBuilder build = c.builder(c.step());
  const std::size_t n = c.members(), place = (c.me() + n - c.mine.root) % n;  // counted from the root
  const auto member = [&](std::size_t p) { return (p + c.mine.root) % n; };
  const Stream stream = place == 0 ? whole_input(c.mine) : whole_output(c.mine);
  std::size_t reach = 1;  // children are at place + 1, 2, 4, ... below the place's lowest bit
  while (reach < n && (place & reach) == 0) reach *= 2;
  copy_at_root(c, build);
  for (std::uint64_t k = 0; k < parts_of(stream.all(), c.step()); ++k) {
    const Range range = part_of(stream.all(), k, c.step());
    const Id arrived = place == 0 ? Program::kNone : build.receive(member(place - reach), stream, range);
    for (std::size_t child = reach / 2; child > 0; child /= 2)
      if (place + child < n) build.send(member(place + child), stream, range, {arrived});
    build.end_piece();
  }
  return build.finish();
}

Program broadcast_scatter(const Compilation& c) {
  ProgramBuilder build = c.builder(c.step());
  const std::size_t root = c.mine.root;
  const bool is_root = c.me() == root;
  const Stream stream = is_root ? whole_input(c.mine) : whole_output(c.mine);
  copy_at_root(c, build);
  const Range first = share_of(stream.bytes(), 0, c.members());  // the longest
  for (std::uint64_t k = 0; k < parts_of(first, c.step()); ++k) {
    const auto segment = [&](std::size_t r) { return part_of(share_of(stream.bytes(), r, c.members()), k, c.step()); };
    const Id arrived = is_root ? Program::kNone : build.receive(root, stream, segment(c.me()));
    if (!is_root) build.receive(root, stream, segment(root));
    for (std::size_t d = 1; d < c.members(); ++d) {
      const std::size_t to = c.after(d), from = c.before(d);
      if (is_root) {
        build.send(to, stream, segment(to));
        build.send(to, stream, segment(root));
        continue;
      }
      if (from != root) build.receive(from, stream, segment(from));
      if (to != root) build.send(to, stream, segment(c.me()), {arrived});
    }
    build.end_piece();
  }
  return build.finish();
}

}  // namespace

Program compile_gather(const Compilation& c, Algorithm algorithm) {
  const Stream own = own_input(c.mine);
  std::vector<Stream> outputs;
  for (std::size_t r = 0; r < c.members(); ++r) outputs.push_back(output_from(c.mine, r));
  if (algorithm == Algorithm::kRing) return gather_ring(c, own, outputs);
  if (algorithm == Algorithm::kBruck) return gather_bruck(c, own, outputs);
  return exchange(c, std::vector<Stream>(c.members(), own), outputs);
}

Program compile_exchange(const Compilation& c, Algorithm algorithm) {
  std::vector<Stream> inputs, outputs;
  for (std::size_t r = 0; r < c.members(); ++r) {
    inputs.push_back(input_for(c.mine, r));
    outputs.push_back(output_from(c.mine, r));
  }
  return algorithm == Algorithm::kBruck ? exchange_bruck(c, inputs, outputs) : exchange(c, inputs, outputs);
}

Program compile_broadcast(const Compilation& c, Algorithm algorithm) {
  return algorithm == Algorithm::kScatter ? broadcast_scatter(c) : broadcast_tree(c);
}

}  // namespace baleen::ucx
