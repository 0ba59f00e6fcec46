/// \file Where several axes shard one letter of an op: in which order their splits nest (docs/design.md,
/// Propagation, rule 8).
#pragma once
#include <functional>

#include "compiler/placement/candidates.hpp"

namespace baleen {

/// Turns an op's choices per axis into layouts of its operands and results. All that hold a letter nest it alike: in
/// the order that converts the inputs for the fewest bytes, in mesh order if several do. A letter that an offer cuts
/// too nests in mesh order, but where the offer says otherwise: the form that it stands for may have the letter in
/// several operands, cut by different axes.
class SplitNesting {
 public:
  /// Bytes of converting an input to a layout.
  using Cost = std::function<double(std::size_t input, const Layout& layout)>;

  SplitNesting(const Mesh& mesh, const Decided& decided, Cost cost);

  void run(OpPlacement& placed);

 private:
  using Orders = std::map<char, std::vector<int>>;  ///< axes per letter that several cut, outermost first

  void hold_letters_of_offers();
  /// Looks for a better order of each letter in turn; whether there was one.
  bool improve(Orders& orders) const;
  Layout layout(bool input, std::size_t index, const Orders& orders) const;
  double cost(const Orders& orders) const;

  const Mesh& mesh_;
  const Decided& decided_;
  Cost cost_;
  std::set<char> held_;  ///< letters that offers cut
};

}  // namespace baleen
