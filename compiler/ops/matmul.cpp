/// \file `matmul`: a contraction of two tensors by letters, with an optional addend.
#include <algorithm>
#include <cctype>
#include <map>

#include "compiler/ops/builder.hpp"
#include "compiler/ops/families.hpp"

namespace baleen::ops {
namespace {

struct Spec {
  std::string a, b, y;
};

Result<Spec> parse(const std::string& text) {
  const std::string what = "matmul \"" + text + "\": ";
  const auto comma = text.find(','), arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow)
    return invalid(what + "a spec is two inputs' letters and the result's, as in \"bsd,dhe->bshe\"");
  Spec spec{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
  for (const auto* part : {&spec.a, &spec.b, &spec.y})
    for (std::size_t i = 0; i < part->size(); ++i) {
      const char c = (*part)[i];
      if (!std::isalpha(static_cast<unsigned char>(c)))
        return invalid(what + "'" + c + "' is no letter (a to z, A to Z)");
      if (part->find(c, i + 1) != std::string::npos)
        return invalid(what + "letter " + c + " stands twice in \"" + *part + "\"");
    }
  return spec;
}

bool holds(const std::string& part, char letter) { return part.find(letter) != std::string::npos; }

/// Every letter is batch, m, n or k.
Status check_letters(const std::string& text, const Spec& spec) {
  const std::string what = "matmul \"" + text + "\": letter ";
  for (char c : spec.y)
    if (!holds(spec.a, c) && !holds(spec.b, c)) return invalid(what + c + " of the result is in no input");
  for (const auto& [part, other] : {std::pair{&spec.a, &spec.b}, std::pair{&spec.b, &spec.a}})
    for (char c : *part)
      if (!holds(*other, c) && !holds(spec.y, c))
        return invalid(what + c + " is in one input only and not in the result; sum over it with reduce first");
  return {};
}

const char* ordinal(std::size_t i) { return i == 0 ? "first" : i == 1 ? "second" : "third"; }

/// The extent of each letter, over all operands.
Result<std::map<char, std::int64_t>> extents(const std::string& text, const std::vector<std::string>& parts,
                                             const Types& inputs) {
  std::map<char, std::pair<std::int64_t, std::size_t>> seen;
  const std::string what = "matmul \"" + text + "\": ";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = inputs[i].shape;
    if (shape.size() != parts[i].size())
      return invalid(what + "the " + ordinal(i) + " input " + to_string(shape) + " has " +
                     std::to_string(shape.size()) + " dimensions, but \"" + parts[i] + "\" has " +
                     std::to_string(parts[i].size()) + " letters");
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto [it, fresh] = seen.try_emplace(parts[i][d], shape[d], i);
      if (!fresh && it->second.first != shape[d])
        return invalid(what + "letter " + parts[i][d] + " is " + std::to_string(it->second.first) + " in the " +
                       ordinal(it->second.second) + " input " + to_string(inputs[it->second.second].shape) + " and " +
                       std::to_string(shape[d]) + " in the " + ordinal(i) + " " + to_string(shape));
    }
  }
  std::map<char, std::int64_t> result;
  for (const auto& [letter, where] : seen) result[letter] = where.first;
  return result;
}

Result<Types> infer(const InferContext& context) {
  BALEEN_TRY(check_attributes("matmul", context.attributes, {{"spec", AttributeType::text}, dtype_rule()}));
  BALEEN_TRY(check_count("matmul", context, 2, 3));
  const std::string& text = context.attributes.text("spec");
  BALEEN_TRY_ASSIGN(const Spec spec, parse(text));
  BALEEN_TRY(check_letters(text, spec));
  BALEEN_TRY_ASSIGN(const auto extent, extents(text, {spec.a, spec.b, spec.y}, context.inputs));
  std::vector<Named> operands;
  for (std::size_t i = 0; i < context.inputs.size(); ++i)
    operands.push_back({std::string("the ") + ordinal(i) + " input", context.inputs[i]});
  BALEEN_TRY(check_floats("matmul \"" + text + "\"", operands));
  BALEEN_TRY_ASSIGN(const baleen_dtype_t dtype,
                    chosen_dtype("matmul \"" + text + "\"", context.attributes, *widest(context.inputs)));
  ValueType y{dtype, {}, {}};
  for (char c : spec.y) {
    y.shape.push_back(extent.at(c));
    std::string name;
    if (holds(spec.a, c)) name = axis(context.inputs[0], spec.a.find(c));
    if (name.empty() && holds(spec.b, c)) name = axis(context.inputs[1], spec.b.find(c));
    y.axes.push_back(name);
  }
  BALEEN_TRY(check_extents("matmul \"" + text + "\"", y.shape));
  return Types{y};
}

/// Only for specs that `infer` has let pass.
Spec spec_of(const Op& op) { return *parse(op.attributes.text("spec")); }

Result<Values> gradient(Graph& graph, const Op& op, const Values& cotangents, const std::vector<bool>& wanted) {
  const Spec spec = spec_of(op);
  Builder build(graph);
  Values result(op.inputs.size(), kNone);
  const ValueId dy = cotangents[0];
  const auto dtype = [&](std::size_t input) { return graph.value(op.inputs[input]).dtype; };
  if (wanted[0]) result[0] = build.matmul(spec.y + "," + spec.b + "->" + spec.a, dy, op.inputs[1], dtype(0));
  if (wanted[1]) result[1] = build.matmul(spec.a + "," + spec.y + "->" + spec.b, op.inputs[0], dy, dtype(1));
  if (wanted.size() > 2 && wanted[2]) result[2] = build.cast(dy, dtype(2));
  return build.finish(result);
}

/// With an addend no k may be cut: each part would add all of c.
Iteration iteration(const Graph&, const Op& op) {
  Spec spec = spec_of(op);
  if (op.inputs.size() == 2) return {{spec.a, spec.b}, {spec.y}, {{0}, {1}}, {}};
  for (auto* part : {&spec.a, &spec.b})
    for (char& c : *part)
      if (!holds(spec.y, c)) c = '.';
  return {{spec.a, spec.b, spec.y}, {spec.y}, {{0, 2}, {1, 2}}, {}};
}

Cost cost(const Graph& graph, const Op& op) {
  const Spec spec = spec_of(op);
  double products = 1;
  for (std::size_t d = 0; d < spec.a.size(); ++d) products *= static_cast<double>(graph.value(op.inputs[0]).shape[d]);
  for (std::size_t d = 0; d < spec.b.size(); ++d)
    if (!holds(spec.a, spec.b[d])) products *= static_cast<double>(graph.value(op.inputs[1]).shape[d]);
  return cost_of(graph, op, 2 * products);
}

}  // namespace

Status register_matmul(OpRegistry& registry) {
  OpKind kind;
  kind.name = "matmul";
  kind.traits = kPure | kContraction | kProduct | kTyped;
  kind.infer = infer;
  kind.gradient = gradient;
  kind.iteration = iteration;
  kind.cost = cost;
  return registry.add(std::move(kind));
}

}  // namespace baleen::ops
