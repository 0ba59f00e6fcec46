/// \file A product of activations and a weight, by the letters of its dimensions.
#pragma once
#include <array>
#include <string>

#include "baleen/strategy.hpp"

namespace baleen::tensor_parallel {

using namespace sdk;

/// The letters of a matmul's operands and result: "bsd", "dhe", "bshe".
struct Letters {
  std::array<std::string, 2> inputs;
  std::string result;

  explicit Letters(std::string_view spec);
};

/// y = x w in the forward pass. A letter of `rows` is in x and y, of `inner` in x and w, of `columns` in w and y.
struct Product {
  baleen_op_t op = BALEEN_NONE;
  Letters letters;
  std::size_t weight = 1;                  ///< which input is the parameter
  baleen_value_t parameter = BALEEN_NONE;  ///< of which the input may be a compute copy
  std::string rows, inner, columns;

  const std::string& x() const { return letters.inputs[1 - weight]; }
  const std::string& w() const { return letters.inputs[weight]; }
};

/// What an operand in 8 bits was cast from (`precision`); other values are returned as they are.
baleen_value_t before_cast(GraphView& graph, baleen_value_t operand);
/// What the result of a product of 8 bits is once scales are taken off; other values are returned as they are.
baleen_value_t behind_scales(GraphView& graph, baleen_value_t result);

/// The products of the forward pass that have one parameter of two or more dimensions, in the order of ops.
std::vector<Product> products(GraphView graph);

/// The dimension of `value` to cut among those that have one of the letters: an inner logical axis, else `embed`, else
/// the longest. None where all have the extent 1.
std::optional<int> dimension_to_cut(const baleen_value_info_t& value, const std::string& letters,
                                    const std::string& among);

/// The same of a parameter that no product multiplies: none along which an op slices it, joins it or the like.
std::optional<int> dimension_to_cut(GraphView graph, baleen_value_t parameter);

/// The letter of the batch among `rows`, else the first; '\0' where there is none.
char batch_letter(const baleen_value_info_t& x, const std::string& letters, const std::string& rows);

/// c + x w becomes a product and a sum: over ranks that cut the inner letter, c would be added once by each.
void set_addends_apart(GraphView graph);

/// Keeps losses from being fused with their projections: the fused op has no product to cut in its inner letter.
void set_losses_apart(GraphView graph);

}  // namespace baleen::tensor_parallel
