/// \file The strategy `zero`: optimizer states (stage 1), and gradients (2), and parameters (3) in shards along a mesh
/// axis (Rajbhandari et al., arXiv 1910.02054). Shards are flat: equal parts of what a rank would hold without them.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "baleen/closed_forms.hpp"
#include "prefetch.hpp"

BALEEN_DESCRIPTOR("strategy", "zero", "1.0.0", "Apache-2.0",
                  "Optimizer states, gradients and parameters in shards (ZeRO 1, 2, 3)", 0, "",
                  BALEEN_OPTION("stage", BALEEN_OPTION_INT, BALEEN_OPTION_REQUIRED, 1, 3, "", "", "",
                                "shards of: 1 optimizer states, 2 and gradients, 3 and parameters"),
                  BALEEN_OPTION("axis", BALEEN_OPTION_STRING, 0, 1, 0, "data", "", "",
                                "the mesh axis to work along, which also cuts the batch"),
                  BALEEN_OPTION("extra_axes", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 0, 0, "", "", "",
                                "further axes, which other strategies claim, along which shards are cut too"),
                  BALEEN_OPTION("reduce_gradients", BALEEN_OPTION_STRING, 0, 1, 0, "every_micro_batch",
                                "every_micro_batch|once_per_step", "",
                                "stages 2 and 3: in every micro-batch, adding up shards; or once, adding up whole "
                                "gradients before"),
                  BALEEN_OPTION("replicate_below", BALEEN_OPTION_INT, 0, 0, 1e15, "0", "", "",
                                "parameters of fewer elements stay whole, with their states"),
                  BALEEN_OPTION("bucket_mb", BALEEN_OPTION_FLOAT, 0, 0, 1e6, "4", "", "",
                                "MiB reduced or gathered together; 0: each alone"),
                  BALEEN_OPTION("prefetch", BALEEN_OPTION_INT, 0, 0, 1000, "1", "", "",
                                "stage 3: buckets of parameters that are gathered ahead of the one in use"),
                  BALEEN_OPTION("max_live_parameters_mb", BALEEN_OPTION_FLOAT, 0, 0, 1e9, "0", "", "",
                                "stage 3: MiB of gathered parameters at any time; 0: no bound"),
                  BALEEN_OPTION("also", BALEEN_OPTION_STRING, BALEEN_OPTION_EARLIER_NAME, 1, 0, "extra_axes", "", "",
                                ""),
                  BALEEN_OPTION("accumulate", BALEEN_OPTION_STRING, BALEEN_OPTION_EARLIER_NAME, 1, 0,
                                "reduce_gradients", "shard=every_micro_batch|local=once_per_step", "", ""),
                  BALEEN_OPTION("live_mb", BALEEN_OPTION_FLOAT, BALEEN_OPTION_EARLIER_NAME, 1, 0,
                                "max_live_parameters_mb", "", "", ""));

namespace baleen::zero {
namespace {

struct Options {
  std::int64_t stage = 1;
  bool local = false;  ///< gradients are added up whole
  std::int64_t replicate_below = 0;
  PrefetchOptions prefetch;
};

std::uint64_t mebibytes(double number) { return static_cast<std::uint64_t>(number * 1048576.0); }

std::int64_t elements(const baleen_value_info_t& value) {
  std::int64_t count = 1;
  for (std::uint32_t d = 0; d < value.rank; ++d) count *= value.shape[d];
  return count;
}

class Zero : public Strategy {
 public:
  static Result<std::unique_ptr<Zero>> create(const Host&, const Settings& settings, MeshView mesh) {
    Options options;
    options.stage = settings.integer("stage");
    options.local = settings.text("reduce_gradients") == "once_per_step";
    options.replicate_below = settings.integer("replicate_below");
    options.prefetch = {mebibytes(settings.number("bucket_mb")), settings.integer("prefetch"),
                        mebibytes(settings.number("max_live_parameters_mb"))};
    for (const auto& [name, given] :
         {std::pair{"prefetch", settings.integer("prefetch") != 1},
          std::pair{"max_live_parameters_mb", settings.number("max_live_parameters_mb") != 0}})
      if (given && options.stage != 3)
        return invalid("`" + std::string(name) + "` is of stage = 3, whose parameters are gathered, and the stage is " +
                       std::to_string(options.stage) + "; leave it out");
    BALEEN_TRY_ASSIGN(const std::uint32_t axis, axis_named(settings.text("axis"), mesh, "zero"));
    std::vector<std::uint32_t> axes;
    for (const std::string_view name : settings.list("extra_axes")) {
      BALEEN_TRY_ASSIGN(const std::uint32_t other, axis_named(name, mesh, "zero", "extra_axes"));
      if (other == axis && axis != kNoAxis)
        return invalid("`extra_axes` names the axis `" + std::string(name) + "`, which is its `axis` already");
      axes.push_back(other);
    }
    axes.push_back(axis);
    return std::make_unique<Zero>(std::move(axes), options);
  }

  Zero(std::vector<std::uint32_t> axes, const Options& options) : axes_(std::move(axes)), options_(options) {}

  bool claims(std::uint32_t axis) const override { return axis == axes_.back(); }

  Status place(GraphView graph, Placing placing) override {
    if (placing.mesh().size(axes_.back()) > 1) BALEEN_TRY(cut_batch(graph, placing, axes_.back()));
    for (const std::uint32_t axis : axes_)
      if (placing.mesh().size(axis) > 1) {
        place_along(axis, graph, placing);
        expect_along(axis, graph, placing);
      }
    return {};
  }

  Status schedule(GraphView graph, Scheduling scheduling) override {
    const std::uint64_t bytes = options_.prefetch.bucket_bytes;
    for (const std::uint32_t axis : axes_) {
      for (const char* kind : {"all_reduce", "reduce_scatter"})
        bound_in_flight(
            scheduling,
            coalesce_by_size(scheduling, list_collectives(graph, scheduling, kind, axis, BALEEN_ROLE_GRADIENT), bytes));
      const auto is_updated = [&](baleen_value_t first) { return graph.value(first).role == BALEEN_ROLE_UPDATED; };
      coalesce_by_size(scheduling,
                       gathers_of(graph, scheduling, axis, is_updated, {BALEEN_ROLE_UPDATED, BALEEN_ROLE_COPY}), bytes);
    }
    if (options_.stage == 3) return schedule_gathers(graph, scheduling);
    for (const std::uint32_t axis : axes_) schedule_copies(graph, scheduling, axis);
    return {};
  }

 private:
  /// A single number has no shards.
  bool stays_whole(const baleen_value_info_t& parameter) const {
    return parameter.rank == 0 || elements(parameter) < options_.replicate_below;
  }

  void place_along(std::uint32_t axis, GraphView& graph, Placing& placing) const {
    for (const baleen_trained_t& trained : placing.trained()) {
      if (stays_whole(graph.value(trained.parameter))) continue;
      for (std::uint64_t s = 0; s < trained.state_count; ++s)
        if (graph.value(trained.states[s]).rank > 0)
          placing.set_storage_sharding(trained.states[s], axis, shard_flat());
      placing.constrain(trained.gradient, axis, shard_flat(), options_.stage >= 2 && !options_.local);
    }
    for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
      const baleen_value_info_t value = graph.value(id);
      if (value.role != BALEEN_ROLE_PARAMETER || stays_whole(value)) continue;
      if (options_.stage == 3) {
        placing.set_compute_sharding(id, axis, replicate());
        placing.set_storage_sharding(id, axis, shard_flat());
      } else if (is_lone_copy(id, graph)) {
        // The parameter is one more of its optimizer's states; its compute copy is gathered once and stays.
        placing.set_storage_sharding(id, axis, shard_flat());
        placing.constrain(id, axis, replicate());
      }
    }
  }

  /// The table of the README, tensor by tensor. Shards along `extra_axes` are outside: gradients are scattered along
  /// them first, parameters gathered along them last, and the strategy of the axis counts the sums of gradients.
  void expect_along(std::uint32_t axis, GraphView& graph, Placing& placing) const {
    const bool is_own = axis == axes_.back(), every = options_.stage >= 2 && !options_.local;
    const auto turns = static_cast<double>(placing.micro_batches());
    FormsAlong forms(graph, placing, axis);
    const std::set<baleen_value_t> masters = masters_of_lone_copies(graph);
    const double shard = 1 / forms.ranks();
    forms.states(
        [&](baleen_value_t id) {
          const bool is_whole = stays_whole(graph.value(id));
          StateShares shares;
          shares.any_shape = true;
          shares.gradient_known = turns > 1 || is_whole;
          if (is_whole) return shares;
          shares.states = shard;
          if (every) shares.gradient = shard;
          if (axes_.size() == 1 || !is_own) shares.gradient_left = shard;
          if (options_.stage == 3 || masters.contains(id)) shares.parameter = shard;
          if (!is_own) shares.parameter_left = shard;  // an update is gathered along the extra axes last
          return shares;
        },
        {options_.stage == 3 ? "1/N at stage 3 (arXiv 1910.02054, table 1)" : "whole, fp32 masters 1/N",
         "1/N from stage 1 on (arXiv 1910.02054, table 1)",
         every ? "1/N from stage 2 on (arXiv 1910.02054, table 1)" : "whole until the update"});
    if (is_own)
      forms.activations([&](const auto& value) { return has_axis(value, "batch") ? shard : 1; },
                        "1/N of what has the batch");
    // What the strategy of an extra axis has counted: a sum is a scatter and a gather.
    const double counted = is_own ? 0 : 1;
    for (const baleen_trained_t& trained : placing.trained()) {
      if (stays_whole(graph.value(trained.parameter))) {
        if (is_own) forms.sent(trained.gradient, 2 * forms.part(), "2 gradients (N - 1)/N of whole parameters");
        continue;
      }
      forms.sent(trained.gradient, ((every ? turns : 1) - counted) * forms.part(),
                 every ? "gradients (N - 1)/N in each micro-batch" : "gradients (N - 1)/N");
      if (options_.stage < 3 && !masters.contains(trained.parameter))
        forms.sent(trained.parameter, (1 - counted) * forms.part(), "what is updated (N - 1)/N");
    }
    expect_gathers(graph, forms, turns, counted);
  }

  /// Of compute copies, once; at stage 3 in each pass that reads them.
  void expect_gathers(GraphView& graph, FormsAlong& forms, double turns, double counted) const {
    for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
      const baleen_value_info_t value = graph.value(id);
      if (value.role != BALEEN_ROLE_PARAMETER || stays_whole(value)) continue;
      const double passes = is_read_in(id, BALEEN_PHASE_FORWARD, graph) + is_read_in(id, BALEEN_PHASE_BACKWARD, graph);
      if (options_.stage == 3)
        forms.sent(id, (passes * turns - counted) * forms.part(),
                   "parameters (N - 1)/N in each pass that reads them (arXiv 1910.02054, section 7.2.2)");
      else if (is_lone_copy(id, graph))
        forms.sent(id, (1 - counted) * forms.part(), "copies of parameters (N - 1)/N");
    }
  }

  /// Whether ops of a pass read it, but for those that make its compute copy.
  static bool is_read_in(baleen_value_t id, baleen_phase_t phase, GraphView& graph) {
    const baleen_value_info_t value = graph.value(id);
    for (std::uint64_t u = 0; u < value.user_count; ++u)
      if (graph.info(value.users[u]).phase == phase && graph.tag(value.users[u], "compute_copy").empty()) return true;
    return false;
  }

  /// Parameters that are read through their compute copies alone.
  static std::set<baleen_value_t> masters_of_lone_copies(GraphView& graph) {
    std::set<baleen_value_t> masters;
    for (baleen_value_t id = 0; id < graph.value_count(); ++id)
      if (graph.value(id).role == BALEEN_ROLE_PARAMETER && is_lone_copy(id, graph))
        masters.insert(graph.master_parameter(id));
    return masters;
  }

  static bool is_compute_copy(baleen_value_t id, GraphView& graph) { return graph.master_parameter(id) != id; }

  /// Whether forward and backward read a parameter through this compute copy alone.
  static bool is_lone_copy(baleen_value_t id, GraphView& graph) {
    if (!is_compute_copy(id, graph)) return false;
    const baleen_op_t copy = graph.value(id).producer;
    const baleen_value_info_t parameter = graph.value(graph.master_parameter(id));
    const std::vector<baleen_op_t> users(parameter.users, parameter.users + parameter.user_count);
    return std::all_of(users.begin(), users.end(),
                       [&](baleen_op_t user) { return user == copy || graph.info(user).phase == BALEEN_PHASE_UPDATE; });
  }

  /// All gathers along an axis of what `is_first` holds for, or of what axes further in have gathered of that; what is
  /// gathered has one of these roles. In the order of execution.
  template <class IsFirst>
  static std::vector<ListedCollective> gathers_of(GraphView& graph, const Scheduling& scheduling, std::uint32_t axis,
                                                  const IsFirst& is_first, std::initializer_list<baleen_role_t> roles) {
    std::vector<ListedCollective> all;
    for (const baleen_role_t role : roles)
      for (const ListedCollective& one : list_collectives(graph, scheduling, "all_gather", axis, role)) {
        baleen_value_t first = one.input;
        for (auto op = graph.op(graph.value(first).producer); op && op->kind() == "all_gather";
             op = graph.op(graph.value(first).producer))
          first = op->inputs()[0];
        if (is_first(first)) all.push_back(one);
      }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.position < b.position; });
    return all;
  }

  /// Stages 1 and 2: compute copies are gathered once, bucket by bucket. Before a loop over micro-batches, to which a
  /// shard would stay, two at a time.
  void schedule_copies(GraphView& graph, Scheduling& scheduling, std::uint32_t axis) const {
    const auto gathers =
        gathers_of(graph, scheduling, axis, [&](baleen_value_t first) { return is_compute_copy(first, graph); },
                   {BALEEN_ROLE_COPY, BALEEN_ROLE_PARAMETER});
    const auto buckets = coalesce_by_size(scheduling, gathers, options_.prefetch.bucket_bytes);
    if (scheduling.micro_batches() > 1) bound_in_flight(scheduling, buckets);
  }

  /// Parameters are gathered bucket by bucket, ahead of use, in every micro-batch.
  Status schedule_gathers(GraphView& graph, Scheduling& scheduling) const {
    std::vector<Gathering> gatherings;
    std::vector<baleen_op_t> at_position = ops_by_position(graph, scheduling);
    // Parameters that several axes cut take as many gathers, the innermost axis first; all but the first are of copies.
    for (const std::uint32_t axis : axes_) {
      for (const auto& bucket :
           buckets_of(list_collectives(graph, scheduling, "all_gather", axis, BALEEN_ROLE_PARAMETER),
                      options_.prefetch.bucket_bytes)) {
        scheduling.coalesce(ops_of(bucket));
        gatherings.push_back(gathering_of(bucket, graph, scheduling));
      }
    }
    BALEEN_TRY(plan_prefetch(gatherings, options_.prefetch));
    for (const Gathering& one : gatherings)
      for (const baleen_op_t op : one.ops) {
        scheduling.start_before(op, at_position[one.begin]);
        scheduling.every_micro_batch(op);
      }
    return {};
  }

  static std::vector<baleen_op_t> ops_by_position(GraphView& graph, const Scheduling& scheduling) {
    std::vector<baleen_op_t> ops(graph.op_count(), BALEEN_NONE);
    for (baleen_op_t id = 0; id < graph.op_count(); ++id)
      if (const std::uint32_t position = scheduling.position(id); position != BALEEN_NONE) ops[position] = id;
    return ops;
  }

  static Gathering gathering_of(const std::vector<ListedCollective>& bucket, GraphView& graph,
                                const Scheduling& scheduling) {
    Gathering result{ops_of(bucket), 0, BALEEN_NONE, 0, 0};
    for (const ListedCollective& one : bucket) {
      result.bytes += one.bytes;
      const baleen_value_info_t gathered = graph.value(one.output);
      for (std::uint64_t u = 0; u < gathered.user_count; ++u) {
        const std::uint32_t position = scheduling.position(gathered.users[u]);
        result.first_use = std::min(result.first_use, position);
        result.last_use = std::max(result.last_use, position);
      }
    }
    return result;
  }

  std::vector<std::uint32_t> axes_;  ///< outermost cut first; the last is claimed
  Options options_;
};

}  // namespace
}  // namespace baleen::zero

BALEEN_STRATEGY(baleen::zero::Zero);
