/// \file A graph as strategies read and edit it: ops with their attributes, layouts, and the verbs of graph.h as
/// methods.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "baleen/attribute_list.hpp"
#include "baleen/graph.hpp"

namespace baleen::sdk {

inline baleen_placement_t replicate() { return {BALEEN_REPLICATE, 0, 0}; }
inline baleen_placement_t shard(int dimension) { return {BALEEN_SHARD, dimension, 0}; }
inline baleen_placement_t shard_balanced(int dimension) { return {BALEEN_SHARD_BALANCED, dimension, 0}; }
inline baleen_placement_t shard_flat() { return {BALEEN_SHARD_FLAT, 0, 0}; }
inline baleen_placement_t partial_sum() { return {BALEEN_PARTIAL_SUM, 0, 0}; }
inline baleen_placement_t at(int coordinate) { return {BALEEN_AT, coordinate, 0}; }

/// As the attribute "layout" of `from_local` has it: "S0,R,P".
inline std::string layout_text(std::span<const baleen_placement_t> layout) {
  std::string text;
  for (const baleen_placement_t& p : layout) {
    constexpr const char* kNames[] = {"R", "S", "B", "F", "P", "Pmax", "@"};
    text += (text.empty() ? "" : ",") + std::string(kNames[p.kind]);
    if (p.kind == BALEEN_SHARD || p.kind == BALEEN_SHARD_BALANCED || p.kind == BALEEN_AT)
      text += std::to_string(p.argument);
    if (p.depth > 0) text += "." + std::to_string(p.depth);
  }
  return text;
}

/// A graph in the hands of one phase. Every method throws Failed where the graph refuses.
class GraphView {
 public:
  explicit GraphView(const baleen_graph_t* graph) : graph_(graph) {}

  const baleen_graph_t* table() const { return graph_; }
  std::uint32_t value_count() const { return graph_->value_count(graph_->self); }
  std::uint32_t op_count() const { return graph_->op_count(graph_->self); }
  /// Strings and arrays in it are valid until the graph changes.
  baleen_value_info_t value(baleen_value_t id) const { return Value(graph_, id).info(); }
  /// Nothing for a deleted op. Valid until the next call of `op`.
  std::optional<Op> op(baleen_op_t id) {
    view_.size = sizeof(view_);
    const auto status = graph_->read_op(graph_->self, id, &view_);
    if (status == BALEEN_NOT_FOUND) return std::nullopt;
    if (status) throw Failed(status);
    return Op(view_);
  }
  /// All live ops, each behind the ops whose results it reads. Numbers tell no order: a rewritten op has a new one.
  std::vector<baleen_op_t> ordered() {
    std::vector<baleen_op_t> order, stack;
    std::vector<char> seen(op_count(), 0);  // 1: its operands are on the stack, 2: listed
    for (baleen_op_t root = 0; root < op_count(); ++root) {
      if (seen[root] || !op(root)) continue;
      stack.push_back(root);
      while (!stack.empty()) {
        const baleen_op_t id = stack.back();
        if (seen[id]) {
          stack.pop_back();
          if (seen[id] == 1) order.push_back(id);
          seen[id] = 2;
          continue;
        }
        seen[id] = 1;
        const auto current = op(id);
        const std::vector<baleen_value_t> inputs(current->inputs().begin(), current->inputs().end());
        for (const baleen_value_t v : inputs)
          if (const baleen_op_t producer = value(v).producer; !seen[producer]) stack.push_back(producer);
      }
    }
    return order;
  }
  baleen_op_info_t info(baleen_op_t id) const {
    baleen_op_info_t info{};
    info.size = sizeof(info);
    check(graph_->read_op_info(graph_->self, id, &info));
    return info;
  }
  /// "" where the op has no such tag. Valid until the graph changes.
  std::string_view tag(baleen_op_t id, std::string_view key) const {
    return baleen::view(graph_->tag(graph_->self, id, abi(key)));
  }
  void set_tag(baleen_op_t id, std::string_view key, std::string_view text) {
    check(graph_->set_tag(graph_->self, id, abi(key), abi(text)));
  }
  /// The parameter that a value is a compute copy of (strategy.h); other values are returned as they are.
  baleen_value_t master_parameter(baleen_value_t id) {
    const baleen_op_t producer = value(id).producer;
    const auto made_by = tag(producer, "compute_copy").empty() ? std::nullopt : op(producer);
    return made_by ? made_by->inputs()[0] : id;
  }

  /// What is appended from here on belongs with `op`: its phase, its forward op, its place in the script.
  void follow(baleen_op_t op) { check(graph_->follow(graph_->self, op)); }
  /// Appends an op of one result.
  baleen_value_t append(std::string_view kind, std::initializer_list<baleen_value_t> inputs,
                        const AttributeList& attributes = {}) {
    return append(kind, std::span<const baleen_value_t>(inputs.begin(), inputs.size()), attributes);
  }
  baleen_value_t append(std::string_view kind, std::span<const baleen_value_t> inputs,
                        const AttributeList& attributes) {
    const std::vector<baleen_attribute_t> list = attributes.list();
    return sdk::append(graph_, kind, inputs, list).id();
  }
  /// Appends an op of `count` results.
  std::vector<baleen_value_t> append(std::string_view kind, std::span<const baleen_value_t> inputs,
                                     const AttributeList& attributes, std::size_t count) {
    const std::vector<baleen_attribute_t> list = attributes.list();
    baleen_op_view_t spec{};
    spec.size = sizeof(spec);
    spec.kind = abi(kind);
    spec.inputs = inputs.data();
    spec.input_count = inputs.size();
    spec.attributes = list.data();
    spec.attribute_count = list.size();
    std::vector<baleen_value_t> results(count, BALEEN_NONE);
    check(graph_->append(graph_->self, &spec, results.data(), count));
    return results;
  }
  /// The same numbers in another dtype.
  baleen_value_t cast(baleen_value_t value, baleen_dtype_t dtype) { return sdk::cast({graph_, value}, dtype).id(); }
  /// A state of the job, under the plugin's name; without a shape a scalar.
  baleen_value_t add_state(std::string_view name, baleen_dtype_t dtype, double initial,
                           std::span<const std::int64_t> shape = {}) {
    baleen_value_t state = BALEEN_NONE;
    const auto rank = static_cast<std::uint32_t>(shape.size());
    check(graph_->add_state(graph_->self, abi(name), dtype, rank, shape.data(), initial, &state));
    return state;
  }
  /// A state or parameter becomes `value` at the end of the program.
  void assign(baleen_value_t target, baleen_value_t value) {
    const baleen_value_t inputs[] = {target, value};
    baleen_op_view_t spec{};
    spec.size = sizeof(spec);
    spec.kind = abi("assign");
    spec.inputs = inputs;
    spec.input_count = 2;
    check(graph_->append(graph_->self, &spec, nullptr, 0));
  }
  /// All users of `from` use `to` instead, except op `except`.
  void redirect(baleen_value_t from, baleen_value_t to, baleen_op_t except = BALEEN_NONE) {
    check(graph_->redirect(graph_->self, from, to, except));
  }
  /// `op` reads `inputs` from here on, and where `dtypes` are given has them as its attribute `dtype`.
  void amend(baleen_op_t op, std::span<const baleen_value_t> inputs, std::span<const std::int64_t> dtypes = {}) {
    baleen_op_view_t spec{};
    spec.size = sizeof(spec);
    check(graph_->read_op(graph_->self, op, &spec));
    std::vector<baleen_attribute_t> attributes(spec.attributes, spec.attributes + spec.attribute_count);
    if (!dtypes.empty()) {
      std::erase_if(attributes, [](const baleen_attribute_t& a) { return baleen::view(a.name) == "dtype"; });
      attributes.push_back({abi("dtype"), BALEEN_ATTRIBUTE_INTS, 0, dtypes.size(), dtypes.data()});
    }
    spec.attributes = attributes.data();
    spec.attribute_count = attributes.size();
    spec.inputs = inputs.data();
    spec.input_count = inputs.size();
    check(graph_->amend(graph_->self, op, &spec));
  }
  /// `op` is executed right behind `other`, however late its result is needed.
  void place_behind(baleen_op_t op, baleen_op_t other) { check(graph_->place_behind(graph_->self, op, other)); }
  void set_layout(baleen_value_t value, std::span<const baleen_placement_t> layout) {
    check(graph_->set_layout(graph_->self, value, layout.data(), layout.size()));
  }

 private:
  static void check(baleen_status_t status) {
    if (status) throw Failed(status);
  }

  const baleen_graph_t* graph_;
  baleen_op_view_t view_{};
};

}  // namespace baleen::sdk
