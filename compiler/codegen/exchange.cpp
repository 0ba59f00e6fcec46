/// \file What goes into a call of the transport and what comes out of it, by pieces.
#include "compiler/codegen/exchange.hpp"

#include <algorithm>
#include <numeric>

namespace baleen {
namespace {

/// Where the listed indices stand among `all`, run by run.
std::vector<Range> positions(const Ranges& all, const Ranges& listed) {
  std::vector<Range> result;
  std::int64_t before = 0;
  for (const Range& run : all) {
    for (const Range& wanted : common({run}, listed))
      result.push_back({before + wanted.begin - run.begin, before + wanted.end - run.begin});
    before += run.length();
  }
  return result;
}

/// The indices of each dimension; of a flat piece those of its one.
std::vector<Ranges> dims_of(const Piece& piece) {
  if (!piece.flat) return piece.dims;
  return {piece.flat->length() > 0 ? Ranges{*piece.flat} : Ranges{}};
}

std::vector<Ranges> common(const std::vector<Ranges>& a, const std::vector<Ranges>& b) {
  std::vector<Ranges> both;
  for (std::size_t d = 0; d < a.size(); ++d) both.push_back(common(a[d], b[d]));
  return both;
}

Shape extents(const std::vector<Ranges>& dims) {
  Shape shape;
  for (const Ranges& runs : dims) shape.push_back(length(runs));
  return shape;
}

bool all_of_one_size(const std::vector<Piece>& pieces) {
  return std::all_of(pieces.begin(), pieces.end(), [&](const Piece& p) { return p.shape() == pieces[0].shape(); });
}

baleen_reduction_t reduction_of(const Placement& partial) {
  return partial.kind == Placement::Kind::partial_max ? BALEEN_MAXIMUM : BALEEN_SUM;
}

/// A part of a dimension that one member has.
struct Part {
  std::int64_t index;  ///< the first, global
  std::size_t member;
  Range run;  ///< in the member's
};

/// The parts of a dimension that members hold, in the order of global indices.
std::vector<Part> parts_of(const std::vector<Ranges>& by_member) {
  std::vector<Part> parts;
  for (std::size_t m = 0; m < by_member.size(); ++m) {
    std::int64_t offset = 0;
    for (const Range& run : by_member[m]) {
      parts.push_back({run.begin, m, {offset, offset + run.length()}});
      offset += run.length();
    }
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.index < b.index; });
  return parts;
}

}  // namespace

Exchange::Exchange(Lowered& lowered, OpEmitter& emitter, const Op& op, std::uint32_t section)
    : lowered_(lowered), op_(op), packer_(lowered, emitter, op, section), group_{lowered.at} {
  for (std::int64_t axis : op.attributes.integers("axes")) {
    axes_.push_back(static_cast<int>(axis));
    const auto a = static_cast<std::size_t>(axis);
    std::vector<Coordinates> more;
    for (const Coordinates& at : group_)
      for (std::int64_t c = 0; c < lowered.mesh.axes[a].size; ++c) {
        more.push_back(at);
        more.back()[a] = c;
      }
    group_ = std::move(more);
  }
  if (std::find(lowered.groups.begin(), lowered.groups.end(), axes_) == lowered.groups.end())
    lowered.groups.push_back(axes_);
  place_ = static_cast<std::size_t>(std::find(group_.begin(), group_.end(), lowered.at) - group_.begin());
}

Exchange::Sides Exchange::sides(const Shape& global, const Layout& from, const Layout& to) const {
  Sides result{global, from, to, {}, {}};
  for (const Coordinates& at : group_) {
    result.before.push_back(piece_of(global, from, lowered_.mesh, at));
    result.after.push_back(piece_of(global, to, lowered_.mesh, at));
  }
  return result;
}

Error Exchange::refuse(const std::string& why) const { return unsupported(title_of(op_) + ": " + why, op_.where); }

LoweredCall Exchange::new_call(baleen_collective_t op, std::uint64_t count, std::uint64_t block) const {
  LoweredCall call;
  call.op = op;
  call.axes = axes_;
  call.entries = {{kNone, kNone, count, block, {}, {}}};
  return call;
}

Result<LowValue> Exchange::convert(CollectiveOp collective, LowValue x, const Layout& from, const ResultSpec& to) {
  BALEEN_TRY_ASSIGN(const LowValue y, converted(collective, x, from, to));
  if (to.role != Role::parameter) return y;
  // The role belongs to the value that owns the bytes, since memory is reported by roles: follow views to it.
  LowValue shown = y;
  for (LowOp made = lowered_.values[y].producer; made != kNone && lowered_.ops[made].means == LoweringKind::view;) {
    shown = lowered_.ops[made].op.inputs[0];
    made = lowered_.values[shown].producer;
  }
  if (shown != x) lowered_.values[shown].role = to.role;
  return y;
}

Result<LowValue> Exchange::converted(CollectiveOp collective, LowValue x, const Layout& from, const ResultSpec& to) {
  Layout target = to.layout;
  target.resize(lowered_.mesh.axes.size());
  const Sides both = sides(to.type.shape, from, target);
  const auto axis = static_cast<std::size_t>(axes_[0]);
  const auto held = [](const Piece& piece) { return piece.held; };
  if (std::none_of(both.before.begin(), both.before.end(), held) &&
      std::none_of(both.after.begin(), both.after.end(), held))
    return packer_.zeros(to);  // another coordinate of an axis that takes no part has the value
  switch (collective) {
    case CollectiveOp::all_reduce: {
      LoweredCall call = new_call(BALEEN_ALL_REDUCE, static_cast<std::uint64_t>(element_count(packer_.shape(x))));
      call.reduction = reduction_of(from[axis]);
      return packer_.call(std::move(call), x, to);
    }
    case CollectiveOp::reduce_scatter: return reduce_scatter(x, both, to);
    case CollectiveOp::all_gather: return all_gather(x, both, to);
    case CollectiveOp::all_to_all: return all_to_all(x, both, to);
    case CollectiveOp::reduce: return reduce(x, target[axis].argument, reduction_of(from[axis]), to);
    case CollectiveOp::broadcast: return broadcast(x, from[axis].argument, to);
    case CollectiveOp::send: return send(x, both, to);
    case CollectiveOp::take_shard: return take_shard(x, both, to);
    case CollectiveOp::take_partial: return take_partial(x, both, to);
    case CollectiveOp::take_at: return both.after[place_].held ? packer_.finish(x, to) : packer_.zeros(to);
  }
  return refuse("no such conversion");
}

Result<LowValue> Exchange::gather_rows(LowValue x, std::int64_t rows) {
  Shape whole = packer_.shape(x);
  whole[0] = 1;
  const std::int64_t row = element_count(whole);
  whole[0] = rows;
  LoweredCall call = new_call(BALEEN_ALL_GATHER, static_cast<std::uint64_t>(rows * row),
                              static_cast<std::uint64_t>((rows + members() - 1) / members() * row));
  return packer_.call(std::move(call), x, std::move(whole));
}

Result<LowValue> Exchange::scatter_rows(LowValue x, baleen_reduction_t reduction) {
  Shape shape = packer_.shape(x);
  const std::int64_t rows = shape[0], most = (rows + members() - 1) / members();
  const std::int64_t row = rows > 0 ? element_count(shape) / rows : 0;
  const auto place = static_cast<std::int64_t>(place_);
  shape[0] = std::min(rows, (place + 1) * most) - std::min(rows, place * most);
  LoweredCall call =
      new_call(BALEEN_REDUCE_SCATTER, static_cast<std::uint64_t>(rows * row), static_cast<std::uint64_t>(most * row));
  call.reduction = reduction;
  return packer_.call(std::move(call), x, std::move(shape));
}

Result<LowValue> Exchange::all_gather(LowValue x, const Sides& sides, const ResultSpec& to) {
  const Placement& cut = sides.from[static_cast<std::size_t>(axes_[0])];
  const Piece& after = sides.after[place_];
  if (cut.cut() == kFlat) {
    BALEEN_TRY_ASSIGN(const LowValue joined, gather_rows(x, element_count(after.shape())));
    BALEEN_TRY_ASSIGN(const LowValue shaped, packer_.reshape(joined, after.shape()));
    return packer_.finish(shaped, to);
  }
  const auto dim = static_cast<std::size_t>(*cut.cut());
  const bool balanced = cut.kind == Placement::Kind::shard_balanced;
  if (balanced && !all_of_one_size(sides.before)) return all_to_all(x, sides, to);
  BALEEN_TRY_ASSIGN(const LowValue front, packer_.to_front(x, dim));
  BALEEN_TRY_ASSIGN(LowValue rows, gather_rows(front, length(after.dims[dim])));
  if (balanced) {
    std::vector<Ranges> indices;
    for (const Piece& piece : sides.before) indices.push_back(piece.dims[dim]);
    std::vector<Range> order;
    for (const Part& part : parts_of(indices)) {
      const std::int64_t before = static_cast<std::int64_t>(part.member) * length(indices[0]);
      order.push_back({before + part.run.begin, before + part.run.end});
    }
    BALEEN_TRY_ASSIGN(rows, packer_.select(rows, 0, order));
  }
  BALEEN_TRY_ASSIGN(const LowValue whole, packer_.from_front(rows, dim));
  return packer_.finish(whole, to);
}

Result<LowValue> Exchange::reduce_scatter(LowValue x, const Sides& sides, const ResultSpec& to) {
  const auto axis = static_cast<std::size_t>(axes_[0]);
  const Placement& cut = sides.to[axis];
  const baleen_reduction_t reduction = reduction_of(sides.from[axis]);
  if (cut.cut() == kFlat) {
    BALEEN_TRY_ASSIGN(const LowValue row, packer_.flat(x));
    BALEEN_TRY_ASSIGN(const LowValue own, scatter_rows(row, reduction));
    return packer_.finish(own, to);
  }
  const auto dim = static_cast<std::size_t>(*cut.cut());
  const bool balanced = cut.kind == Placement::Kind::shard_balanced;
  if (balanced && !all_of_one_size(sides.after)) {
    LoweredCall call = new_call(BALEEN_ALL_REDUCE, static_cast<std::uint64_t>(element_count(packer_.shape(x))));
    call.reduction = reduction;
    BALEEN_TRY_ASSIGN(const LowValue sum, packer_.call(std::move(call), x, packer_.shape(x)));
    return take_shard(sum, sides, to);
  }
  BALEEN_TRY_ASSIGN(LowValue rows, packer_.to_front(x, dim));
  if (balanced) {
    std::vector<Range> order;
    for (const Piece& piece : sides.after)
      for (const Range& run : positions(sides.before[place_].dims[dim], piece.dims[dim])) order.push_back(run);
    BALEEN_TRY_ASSIGN(rows, packer_.select(rows, 0, order));
  }
  BALEEN_TRY_ASSIGN(rows, scatter_rows(rows, reduction));
  BALEEN_TRY_ASSIGN(const LowValue own, packer_.from_front(rows, dim));
  return packer_.finish(own, to);
}

/// The indices `wanted` of each dimension of `x`, which has those in `held`.
Result<LowValue> Exchange::part(LowValue x, const std::vector<Ranges>& held, const std::vector<Ranges>& wanted) {
  for (std::size_t d = 0; d < held.size(); ++d) {
    BALEEN_TRY_ASSIGN(x, packer_.select(x, d, positions(held[d], wanted[d])));
  }
  return x;
}

Result<LowValue> Exchange::all_to_all(LowValue x, const Sides& sides, const ResultSpec& to) {
  if (sides.before[0].flat.has_value() != sides.after[0].flat.has_value()) return through_whole(x, sides, to);
  LoweredCall call = new_call(BALEEN_ALL_TO_ALL);
  BALEEN_TRY_ASSIGN(const LowValue packed, pack(x, sides, call.entries[0]));
  const std::vector<std::uint64_t> counts = call.entries[0].receives;
  const std::uint64_t all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  BALEEN_TRY_ASSIGN(const LowValue received,
                    packer_.call(std::move(call), packed, Shape{static_cast<std::int64_t>(all)}));
  BALEEN_TRY_ASSIGN(const LowValue joined, unpack(received, sides, counts));
  return packer_.finish(joined, to);
}

/// The elements of this rank that each member needs, one member's after the other's.
Result<LowValue> Exchange::pack(LowValue x, const Sides& sides, EntryOf<LowValue>& entry) {
  std::vector<LowValue> messages;
  const std::vector<Ranges> own = dims_of(sides.before[place_]);
  for (const Piece& other : sides.after) {
    const std::vector<Ranges> wanted = common(own, dims_of(other));
    BALEEN_TRY_ASSIGN(const LowValue piece, part(x, own, wanted));
    BALEEN_TRY_ASSIGN(const LowValue row, packer_.flat(piece));
    messages.push_back(row);
    entry.sends.push_back(static_cast<std::uint64_t>(element_count(packer_.shape(row))));
  }
  const std::vector<Ranges> mine = dims_of(sides.after[place_]);
  for (const Piece& other : sides.before)
    entry.receives.push_back(static_cast<std::uint64_t>(element_count(extents(common(dims_of(other), mine)))));
  return packer_.concat(messages, 0);
}

/// Joins what came from the members, `counts` elements each, along the one dimension in which they differ.
Result<LowValue> Exchange::unpack(LowValue received, const Sides& sides, const std::vector<std::uint64_t>& counts) {
  const std::vector<Ranges> mine = dims_of(sides.after[place_]);
  std::vector<std::vector<Ranges>> from;
  std::optional<std::size_t> dim;
  for (const Piece& other : sides.before) {
    from.push_back(common(dims_of(other), mine));
    for (std::size_t d = 0; d < mine.size(); ++d) {
      if (from.back()[d] == mine[d]) continue;
      if (dim && *dim != d) return refuse("its pieces differ in more than one dimension");
      dim = d;
    }
  }
  std::vector<LowValue> messages;
  std::int64_t offset = 0;
  for (std::size_t m = 0; m < from.size(); ++m) {
    const auto count = static_cast<std::int64_t>(counts[m]);
    BALEEN_TRY_ASSIGN(const LowValue row, packer_.slice(received, 0, {offset, offset + count}));
    BALEEN_TRY_ASSIGN(const LowValue message, packer_.reshape(row, extents(from[m])));
    messages.push_back(message);
    offset += count;
  }
  if (!dim) return messages[0];
  std::vector<Ranges> indices;
  for (const auto& dims : from) indices.push_back(dims[*dim]);
  std::vector<LowValue> parts;
  for (const Part& part : parts_of(indices)) {
    BALEEN_TRY_ASSIGN(const LowValue one, packer_.slice(messages[part.member], *dim, part.run));
    parts.push_back(one);
  }
  return parts.empty() ? packer_.reshape(received, extents(mine)) : packer_.concat(parts, *dim);
}

/// From flat shards to those of a dimension, or back.
Result<LowValue> Exchange::through_whole(LowValue x, const Sides& both, const ResultSpec& to) {
  if (axes_.size() != 1) return refuse("flat shards do not become others along several axes at once");
  const Layout between = with_placement(both.from, axes_[0], Placement::replicate());
  const ResultSpec whole{to.name, to.type, is_whole(between) ? Layout{} : between, to.role};
  BALEEN_TRY_ASSIGN(const LowValue joined, all_gather(x, sides(both.global, both.from, between), whole));
  return take_shard(joined, sides(both.global, between, both.to), to);
}

Result<LowValue> Exchange::take_shard(LowValue x, const Sides& sides, const ResultSpec& to) {
  const Piece &before = sides.before[place_], &after = sides.after[place_];
  if (!after.flat) {
    BALEEN_TRY_ASSIGN(const LowValue own, part(x, before.dims, after.dims));
    return packer_.finish(own, to);
  }
  const std::int64_t first = before.flat ? before.flat->begin : 0;
  BALEEN_TRY_ASSIGN(const LowValue row, packer_.flat(x));
  BALEEN_TRY_ASSIGN(const LowValue own, packer_.slice(row, 0, {after.flat->begin - first, after.flat->end - first}));
  return packer_.finish(own, to);
}

/// A replicated value is kept by the ranks at coordinate 0, a value `at` a coordinate by its holder, a shard by the
/// rank that has it. All other elements become zeros.
Result<LowValue> Exchange::take_partial(LowValue x, const Sides& sides, const ResultSpec& to) {
  const auto axis = static_cast<std::size_t>(axes_[0]);
  const Piece &before = sides.before[place_], &after = sides.after[place_];
  const Placement& from = sides.from[axis];
  if (!from.cut()) {
    const bool keeps = from.is_at() ? before.held : lowered_.at[axis] == 0;
    return keeps ? packer_.finish(x, to) : packer_.zeros(to);
  }
  const bool flat = before.flat.has_value();
  const std::size_t dim = flat ? 0 : static_cast<std::size_t>(*from.cut());
  const Ranges all = after.flat ? Ranges{*after.flat}
                     : flat     ? Ranges{{0, element_count(after.shape())}}
                                : after.dims[dim];
  const Ranges own = flat ? dims_of(before)[0] : before.dims[dim];
  std::vector<LowValue> parts;
  std::int64_t done = 0, taken = 0;
  const auto pad = [&](std::int64_t count) -> Status {
    Shape shape = packer_.shape(x);
    shape[dim] = count;
    BALEEN_TRY_ASSIGN(const LowValue zeros, packer_.zeros(lowered_.values[x].dtype, std::move(shape)));
    parts.push_back(zeros);
    return {};
  };
  for (const Range& run : positions(all, own)) {
    if (run.begin > done) BALEEN_TRY(pad(run.begin - done));
    BALEEN_TRY_ASSIGN(const LowValue piece, packer_.slice(x, dim, {taken, taken + run.length()}));
    parts.push_back(piece);
    taken += run.length();
    done = run.end;
  }
  if (done < length(all)) BALEEN_TRY(pad(length(all) - done));
  if (parts.empty()) return packer_.zeros(to);  // there is nothing of it here
  BALEEN_TRY_ASSIGN(LowValue whole, packer_.concat(parts, dim));
  if (flat && !after.flat) {
    BALEEN_TRY_ASSIGN(whole, packer_.reshape(whole, after.shape()));
  }
  return packer_.finish(whole, to);
}

Result<LowValue> Exchange::reduce(LowValue x, std::int64_t root, baleen_reduction_t reduction, const ResultSpec& to) {
  LoweredCall call = new_call(BALEEN_REDUCE, static_cast<std::uint64_t>(element_count(packer_.shape(x))));
  call.root = static_cast<std::size_t>(root);
  call.reduction = reduction;
  if (static_cast<std::int64_t>(place_) == root) return packer_.call(std::move(call), x, to);
  packer_.give(std::move(call), x);
  return packer_.zeros(to);
}

Result<LowValue> Exchange::broadcast(LowValue x, std::int64_t root, const ResultSpec& to) {
  const bool gives = static_cast<std::int64_t>(place_) == root;
  Shape shape = to.type.shape;
  if (!to.layout.empty()) shape = local_shape(shape, to.layout, lowered_.mesh, lowered_.at);
  LoweredCall call = new_call(BALEEN_BROADCAST, static_cast<std::uint64_t>(element_count(shape)));
  call.root = static_cast<std::size_t>(root);
  if (!gives) return packer_.call(std::move(call), kNone, to);
  packer_.give(std::move(call), x);
  return packer_.finish(x, to);
}

Result<LowValue> Exchange::send(LowValue x, const Sides& sides, const ResultSpec& to) {
  const auto axis = static_cast<std::size_t>(axes_[0]);
  const int source = sides.from[axis].argument, target = sides.to[axis].argument, place = static_cast<int>(place_);
  if (place != source && place != target) return packer_.zeros(to);
  LoweredCall call =
      new_call(place == source ? BALEEN_SEND : BALEEN_RECEIVE,
               static_cast<std::uint64_t>(element_count(sides.before[static_cast<std::size_t>(source)].shape())));
  call.root = static_cast<std::size_t>(place == source ? target : source);
  if (place == target) return packer_.call(std::move(call), kNone, to);
  packer_.give(std::move(call), x);
  return packer_.zeros(to);
}

}  // namespace baleen
