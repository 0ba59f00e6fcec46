/// \file The layouts that a script chooses by hand, on the mesh that there is.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/placement/placement.hpp"
#include "compiler/plan/job.hpp"

namespace baleen {

/// What an annotation `layout` makes of a value along its axis. The error says which dimension the value lacks.
Result<Placement> placement_on(const Annotation& annotation, const Value& value);

/// Applies a job's annotations to its graphs. [plan time, one thread]
class Annotations {
 public:
  /// Errors: an axis that a strategy has split into parts.
  static Result<Annotations> create(const std::vector<Annotation>& annotations, const Mesh& mesh);

  /// Whether one of them names this axis of the mesh.
  bool claims(const std::string& axis) const;
  /// A line for the user where annotations change nothing, because the mesh has no such axis, and where they are all
  /// that works along an axis; empty where there is nothing to say.
  std::vector<std::string> notes(const std::function<bool(int axis)>& has_strategy) const;
  /// Ops that read what is cut keep apart from fused forms, which would swallow it.
  void keep_apart(Graph& graph) const;
  /// Changes what strategies asked for. Errors name the script's line: extents that the axis cannot cut, two
  /// annotations that disagree, fields of the data with other rows, a strategy that demands otherwise.
  Status apply(const Graph& graph, PlacementRequest& request) const;
  /// The error of a propagation, with the annotations of the parameters that it names.
  Error explain(Error error, const Graph& graph) const;

 private:
  struct Wish {
    Placement placement;
    const Annotation* annotation = nullptr;
  };
  explicit Annotations(std::vector<Annotation> annotations, Mesh mesh)
      : all_(std::move(annotations)), mesh_(std::move(mesh)) {}

  /// Whether one of its results is to be cut.
  bool cuts(const Graph& graph, const Op& op) const;
  Result<std::optional<Wish>> wish(const Graph& graph, const Value& value, int axis) const;
  std::optional<Wish> innermost(const std::vector<std::size_t>& stack, const Value& value, int axis) const;
  Status check_extent(const Value& value, int axis, const Wish& wish) const;
  Status check_shared(const Graph& graph, const Op& op, int axis) const;
  Status check_rows(const Graph& graph, const PlacementRequest& request, int axis) const;
  Status check_offers(const Graph& graph, const PlacementRequest& request, int axis) const;
  Status check_coordinates(const Graph& graph, const PlacementRequest& request, int axis) const;

  std::vector<Annotation> all_;
  Mesh mesh_;
};

}  // namespace baleen
