/// \file Appends the ops of local regions through the graph's verbs.
#include "region.hpp"

#include "baleen/dtype.hpp"

namespace baleen::compress {

Layout layout_of(const GraphView& graph, baleen_value_t id) {
  const baleen_value_info_t value = graph.value(id);
  return {value.layout, value.layout + value.layout_count};
}

Value finite(Value x) { return select(is_finite(x), x, 0.0); }

Region::Region(GraphView graph, const Reduction& reduction, std::string tag)
    : graph_(graph), reduction_(reduction), tag_(std::move(tag)) {
  graph_.follow(reduction.place);
}

Value Region::append(std::string_view kind, const std::vector<Value>& inputs, const AttributeList& attributes) {
  std::vector<baleen_value_t> ids;
  for (const Value& input : inputs) ids.push_back(input.id());
  return {graph_.table(), graph_.append(kind, ids, attributes)};
}

Value Region::open() {
  const Value x =
      append("to_local", {{graph_.table(), reduction_.input}}, AttributeList().integers("shape", reduction_.local));
  const Value row = reshape(x, {reduction_.elements()});
  return row.info().dtype == BALEEN_F32 ? row : cast(row, BALEEN_F32);
}

Value Region::open_state(baleen_value_t state, const std::vector<std::int64_t>& piece,
                         const std::vector<std::int64_t>& shape) {
  return reshape(append("to_local", {{graph_.table(), state}}, AttributeList().integers("shape", piece)), shape);
}

void Region::close(Value sum) {
  const baleen_value_info_t info = graph_.value(reduction_.output);
  Value x = reduction_.scatters ? sum : reshape(resize(sum, reduction_.elements()), reduction_.local);
  if (x.info().dtype != info.dtype) x = cast(x, info.dtype);
  const Value closed =
      append("from_local", {x},
             AttributeList().integers("shape", reduction_.whole).text("layout", layout_text(reduction_.after)));
  graph_.set_layout(closed.id(), reduction_.after);
  graph_.redirect(reduction_.output, closed.id());
}

void Region::close_state(Value local, baleen_value_t state, baleen_value_t assigned,
                         const std::vector<std::int64_t>& piece) {
  const baleen_value_info_t info = graph_.value(state);
  const Layout layout = layout_of(graph_, state);
  const std::vector<std::int64_t> shape(info.shape, info.shape + info.rank);
  const Value closed = append("from_local", {reshape(local, piece)},
                              AttributeList().integers("shape", shape).text("layout", layout_text(layout)));
  graph_.set_layout(closed.id(), layout);
  graph_.redirect(assigned, closed.id());
}

Value Region::reshape(Value x, const std::vector<std::int64_t>& shape) {
  const baleen_value_info_t info = x.info();
  if (std::equal(shape.begin(), shape.end(), info.shape, info.shape + info.rank)) return x;
  return append("reshape", {x}, AttributeList().integers("shape", shape));
}

Value Region::resize(Value x, std::int64_t count) {
  const std::int64_t has = x.info().shape[0];
  if (has < count)
    return append("pad", {x}, AttributeList().integer("dim", 0).integer("before", 0).integer("after", count - has));
  if (has == count) return x;
  return append("slice", {x}, AttributeList().integer("dim", 0).integer("start", 0).integer("length", count));
}

Value Region::sum_of_rows(Value x) {
  return append("reduce", {x}, AttributeList().text("kind", "sum").integer("dims", 0).integer("keep", 0));
}

Value Region::product(std::string_view letters, Value a, Value b) {
  return append("matmul", {a, b}, AttributeList().text("spec", letters));
}

Value Region::apply(std::string_view kind, Value x, const AttributeList& attributes) {
  return append(kind, {x}, attributes);
}

Value Region::collective(std::string_view kind, Value x, const AttributeList& attributes, std::string_view tag) {
  const Value y = append(kind, {x}, attributes);
  graph_.set_tag(y.info().producer, kTag, tag);
  return y;
}

Value Region::exchange_rows(Value x) {
  const std::int64_t columns = x.info().shape[1];
  const Value received = collective("all_to_all", x,
                                    AttributeList()
                                        .integer("axes", reduction_.axis)
                                        .integer("from_dim", 1)
                                        .integer("to_dim", 0)
                                        .integer("size", reduction_.ranks),
                                    tag_);
  return reshape(received, {reduction_.ranks, columns});
}

Value Region::gather_rows(Value x) {
  return collective(
      "all_gather", x,
      AttributeList().integer("axes", reduction_.axis).integer("dim", 0).integer("size", reduction_.ranks), tag_);
}

Value Region::all_reduce(Value x, std::string_view tag) {
  return collective("all_reduce", x, AttributeList().integer("axes", reduction_.axis), tag);
}

Value Region::own_part(Value x) {
  const std::int64_t part = x.info().shape[0] / reduction_.ranks;
  std::vector<Value> parts;
  for (std::int64_t rank = 0; rank < reduction_.ranks; ++rank)
    parts.push_back(
        append("slice", {x}, AttributeList().integer("dim", 0).integer("start", rank * part).integer("length", part)));
  return append("pick", parts, AttributeList().integer("axes", reduction_.axis));
}

}  // namespace baleen::compress
