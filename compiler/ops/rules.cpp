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
    case AttributeType::text: return std::holds_alternative<std::string>(attribute);
  }
  return false;
}

const char* type_name(AttributeType type) {
  switch (type) {
    case AttributeType::integer: return "an integer";
    case AttributeType::integers: return "a list of integers";
    case AttributeType::text: return "a text";
  }
  return "?";
}

}  // namespace

Status check_attributes(const std::string& kind, const Attributes& attributes, std::span<const AttributeRule> rules) {
  for (const auto& given : attributes) {
    const auto& name = given.first;
    const auto& attribute = given.second;
    if (name == "copy") continue;  // any op may be a copy that a pass made and keeps apart from its original
    auto rule = std::find_if(rules.begin(), rules.end(), [&](const AttributeRule& r) { return r.name == name; });
    if (rule == rules.end()) {
      std::string known;
      for (const auto& r : rules) known += (known.empty() ? "" : ", ") + std::string(r.name);
      return invalid(kind + ": unknown attribute `" + name + "`; it has " + (known.empty() ? "none" : known));
    }
    if (!has_type(attribute, rule->type))
      return invalid(kind + ": attribute `" + name + "` must be " + type_name(rule->type));
  }
  for (const auto& rule : rules)
    if (rule.required && !attributes.has(rule.name))
      return invalid(kind + ": attribute `" + std::string(rule.name) + "` is missing; it is " + type_name(rule.type));
  return {};
}

Status check_count(const std::string& kind, const InferContext& context, std::size_t least, std::size_t most) {
  const std::size_t count = context.inputs.size();
  if (count >= least && count <= most) return {};
  const std::string range =
      least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
  return invalid(kind + " takes " + range + " inputs; it was given " + std::to_string(count));
}

std::function<Cost(const Graph&, const Op&)> cost_per_element(double per_element) {
  return [per_element](const Graph& graph, const Op& op) {
    const double elements = op.inputs.empty() ? 0 : static_cast<double>(element_count(graph.value(op.inputs[0]).shape));
    Cost cost{per_element * elements, 0};
    for (const auto* list : {&op.inputs, &op.outputs})
      for (ValueId id : *list)
        cost.bytes += static_cast<double>(element_count(graph.value(id).shape)) *
                      static_cast<double>(dtype_size(graph.value(id).dtype));
    return cost;
  };
}

}  // namespace baleen::ops
