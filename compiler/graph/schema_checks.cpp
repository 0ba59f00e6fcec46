/// \file Checks of operands and attributes that a schema alone can make.
#include "compiler/graph/schema_checks.hpp"

#include <algorithm>

#include "baleen/op_rules.hpp"
#include "core/input/nearest.hpp"

namespace baleen {
namespace {

/// Whether `refuse_operands` would find nothing, without making the words for it: this is asked of every op, often.
bool operands_fit(const OpSchema& schema, const std::vector<sdk::ValueType>& inputs) {
  const std::vector<OperandSpec>& operands = schema.operands;
  const bool many = !operands.empty() && operands.back().many();
  if (many ? inputs.size() + 1 < operands.size() : inputs.size() != operands.size()) return false;
  const sdk::ValueType* first = nullptr;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const OperandSpec& operand = operands[std::min(i, operands.size() - 1)];
    const baleen_dtype_t dtype = inputs[i].dtype;
    if (inputs[i].shape.size() > BALEEN_MAX_RANK) return false;
    if (operand.has(BALEEN_OPERAND_IDS) && dtype != BALEEN_I32) return false;
    if (!operand.has(BALEEN_OPERAND_FLOATING)) continue;
    if (is_fp8(dtype) && !operand.has(BALEEN_OPERAND_FP8)) return false;
    if (!is_floating(dtype) || (first && (first->dtype == BALEEN_F64) != (dtype == BALEEN_F64))) return false;
    first = &inputs[i];
  }
  return true;
}

Status refuse_operands(const std::string& kind, const OpSchema& schema, const std::vector<sdk::ValueType>& inputs) {
  const auto given = schema.given(inputs.size());
  if (!given)
    return invalid(kind + " takes " + schema.signature() + "; it was given " + std::to_string(inputs.size()) +
                   (inputs.size() == 1 ? " operand" : " operands"));
  std::vector<sdk::Named> floats;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const OperandSpec& operand = *(*given)[i];
    if (inputs[i].shape.size() > BALEEN_MAX_RANK)
      return invalid(kind + ": " + operand.name + " " + sdk::shape_text(inputs[i].shape) +
                     " has too many dimensions; at most " + std::to_string(BALEEN_MAX_RANK) + " are possible");
    if (operand.has(BALEEN_OPERAND_IDS)) BALEEN_TRY(sdk::check_ids(kind, {operand.name, inputs[i]}));
    if (operand.has(BALEEN_OPERAND_FLOATING))
      floats.push_back({operand.name, inputs[i], operand.has(BALEEN_OPERAND_FP8)});
  }
  return sdk::check_floats(kind, floats);
}

}  // namespace

Status check_attributes(const OpSchema& schema, const std::string& kind, const Attributes& attributes) {
  for (const auto& [name, attribute] : attributes) {
    if (name == "copy") continue;  // any op may be a copy that a pass made and keeps apart from its original
    const AttributeSpec* spec = schema.find(name);
    if (!spec) {
      std::vector<std::string> known;
      for (const AttributeSpec& one : schema.attributes) known.push_back(one.name);
      return invalid(kind + ": " + unknown_word("attribute", name, known));
    }
    BALEEN_TRY(check_attribute(*spec, kind, attribute));
  }
  for (const AttributeSpec& spec : schema.attributes)
    if (spec.required() && !attributes.has(spec.name))
      return invalid(kind + ": attribute `" + spec.name + "` is missing; it is " + spec.expected());
  return {};
}

bool lacks_defaults(const OpSchema& schema, const Attributes& attributes) {
  return std::ranges::any_of(schema.attributes, [&](const AttributeSpec& spec) {
    return !spec.default_value.empty() && !attributes.has(spec.name);
  });
}

Status fill_in_defaults(const OpSchema& schema, Attributes& attributes) {
  for (const AttributeSpec& spec : schema.attributes) {
    if (spec.default_value.empty() || attributes.has(spec.name)) continue;
    BALEEN_TRY_ASSIGN(Attribute value, parse_attribute(spec, spec.default_value));
    attributes.set(spec.name, std::move(value));
  }
  return {};
}

Status check_operands(const OpSchema& schema, const std::string& kind, const std::vector<sdk::ValueType>& inputs) {
  return operands_fit(schema, inputs) ? Status() : refuse_operands(kind, schema, inputs);
}

Status check_dimensions(const OpSchema& schema, const std::string& kind, const Attributes& attributes,
                        const std::vector<sdk::ValueType>& inputs) {
  for (const AttributeSpec& spec : schema.attributes) {
    if (spec.type != BALEEN_RULE_DIMENSION && spec.type != BALEEN_RULE_DIMENSIONS) continue;
    if (!attributes.has(spec.name)) continue;
    if (inputs.empty()) return invalid(kind + ": `" + spec.name + "` is a dimension of no operand");
    for (const std::int64_t dim : attributes.integers(spec.name))
      BALEEN_TRY(sdk::check_dim(kind, spec.name, dim, {schema.operands[0].name, inputs[0]}));
  }
  return {};
}

}  // namespace baleen
