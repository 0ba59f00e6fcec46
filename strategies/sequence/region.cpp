/// \file Appends the ops of local regions through the graph's verbs.
#include "region.hpp"

#include "baleen/dtype.hpp"

namespace baleen::sequence_parallel {

std::int64_t ranks_that_cut(const baleen_value_info_t& value, MeshView mesh, std::int32_t dim) {
  std::int64_t ranks = 1;
  for (std::uint32_t axis = 0; axis < mesh.count() && axis < value.layout_count; ++axis) {
    const baleen_placement_t& p = value.layout[axis];
    if ((p.kind == BALEEN_SHARD || p.kind == BALEEN_SHARD_BALANCED) && p.argument == dim) ranks *= mesh.size(axis);
  }
  return ranks;
}

Region::Region(GraphView graph, const RingOfRanks& ring, baleen_op_t op) : graph_(graph), ring_(ring) {
  graph_.follow(op);
}

Value Region::append(std::string_view kind, const std::vector<Value>& inputs, const AttributeList& attributes) {
  std::vector<baleen_value_t> ids;
  for (const Value& input : inputs) ids.push_back(input.id());
  return {graph_.table(), graph_.append(kind, ids, attributes)};
}

std::vector<std::int64_t> Region::local_shape(const baleen_value_info_t& value) const {
  std::vector<std::int64_t> shape;
  for (std::uint32_t dim = 0; dim < value.rank; ++dim) {
    const std::int64_t times = view(value.axes[dim]) == "batch" ? ring_.micro_batches : 1;
    const std::int64_t ranks = ranks_that_cut(value, ring_.mesh, static_cast<std::int32_t>(dim));
    shape.push_back((value.shape[dim] / times + ranks - 1) / ranks * times);
  }
  return shape;
}

Value Region::open(baleen_value_t value) {
  return append("to_local", {{graph_.table(), value}},
                AttributeList().integers("shape", local_shape(graph_.value(value))));
}

void Region::close(Value local, baleen_value_t whole) {
  const baleen_dtype_t dtype = graph_.value(whole).dtype;
  if (local.info().dtype != dtype) local = cast(local, dtype);
  const baleen_value_info_t info = graph_.value(whole);
  const std::vector<baleen_placement_t> layout(info.layout, info.layout + info.layout_count);
  const std::vector<std::int64_t> shape(info.shape, info.shape + info.rank);
  const Value closed =
      append("from_local", {local}, AttributeList().integers("shape", shape).text("layout", layout_text(layout)));
  graph_.set_layout(closed.id(), layout);
  graph_.redirect(whole, closed.id());
}

Value Region::from_neighbour(Value x) {
  return append("permute", {x}, AttributeList().integer("axes", ring_.axis).integer("shift", 1));
}

Value Region::after(Value x, std::initializer_list<Value> others) {
  for (const Value& other : others)
    if (other) x = append("after", {x, other});
  return x;
}

Value Region::behind(Value x, std::initializer_list<Value> others) {
  for (const Value& other : others)
    if (other) x = append("after", {x, other}, AttributeList().integer("begun", 1));
  return x;
}

Value Region::from_rank_on(std::int64_t first, Value then, Value otherwise) {
  std::vector<Value> by_coordinate(static_cast<std::size_t>(first), otherwise);
  by_coordinate.resize(static_cast<std::size_t>(ranks()), then);
  return append("pick", by_coordinate, AttributeList().integer("axes", ring_.axis));
}

Value Region::coordinate() {
  if (!coordinate_) coordinate_ = append("axis_index", {}, AttributeList().integer("axes", ring_.axis));
  return coordinate_;
}

Value Region::or_zero(std::int64_t first, Value x, bool before) {
  const baleen_instruction_t code[] = {
      {BALEEN_X_INPUT, 0, 0, 0, 0},    {BALEEN_X_CONSTANT, 0, 0, 0, static_cast<double>(first)},
      {BALEEN_X_LE, 1, 0, 0, 0},       {BALEEN_X_INPUT, 1, 0, 0, 0},
      {BALEEN_X_CONSTANT, 0, 0, 0, 0}, {BALEEN_X_SELECT, 2, before ? 4u : 3u, before ? 3u : 4u, 0}};
  const baleen_value_t inputs[] = {coordinate().id(), x.id()};
  const std::int64_t result = 5, dtype = x.info().dtype;
  const baleen_attribute_t attributes[] = {{abi("expression"), BALEEN_ATTRIBUTE_EXPRESSION, 0, std::size(code), code},
                                           {abi("results"), BALEEN_ATTRIBUTE_INTS, 0, 1, &result},
                                           {abi("dtype"), BALEEN_ATTRIBUTE_INTS, 0, 1, &dtype}};
  return sdk::append(graph_.table(), "pointwise", inputs, attributes);
}

Value Region::wide(Value x) { return dtype_size(x.info().dtype) < 4 ? cast(x, BALEEN_F32) : x; }

Value Region::slice(Value x, std::int64_t dim, std::int64_t start, std::int64_t length) {
  return append("slice", {x}, AttributeList().integer("dim", dim).integer("start", start).integer("length", length));
}

Value Region::concat(std::initializer_list<Value> parts, std::int64_t dim) {
  return append("concat", parts, AttributeList().integer("dim", dim));
}

Value Region::reshape(Value x, std::vector<std::int64_t> shape) {
  return append("reshape", {x}, AttributeList().integers("shape", std::move(shape)));
}

Value Region::transpose(Value x, std::vector<std::int64_t> permutation) {
  return append("transpose", {x}, AttributeList().integers("permutation", std::move(permutation)));
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
  const baleen_graph_t* table = graph_.table();
  if (const auto status = table->append(table->self, &op, made.data(), made.size())) throw Failed(status);
  std::vector<Value> values;
  for (const baleen_value_t id : made) values.emplace_back(table, id);
  return values;
}

}  // namespace baleen::sequence_parallel
