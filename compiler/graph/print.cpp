/// \file Graphs as text, one line per op, and the hash of that.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <charconv>
#include <functional>
#include <iomanip>
#include <sstream>

#include "baleen/dtype.hpp"
#include "baleen/expression_text.hpp"
#include "compiler/graph/graph.hpp"

namespace baleen {
namespace {

std::string number(double value) {
  std::array<char, 32> buffer{};
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

template <class List, class F>
std::string join(const List& items, F&& text) {
  std::string result;
  for (std::size_t i = 0; i < items.size(); ++i) result += (i ? ", " : "") + text(items[i]);
  return result;
}

std::string in_quotes(const std::string& text) { return (std::ostringstream() << std::quoted(text)).str(); }

/// Lists of one are written as their element.
std::string attribute_text(const Attribute& attribute) {
  if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&attribute))
    return ints->size() == 1 ? std::to_string((*ints)[0]) : to_string(*ints);
  if (const auto* floats = std::get_if<std::vector<double>>(&attribute)) {
    const std::string list = join(*floats, number);
    return floats->size() == 1 ? list : "[" + list + "]";
  }
  if (const auto* text = std::get_if<std::string>(&attribute)) return in_quotes(*text);
  const auto& expression = std::get<Expression>(attribute);
  if (expression.code.empty()) return "\"\"";
  return in_quotes(expression_text(expression.code, static_cast<std::int64_t>(expression.code.size()) - 1));
}

std::string dtypes_text(const std::vector<std::int64_t>& dtypes) {
  return join(dtypes, [](std::int64_t d) { return std::string(dtype_name(static_cast<baleen_dtype_t>(d))); });
}

/// A `pointwise`'s expression says its results too.
std::string pointwise_text(const Op& op) {
  const auto& code = op.attributes.expression("expression").code;
  const auto formula = [&](std::int64_t result) { return expression_text(code, result); };
  std::string text = " " + in_quotes(join(op.attributes.integers("results"), formula));
  if (op.attributes.has("shape")) text += " shape=" + to_string(op.attributes.integers("shape"));
  if (op.attributes.has("dtype")) text += " dtype=" + dtypes_text(op.attributes.integers("dtype"));
  return text;
}

std::string attributes_text(const Op& op) {
  if (op.kind->has(kPointwise)) return pointwise_text(op);
  std::string text;
  for (const auto& [name, attribute] : op.attributes) text += " " + name + "=" + attribute_text(attribute);
  return text;
}

std::string type_text(const Value& value) {
  std::string text = std::string(dtype_name(value.dtype)) + " " + to_string(value.shape);
  if (!value.layout.empty()) text += " {" + to_string(value.layout) + "}";
  if (value.offloaded_ahead > 0) text += " [offloaded_ahead=" + std::to_string(value.offloaded_ahead) + "]";
  if (value.updated_on_host) text += " [updated_on_host]";
  if (value.offloaded_piece > 0) text += " [offloaded_piece=" + std::to_string(value.offloaded_piece) + "]";
  return text;
}

/// All of an op but its name and place, with its values' numbers as given.
template <class Number>
std::string body(const Graph& graph, const Op& op, Number&& value) {
  const auto value_text = [&](ValueId id) { return "%" + std::to_string(value(id)); };
  std::string text;
  if (!op.outputs.empty()) text = join(op.outputs, value_text) + " = ";
  text += op.kind->name + "(" + join(op.inputs, value_text) + ")" + attributes_text(op);
  if (!op.outputs.empty()) text += " : " + join(op.outputs, [&](ValueId id) { return type_text(graph.value(id)); });
  for (const auto& [key, tag] : shown_tags(op)) text += " [" + key + "=" + tag + "]";
  return text;
}

std::string line(const Graph& graph, const Op& op) {
  std::string text = body(graph, op, std::identity());
  if (!op.name.empty() || !op.where.empty()) text += "  #";
  if (!op.name.empty()) text += " " + op.name;
  if (!op.where.empty()) text += "  " + op.where;
  return text;
}

}  // namespace

const char* phase_name(Phase phase) {
  return phase == Phase::forward ? "forward" : phase == Phase::backward ? "backward" : "update";
}

std::string print(const Graph& graph, OpId op) { return line(graph, graph.op(op)); }

std::string print(const Graph& graph) {
  std::string text;
  Phase phase = Phase::forward;
  for (OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.phase != phase) text += std::string("# ") + phase_name(op.phase) + "\n";
    phase = op.phase;
    text += line(graph, op) + "\n";
  }
  for (const GraphOutput& output : graph.outputs())
    text += "return " + output.name + " = %" + std::to_string(output.value) + "\n";
  return text;
}

std::uint64_t hash(const Graph& graph) {
  std::vector<std::size_t> values(graph.value_count()), ops(graph.op_count());  // numbers in the order of live ones
  std::size_t value_count = 0, op_count = 0;
  std::ostringstream text;
  for (const MeshAxis& axis : graph.mesh().axes) text << axis.name << ' ' << axis.size << '\n';
  for (OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    ops[id] = ++op_count;
    for (const ValueId v : op.outputs) values[v] = ++value_count;
    text << body(graph, op, [&](ValueId v) { return values[v]; }) << std::quoted(op.name.str()) << phase_name(op.phase)
         << (op.forward_op == kNone ? 0 : ops[op.forward_op]);
    for (const ValueId v : op.outputs) {
      text << ' ' << static_cast<int>(graph.value(v).role);
      for (const std::string& axis : *graph.value(v).axes) text << std::quoted(axis);
    }
    text << '\n';
  }
  for (const GraphOutput& output : graph.outputs()) text << output.name << ' ' << values[output.value] << '\n';
  return XXH3_64bits(text.view().data(), text.view().size());
}

}  // namespace baleen
