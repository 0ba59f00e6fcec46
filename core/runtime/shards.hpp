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

/// Brings what the ranks hold to all of them, in parts of a few fixed sizes: a tensor of few bytes moves few. [one
/// thread]
class ShardGather {
 public:
  /// The communicator outlives it; its buffers live as long as it does, and it as long as any rank may gather.
  explicit ShardGather(Communicator& communicator) : communicator_(communicator) {}

  /// Collective over all ranks: `own` is this rank's piece, `whole` receives all elements.
  Status run(const Shape& global, const Layout& layout, std::size_t element_bytes, const std::vector<std::byte>& own,
             std::byte* whole);

  /// Collective over all ranks: a text of at most 2,000 bytes of each, by rank.
  Result<std::vector<std::string>> run(const std::string& own);

 private:
  /// A prepared call of the transport that brings `part` bytes of each rank, rank after rank, to `staging`.
  struct Exchange {
    std::size_t part = 0;
    std::vector<std::byte> staging;
    void* slot = nullptr;
  };
  /// The one whose parts suit pieces of at most `bytes`; collective where it is made.
  Result<Exchange*> exchange_for(std::size_t bytes);
  Status make(Exchange& exchange);
  Status run(const Exchange& exchange);

  Communicator& communicator_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;  ///< made when they are first needed
  baleen_event_t done_{sizeof(baleen_event_t), 0, 0, nullptr};
  std::uint64_t begun_ = 0;
};

}  // namespace baleen
