/// \file A parallel strategy as a C++ class: derive from Strategy, then `BALEEN_STRATEGY(Mine)`.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "baleen/gradients.hpp"
#include "baleen/graph_view.hpp"
#include "baleen/strategy.h"

namespace baleen::sdk {

/// The axes of the mesh, outermost first. A view.
class MeshView {
 public:
  explicit MeshView(const baleen_mesh_t* mesh) : mesh_(mesh) {}

  std::uint32_t count() const { return static_cast<std::uint32_t>(mesh_->count); }
  std::string_view name(std::uint32_t axis) const { return view(mesh_->axes[axis].name); }
  std::int64_t size(std::uint32_t axis) const { return mesh_->axes[axis].size; }
  std::optional<std::uint32_t> find(std::string_view wanted) const {
    for (std::uint32_t axis = 0; axis < count(); ++axis)
      if (name(axis) == wanted) return axis;
    return std::nullopt;
  }

 private:
  const baleen_mesh_t* mesh_;
};

/// What a member's `split` answers: the parts of an axis, outermost first, under static names.
struct AxisSplit {
  std::uint32_t axis = 0;
  std::vector<std::pair<std::string_view, std::int64_t>> parts;  ///< at most BALEEN_MAX_SPLIT
};

/// The verbs of `place` (strategy.h). Every method throws Failed where the core refuses.
class Placing {
 public:
  /// Of an op, for the whole batch on the whole mesh.
  struct Cost {
    double flops = 0, bytes = 0;
  };

  explicit Placing(const baleen_placing_t* placing) : placing_(placing) {}

  MeshView mesh() const { return MeshView(placing_->mesh); }
  std::int64_t micro_batches() const { return static_cast<std::int64_t>(placing_->micro_batches); }
  void allow_sharding(std::uint32_t axis, std::string_view logical_axis) {
    check(placing_->allow_sharding(placing_->self, axis, abi(logical_axis)));
  }
  void set_compute_sharding(baleen_value_t parameter, std::uint32_t axis, baleen_placement_t placement) {
    check(placing_->set_compute_sharding(placing_->self, parameter, axis, placement));
  }
  void set_storage_sharding(baleen_value_t value, std::uint32_t axis, baleen_placement_t placement) {
    check(placing_->set_storage_sharding(placing_->self, value, axis, placement));
  }
  void constrain(baleen_value_t value, std::uint32_t axis, baleen_placement_t placement,
                 bool every_micro_batch = false) {
    check(placing_->constrain(placing_->self, value, axis, placement, every_micro_batch ? 1 : 0));
  }
  void add_candidate(const baleen_candidate_t& candidate) {
    check(placing_->add_candidate(placing_->self, &candidate));
  }
  Cost cost(baleen_op_t op) const {
    Cost cost;
    check(placing_->cost(placing_->self, op, &cost.flops, &cost.bytes));
    return cost;
  }
  /// A cost in closed form: `what` of a value along these axes. `formula` is for people, with its source.
  void expect(baleen_form_t what, baleen_value_t value, std::span<const std::uint32_t> axes, double times,
              std::string_view formula) {
    const baleen_closed_form_t form{sizeof(form), what, value, axes.data(), axes.size(), times, abi(formula)};
    check(placing_->expect(placing_->self, &form));
  }
  /// In parameter order; the lists of states are valid during the call of `place`.
  std::vector<baleen_trained_t> trained() const {
    std::vector<baleen_trained_t> all(placing_->trained_count(placing_->self));
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].size = sizeof(all[i]);
      check(placing_->trained(placing_->self, i, &all[i]));
    }
    return all;
  }

 private:
  static void check(baleen_status_t status) {
    if (status) throw Failed(status);
  }
  const baleen_placing_t* placing_;
};

/// The verbs of `recompute` (strategy.h). Every method throws Failed where the core refuses.
class Recomputing {
 public:
  explicit Recomputing(const baleen_recompute_t* recompute) : recompute_(recompute) {}

  MeshView mesh() const { return MeshView(recompute_->mesh); }
  std::uint32_t micro_batches() const { return static_cast<std::uint32_t>(recompute_->micro_batches); }
  /// BALEEN_NONE for a deleted op.
  std::uint32_t position(baleen_op_t op) const { return recompute_->position(recompute_->self, op); }
  std::uint64_t local_bytes(baleen_value_t value) const { return recompute_->local_bytes(recompute_->self, value); }
  /// What would be held at once.
  std::uint64_t peak(std::span<const baleen_op_t> ops) const {
    std::uint64_t bytes = 0;
    check(recompute_->peak(recompute_->self, ops.data(), ops.size(), &bytes));
    return bytes;
  }
  void recompute(std::span<const baleen_op_t> ops) {
    check(recompute_->recompute(recompute_->self, ops.data(), ops.size()));
  }
  void note(std::string_view text) { check(recompute_->note(recompute_->self, abi(text))); }
  /// Bytes that the manifest allows a rank beside model states; 0: it does not say.
  std::uint64_t budget() const { return recompute_->budget; }
  /// Of an op in a step on one rank.
  double flops(baleen_op_t op) const { return recompute_->flops(recompute_->self, op); }

 private:
  static void check(baleen_status_t status) {
    if (status) throw Failed(status);
  }
  const baleen_recompute_t* recompute_;
};

/// The verbs of `schedule` (strategy.h).
class Scheduling {
 public:
  explicit Scheduling(const baleen_schedule_t* schedule) : schedule_(schedule) {}

  MeshView mesh() const { return MeshView(schedule_->mesh); }
  /// BALEEN_NONE for a deleted op.
  std::uint32_t position(baleen_op_t op) const { return schedule_->position(schedule_->self, op); }
  std::uint64_t local_bytes(baleen_value_t value) const { return schedule_->local_bytes(schedule_->self, value); }
  void coalesce(std::span<const baleen_op_t> ops) {
    check(schedule_->coalesce(schedule_->self, ops.data(), ops.size()));
  }
  void start_before(baleen_op_t op, baleen_op_t other) { check(schedule_->start_before(schedule_->self, op, other)); }
  void must_complete_before(baleen_op_t op, baleen_op_t other) {
    check(schedule_->must_complete_before(schedule_->self, op, other));
  }
  std::uint32_t micro_batches() const { return static_cast<std::uint32_t>(schedule_->micro_batches); }
  void set_chunk(baleen_op_t op, std::uint32_t chunk) { check(schedule_->set_chunk(schedule_->self, op, chunk)); }
  void set_pipeline_schedule(std::uint32_t axis, std::int64_t coordinate,
                             std::span<const baleen_pipeline_action_t> actions) {
    check(schedule_->set_pipeline_schedule(schedule_->self, axis, coordinate, actions.data(), actions.size()));
  }
  /// Between its uses the value lies in the job's offload store.
  void set_offloaded(baleen_value_t value, std::uint32_t ahead) {
    check(schedule_->set_offloaded(schedule_->self, value, ahead));
  }
  /// An elementwise update of it, offloaded as it is, gets and puts about so many bytes of each operand at a time.
  void update_in_pieces(baleen_value_t value, std::uint64_t bytes) {
    check(schedule_->update_in_pieces(schedule_->self, value, bytes));
  }
  /// An elementwise update of it, offloaded as it is, runs on the host's cores, in the memory where it lies.
  void update_on_host(baleen_value_t value) { check(schedule_->update_on_host(schedule_->self, value)); }
  /// What a rank's device has too little of, in bytes; who asks has the job planned again until it is enough.
  std::uint64_t lacking_bytes() const { return schedule_->lacking_bytes(schedule_->self); }
  /// With more lacking bytes it would do more.
  void could_do_more() { schedule_->could_do_more(schedule_->self); }
  void every_micro_batch(baleen_op_t op) { check(schedule_->every_micro_batch(schedule_->self, op)); }
  void note(std::string_view text) { check(schedule_->note(schedule_->self, abi(text))); }

 private:
  static void check(baleen_status_t status) {
    if (status) throw Failed(status);
  }
  const baleen_schedule_t* schedule_;
};

/// Base of a member. Called at plan time on one thread. A member also has
/// `static Result<std::unique_ptr<Member>> create(const Host&, const Settings&, MeshView)`, and may have
/// `static Result<std::optional<AxisSplit>> split(const Host&, const Settings&, MeshView)`.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual bool claims(std::uint32_t axis) const = 0;
  virtual Status tag(GraphView) { return {}; }
  virtual Status rewrite(GraphView) { return {}; }
  virtual Status gradients(GraphView, Gradients) { return {}; }
  virtual Status place(GraphView, Placing) { return {}; }
  virtual Status recompute(GraphView, Recomputing) { return {}; }
  virtual Status lower(GraphView) { return {}; }
  virtual Status schedule(GraphView, Scheduling) { return {}; }
  /// The first step after `step` from which the train graph is planned anew; 0: none.
  virtual std::uint64_t begin(std::uint64_t) { return 0; }
  /// Behind the last graph.
  virtual Status finish() { return {}; }
};

namespace detail {

template <class Member>
baleen_status_t split_axis(const baleen_host_t* host, const baleen_settings_t* settings, const baleen_mesh_t* mesh,
                           baleen_axis_split_t* out) {
  return guard(Host(host), [&]() -> Status {
    BALEEN_TRY_ASSIGN(const std::optional<AxisSplit> split,
                      Member::split(Host(host), Settings(settings), MeshView(mesh)));
    if (!split) return {};
    if (split->parts.size() > BALEEN_MAX_SPLIT) return internal("an axis may be split into at most 4 parts");
    out->axis = split->axis;
    for (const auto& [name, size] : split->parts) out->parts[out->count++] = {abi(name), size};
    return {};
  });
}

}  // namespace detail

/// The C table of a member.
template <class Member>
baleen_strategy_t strategy_table() {
  using Self = Instance<Strategy>;
  baleen_strategy_t table{};
  if constexpr (requires { &Member::split; }) table.split = &detail::split_axis<Member>;
  table.create = [](const baleen_host_t* host, const baleen_settings_t* settings, const baleen_mesh_t* mesh,
                    void** out) {
    return guard(Host(host), [&]() -> Status {
      BALEEN_TRY_ASSIGN(auto member, Member::create(Host(host), Settings(settings), MeshView(mesh)));
      return Self::keep(Host(host), std::move(member), out);
    });
  };
  table.destroy = &Self::destroy;
  table.claims = [](void* self, std::uint32_t axis) {
    return guard_value(Self::of(self).host, std::uint32_t{0},
                       [&]() -> std::uint32_t { return Self::of(self).member->claims(axis); });
  };
  table.tag = [](void* self, const baleen_graph_t* graph) {
    return guard(Self::of(self).host, [&] { return Self::of(self).member->tag(GraphView(graph)); });
  };
  table.rewrite = [](void* self, const baleen_graph_t* graph) {
    return guard(Self::of(self).host, [&] { return Self::of(self).member->rewrite(GraphView(graph)); });
  };
  table.gradients = [](void* self, const baleen_graph_t* graph, const baleen_gradients_t* gradients) {
    return guard(Self::of(self).host,
                 [&] { return Self::of(self).member->gradients(GraphView(graph), Gradients(gradients)); });
  };
  table.place = [](void* self, const baleen_graph_t* graph, const baleen_placing_t* placing) {
    return guard(Self::of(self).host, [&] { return Self::of(self).member->place(GraphView(graph), Placing(placing)); });
  };
  table.recompute = [](void* self, const baleen_graph_t* graph, const baleen_recompute_t* recompute) {
    return guard(Self::of(self).host,
                 [&] { return Self::of(self).member->recompute(GraphView(graph), Recomputing(recompute)); });
  };
  table.lower = [](void* self, const baleen_graph_t* graph) {
    return guard(Self::of(self).host, [&] { return Self::of(self).member->lower(GraphView(graph)); });
  };
  table.schedule = [](void* self, const baleen_graph_t* graph, const baleen_schedule_t* schedule) {
    return guard(Self::of(self).host,
                 [&] { return Self::of(self).member->schedule(GraphView(graph), Scheduling(schedule)); });
  };
  table.begin = [](void* self, std::uint64_t step, std::uint64_t* next) {
    return guard(Self::of(self).host, [&]() -> Status {
      *next = Self::of(self).member->begin(step);
      return {};
    });
  };
  table.finish = [](void* self) { return guard(Self::of(self).host, [&] { return Self::of(self).member->finish(); }); };
  return table;
}

}  // namespace baleen::sdk

/// Exports `Member` (a baleen::sdk::Strategy) as this plugin. Once, at global scope, behind BALEEN_DESCRIPTOR.
#define BALEEN_STRATEGY(Member) BALEEN_EXPORT_TABLE(baleen::sdk::strategy_table<Member>())
