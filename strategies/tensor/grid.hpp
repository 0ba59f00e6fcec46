/// \file Modes 2d and 2.5d: operands cut over a square of ranks, products by SUMMA (van de Geijn and Watts, 1997; arXiv
/// 2104.05343, 2105.14500).
#pragma once
#include <map>
#include <set>

#include "mode.hpp"
#include "product.hpp"
#include "summa.hpp"

namespace baleen::tensor_parallel {

/// Activations are cut along the batch by `row` and along their width by `col`, weights along both dimensions. With
/// `depth` there are several such grids, each with a part of the batch and all weights.
class Grid : public Mode {
 public:
  /// Borrows the mesh.
  Grid(MeshView mesh, std::uint32_t row, std::uint32_t col, std::optional<std::uint32_t> depth)
      : mesh_(mesh), row_(row), col_(col), depth_(depth) {}

  Status rewrite(GraphView graph) override;
  Status place(GraphView graph, Placing placing) override;
  Status lower(GraphView graph) override;
  Status schedule(GraphView graph, Scheduling scheduling) override;

 private:
  /// Which dimensions of a weight are cut.
  struct Cut {
    int row, col;
  };
  using Cuts = std::map<baleen_value_t, Cut>;

  Status check(GraphView graph) const;
  void pin_inputs(GraphView graph, Placing& placing) const;
  /// Tables of embeddings, whose results are pinned, then weights of products.
  void cut_tables(GraphView graph, Placing& placing, Cuts& cuts) const;
  void cut_weights(GraphView graph, Placing& placing, Cuts& cuts) const;
  /// Biases, scales, positions; those that are cut.
  std::set<baleen_value_t> cut_others(GraphView graph, Placing& placing, const Cuts& cuts) const;
  /// What it costs, in closed form.
  void expect(GraphView graph, Placing& placing, const Cuts& cuts, const std::set<baleen_value_t>& others) const;
  void use(Placing& placing, baleen_value_t parameter, Cut cut, Cuts& cuts) const;
  void offer(GraphView graph, Placing& placing, const Product& product, Cut cut) const;

  MeshView mesh_;
  std::uint32_t row_, col_;
  std::optional<std::uint32_t> depth_;
  std::int64_t micro_batches_ = 1;
  SummaCalls calls_;  ///< of the graph that was lowered last
};

}  // namespace baleen::tensor_parallel
