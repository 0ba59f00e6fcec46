/// \file Persistent tensors of which each rank stores a piece: cut out of a whole, and put together again.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "compiler/layout/piece.hpp"
#include "core/execute/communicator.hpp"

namespace baleen {

/// Neighbours in a piece that are neighbours in the whole, both row-major.
struct PieceRun {
  std::int64_t in_whole = 0, in_piece = 0, count = 0;
};
/// All of a piece, in its order.
std::vector<PieceRun> runs_of(const Shape& global, const Piece& piece);

/// Copies a rank's elements between host buffers of the whole and of the piece.
void cut_out(const Shape& global, const Piece& piece, std::size_t element_bytes, const std::byte* whole,
             std::byte* own);
void put_in(const Shape& global, const Piece& piece, std::size_t element_bytes, const std::byte* own, std::byte* whole);

/// Brings what the ranks hold to all of them, in parts of a fixed size. [one thread]
class ShardGather {
 public:
  /// Collective over all ranks. The communicator outlives it; its buffer lives as long as it does, and it as long as
  /// any rank may gather.
  static Result<std::unique_ptr<ShardGather>> create(Communicator& communicator);

  /// Collective: `own` is this rank's piece, `whole` receives all elements.
  Status run(const Shape& global, const Layout& layout, std::size_t element_bytes, const std::vector<std::byte>& own,
             std::byte* whole);

 private:
  explicit ShardGather(Communicator& communicator);
  Status exchange();

  Communicator& communicator_;
  std::vector<std::byte> staging_;
  void* slot_ = nullptr;
  baleen_event_t done_{};
  std::uint64_t begun_ = 0;
};

}  // namespace baleen
