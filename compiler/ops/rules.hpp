/// \file What the rules of several kinds share: checks of operands and attributes, letters, costs.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "baleen/dtype.hpp"
#include "compiler/graph/graph.hpp"

namespace baleen::ops {

using Types = std::vector<ValueType>;
using Values = std::vector<ValueId>;

enum class AttributeType { integer, integers, number, text, expression };

struct AttributeRule {
  std::string name;
  AttributeType type;
  bool required = true;
};

/// Every required attribute is there, each is of its type, none is unknown.
Status check_attributes(const std::string& kind, const Attributes& attributes, const std::vector<AttributeRule>& rules);

/// Between `least` and `most` inputs.
Status check_count(const std::string& kind, const InferContext& context, std::size_t least, std::size_t most);

/// An operand's name for messages, with its type.
struct Named {
  std::string name;
  const ValueType& type;
};

/// Floating. fp64 meets fp64 only; fp32, bf16 and fp16 may meet, and are computed with in fp32.
Status check_floats(const std::string& kind, const std::vector<Named>& operands);
Status check_ids(const std::string& kind, const Named& operand);
Status check_rank(const std::string& kind, const Named& operand, std::size_t rank);
/// At least `rank` dimensions.
Status check_least_rank(const std::string& kind, const Named& operand, std::size_t rank);
/// The operand has the shape that `because` (another operand's) calls for.
Status check_shape(const std::string& kind, const Named& operand, const Shape& expected, const Named& because);
/// 0 <= dim < rank.
Status check_dim(const std::string& kind, const std::string& attribute, std::int64_t dim, const Named& operand);

/// For shapes that attributes give: no negative extent, at most BALEEN_MAX_RANK of them, elements that 63 bits can
/// count.
Status check_extents(const std::string& kind, const Shape& shape);

/// "fp32 [16, 128]".
std::string describe(const ValueType& type);
/// The logical axis of a dimension, "" if none.
std::string axis(const ValueType& type, std::size_t dim);
/// The type without its last dimension.
ValueType without_last(const ValueType& type);
ValueType same_but(const ValueType& type, baleen_dtype_t dtype);

/// The widest floating dtype of the inputs; halves of two kinds meet in fp32. Nothing where none is floating.
std::optional<baleen_dtype_t> widest(const Types& inputs);
/// In what statistics and sums are kept: fp32 of 16 bits, else the dtype itself.
baleen_dtype_t wide(baleen_dtype_t dtype);
/// The attribute `dtype` of kinds of the trait kTyped, which is one floating dtype; else `fallback`.
Result<baleen_dtype_t> chosen_dtype(const std::string& kind, const Attributes& attributes, baleen_dtype_t fallback);
/// Allows it.
inline AttributeRule dtype_rule() { return {"dtype", AttributeType::integer, false}; }

/// "abc…", one letter per dimension, from `first` on.
std::string letters(std::size_t count, char first = 'a');

/// The kind's operands read and written once, and `flops`.
Cost cost_of(const Graph& graph, const Op& op, double flops);
/// A rule for kinds that do `per_element` operations per element of the first input.
std::function<Cost(const Graph&, const Op&)> cost_per_element(double per_element);

/// The error for a cotangent that flows into a result other than the first.
Status only_first_result(const std::string& kind, const char* others, const std::vector<ValueId>& cotangents);

}  // namespace baleen::ops
