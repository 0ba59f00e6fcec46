/// \file Pieces of persistent tensors in host memory.
#include "core/runtime/shards.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "baleen/event.hpp"
#include "baleen/plugin.hpp"

namespace baleen {
namespace {

/// Bytes of each rank that one call of the transport brings: four times as many from size to size, and of all ranks
/// together as few as fit.
constexpr std::size_t kLeastPart = std::size_t{4} << 10, kMostPart = std::size_t{1} << 20;
constexpr std::size_t kMostStaging = std::size_t{64} << 20;

/// The offset in the whole of each row of the piece's box (all dimensions but the last).
std::vector<std::int64_t> row_offsets(const Shape& global, const std::vector<Ranges>& dims) {
  std::vector<std::int64_t> offsets{0};
  for (std::size_t d = 0; d + 1 < dims.size(); ++d) {
    std::vector<std::int64_t> next;
    for (const std::int64_t offset : offsets)
      for (const Range& run : dims[d])
        for (std::int64_t i = run.begin; i < run.end; ++i) next.push_back((offset + i) * global[d + 1]);
    offsets = std::move(next);
  }
  return offsets;
}

}  // namespace

std::vector<PieceRun> runs_of(const Shape& global, const Piece& piece) {
  if (!piece.held) return {};
  const std::vector<Ranges> dims = piece.dims.empty() ? std::vector<Ranges>{{{0, 1}}} : piece.dims;
  const std::int64_t first = piece.flat ? piece.flat->begin : 0;
  const std::int64_t last = piece.flat ? piece.flat->end : std::numeric_limits<std::int64_t>::max();
  std::vector<PieceRun> result;
  std::int64_t in_box = 0;
  for (const std::int64_t row : row_offsets(global, dims))
    for (const Range& run : dims.back()) {
      const std::int64_t from = std::max(first, in_box), to = std::min(last, in_box + run.length());
      if (from < to) result.push_back({row + run.begin + from - in_box, from - first, to - from});
      in_box += run.length();
    }
  return result;
}

void cut_out(const Shape& global, const Piece& piece, std::size_t element_bytes, const std::byte* whole,
             std::byte* own) {
  for (const PieceRun& run : runs_of(global, piece))
    std::memcpy(own + static_cast<std::size_t>(run.in_piece) * element_bytes,
                whole + static_cast<std::size_t>(run.in_whole) * element_bytes,
                static_cast<std::size_t>(run.count) * element_bytes);
}

void put_in(const Shape& global, const Piece& piece, std::size_t element_bytes, const std::byte* own,
            std::byte* whole) {
  for (const PieceRun& run : runs_of(global, piece))
    std::memcpy(whole + static_cast<std::size_t>(run.in_whole) * element_bytes,
                own + static_cast<std::size_t>(run.in_piece) * element_bytes,
                static_cast<std::size_t>(run.count) * element_bytes);
}

Result<ShardGather::Exchange*> ShardGather::exchange_for(std::size_t bytes) {
  const std::size_t ranks = static_cast<std::size_t>(communicator_.ranks());
  std::size_t part = kLeastPart;
  while (part < bytes && part < kMostPart && 4 * part * ranks <= kMostStaging) part *= 4;
  for (const auto& made : exchanges_)
    if (made->part == part) return made.get();
  auto added = std::make_unique<Exchange>();
  added->part = part;
  added->staging.resize(part * ranks);
  BALEEN_TRY(make(*added));
  return exchanges_.emplace_back(std::move(added)).get();
}

Status ShardGather::make(Exchange& exchange) {
  std::vector<std::string> axes;
  for (const MeshAxis& axis : communicator_.mesh().axes) axes.push_back(axis.name);
  CollectiveArgs gather;
  gather.op = BALEEN_ALL_GATHER;
  std::byte* const all = exchange.staging.data();
  const std::byte* const own = all + exchange.part * static_cast<std::size_t>(communicator_.rank());
  gather.entries = {{own, all, exchange.staging.size(), exchange.part, {}, {}}};
  gather.where = "reading persistent tensors";
  BALEEN_TRY_ASSIGN(exchange.slot, communicator_.prepare(axes, std::move(gather)));
  return {};
}

Status ShardGather::run(const Exchange& exchange) {
  BALEEN_TRY(communicator_.start(exchange.slot, nullptr, 0, &done_, ++begun_));
  event_wait(done_, begun_);
  return communicator_.check();
}

Result<std::vector<std::string>> ShardGather::run(const std::string& own) {
  BALEEN_TRY_ASSIGN(Exchange* const exchange, exchange_for(kLeastPart));
  const std::size_t part = exchange->part;
  char* const all = reinterpret_cast<char*>(exchange->staging.data());
  char* const mine = all + part * static_cast<std::size_t>(communicator_.rank());
  std::fill_n(mine, part, '\0');
  std::copy_n(own.data(), std::min(own.size(), part / 2), mine);
  BALEEN_TRY(run(*exchange));
  std::vector<std::string> texts;
  for (std::int64_t rank = 0; rank < communicator_.ranks(); ++rank)
    texts.emplace_back(all + part * static_cast<std::size_t>(rank));
  return texts;
}

Status ShardGather::run(const Shape& global, const Layout& layout, std::size_t element_bytes,
                        const std::vector<std::byte>& own, std::byte* whole) {
  const Mesh& mesh = communicator_.mesh();
  std::vector<Piece> pieces;
  std::size_t most = 0;
  for (std::int64_t rank = 0; rank < communicator_.ranks(); ++rank) {
    pieces.push_back(piece_of(global, layout, mesh, coordinates(mesh, rank)));
    most = std::max(most, static_cast<std::size_t>(pieces.back().elements()) * element_bytes);
  }
  BALEEN_TRY_ASSIGN(Exchange* const exchange, exchange_for(most));
  const std::size_t part_bytes = exchange->part;
  std::vector<std::vector<std::byte>> contents(pieces.size());
  for (std::size_t begin = 0; begin < most; begin += part_bytes) {
    std::byte* mine = exchange->staging.data() + part_bytes * static_cast<std::size_t>(communicator_.rank());
    if (begin < own.size()) std::memcpy(mine, own.data() + begin, std::min(part_bytes, own.size() - begin));
    BALEEN_TRY(run(*exchange));
    for (std::size_t rank = 0; rank < pieces.size(); ++rank) {
      const std::size_t bytes = static_cast<std::size_t>(pieces[rank].elements()) * element_bytes;
      const std::byte* part = exchange->staging.data() + part_bytes * rank;
      if (begin < bytes) contents[rank].insert(contents[rank].end(), part, part + std::min(part_bytes, bytes - begin));
    }
  }
  for (std::size_t rank = 0; rank < pieces.size(); ++rank)
    put_in(global, pieces[rank], element_bytes, contents[rank].data(), whole);
  return {};
}

}  // namespace baleen
