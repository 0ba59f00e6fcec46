/// \file Layers whose parameter is too large to be in the device as a whole: they run in tiles, one behind the other
/// (memory-centric tiling, Rajbhandari et al., arXiv 2104.07857).
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "baleen/op_builder.hpp"
#include "baleen/strategy.hpp"

namespace baleen::offload {

using namespace sdk;

/// Puts ops on parts of a parameter's first dimension in the place of those that read all of it: of `matmul`s and
/// embeddings that read the parameter itself. A product over that dimension adds up tile by tile, in ascending order;
/// every other result has the bits that it had, but for how a device sums up a product of another size.
class Tiles {
 public:
  /// `bytes`: of a tile, at most, where a row of the parameter is not larger.
  Tiles(GraphView graph, std::uint64_t bytes) : graph_(graph), build_(graph_), bytes_(bytes) {}

  /// Once, on a forward graph.
  void run();
  std::size_t layers() const { return layers_; }  ///< that run in tiles
  std::size_t parameters() const { return tiles_.size(); }

 private:
  struct Tile {
    std::int64_t start = 0, length = 0;
    baleen_value_t part = BALEEN_NONE;
  };

  bool is_too_large(baleen_value_t value);
  /// The same ones for all who read it, so that their gradients meet in a tile.
  const std::vector<Tile>& tiles_of(baleen_value_t parameter);
  void tile_matmul(baleen_op_t op, std::size_t operand);
  void tile_embedding(baleen_op_t op);
  /// The same bytes as a value of its own, so that what reads it is one term of the gradient.
  baleen_value_t same(baleen_value_t value);
  void replace(baleen_op_t op, baleen_op_t first_made, baleen_value_t result);
  baleen_value_t slice(baleen_value_t whole, std::size_t dim, const Tile& tile);

  GraphView graph_;
  OpBuilder build_;
  const std::uint64_t bytes_;
  std::size_t layers_ = 0;
  std::map<baleen_value_t, std::vector<Tile>> tiles_;
};

}  // namespace baleen::offload
