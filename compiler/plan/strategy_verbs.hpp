/// \file What a strategy may do in `place` and in `schedule`: the tables of strategy.h over the plan's own data.
#pragma once
#include <vector>

#include "baleen/strategy.h"
#include "compiler/placement/placement.hpp"
#include "compiler/plan/plan.hpp"
#include "compiler/plan/wishes.hpp"

namespace baleen {

/// Collectives that run as one have the same text in this tag.
inline constexpr const char* kBucketTag = "bucket";
/// A collective with it begins where it stands.
inline constexpr const char* kBeginHereTag = "begin_here";
/// The numbers of collectives that are over when this one begins, each followed by a comma.
inline constexpr const char* kOverTag = "over_before";
/// An op with it runs in every micro-batch, though it is the same in all.
inline constexpr const char* kEachTag = "every_micro_batch";

/// Bytes that one rank holds of a value: the most of any; 0 where there is no such value.
std::uint64_t local_bytes(const Graph& graph, ValueId value);
/// Where each op stands in the order of execution, by op; kNone for none.
std::vector<std::uint32_t> positions_in(const Graph& graph);

/// Writes one strategy's wishes into a request. Borrows all; lives during one call of the strategy.
class PlacingVerbs {
 public:
  PlacingVerbs(const Graph& graph, PlacementRequest& request, Wishes& wishes, const baleen_mesh_t& mesh,
               Wishes::Asker strategy, std::int64_t micro_batches);
  PlacingVerbs(const PlacingVerbs&) = delete;
  PlacingVerbs& operator=(const PlacingVerbs&) = delete;

  const baleen_placing_t* table() const { return &table_; }
  /// The first verb that was refused, if any.
  const Status& status() const { return status_; }

 private:
  template <class Verb>
  baleen_status_t run(Verb&& verb);
  Status cut(std::uint32_t axis, const std::string& logical_axis);
  Status lay(Wishes::How how, std::map<ValueId, Layout>& layouts, ValueId value, std::uint32_t axis,
             baleen_placement_t placement);
  Status pin(ValueId value, std::uint32_t axis, baleen_placement_t placement, bool every_micro_batch);
  Status offer(const baleen_offer_t& offer);
  /// The placements of an offer for these values.
  Result<std::vector<Placement>> offered(const baleen_placement_t* first, const std::vector<ValueId>& values,
                                         std::uint32_t axis) const;
  Status check_coordinates(const std::vector<Placement>& inputs, const std::vector<Placement>& outputs,
                           std::uint32_t axis) const;
  Status check_axis(std::uint32_t axis) const;
  Status check_value(ValueId value) const;
  Result<Placement> checked(baleen_placement_t placement, ValueId value, std::uint32_t axis) const;
  static PlacingVerbs& self(void* pointer) { return *static_cast<PlacingVerbs*>(pointer); }

  const Graph& graph_;
  PlacementRequest& request_;
  Wishes& wishes_;
  const baleen_mesh_t& mesh_;
  Wishes::Asker strategy_;
  baleen_placing_t table_{};
  Status status_;
};

/// Orders and joins collectives of a graph. As above.
class ScheduleVerbs {
 public:
  ScheduleVerbs(Graph& graph, const baleen_mesh_t& mesh, std::int64_t micro_batches, std::vector<TurnOrder>& turns);
  ScheduleVerbs(const ScheduleVerbs&) = delete;
  ScheduleVerbs& operator=(const ScheduleVerbs&) = delete;

  const baleen_schedule_t* table() const { return &table_; }
  const Status& status() const { return status_; }
  /// What the user is to be told.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Moves ops to where they were told to begin. Once, after the strategy's call.
  Status apply();

 private:
  Status begin_before(OpId op, OpId other);
  Status every_micro_batch(OpId op);
  Status over_before(OpId op, OpId other);
  Status check_op(OpId op) const;
  Status take_turns(std::uint32_t axis, std::int64_t coordinate, const std::vector<baleen_turn_t>& turns);
  Status coalesce(const std::vector<OpId>& ops);
  Status check_collective(OpId op) const;
  static ScheduleVerbs& self(void* pointer) { return *static_cast<ScheduleVerbs*>(pointer); }

  Graph& graph_;
  std::vector<TurnOrder>& turns_;
  std::vector<std::string> notes_;
  std::vector<std::uint32_t> positions_;
  std::map<OpId, std::vector<OpId>> moves_;  ///< what goes before an op
  int buckets_ = 0;
  baleen_schedule_t table_{};
  Status status_;
};

}  // namespace baleen
