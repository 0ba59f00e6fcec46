/// \file Appends the ops of local regions through the graph's verbs.
#include "region.hpp"

#include <array>

namespace baleen::sequence_parallel {
namespace {

void check(baleen_status_t status) {
  if (status) throw Failed(status);
}

std::string placement_text(const baleen_placement_t& p) {
  constexpr std::array<const char*, 7> kLetters{"R", "S", "B", "F", "P", "Pmax", "@"};
  std::string text = kLetters[static_cast<std::size_t>(p.kind)];
  if (p.kind == BALEEN_SHARD || p.kind == BALEEN_SHARD_BALANCED || p.kind == BALEEN_AT)
    text += std::to_string(p.argument);
  if (p.depth > 0) text += "." + std::to_string(p.depth);
  return text;
}

std::string layout_text(const std::vector<baleen_placement_t>& layout) {
  std::string text;
  for (const baleen_placement_t& p : layout) text += (text.empty() ? "" : ",") + placement_text(p);
  return text;
}

/// Into how many parts the mesh cuts dimension `dim`.
std::int64_t parts(const baleen_value_info_t& value, MeshView mesh, std::uint32_t dim) {
  std::int64_t parts = 1;
  for (std::uint32_t axis = 0; axis < mesh.count() && axis < value.layout_count; ++axis) {
    const baleen_placement_t& p = value.layout[axis];
    const bool balanced = p.kind == BALEEN_SHARD_BALANCED;
    if ((balanced || p.kind == BALEEN_SHARD) && p.argument == static_cast<std::int32_t>(dim))
      parts *= mesh.size(axis) * (balanced ? 2 : 1);
  }
  return parts;
}

}  // namespace

std::vector<std::int64_t> local_shape(const baleen_value_info_t& value, MeshView mesh) {
  std::vector<std::int64_t> shape(value.shape, value.shape + value.rank);
  for (std::uint32_t axis = 0; axis < mesh.count() && axis < value.layout_count; ++axis) {
    const baleen_placement_t& p = value.layout[axis];
    if (p.kind == BALEEN_SHARD || p.kind == BALEEN_SHARD_BALANCED)
      shape[static_cast<std::size_t>(p.argument)] /= mesh.size(axis);
  }
  return shape;
}

Status check_even(std::string_view op, const baleen_value_info_t& operand, MeshView mesh) {
  for (std::uint32_t dim = 0; dim < operand.rank; ++dim) {
    const std::int64_t extent = operand.shape[dim], count = parts(operand, mesh, dim);
    if (extent % count == 0) continue;
    const std::string name =
        operand.axes[dim].size ? std::string(view(operand.axes[dim])) : "dimension " + std::to_string(dim);
    const std::int64_t less = extent / count * count, more = less + count;
    return invalid(std::string(op) + ": `" + name + "` = " + std::to_string(extent) + " does not divide into " +
                   std::to_string(count) + " equal parts, and the ranks of a ring hold equal ones; make it " +
                   (less > 0 ? std::to_string(less) + " or " : "") + std::to_string(more) +
                   ", or take mode = \"ulysses\"");
  }
  return {};
}

Region::Region(GraphView graph, MeshView mesh, std::uint32_t axis, baleen_op_t op)
    : graph_(graph.table()), mesh_(mesh), axis_(axis), ranks_(mesh.size(axis)) {
  check(graph_->follow(graph_->self, op));
}

Value Region::append(std::string_view kind, std::initializer_list<Value> inputs,
                     std::initializer_list<Integers> attributes) {
  std::vector<baleen_value_t> ids;
  for (const Value& input : inputs) ids.push_back(input.id());
  std::vector<baleen_attribute_t> list;
  for (const Integers& a : attributes)
    list.push_back({abi(a.name), BALEEN_ATTRIBUTE_INTS, 0, a.values.size(), a.values.data()});
  return baleen::append(graph_, kind, ids, list);
}

Value Region::open(baleen_value_t value) {
  const Value whole(graph_, value);
  return append("to_local", {whole}, {{"shape", local_shape(whole.info(), mesh_)}});
}

void Region::close(Value local, baleen_value_t whole) {
  const baleen_value_info_t info = Value(graph_, whole).info();
  const std::vector<baleen_placement_t> layout(info.layout, info.layout + info.layout_count);
  const std::vector<std::int64_t> shape(info.shape, info.shape + info.rank);
  const std::string text = layout_text(layout);
  const baleen_value_t input = local.id();
  const baleen_attribute_t attributes[] = {{abi("shape"), BALEEN_ATTRIBUTE_INTS, 0, shape.size(), shape.data()},
                                           {abi("layout"), BALEEN_ATTRIBUTE_STRING, 0, text.size(), text.data()}};
  const Value closed = baleen::append(graph_, "from_local", {&input, 1}, attributes);
  check(graph_->set_layout(graph_->self, closed.id(), layout.data(), layout.size()));
  check(graph_->redirect(graph_->self, whole, closed.id(), BALEEN_NONE));
}

Value Region::after(Value x, std::initializer_list<Value> others) {
  for (const Value& other : others)
    if (other) x = append("after", {x, other}, {});
  return x;
}

Value Region::from_neighbour(Value x) { return append("permute", {x}, {{"axes", {axis_}}, {"shift", {1}}}); }

Value Region::coordinate() {
  if (!coordinate_) coordinate_ = append("axis_index", {}, {{"axes", {axis_}}});
  return coordinate_;
}

Value Region::from_rank_on(std::int64_t first, Operand then, Operand otherwise) {
  std::vector<baleen_value_t> inputs{coordinate().id()};
  const auto load = [&](const Operand& operand) -> baleen_instruction_t {
    if (operand.is_constant()) return {BALEEN_X_CONSTANT, 0, 0, 0, operand.constant()};
    inputs.push_back(operand.value().id());
    return {BALEEN_X_INPUT, static_cast<std::uint32_t>(inputs.size() - 1), 0, 0, 0};
  };
  const baleen_instruction_t code[] = {{BALEEN_X_INPUT, 0, 0, 0, 0},
                                       {BALEEN_X_CONSTANT, 0, 0, 0, static_cast<double>(first)},
                                       {BALEEN_X_LE, 1, 0, 0, 0},
                                       load(then),
                                       load(otherwise),
                                       {BALEEN_X_SELECT, 2, 3, 4, 0}};
  const std::int64_t result = 5, dtype = (then.is_constant() ? otherwise : then).value().info().dtype;
  const baleen_attribute_t attributes[] = {{abi("expression"), BALEEN_ATTRIBUTE_EXPRESSION, 0, std::size(code), code},
                                           {abi("results"), BALEEN_ATTRIBUTE_INTS, 0, 1, &result},
                                           {abi("dtype"), BALEEN_ATTRIBUTE_INTS, 0, 1, &dtype}};
  return baleen::append(graph_, "pointwise", inputs, attributes);
}

Value Region::slice(Value x, std::int64_t dim, std::int64_t start, std::int64_t length) {
  return append("slice", {x}, {{"dim", {dim}}, {"start", {start}}, {"length", {length}}});
}

Value Region::concat(std::initializer_list<Value> parts, std::int64_t dim) {
  return append("concat", parts, {{"dim", {dim}}});
}

Value Region::reshape(Value x, std::vector<std::int64_t> shape) {
  return append("reshape", {x}, {{"shape", std::move(shape)}});
}

Value Region::transpose(Value x, std::vector<std::int64_t> permutation) {
  return append("transpose", {x}, {{"permutation", std::move(permutation)}});
}

std::vector<Value> Region::attention(std::string_view kind, const std::vector<Value>& inputs, double scale, bool causal,
                                     std::size_t results) {
  std::vector<baleen_value_t> ids, made(results);
  for (const Value& input : inputs) ids.push_back(input.id());
  const std::int64_t mask = causal ? 1 : 0;
  const baleen_attribute_t attributes[] = {{abi("scale"), BALEEN_ATTRIBUTE_FLOATS, 0, 1, &scale},
                                           {abi("causal"), BALEEN_ATTRIBUTE_INTS, 0, 1, &mask}};
  baleen_op_view_t op{};
  op.size = sizeof(op);
  op.kind = abi(kind);
  op.inputs = ids.data();
  op.input_count = ids.size();
  op.attributes = attributes;
  op.attribute_count = std::size(attributes);
  check(graph_->append(graph_->self, &op, made.data(), made.size()));
  std::vector<Value> values;
  for (const baleen_value_t id : made) values.emplace_back(graph_, id);
  return values;
}

}  // namespace baleen::sequence_parallel
