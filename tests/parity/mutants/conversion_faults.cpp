/// \file Faults of conversions between layouts, and of what ranks send each other within local regions.
#include "fault.hpp"

namespace baleen::test {
namespace {

class ConversionFault : public Placed {
 public:
  ConversionFault(const Placed& placed, const GradientsByName& gradients) : Placed(placed), gradients_(gradients) {}

  Status run() {
    const bool in_region = fault.at == "region";
    const baleen_op_t id = in_region ? exchange() : conversion();
    if (id == BALEEN_NONE)
      return invalid("no " + std::string(in_region ? "exchange" : "conversion") + " at `" + fault.of + "` along `" +
                     fault.axis_name() + "`");
    graph.follow(id);
    const baleen_value_t y = graph.op(id)->outputs()[0];
    const Layout layout = layout_of(y);
    const baleen_value_t copy = in_region ? local_copy(y) : copied(y).id();
    const Value right{graph.table(), y};
    if (in_region) {
      graph.redirect(copy, select(when(whole()), wrong_exchange(id), right).id());
      return {};
    }
    Value wrong = wrong_result(id);
    if (fault.step > 0) wrong = chosen(wrong, right, layout);
    graph.redirect(copy, wrong.id());
    return {};
  }

 private:
  // --- the op

  /// The conversion to damage, or BALEEN_NONE.
  baleen_op_t conversion() {
    if (fault.at == "gradient") {
      const auto found = gradients_.find(fault.of);
      return found == gradients_.end() ? BALEEN_NONE : behind(found->second);
    }
    if (fault.at == "parameter") return behind(find(BALEEN_ROLE_PARAMETER, fault.of));
    if (fault.at == "update") return before(graph.op(assign_of(fault.of))->inputs()[1]);
    return named([&](baleen_op_t id) { return is_conversion(id); });
  }
  baleen_op_t exchange() {
    return named([&](baleen_op_t id) { return is_exchange(id); });
  }
  template <class Is>
  baleen_op_t named(Is&& is) {
    std::int64_t left = fault.nth;
    for (const baleen_op_t id : graph.ordered())
      if (is(id) && is_along(id))
        if (const baleen_value_t y = graph.op(id)->outputs()[0]; name(y) == fault.of && left-- == 0) return id;
    return BALEEN_NONE;
  }
  baleen_op_t behind(baleen_value_t value) {
    const std::vector<baleen_op_t> all = users(value);
    for (const baleen_op_t user : all)
      if (is_conversion(user) && is_along(user)) return user;
    for (const baleen_op_t user : all)
      if (is_conversion(user))
        if (const baleen_op_t found = behind(graph.op(user)->outputs()[0]); found != BALEEN_NONE) return found;
    return BALEEN_NONE;
  }
  baleen_op_t before(baleen_value_t value) {
    const baleen_op_t producer = graph.value(value).producer;
    if (!is_conversion(producer)) return BALEEN_NONE;
    return is_along(producer) ? producer : before(graph.op(producer)->inputs()[0]);
  }

  // --- within a region

  baleen_value_t local_copy(baleen_value_t y) {
    const baleen_value_t copy = graph.cast(y, graph.value(y).dtype);
    graph.redirect(y, copy, graph.value(copy).producer);
    return copy;
  }
  /// What the op should have sent is what the rank has, or it comes from the rank behind the right one.
  Value wrong_exchange(baleen_op_t id) {
    const Op op = *graph.op(id);
    const Value own{graph.table(), op.inputs()[0]};
    if (fault.kind == "drop") return own;
    const std::string kind(op.kind());
    AttributeList attributes = AttributeList::of(op);
    const char* const from = op.has("root") ? "root" : "shift";
    const std::int64_t next = (op.integer(from) + 1) % fault.ranks;
    attributes.erase(from).integer(from, next);
    return {graph.table(), graph.append(kind, {own.id()}, attributes)};
  }

  // --- of a conversion

  Value collective_of_pieces(Value value, std::string_view kind, AttributeList attributes, const Layout& layout) {
    attributes.integers("axes", {fault.along});
    const Value local{graph.table(), graph.append(kind, {to_local(value).id()}, attributes)};
    return from_local(local, shape_of(value.id()), layout);
  }

  Value wrong_result(baleen_op_t id) {
    const Op op = *graph.op(id);
    const std::string kind(op.kind()), from(op.text("from")), to(op.text("to"));
    const AttributeList attributes = AttributeList::of(op);
    const Value x{graph.table(), op.inputs()[0]}, y{graph.table(), op.outputs()[0]};
    const Layout before = layout_of(x.id()), after = layout_of(y.id());
    const Layout summed = changed(before, fault.along, replicate());
    const double ranks = static_cast<double>(fault.ranks);
    /// The rank's part of what it has whole along the axis.
    const auto part = [&](Value value) {
      return to == "R" ? value : convert("take_shard", value, fault.along, "R", to, after);
    };
    const auto repeat = [&](Value value) {
      return with({graph.table(), graph.append(kind, {value.id()}, attributes)}, after);
    };
    if (fault.kind == "drop" && before[fault.along].kind == BALEEN_AT) return relabel(x, after);
    if (fault.kind == "drop") return part(relabel(x, summed));
    if (fault.kind == "own") return part(with(relabel(x, summed) * ranks, fault.open ? before : summed));
    if (fault.kind == "part") return relabel(x, after);
    if (fault.kind == "twice") {
      const Value once = to == "R" ? y : convert("all_reduce", x, fault.along, "P", "R", summed);
      return repeat(relabel(once, before));
    }
    if (fault.kind == "axis") {
      const Value moved = relabel(x, changed(summed, fault.other_axis(), partial_sum()));
      return part(convert("all_reduce", moved, fault.other_axis(), "P", "R", summed));
    }
    if (fault.kind == "again") {
      const Value partial = relabel(x, changed(before, fault.other_axis(), partial_sum()));
      return repeat(convert("all_reduce", partial, fault.other_axis(), "P", "R", before));
    }
    if (fault.kind == "max")
      return part(fault.open ? convert("all_reduce", x, fault.along, "Pmax", "R", summed)
                             : collective_of_pieces(x, "all_reduce", AttributeList().text("reduction", "max"), summed));
    if (fault.kind == "first")
      return part(fault.open ? convert("broadcast", x, fault.along, "@0", "R", summed)
                             : collective_of_pieces(x, "broadcast", AttributeList().integer("root", 0), summed));
    return wrong_copy(y, after);
  }

  /// Of what the conversion gave.
  Value wrong_copy(Value y, const Layout& layout) {
    const double ranks = static_cast<double>(fault.ranks);
    if (fault.kind == "mean") return with(y / ranks, layout);
    if (fault.kind == "sum") return with(y * ranks, layout);
    if (fault.kind == "half") {
      const Value coarse = with(cast(y, BALEEN_BF16), layout);
      return with(cast(coarse, y.info().dtype), layout);
    }
    if (fault.kind == "drift") {
      const Value piece = fault.open ? y : to_local(y);
      const Value off = with(rank(y.info().dtype) * 0.001 + 1.0, whole());
      const Value wrong = with(piece * off, fault.open ? layout : whole());
      return fault.open ? wrong : from_local(wrong, shape_of(y.id()), layout);
    }
    return roll(y, layout);
  }

  /// Pieces joined in another order: each stands where the one before belongs.
  Value roll(Value y, const Layout& layout) {
    const std::vector<std::int64_t> shape = shape_of(y.id());
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    const std::int64_t piece = count / fault.ranks;
    const auto add = [&](std::string_view kind, std::initializer_list<baleen_value_t> inputs,
                         const AttributeList& attributes) {
      return with({graph.table(), graph.append(kind, inputs, attributes)}, layout).id();
    };
    const auto slice = [&](baleen_value_t v, std::int64_t start, std::int64_t length) {
      return add("slice", {v}, AttributeList().integer("dim", 0).integer("start", start).integer("length", length));
    };
    const baleen_value_t flat = add("reshape", {y.id()}, AttributeList().integers("shape", {count}));
    const baleen_value_t rest = slice(flat, piece, count - piece), first = slice(flat, 0, piece);
    const baleen_value_t joined = add("concat", {rest, first}, AttributeList().integer("dim", 0));
    return {graph.table(), add("reshape", {joined}, AttributeList().integers("shape", shape))};
  }

  const GradientsByName& gradients_;
};

}  // namespace

Status damage_conversion(Placed placed, const GradientsByName& gradients) {
  return ConversionFault(placed, gradients).run();
}

}  // namespace baleen::test
