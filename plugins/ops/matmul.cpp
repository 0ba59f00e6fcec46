/// \file `matmul`: a contraction of two tensors by letters, with an optional addend.
#include <algorithm>
#include <cctype>
#include <map>

#include "baleen/op_builder.hpp"
#include "baleen/op_kind.hpp"
#include "contraction_spec.hpp"

namespace baleen::ops {
using namespace sdk;

Result<ContractionSpec> ContractionSpec::parse(const std::string& text) {
  const auto wrong = [&](const std::string& why) { return invalid("matmul \"" + text + "\": " + why); };
  const auto comma = text.find(','), arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow)
    return wrong("a spec is two inputs' letters and the result's, as in \"bsd,dhe->bshe\"");
  ContractionSpec spec{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
  for (const auto* part : {&spec.a, &spec.b, &spec.y})
    for (std::size_t i = 0; i < part->size(); ++i) {
      const char c = (*part)[i];
      if (!std::isalpha(static_cast<unsigned char>(c)))
        return wrong(std::string("'") + c + "' is no letter (a to z, A to Z)");
      if (part->find(c, i + 1) != std::string::npos)
        return wrong(std::string("letter ") + c + " stands twice in \"" + *part + "\"");
    }
  return spec;
}

namespace {

bool holds(const std::string& part, char letter) { return part.find(letter) != std::string::npos; }

/// Every letter is batch, m, n or k. `kind` begins messages, here and below.
Status check_letters(const std::string& kind, const ContractionSpec& spec) {
  const auto wrong = [&](char letter, const char* why) { return invalid(kind + ": letter " + letter + why); };
  for (char c : spec.y)
    if (!holds(spec.a, c) && !holds(spec.b, c)) return wrong(c, " of the result is in no input");
  for (const auto& [part, other] : {std::pair{&spec.a, &spec.b}, std::pair{&spec.b, &spec.a}})
    for (char c : *part)
      if (!holds(*other, c) && !holds(spec.y, c))
        return wrong(c, " is in one input only and not in the result; sum over it with reduce first");
  return {};
}

const char* ordinal(std::size_t i) { return i == 0 ? "first" : i == 1 ? "second" : "third"; }

/// The extent of each letter, over all operands, and the first operand that has it.
using Extents = std::map<char, std::pair<std::int64_t, std::size_t>>;
Result<Extents> extents(const std::string& kind, const std::vector<std::string>& parts,
                        std::span<const ValueType> inputs) {
  Extents seen;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = inputs[i].shape;
    if (shape.size() != parts[i].size())
      return invalid(kind + ": the " + ordinal(i) + " input " + shape_text(shape) + " has " +
                     std::to_string(shape.size()) + " dimensions, but \"" + parts[i] + "\" has " +
                     std::to_string(parts[i].size()) + " letters");
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto [it, fresh] = seen.try_emplace(parts[i][d], shape[d], i);
      if (!fresh && it->second.first != shape[d])
        return invalid(kind + ": letter " + parts[i][d] + " is " + std::to_string(it->second.first) + " in the " +
                       ordinal(it->second.second) + " input " + shape_text(inputs[it->second.second].shape) + " and " +
                       std::to_string(shape[d]) + " in the " + ordinal(i) + " " + shape_text(shape));
    }
  }
  return seen;
}

class Matmul : public OpKind {
 public:
  Matmul()
      : OpKind("matmul",
               "a contraction by letters, \"bsd,dhe->bshe\": the sum of a b over the letters that y lacks, plus c",
               BALEEN_KIND_PURE | BALEEN_KIND_CONTRACTION | BALEEN_KIND_PRODUCT | BALEEN_KIND_TYPED) {
    operand("a", "a dimension per letter; 8 bits too", BALEEN_OPERAND_FLOATING | BALEEN_OPERAND_FP8);
    operand("b", "a dimension per letter; 8 bits too", BALEEN_OPERAND_FLOATING | BALEEN_OPERAND_FP8);
    operand("c", "the shape of y", BALEEN_OPERAND_FLOATING | BALEEN_OPERAND_OPTIONAL);
    result("y", "of the widest operand's dtype; fp32 of 8 bits");
    attribute(BALEEN_RULE_TEXT, "spec", "", "the letters of a, b and y");
    typed();
  }

  Result<Types> infer(const InferInput& input) override {
    const std::string text(input.op().text("spec"));
    BALEEN_TRY_ASSIGN(const ContractionSpec spec, ContractionSpec::parse(text));
    const std::string kind = "matmul \"" + text + "\"";
    BALEEN_TRY(check_letters(kind, spec));
    const std::span<const ValueType> inputs = input.types();
    BALEEN_TRY_ASSIGN(const auto extent, extents(kind, {spec.a, spec.b, spec.y}, inputs));
    BALEEN_TRY_ASSIGN(const baleen_dtype_t dtype, chosen_dtype(kind, input.dtype(), *widest(inputs)));
    ValueType y{dtype, {}, {}};
    for (char c : spec.y) {
      y.shape.push_back(extent.at(c).first);
      std::string name;
      if (holds(spec.a, c)) name = axis(inputs[0], spec.a.find(c));
      if (name.empty() && holds(spec.b, c)) name = axis(inputs[1], spec.b.find(c));
      y.axes.push_back(name);
    }
    BALEEN_TRY(check_extents(kind, y.shape));
    return Types{y};
  }

  Result<Values> gradient(GraphView& graph, baleen_op_t op, Cotangents cotangents, Wanted wanted) override {
    const ContractionSpec spec = spec_of(*graph.op(op));
    const OpNode node = OpNode::of(graph, op);
    OpBuilder build(graph);
    Values result(node.inputs.size(), BALEEN_NONE);
    const baleen_value_t dy = cotangents[0];
    const auto dtype = [&](std::size_t input) { return build.dtype(node.inputs[input]); };
    if (wanted[0]) result[0] = build.matmul(spec.y + "," + spec.b + "->" + spec.a, dy, node.inputs[1], dtype(0));
    if (wanted[1]) result[1] = build.matmul(spec.a + "," + spec.y + "->" + spec.b, node.inputs[0], dy, dtype(1));
    if (wanted.size() > 2 && wanted[2]) result[2] = build.cast(dy, dtype(2));
    return result;
  }

  /// With an addend no k may be cut: each part would add all of c.
  Iteration iteration(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    ContractionSpec spec = spec_of(op.op());
    if (op.operands() == 2) return {{spec.a, spec.b}, {spec.y}, {{0}, {1}}, {}};
    for (auto* part : {&spec.a, &spec.b})
      for (char& c : *part)
        if (!holds(spec.y, c)) c = '.';
    return {{spec.a, spec.b, spec.y}, {spec.y}, {{0, 2}, {1, 2}}, {}};
  }

  Cost cost(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    const ContractionSpec spec = spec_of(op.op());
    const Shape a = op.shape(0), b = op.shape(1);
    double products = 1;
    for (const std::int64_t extent : a) products *= static_cast<double>(extent);
    for (std::size_t d = 0; d < b.size(); ++d)
      if (!holds(spec.a, spec.b[d])) products *= static_cast<double>(b[d]);
    return op.cost(2 * products);
  }

 private:
  /// Only for specs that `infer` has let pass.
  static ContractionSpec spec_of(const Op& op) { return *ContractionSpec::parse(std::string(op.text("spec"))); }
};
BALEEN_OP_KIND(Matmul);

}  // namespace
}  // namespace baleen::ops
