/// \file Conversions between layouts, and the collectives of local regions: a call of the transport, whose tensors are
/// contiguous, with the copies that make them so.
#pragma once
#include "compiler/codegen/packer.hpp"
#include "compiler/layout/conversion.hpp"
#include "compiler/layout/piece.hpp"

namespace baleen {

class Exchange {
 public:
  /// For one op, whose attribute `axes` says who talks. Borrows all.
  Exchange(Lowered& lowered, OpEmitter& emitter, const Op& op, std::uint32_t section);

  /// `x`, which lies as `from` (one placement per mesh axis), as what `to` says. Both have one global shape.
  Result<LowValue> convert(CollectiveOp collective, LowValue x, const Layout& from, const ResultSpec& to);
  /// A collective between values of a local region.
  Result<LowValue> in_region(LowValue x, const ResultSpec& y);

 private:
  /// What the members of the group hold before and after, and what this rank does.
  struct Sides {
    Shape global;
    Layout from, to;
    std::vector<Piece> before, after;  ///< by member
  };
  Sides sides(const Shape& global, const Layout& from, const Layout& to) const;

  Result<LowValue> converted(CollectiveOp collective, LowValue x, const Layout& from, const ResultSpec& to);
  LoweredCall new_call(baleen_collective_t op, std::uint64_t count = 0, std::uint64_t block = 0) const;
  std::int64_t members() const { return static_cast<std::int64_t>(group_.size()); }
  /// Parts of the outermost dimension, joined or summed up and cut.
  Result<LowValue> gather_rows(LowValue x, std::int64_t rows);
  Result<LowValue> scatter_rows(LowValue x, baleen_reduction_t reduction);

  Result<LowValue> all_gather(LowValue x, const Sides& sides, const ResultSpec& to);
  Result<LowValue> reduce_scatter(LowValue x, const Sides& sides, const ResultSpec& to);
  Result<LowValue> all_to_all(LowValue x, const Sides& sides, const ResultSpec& to);
  Result<LowValue> through_whole(LowValue x, const Sides& sides, const ResultSpec& to);
  Result<LowValue> take_shard(LowValue x, const Sides& sides, const ResultSpec& to);
  Result<LowValue> take_partial(LowValue x, const Sides& sides, const ResultSpec& to);
  Result<LowValue> reduce(LowValue x, std::int64_t root, baleen_reduction_t reduction, const ResultSpec& to);
  Result<LowValue> broadcast(LowValue x, std::int64_t root, const ResultSpec& to);
  Result<LowValue> send(LowValue x, const Sides& sides, const ResultSpec& to);

  Result<LowValue> part(LowValue x, const std::vector<Ranges>& held, const std::vector<Ranges>& wanted);
  Result<LowValue> pack(LowValue x, const Sides& sides, EntryOf<LowValue>& entry);
  Result<LowValue> unpack(LowValue received, const Sides& sides, const std::vector<std::uint64_t>& counts);
  Result<LowValue> local_all_to_all(LowValue x, const ResultSpec& y);
  Result<LowValue> permute(LowValue x, const ResultSpec& y);
  Error refuse(const std::string& why) const;

  Lowered& lowered_;
  const Op& op_;
  Packer packer_;
  std::vector<int> axes_;
  std::vector<Coordinates> group_;  ///< by member, in the order of ranks
  std::size_t place_ = 0;           ///< this rank's
};

}  // namespace baleen
