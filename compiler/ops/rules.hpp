/// \file What the rules of several kinds share: checks of operands and attributes, letters, costs.
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/op_rules.hpp"
#include "compiler/graph/graph.hpp"

namespace baleen::ops {

using sdk::Types;
using Values = std::vector<ValueId>;

enum class AttributeType { integer, integers, number, text, expression };

struct AttributeRule {
  std::string_view name;
  AttributeType type;
  bool required = true;
};

/// Every required attribute is there, each is of its type, none is unknown.
Status check_attributes(const std::string& kind, const Attributes& attributes, std::span<const AttributeRule> rules);
inline Status check_attributes(const std::string& kind, const Attributes& attributes,
                               std::initializer_list<AttributeRule> rules) {
  return check_attributes(kind, attributes, std::span(rules.begin(), rules.size()));
}

/// Between `least` and `most` inputs.
Status check_count(const std::string& kind, const InferContext& context, std::size_t least, std::size_t most);

// What rules of plugins check and spell in the same way.
using sdk::axis;
using sdk::check_dim;
using sdk::check_extents;
using sdk::check_floats;
using sdk::check_rank;
using sdk::check_shape;
using sdk::letters;
using sdk::Named;
using sdk::same_but;
using sdk::type_text;
using sdk::wide;
using sdk::widest;

/// The attribute `dtype` of kinds of the trait kTyped, which is one floating dtype; else `fallback`.
Result<baleen_dtype_t> chosen_dtype(const std::string& kind, const Attributes& attributes, baleen_dtype_t fallback);
/// Allows it.
inline AttributeRule dtype_rule() { return {"dtype", AttributeType::integer, false}; }

/// The kind's operands read and written once, and `flops`.
Cost cost_of(const Graph& graph, const Op& op, double flops);
/// A rule for kinds that do `per_element` operations per element of the first input.
std::function<Cost(const Graph&, const Op&)> cost_per_element(double per_element);

// One registering function per source file of this folder.
Status register_collective(OpRegistry& registry);
Status register_cut(OpRegistry& registry);
Status register_local_region(OpRegistry& registry);
Status register_move(OpRegistry& registry);
Status register_pointwise(OpRegistry& registry);
Status register_reduce(OpRegistry& registry);
Status register_shape(OpRegistry& registry);
Status register_structural(OpRegistry& registry);

}  // namespace baleen::ops
