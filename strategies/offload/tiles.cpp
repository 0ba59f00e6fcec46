#include "tiles.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "baleen/dtype.hpp"

namespace baleen::offload {

void Tiles::run() {
  for (const baleen_op_t id : graph_.ordered()) {
    const auto op = graph_.op(id);
    const bool is_product = op->kind() == "matmul" && op->inputs().size() == 2;
    if (!is_product && op->kind() != "embedding") continue;
    const std::vector<baleen_value_t> inputs(op->inputs().begin(), op->inputs().end());
    if (!is_product) {
      if (is_too_large(inputs[0])) tile_embedding(id);
    } else if (is_too_large(inputs[0]) != is_too_large(inputs[1])) {
      tile_matmul(id, is_too_large(inputs[0]) ? 0 : 1);
    }
  }
}

/// A parameter itself: a compute copy is in the device all the time.
bool Tiles::is_too_large(baleen_value_t value) {
  const baleen_value_info_t info = graph_.value(value);
  if (info.role != BALEEN_ROLE_PARAMETER || info.rank == 0 || info.shape[0] < 2) return false;
  if (!graph_.op(info.producer)->inputs().empty()) return false;
  return static_cast<std::uint64_t>(elements(build_.shape(value))) * dtype_size(info.dtype) > bytes_;
}

const std::vector<Tiles::Tile>& Tiles::tiles_of(baleen_value_t parameter) {
  std::vector<Tile>& tiles = tiles_[parameter];
  if (!tiles.empty()) return tiles;
  const Shape shape = build_.shape(parameter);
  const std::uint64_t row =
      static_cast<std::uint64_t>(elements(shape) / shape[0]) * dtype_size(graph_.value(parameter).dtype);
  // A tile of whole blocks of a store, where so many rows have no more bytes than a tile may have.
  std::uint64_t rows = std::max<std::uint64_t>(1, bytes_ / row);
  const std::uint64_t blocks = BALEEN_PIECE_BYTES / std::gcd(row, std::uint64_t{BALEEN_PIECE_BYTES});
  if (rows > blocks) rows = rows / blocks * blocks;
  for (std::int64_t start = 0; start < shape[0]; start += static_cast<std::int64_t>(rows))
    tiles.push_back({start, std::min(static_cast<std::int64_t>(rows), shape[0] - start)});
  const baleen_value_t whole = same(parameter);
  for (Tile& tile : tiles) tile.part = slice(whole, 0, tile);
  return tiles;
}

baleen_value_t Tiles::same(baleen_value_t value) {
  return build_.one("reshape", {value}, AttributeList().integers("shape", build_.shape(value)));
}

/// What pipelines know a layer by goes to all that takes its place.
void Tiles::replace(baleen_op_t op, baleen_op_t first_made, baleen_value_t result) {
  for (const char* key : {"block", "stage"})
    if (const std::string text(graph_.tag(op, key)); !text.empty())
      for (baleen_op_t made = first_made; made < graph_.op_count(); ++made) graph_.set_tag(made, key, text);
  graph_.redirect(graph_.op(op)->outputs()[0], result);
  ++layers_;
}

baleen_value_t Tiles::slice(baleen_value_t whole, std::size_t dim, const Tile& tile) {
  return build_.one("slice", {whole},
                    AttributeList()
                        .integer("dim", static_cast<std::int64_t>(dim))
                        .integer("start", tile.start)
                        .integer("length", tile.length));
}

/// Along the letter of the parameter's first dimension: results of tiles are joined where the product has the letter,
/// and else added up, in fp32 where they have 16 bits.
void Tiles::tile_matmul(baleen_op_t id, std::size_t operand) {
  graph_.follow(id);
  const baleen_op_t first_made = graph_.op_count();
  const auto op = graph_.op(id);
  const std::string spec(op->text("spec"));
  const std::vector<baleen_value_t> inputs(op->inputs().begin(), op->inputs().end());
  const baleen_dtype_t dtype = build_.dtype(op->outputs()[0]);
  AttributeList attributes = AttributeList().take(*op, "spec").take(*op, "dtype");
  const std::size_t comma = spec.find(','), arrow = spec.find("->");
  const std::string letters[] = {spec.substr(0, comma), spec.substr(comma + 1, arrow - comma - 1)},
                    result = spec.substr(arrow + 2);
  const char letter = letters[operand][0];
  const std::size_t other = letters[1 - operand].find(letter), joined = result.find(letter);
  const bool adds_up = joined == std::string::npos;
  if (adds_up && dtype_size(dtype) == 2) attributes = AttributeList().take(*op, "spec").integer("dtype", BALEEN_F32);
  // Each tile reads the other operand through the one before, so its gradient is added to theirs as soon as it is made.
  baleen_value_t read = inputs[1 - operand];
  std::vector<baleen_value_t> parts;
  for (const Tile& tile : tiles_of(inputs[operand])) {
    std::vector<baleen_value_t> from = inputs;
    from[operand] = tile.part;
    if (other == std::string::npos) read = same(read);
    from[1 - operand] = other == std::string::npos ? read : slice(read, other, tile);
    if (adds_up && !parts.empty()) {
      from.push_back(parts.back());
      parts.pop_back();
    }
    parts.push_back(build_.one("matmul", from, attributes));
  }
  replace(id, first_made,
          adds_up ? build_.cast(parts[0], dtype)
                  : build_.one("concat", parts, AttributeList().integer("dim", static_cast<std::int64_t>(joined))));
}

/// Each tile looks up its first row where an id is of another tile, and what it finds there is not used. So an id that
/// is outside the table is outside the first or the last tile, and an error of the run, though one that counts from the
/// tile's first row.
void Tiles::tile_embedding(baleen_op_t id) {
  graph_.follow(id);
  const baleen_op_t first_made = graph_.op_count();
  const auto op = graph_.op(id);
  const baleen_value_t table = op->inputs()[0], ids = op->inputs()[1];
  const std::size_t row_rank = build_.shape(table).size() - 1;
  const std::vector<Tile>& tiles = tiles_of(table);
  baleen_value_t whole = BALEEN_NONE;
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    const Tile& tile = tiles[t];
    // In fp64, which has all ids exactly.
    Expression e;
    const auto given = e.input(0), zero = e.constant(0);
    auto own = e.binary(BALEEN_X_SUB, given, e.constant(static_cast<double>(tile.start)));
    if (t > 0) own = e.select(e.binary(BALEEN_X_LT, given, e.constant(static_cast<double>(tile.start))), zero, own);
    if (t + 1 < tiles.size()) {
      const auto end = e.constant(static_cast<double>(tile.start + tile.length));
      own = e.select(e.binary(BALEEN_X_LT, given, end), own, zero);
    }
    const baleen_value_t numbers = build_.pointwise({ids}, e, own, {}, BALEEN_F64);
    const baleen_value_t own_ids = build_.one("to_integer", {numbers}, AttributeList().text("dtype", "int32"));
    const baleen_value_t found = build_.one("embedding", {tile.part, own_ids});
    if (t == 0) {
      whole = found;
      continue;
    }
    Expression is_before;
    const auto before =
        is_before.binary(BALEEN_X_LT, is_before.input(0), is_before.constant(static_cast<double>(tile.start)));
    const baleen_value_t mask = build_.pointwise({ids}, is_before, before, {}, BALEEN_F64);
    Expression choose;
    const auto chosen = choose.select(choose.input(2), choose.input(0), choose.input(1));
    whole = build_.pointwise({whole, found, build_.trail(mask, row_rank)}, choose, chosen, {}, build_.dtype(found));
  }
  replace(id, first_made, whole);
}

}  // namespace baleen::offload
