/// \file Mode 3d: products on a cube of ranks (Agarwal et al., 1995; arXiv 2105.14450).
#pragma once
#include <map>
#include <set>

#include "mode.hpp"
#include "product.hpp"

namespace baleen::tensor_parallel {

/// Each of the three letters of a product is cut by one axis: its rows by `depth`, its inner letter by one of `row` and
/// `col`, its columns by the other. An operand is gathered along the axis that cuts none of its letters, the result is
/// summed and scattered along the axis of the inner letter. Between products the batch is cut by `depth` and one axis,
/// the width by the other; each product changes which.
class Cube : public Mode {
 public:
  /// Borrows the mesh.
  Cube(MeshView mesh, std::uint32_t depth, std::uint32_t row, std::uint32_t col)
      : mesh_(mesh), depth_(depth), row_(row), col_(col) {}

  Status rewrite(GraphView graph) override;
  Status place(GraphView graph, Placing placing) override;
  /// What is gathered of weights is not kept from one micro-batch to the next.
  Status schedule(GraphView graph, Scheduling scheduling) override;

 private:
  class Walk;

  /// The axis that cuts the width of an activation; the other cuts its batch.
  enum class Width { none, row, col };

  MeshView mesh_;
  std::uint32_t depth_, row_, col_;
};

}  // namespace baleen::tensor_parallel
