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

enum class AttributeType { integer, integers, text };

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
using sdk::check_dim;
using sdk::check_extents;
using sdk::check_floats;
using sdk::check_rank;
using sdk::check_shape;
using sdk::letters;
using sdk::Named;
using sdk::type_text;

/// A rule for kinds that read and write their operands once, and do `per_element` operations per element of the first
/// input.
std::function<Cost(const Graph&, const Op&)> cost_per_element(double per_element);

// One registering function per source file of this folder.
Status register_collective(OpRegistry& registry);
Status register_local_region(OpRegistry& registry);
Status register_structural(OpRegistry& registry);

}  // namespace baleen::ops
