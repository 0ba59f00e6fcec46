/// \file Checks, letters and costs that several kinds share.
#include "compiler/ops/rules.hpp"

#include <algorithm>

namespace baleen::ops {
namespace {

bool has_type(const Attribute& attribute, AttributeType type) {
  switch (type) {
    case AttributeType::integer: {
      const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute);
      return list && list->size() == 1;
    }
    case AttributeType::integers: return std::holds_alternative<std::vector<std::int64_t>>(attribute);
    case AttributeType::number: {
      const auto* list = std::get_if<std::vector<double>>(&attribute);
      return list && list->size() == 1;
    }
    case AttributeType::text: return std::holds_alternative<std::string>(attribute);
    case AttributeType::expression: return std::holds_alternative<Expression>(attribute);
  }
  return false;
}

const char* type_name(AttributeType type) {
  switch (type) {
    case AttributeType::integer: return "an integer";
    case AttributeType::integers: return "a list of integers";
    case AttributeType::number: return "a number";
    case AttributeType::text: return "a text";
    case AttributeType::expression: return "an expression";
  }
  return "?";
}

}  // namespace

Status check_attributes(const std::string& kind, const Attributes& attributes,
                        const std::vector<AttributeRule>& rules) {
  for (const auto& [name, attribute] : attributes) {
    if (name == "copy") continue;  // any op may be a copy that a pass made and keeps apart from its original
    auto rule = std::find_if(rules.begin(), rules.end(), [&](const AttributeRule& r) { return r.name == name; });
    if (rule == rules.end()) {
      std::string known;
      for (const auto& r : rules) known += (known.empty() ? "" : ", ") + r.name;
      return invalid(kind + ": unknown attribute `" + name + "`; it has " + (known.empty() ? "none" : known));
    }
    if (!has_type(attribute, rule->type))
      return invalid(kind + ": attribute `" + name + "` must be " + type_name(rule->type));
  }
  for (const auto& rule : rules)
    if (rule.required && !attributes.has(rule.name))
      return invalid(kind + ": attribute `" + rule.name + "` is missing; it is " + type_name(rule.type));
  return {};
}

Status check_count(const std::string& kind, const InferContext& context, std::size_t least, std::size_t most) {
  const std::size_t count = context.inputs.size();
  if (count >= least && count <= most) return {};
  const std::string range =
      least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
  return invalid(kind + " takes " + range + " inputs; it was given " + std::to_string(count));
}

Status check_floats(const std::string& kind, const std::vector<Named>& operands) {
  for (const Named& operand : operands) {
    if (!is_floating(operand.type.dtype))
      return invalid(kind + ": " + operand.name + " is " + describe(operand.type) + "; it must be floating");
    if ((operand.type.dtype == BALEEN_F64) != (operands[0].type.dtype == BALEEN_F64))
      return invalid(kind + ": " + operands[0].name + " is " + describe(operands[0].type) + " and " + operand.name +
                     " is " + describe(operand.type) + "; fp64 meets fp64 only");
  }
  return {};
}

Status check_ids(const std::string& kind, const Named& operand) {
  if (operand.type.dtype == BALEEN_I32) return {};
  return invalid(kind + ": " + operand.name + " is " + describe(operand.type) + "; it must be int32");
}

Status check_rank(const std::string& kind, const Named& operand, std::size_t rank) {
  if (operand.type.shape.size() == rank) return {};
  return invalid(kind + ": " + operand.name + " " + to_string(operand.type.shape) + " must have " +
                 std::to_string(rank) + " dimensions, not " + std::to_string(operand.type.shape.size()));
}

Status check_least_rank(const std::string& kind, const Named& operand, std::size_t rank) {
  if (operand.type.shape.size() >= rank) return {};
  return invalid(kind + ": " + operand.name + " " + to_string(operand.type.shape) + " must have at least " +
                 std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions"));
}

Status check_shape(const std::string& kind, const Named& operand, const Shape& expected, const Named& because) {
  if (operand.type.shape == expected) return {};
  return invalid(kind + ": " + operand.name + " is " + to_string(operand.type.shape) + "; with " + because.name + " " +
                 to_string(because.type.shape) + " it must be " + to_string(expected));
}

Status check_dim(const std::string& kind, const std::string& attribute, std::int64_t dim, const Named& operand) {
  if (dim >= 0 && dim < static_cast<std::int64_t>(operand.type.shape.size())) return {};
  return invalid(kind + ": `" + attribute + "` is " + std::to_string(dim) + ", but " + operand.name + " " +
                 to_string(operand.type.shape) + " has " + std::to_string(operand.type.shape.size()) +
                 " dimensions, counted from 0");
}

Status check_extents(const std::string& kind, const Shape& shape) {
  if (shape.size() > BALEEN_MAX_RANK)
    return invalid(kind + ": " + to_string(shape) + " has " + std::to_string(shape.size()) +
                   " dimensions; a tensor has at most " + std::to_string(BALEEN_MAX_RANK));
  std::int64_t count = 1;
  for (std::int64_t extent : shape) {
    if (extent < 0) return invalid(kind + ": " + to_string(shape) + " has a negative extent");
    if (__builtin_mul_overflow(count, std::max<std::int64_t>(extent, 1), &count))
      return invalid(kind + ": " + to_string(shape) + " has more elements than can be counted");
  }
  return {};
}

std::string describe(const ValueType& type) {
  return std::string(dtype_name(type.dtype)) + " " + to_string(type.shape);
}

std::string axis(const ValueType& type, std::size_t dim) {
  return dim < type.axes.size() ? type.axes[dim] : std::string();
}

ValueType without_last(const ValueType& type) {
  ValueType result = type;
  result.shape.pop_back();
  result.axes.resize(result.shape.size());
  return result;
}

ValueType same_but(const ValueType& type, baleen_dtype_t dtype) {
  ValueType result = type;
  result.dtype = dtype;
  return result;
}

std::optional<baleen_dtype_t> widest(const Types& inputs) {
  std::optional<baleen_dtype_t> best;
  for (const ValueType& type : inputs) {
    if (!is_floating(type.dtype) || type.dtype == best) continue;
    if (!best || dtype_size(type.dtype) > dtype_size(*best))
      best = type.dtype;
    else if (dtype_size(type.dtype) == dtype_size(*best))
      best = BALEEN_F32;
  }
  return best;
}

baleen_dtype_t wide(baleen_dtype_t dtype) { return dtype == BALEEN_F64 ? BALEEN_F64 : BALEEN_F32; }

Result<baleen_dtype_t> chosen_dtype(const std::string& kind, const Attributes& attributes, baleen_dtype_t fallback) {
  if (!attributes.has("dtype")) return fallback;
  const auto dtype = static_cast<baleen_dtype_t>(attributes.integer("dtype"));
  if (!is_floating(dtype)) return invalid(kind + ": `dtype` is " + std::to_string(dtype) + ", no floating dtype");
  if ((dtype == BALEEN_F64) != (fallback == BALEEN_F64))
    return invalid(kind + ": `dtype` is " + std::string(dtype_name(dtype)) + " and it computes in " +
                   std::string(dtype_name(fallback)) + "; fp64 meets fp64 only");
  return dtype;
}

std::string letters(std::size_t count, char first) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += static_cast<char>(first + static_cast<char>(i));
  return text;
}

Cost cost_of(const Graph& graph, const Op& op, double flops) {
  Cost cost{flops, 0};
  for (const auto* list : {&op.inputs, &op.outputs})
    for (ValueId id : *list)
      cost.bytes += static_cast<double>(element_count(graph.value(id).shape)) *
                    static_cast<double>(dtype_size(graph.value(id).dtype));
  return cost;
}

std::function<Cost(const Graph&, const Op&)> cost_per_element(double per_element) {
  return [per_element](const Graph& graph, const Op& op) {
    const double elements = op.inputs.empty() ? 0 : static_cast<double>(element_count(graph.value(op.inputs[0]).shape));
    return cost_of(graph, op, per_element * elements);
  };
}

Status only_first_result(const std::string& kind, const char* others, const std::vector<ValueId>& cotangents) {
  for (std::size_t i = 1; i < cotangents.size(); ++i)
    if (cotangents[i] != kNone)
      return unsupported(kind + ": only its first result can be differentiated; the loss also depends on its " +
                         others);
  return {};
}

}  // namespace baleen::ops
