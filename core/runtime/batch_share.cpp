/// \file Finds the rows that a program's inputs hold, and cuts rows where inputs hold parts of them.
#include "core/runtime/batch_share.hpp"

#include <algorithm>

#include "baleen/dtype.hpp"
#include "core/runtime/shards.hpp"

namespace baleen {

Result<BatchShare> BatchShare::create(const Program& program, const baleen_dataset_info_t& info, std::int64_t batch) {
  BatchShare share(batch);
  const Port* first = nullptr;
  for (std::uint32_t f = 0; f < info.field_count; ++f) {
    const baleen_field_t& field = info.fields[f];
    const auto port = std::find_if(program.inputs().begin(), program.inputs().end(),
                                   [&](const Port& p) { return p.name == field.name; });
    if (port == program.inputs().end()) continue;
    if (first && first->rows != port->rows)
      return unsupported("inputs `" + first->name + "` and `" + port->name + "` are cut differently");
    if (!first) share.rows_ = port->rows;
    first = &*port;
    const Shape row(field.shape, field.shape + field.rank);
    std::vector<Ranges> whole;
    for (const std::int64_t extent : row) whole.push_back(extent > 0 ? Ranges{{0, extent}} : Ranges{});
    if (port->within != whole) share.cut_fields_.push_back({f, row, port->within, dtype_size(port->type.dtype)});
  }
  return share;
}

Batch BatchShare::cut(Batch read) const {
  std::int64_t rows = 0;
  for (const Range& run : rows_) rows += run.length();
  for (const Field& field : cut_fields_) {
    Shape global{rows};
    global.insert(global.end(), field.row.begin(), field.row.end());
    Piece piece;
    piece.dims = {rows > 0 ? Ranges{{0, rows}} : Ranges{}};
    piece.dims.insert(piece.dims.end(), field.within.begin(), field.within.end());
    std::vector<std::byte> own(static_cast<std::size_t>(piece.elements()) * field.element_bytes);
    cut_out(global, piece, field.element_bytes, read[field.number].data(), own.data());
    read[field.number] = std::move(own);
  }
  return read;
}

}  // namespace baleen
