#include "fault.hpp"

#include <functional>
#include <numeric>

namespace baleen::test {

Fault::Fault(const Settings& settings, MeshView of_mesh, std::uint32_t along_axis)
    : kind(settings.text("fault")),
      at(settings.text("at")),
      of(settings.text("of")),
      other(settings.text("other")),
      nth(settings.integer("nth")),
      step(static_cast<double>(settings.integer("step"))),
      evaluates(settings.text("graph") == "evaluate"),
      open(settings.boolean("open")),
      mesh(of_mesh),
      along(along_axis),
      ranks(of_mesh.size(along_axis)) {}

std::uint32_t Fault::other_axis() const {
  const auto found = mesh.find(other);
  if (!found) throw std::invalid_argument("no mesh axis `" + other + "`");
  return *found;
}

// --- finding

baleen_value_t Placed::find(baleen_role_t role, const std::string& name) const {
  for (baleen_value_t v = 0; v < graph.value_count(); ++v)
    if (const auto value = graph.value(v); value.role == role && view(value.name) == name) return v;
  return BALEEN_NONE;
}

baleen_op_t Placed::assign_of(const std::string& target) {
  for (baleen_op_t id = 0; id < graph.op_count(); ++id)
    if (const auto op = graph.op(id); op && op->kind() == "assign")
      if (const baleen_value_t v = op->inputs()[0]; name(v) == target) return id;
  return BALEEN_NONE;
}

bool Placed::is_conversion(baleen_op_t id) {
  const auto op = graph.op(id);
  return op && op->has("from") && op->has("axes");
}

bool Placed::is_along(baleen_op_t id) {
  const auto op = graph.op(id);
  return op->integers("axes").size() == 1 && op->integers("axes")[0] == fault.along && op->kind() != "take_partial";
}

bool Placed::is_exchange(baleen_op_t id) {
  const auto op = graph.op(id);
  return op && op->has("axes") && !op->has("from") && op->kind() != "pick" && op->kind() != "axis_index";
}

std::vector<baleen_op_t> Placed::users(baleen_value_t value) const {
  const baleen_value_info_t info = graph.value(value);
  return {info.users, info.users + info.user_count};
}

// --- when

Value Placed::now(Value attempts) const {
  return fault.step > 0 ? equal(attempts, fault.step - 1) : less_equal(0.0, attempts);
}

Value Placed::when(const Layout& layout) {
  Layout lies = whole();
  Value condition = with(now(), lies);
  for (std::uint32_t axis = 0; axis < layout.size(); ++axis) {
    if (layout[axis].kind != BALEEN_AT) continue;
    lies[axis] = layout[axis];
    condition = convert("take_at", condition, axis, "R", layout_text({&layout[axis], 1}), lies);
  }
  return condition;
}

Value Placed::chosen(Value wrong, Value right, const Layout& layout) {
  const Value one = with(select(when(layout), wrong, right), layout);
  return with(cast(one, right.info().dtype), layout);  // one of 16 bits was made wider
}

// --- layouts

Layout Placed::layout_of(baleen_value_t value) const {
  const baleen_value_info_t info = graph.value(value);
  return {info.layout, info.layout + info.layout_count};
}

std::vector<std::int64_t> Placed::shape_of(baleen_value_t value) const {
  const baleen_value_info_t info = graph.value(value);
  return {info.shape, info.shape + info.rank};
}

std::vector<std::int64_t> Placed::piece_of(std::vector<std::int64_t> shape, const Layout& layout) const {
  for (std::uint32_t axis = 0; axis < layout.size(); ++axis)
    if (layout[axis].kind == BALEEN_SHARD || layout[axis].kind == BALEEN_SHARD_BALANCED) {
      std::int64_t& extent = shape[static_cast<std::size_t>(layout[axis].argument)];
      extent = (extent + fault.mesh.size(axis) - 1) / fault.mesh.size(axis);
    }
  for (std::uint32_t axis = 0; axis < layout.size(); ++axis) {
    if (layout[axis].kind != BALEEN_SHARD_FLAT) continue;
    const std::int64_t count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    shape = {(count + fault.mesh.size(axis) - 1) / fault.mesh.size(axis)};
  }
  return shape;
}

Value Placed::to_local(Value value) {
  const auto shape = piece_of(shape_of(value.id()), layout_of(value.id()));
  return {graph.table(), graph.append("to_local", {value.id()}, AttributeList().integers("shape", shape))};
}

Value Placed::from_local(Value local, const std::vector<std::int64_t>& shape, const Layout& layout) {
  const auto attributes = AttributeList().integers("shape", shape).text("layout", layout_text(layout));
  return with({graph.table(), graph.append("from_local", {local.id()}, attributes)}, layout);
}

Value Placed::relabel(Value value, const Layout& layout) {
  if (fault.open) return value;
  return from_local(to_local(value), shape_of(value.id()), layout);
}

Value Placed::convert(std::string_view kind, Value value, std::uint32_t axis, std::string_view from,
                      std::string_view to, const Layout& layout) {
  const auto attributes = AttributeList().integers("axes", {axis}).text("from", from).text("to", to);
  return with({graph.table(), graph.append(kind, {value.id()}, attributes)}, layout);
}

Value Placed::rank(baleen_dtype_t dtype) {
  const Value index{graph.table(), graph.append("axis_index", {}, AttributeList().integers("axes", {fault.along}))};
  return with(cast(with(index, whole()), dtype), whole());
}

Value Placed::copied(baleen_value_t value) {
  const Layout layout = layout_of(value);
  const baleen_value_t copy = graph.cast(value, graph.value(value).dtype);
  graph.set_layout(copy, layout);
  graph.redirect(value, copy, graph.value(copy).producer);
  return {graph.table(), copy};
}

}  // namespace baleen::test
