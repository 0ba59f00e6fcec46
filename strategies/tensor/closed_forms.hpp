/// \file What the modes cost in closed form (docs/internals/tensor.md), said to the core beside the layouts.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "baleen/closed_forms.hpp"
#include "product.hpp"

namespace baleen::tensor_parallel {

/// The products of the backward pass, by the forward op that they belong to.
using BackwardProducts = std::map<baleen_op_t, std::vector<baleen_op_t>>;
BackwardProducts backward_products(GraphView graph);

/// Columns, then rows (Megatron-LM, arXiv 1909.08053): two sums forward and two backward for each pair of products.
void expect_columns_rows(GraphView graph, Placing placing, std::uint32_t axis);

/// How a mode of several axes cuts values: the share that a rank has along an axis.
struct GridShares {
  std::vector<std::uint32_t> axes;  ///< of the mesh, ascending
  std::function<StateShares(std::uint32_t axis, baleen_value_t parameter)> parameter;
  std::function<double(std::uint32_t axis, baleen_value_t value)> activation;
};
void expect_shares(GraphView graph, Placing placing, const GridShares& shares, const StateFormulas& formulas,
                   std::string_view activations);

/// Sums over parts of the width inside norms and losses, and the product's own formula.
class SentOnGrid {
 public:
  /// `side`: q; `depth`: squares of 2.5d.
  SentOnGrid(GraphView graph, Placing placing, std::vector<std::uint32_t> axes, double side, double depth)
      : graph_(graph),
        placing_(placing),
        axes_(std::move(axes)),
        side_(side),
        depth_(depth),
        backward_(backward_products(graph)) {}

  /// SUMMA: of each of the three products the two operands, or result, that have the letter `travels`.
  void summa(const Product& product, char travels);
  /// A product on a cube: 3 x + 3 w + 2 y, over q cubed.
  void cube(const Product& product);
  /// What an embedding gives, twice, over `ranks`.
  void embeddings(double ranks);
  /// Five numbers for each row of a norm, three of a loss, of which a rank has `rows`.
  void inner_sums(double rows);

 private:
  void sent(baleen_value_t value, double times, std::string_view formula);

  GraphView graph_;
  Placing placing_;
  std::vector<std::uint32_t> axes_;
  double side_, depth_;
  BackwardProducts backward_;
  std::set<std::pair<baleen_value_t, int>> travelled_;  ///< blocks that several products share, by what they are for
};

}  // namespace baleen::tensor_parallel
