/// \file The fault that is to be planted, and what every kind of it needs of a graph that has layouts.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "baleen/strategy.hpp"

namespace baleen::test {

using namespace sdk;

using Layout = std::vector<baleen_placement_t>;

/// By parameter: the gradient as ranks sum it, of the train graph.
using GradientsByName = std::map<std::string, baleen_value_t>;

/// The strategy's options, and what it works on.
struct Fault {
  Fault(const Settings& settings, MeshView of_mesh, std::uint32_t along_axis);

  bool is(std::initializer_list<const char*> kinds) const {
    return std::any_of(kinds.begin(), kinds.end(), [&](const char* one) { return kind == one; });
  }
  std::uint32_t other_axis() const;
  std::string axis_name() const { return std::string(mesh.name(along)); }

  std::string kind, at, of, other;
  std::int64_t nth = 0;
  double step = 0;
  bool evaluates = false, open = false;
  MeshView mesh;
  std::uint32_t along = 0;
  std::int64_t ranks = 1;
  std::int64_t micro_batches = 1;  ///< known from `place` on
};

/// A graph, the fault in mind.
class Placed {
 public:
  Placed(GraphView graph, const Fault& fault) : graph(graph), fault(fault) {}

  // --- finding

  baleen_value_t find(baleen_role_t role, const std::string& name) const;
  /// The op that assigns the parameter or state, or BALEEN_NONE.
  baleen_op_t assign_of(const std::string& target);
  /// The strategy's count of steps, which the train graph alone has.
  Value attempts() const { return {graph.table(), find(BALEEN_ROLE_STATE, "faulty.attempts")}; }
  /// Whether this is the graph to damage.
  bool is_here() const { return static_cast<bool>(attempts()) != fault.evaluates; }
  bool is_conversion(baleen_op_t id);
  bool is_along(baleen_op_t id);
  /// Sends between ranks within a local region.
  bool is_exchange(baleen_op_t id);
  std::vector<baleen_op_t> users(baleen_value_t value) const;
  std::string name(baleen_value_t value) const { return std::string(view(graph.value(value).name)); }

  // --- when

  /// 1 in the damaged step.
  Value now() const { return now(attempts()); }
  Value now(Value attempts) const;
  /// The same, lying so that an op on values of this layout may read it.
  Value when(const Layout& layout);
  /// `wrong` in the damaged step, else `right`, of one layout.
  Value chosen(Value wrong, Value right, const Layout& layout);

  // --- layouts

  Layout whole() const { return Layout(fault.mesh.count(), replicate()); }
  Layout layout_of(baleen_value_t value) const;
  static Layout changed(Layout layout, std::uint32_t axis, baleen_placement_t placement) {
    layout[axis] = placement;
    return layout;
  }
  /// What is appended this late has no layout yet.
  Value with(Value value, const Layout& layout) {
    graph.set_layout(value.id(), layout);
    return value;
  }
  std::vector<std::int64_t> shape_of(baleen_value_t value) const;
  Value to_local(Value value);
  Value from_local(Value local, const std::vector<std::int64_t>& shape, const Layout& layout);
  /// The same numbers, said to lie otherwise; with `open` nothing is said.
  Value relabel(Value value, const Layout& layout);
  Value convert(std::string_view kind, Value value, std::uint32_t axis, std::string_view from, std::string_view to,
                const Layout& layout);
  /// The place on the axis.
  Value rank(baleen_dtype_t dtype);

  /// What reads `value` reads a copy from here on, so that the fault may read `value` itself.
  Value copied(baleen_value_t value);

  GraphView graph;
  const Fault& fault;

 private:
  std::vector<std::int64_t> piece_of(std::vector<std::int64_t> shape, const Layout& layout) const;
};

/// Faults of conversions between layouts, and of what ranks send each other within local regions.
Status damage_conversion(Placed placed, const GradientsByName& gradients);
/// A gradient that does not count all micro-batches once.
Status damage_micro_batches(Placed placed, const GradientsByName& gradients);
/// Any value of the forward and backward pass.
Status damage_value(Placed placed);
/// A forward op that runs again draws other random numbers.
Status draw_again(Placed placed);
/// Every rank draws random numbers for its piece as if it were the first.
Status draw_alike(Placed placed);
/// Every rank reads the first one's rows.
Status read_alike(Placed placed);
/// Copies of a parameter drift apart.
Status damage_replicas(Placed placed);

}  // namespace baleen::test
