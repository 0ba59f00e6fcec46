/// \file The copies of each value in different layouts, and the conversions that made them (docs/design.md,
/// Propagation, rule 7).
#pragma once
#include <map>
#include <tuple>

#include "compiler/placement/placement.hpp"

namespace baleen {

/// Owns the list of conversions while propagation runs. Borrowed: the graph.
class ValueCopies {
 public:
  explicit ValueCopies(const Graph& graph);

  /// The value lies so by itself.
  void start(ValueId value, const Layout& layout);
  /// A value that its users see converted to `used` first: a stored parameter.
  void start(ValueId value, const Layout& stored, const Layout& used);
  bool known(ValueId value) const { return !items_[value].copies.empty(); }

  /// How the value lies for costs: by itself, or as used.
  const Layout& layout(ValueId value) const;

  /// Bytes of converting on one axis from the cheapest copy, as rule 4 prices it: partial → shard like partial →
  /// replicate.
  double charge(ValueId value, int axis, const Placement& wanted) const;
  /// Bytes of a whole conversion from the cheapest copy.
  double bytes(ValueId value, const Layout& wanted) const;

  /// Finds or makes a copy: its conversion's number, kNone for the value itself.
  std::uint32_t convert(ValueId value, const Layout& wanted, Phase phase, OpId user);
  /// From now on the value lies so for all users.
  void pin(ValueId value, const Layout& wanted, Phase phase, const Pin& pin);

  /// Forgets gathered copies before backward: they are gathered again. A partial value that was resolved stays so.
  void forget_gathered();
  /// The update reads a parameter as it is stored.
  void end_use(ValueId value);

  std::vector<Conversion> take() { return std::move(conversions_); }

 private:
  struct Copy {
    Layout layout;
    std::uint32_t conversion = kNone;
  };
  struct Item {
    std::vector<Copy> copies;    ///< the first is the value itself, or its pinned form
    std::optional<Layout> used;  ///< of a parameter that is stored otherwise
  };

  double elements(ValueId value, const Layout& layout, int axis) const;
  /// The cheapest way. A value's layers repeat each other's, so each way is searched for once.
  const std::vector<Step>& way(ValueId value, const Layout& from, const Layout& to) const;
  struct Nearest {
    const Copy& copy;
    const std::vector<Step>& steps;
  };
  Nearest nearest(ValueId value, const Layout& wanted) const;
  std::size_t steps_that_stay(ValueId value, const Layout& wanted, const std::vector<Step>& steps) const;
  std::uint32_t make(ValueId value, const Copy& source, const Layout& wanted, std::vector<Step> steps, Phase phase,
                     OpId user);
  const Copy* find(ValueId value, const Layout& wanted) const;

  const Graph& graph_;
  std::vector<Item> items_;
  std::vector<Conversion> conversions_;
  using Journey = std::tuple<Shape, std::size_t, Layout, Layout>;  ///< shape, bytes of an element, from, to
  mutable std::map<Journey, std::vector<Step>> ways_;
};

}  // namespace baleen
