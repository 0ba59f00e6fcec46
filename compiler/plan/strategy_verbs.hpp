/// \file What a strategy may do in `gradients`, `place`, `recompute` and `schedule`: the tables of strategy.h over the
/// plan's own data. Each borrows all and lives during one call of the strategy; no exception leaves, and the first
/// refusal is kept with its text.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "baleen/caught.hpp"
#include "baleen/plugin.hpp"
#include "baleen/strategy.h"
#include "compiler/plan/passes.hpp"
#include "compiler/plan/sharding_requests.hpp"

namespace baleen {

/// What the four have in common: `Self` is the class, `Table` its table of strategy.h.
template <class Self, class Table>
class Verbs {
 public:
  Verbs(const Verbs&) = delete;
  Verbs& operator=(const Verbs&) = delete;

  const Table* table() const { return &table_; }
  /// The first verb that was refused, if any.
  const Status& status() const { return status_; }
  /// What the user is to be told.
  const std::vector<std::string>& notes() const { return notes_; }

 protected:
  Verbs() {
    table_.size = sizeof(table_);
    table_.self = static_cast<Self*>(this);
  }
  static Self& self(void* pointer) { return *static_cast<Self*>(pointer); }

  /// Runs a verb that returns a Status, keeps its error if it is the first, and gives its code.
  template <class Verb>
  baleen_status_t run(Verb&& verb) {
    Status status;
    try {
      status = verb();
    } catch (...) {
      status = sdk::caught_error();
    }
    if (status) return BALEEN_OK;
    const baleen_status_t code = status.error().code;
    if (status_) status_ = std::move(status);
    return code;
  }
  static baleen_status_t note(void* pointer, baleen_string_t text) {
    return self(pointer).run([&]() -> Status {
      self(pointer).notes_.emplace_back(view(text));
      return {};
    });
  }

  Table table_{};

 private:
  Status status_;
  std::vector<std::string> notes_;
};

/// Bytes that one rank holds of a value: the most of any; 0 where there is no such value.
std::uint64_t local_bytes(const Graph& graph, ValueId value);
/// Where each op stands in the order of execution, by op; kNone for none.
std::vector<std::uint32_t> positions_in(const Graph& graph);

/// Writes one strategy's requests into a request.
class PlacingVerbs : public Verbs<PlacingVerbs, baleen_placing_t> {
 public:
  PlacingVerbs(const Graph& graph, PlacementRequest& request, ShardingRequests& requests, const baleen_mesh_t& mesh,
               ShardingRequests::Requester strategy, std::int64_t micro_batches);

 private:
  Status allow_sharding(std::uint32_t axis, const std::string& logical_axis);
  Status lay(ShardingRequests::How how, std::map<ValueId, Layout>& layouts, ValueId value, std::uint32_t axis,
             baleen_placement_t placement);
  Status constrain(ValueId value, std::uint32_t axis, baleen_placement_t placement, bool every_micro_batch);
  Status add_candidate(const baleen_candidate_t& offer);
  Status cost(OpId op, double* flops, double* bytes) const;
  Status expect(const baleen_closed_form_t& form);
  /// The placements of an offer for these values.
  Result<std::vector<Placement>> offered(const baleen_placement_t* first, const Ids& values, std::uint32_t axis) const;
  Status check_coordinates(const std::vector<Placement>& inputs, const std::vector<Placement>& outputs,
                           std::uint32_t axis) const;
  Status check_axis(std::uint32_t axis) const;
  Status check_value(ValueId value) const;
  Result<Placement> checked(baleen_placement_t placement, ValueId value, std::uint32_t axis) const;

  const Graph& graph_;
  PlacementRequest& request_;
  ShardingRequests& requests_;
  const baleen_mesh_t& mesh_;
  ShardingRequests::Requester strategy_;
};

/// Orders and joins collectives of a graph.
class ScheduleVerbs : public Verbs<ScheduleVerbs, baleen_schedule_t> {
 public:
  ScheduleVerbs(Graph& graph, const baleen_mesh_t& mesh, std::int64_t micro_batches,
                std::vector<PipelineSchedule>& pipelines, Lack& lack);
  /// Moves ops to where they were told to begin. Once, after the strategy's call.
  Status apply();

 private:
  Status start_before(OpId op, OpId other);
  Status every_micro_batch(OpId op);
  Status set_chunk(OpId op, std::uint32_t chunk);
  Status must_complete_before(OpId op, OpId other);
  Status check_op(OpId op) const;
  Status set_pipeline_schedule(std::uint32_t axis, std::int64_t coordinate,
                               const std::vector<baleen_pipeline_action_t>& actions);
  Status coalesce(const std::vector<OpId>& ops);
  Status set_offloaded(ValueId source, std::uint32_t ahead);
  Status update_in_pieces(ValueId value, std::uint64_t bytes);
  Status update_on_host(ValueId value);
  Status check_collective(OpId op) const;

  Graph& graph_;
  std::vector<PipelineSchedule>& pipelines_;
  Lack& lack_;
  std::vector<std::uint32_t> positions_;
  std::map<OpId, std::vector<OpId>> moves_;  ///< what goes before an op
  std::set<OpId> moved_;                     ///< all that go
  std::uint32_t buckets_ = 0;
};

/// Writes what one strategy says into the gradients.
class GradientVerbs : public Verbs<GradientVerbs, baleen_gradients_t> {
 public:
  GradientVerbs(Graph& graph, const Job& job, std::string member, LossGradients& gradients);
  /// Under the strategy's name.
  Result<ValueId> add_state(const std::string& name, const ValueType& type, double initial);

 private:
  Status read(std::uint64_t number, baleen_gradient_t& out) const;
  Status replace(std::uint64_t number, ValueId gradient, ValueId value);
  Status apply(ValueId condition);
  Status show(const std::string& name, ValueId scalar);
  Status stop(ValueId condition, std::string text);
  Status approximate(std::uint64_t number, double share);
  Status check_scalar(ValueId value, const char* what) const;

  Graph& graph_;
  const Job& job_;
  const std::string member_;  ///< name of the strategy
  LossGradients& gradients_;
  std::vector<std::size_t> trained_;  ///< numbers of the job's parameters that have a gradient
};

/// Copies ops of a graph.
class RecomputeVerbs : public Verbs<RecomputeVerbs, baleen_recompute_t> {
 public:
  /// What strategies do to a graph in the phases that follow.
  using Rest = std::function<Status(Graph&, std::vector<PipelineSchedule>&)>;

  /// `budget`: bytes beside model states; 0: none. `rest` may be null.
  RecomputeVerbs(Graph& graph, const baleen_mesh_t& mesh, std::int64_t micro_batches, std::uint64_t budget, Rest rest);

 private:
  Status peak(const std::vector<OpId>& ops, std::uint64_t& bytes) const;
  double flops(OpId op) const;

  Graph& graph_;
  std::int64_t micro_batches_;
  Rest rest_;
  std::vector<std::uint32_t> positions_;
};

}  // namespace baleen
