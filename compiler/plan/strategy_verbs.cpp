/// \file Checks what strategies ask for and keeps it.
#include "compiler/plan/strategy_verbs.hpp"

#include <algorithm>
#include <cmath>

#include "baleen/dtype.hpp"
#include "baleen/plugin.hpp"
#include "baleen/sized.hpp"
#include "compiler/layout/piece.hpp"
#include "compiler/placement/passes.hpp"

namespace baleen {
namespace {

/// What the backward pass makes of weights alone may stand in the midst of the forward pass, and runs behind all of it;
/// so does what reads a result of that pass.
std::vector<OpId> as_run(const Graph& graph) {
  std::vector<OpId> order = graph.ops();
  std::vector<Phase> phases(graph.op_count(), Phase::forward);
  for (const OpId id : order) {
    phases[id] = graph.op(id).phase;
    for (const ValueId v : graph.op(id).inputs) phases[id] = std::max(phases[id], phases[graph.value(v).producer]);
  }
  std::ranges::stable_sort(order, {}, [&](OpId id) { return phases[id]; });
  return order;
}

}  // namespace

std::uint64_t local_bytes(const Graph& graph, ValueId id) {
  if (id >= graph.value_count()) return 0;
  const Value& value = graph.value(id);
  const Shape local = value.layout.empty() ? value.shape : local_shape(value.shape, value.layout, graph.mesh());
  return static_cast<std::uint64_t>(element_count(local)) * dtype_size(value.dtype);
}

std::vector<std::uint32_t> positions_in(const Graph& graph) {
  std::vector<std::uint32_t> positions(graph.op_count(), kNone);
  std::uint32_t position = 0;
  for (const OpId id : as_run(graph)) positions[id] = position++;
  return positions;
}

PlacingVerbs::PlacingVerbs(const Graph& graph, PlacementRequest& request, ShardingRequests& requests,
                           const baleen_mesh_t& mesh, ShardingRequests::Requester strategy, std::int64_t micro_batches)
    : graph_(graph), request_(request), requests_(requests), mesh_(mesh), strategy_(std::move(strategy)) {
  table_.mesh = &mesh_;
  table_.micro_batches = static_cast<std::uint64_t>(micro_batches);
  table_.allow_sharding = [](void* p, std::uint32_t axis, baleen_string_t name) {
    return self(p).run([&] { return self(p).allow_sharding(axis, std::string(view(name))); });
  };
  table_.set_compute_sharding = [](void* p, ValueId value, std::uint32_t axis, baleen_placement_t placement) {
    return self(p).run(
        [&] { return self(p).lay(ShardingRequests::How::used, self(p).request_.used, value, axis, placement); });
  };
  table_.set_storage_sharding = [](void* p, ValueId value, std::uint32_t axis, baleen_placement_t placement) {
    return self(p).run(
        [&] { return self(p).lay(ShardingRequests::How::stored, self(p).request_.stored, value, axis, placement); });
  };
  table_.constrain = [](void* p, ValueId value, std::uint32_t axis, baleen_placement_t placement, std::uint32_t every) {
    return self(p).run([&] { return self(p).constrain(value, axis, placement, every != 0); });
  };
  table_.add_candidate = [](void* p, const baleen_candidate_t* offer) {
    return self(p).run([&] { return self(p).add_candidate(copy_in(offer)); });
  };
  table_.trained_count = [](void* p) { return static_cast<std::uint64_t>(self(p).request_.trained.size()); };
  table_.trained = [](void* p, std::uint64_t number, baleen_trained_t* out) -> baleen_status_t {
    const auto& all = self(p).request_.trained;
    if (number >= all.size()) return BALEEN_NOT_FOUND;
    const TrainedParameter& one = all[number];
    const baleen_trained_t found{sizeof(found), one.parameter, one.gradient, one.states.data(), one.states.size()};
    return self(p).run([&]() -> Status { return copy_out(out, found) ? Status() : no_size("trained"); });
  };
  table_.cost = [](void* p, OpId op, double* flops, double* bytes) {
    return self(p).run([&] { return self(p).cost(op, flops, bytes); });
  };
  table_.expect = [](void* p, const baleen_closed_form_t* form) {
    return self(p).run([&] { return self(p).expect(copy_in(form)); });
  };
}

Status PlacingVerbs::check_axis(std::uint32_t axis) const {
  if (axis < mesh_.count) return {};
  return invalid("the mesh has no axis number " + std::to_string(axis));
}

Status PlacingVerbs::check_value(ValueId value) const {
  if (value < graph_.value_count()) return {};
  return invalid("there is no value number " + std::to_string(value));
}

Result<Placement> PlacingVerbs::checked(baleen_placement_t placement, ValueId value, std::uint32_t axis) const {
  BALEEN_TRY(check_axis(axis));
  BALEEN_TRY(check_value(value));
  if (placement.kind < BALEEN_REPLICATE || placement.kind > BALEEN_AT)
    return invalid("unknown placement " + std::to_string(placement.kind));
  const Placement result{static_cast<Placement::Kind>(placement.kind), placement.argument, placement.depth};
  Layout layout(mesh_.count);
  layout[axis] = result;
  Status fits = check(canonical(layout), graph_.value(value).shape, graph_.mesh());
  if (!fits) return invalid("`" + graph_.value(value).name + "`: " + fits.error().message);
  return result;
}

Status PlacingVerbs::allow_sharding(std::uint32_t axis, const std::string& logical_axis) {
  BALEEN_TRY(check_axis(axis));
  auto& cuts = request_.cuts[axis];
  if (std::find(cuts.begin(), cuts.end(), logical_axis) == cuts.end()) cuts.push_back(logical_axis);
  return {};
}

Status PlacingVerbs::lay(ShardingRequests::How how, std::map<ValueId, Layout>& layouts, ValueId value,
                         std::uint32_t axis, baleen_placement_t placement) {
  BALEEN_TRY_ASSIGN(const Placement wanted, checked(placement, value, axis));
  value = master_parameter(graph_, value);
  BALEEN_TRY(requests_.ask(graph_, strategy_, how, value, axis, wanted));
  auto [it, is_new] = layouts.try_emplace(value, Layout(mesh_.count));
  it->second = with_placement(it->second, static_cast<int>(axis), wanted);
  if (how == ShardingRequests::How::stored) {
    if (is_new)
      for (std::uint32_t other = 0; other < mesh_.count; ++other)
        request_.open_axes[value].insert(static_cast<int>(other));
    request_.open_axes[value].erase(static_cast<int>(axis));
  }
  return {};
}

Status PlacingVerbs::constrain(ValueId value, std::uint32_t axis, baleen_placement_t placement,
                               bool every_micro_batch) {
  BALEEN_TRY_ASSIGN(const Placement wanted, checked(placement, value, axis));
  BALEEN_TRY(requests_.ask(graph_, strategy_, ShardingRequests::How::pinned, value, axis, wanted));
  Pin& pin = request_.pins[value];
  pin.placements.resize(mesh_.count);
  pin.placements[axis] = wanted;
  if (every_micro_batch) {
    pin.every_micro_batch = true;
    pin.each_along.insert(static_cast<int>(axis));
  }
  return {};
}

Result<std::vector<Placement>> PlacingVerbs::offered(const baleen_placement_t* first, const Ids& values,
                                                     std::uint32_t axis) const {
  std::vector<Placement> list;
  if (values.empty()) return list;
  if (!first) return invalid("it gives no placements for " + std::to_string(values.size()) + " values");
  for (std::size_t i = 0; i < values.size(); ++i) {
    BALEEN_TRY_ASSIGN(const Placement placement, checked(first[i], values[i], axis));
    list.push_back(placement);
  }
  return list;
}

/// An op as it stands runs where its operands lie: at one coordinate all of them and all results, or none.
Status PlacingVerbs::check_coordinates(const std::vector<Placement>& inputs, const std::vector<Placement>& outputs,
                                       std::uint32_t axis) const {
  std::vector<Placement> all = inputs;
  all.insert(all.end(), outputs.begin(), outputs.end());
  const auto is_at = [](const Placement& p) { return p.is_at(); };
  const auto found = std::find_if(all.begin(), all.end(), is_at);
  if (found == all.end() || std::all_of(all.begin(), all.end(), [&](const Placement& p) { return p == *found; }))
    return {};
  std::string text;
  for (const Placement& placement : all) text += " " + to_string(placement);
  return invalid("along `" + graph_.mesh().axes[axis].name + "` it gives" + text +
                 "; an op that runs as it stands with an operand at one coordinate has all operands and results there");
}

Status PlacingVerbs::cost(OpId id, double* flops, double* bytes) const {
  if (id >= graph_.op_count() || !graph_.op(id).live) return invalid("there is no op number " + std::to_string(id));
  const Op& op = graph_.op(id);
  const Cost cost = op.kind->cost ? op.kind->cost(graph_, op) : Cost{};
  *flops = cost.flops;
  *bytes = cost.bytes;
  return {};
}

Status PlacingVerbs::expect(const baleen_closed_form_t& form) {
  if (form.size == 0) return no_size("closed form");
  BALEEN_TRY(check_value(form.value));
  if (form.what < BALEEN_FORM_HELD || form.what > BALEEN_FORM_SENT || !(form.times >= 0 && std::isfinite(form.times)))
    return invalid("closed form of kind " + std::to_string(form.what) + ", " + std::to_string(form.times) +
                   " times: the kind is one of baleen_form_t, the factor finite and not below 0");
  if (form.axis_count > 1 && form.what != BALEEN_FORM_SENT)
    return invalid("a closed form of what is held is of one axis, and this one of " + std::to_string(form.axis_count));
  ClosedForm kept{static_cast<ClosedForm::What>(form.what), form.value, {}, form.times, {}};
  for (std::uint64_t i = 0; i < form.axis_count; ++i) {
    BALEEN_TRY(check_axis(form.axes[i]));
    kept.axes.push_back(static_cast<int>(form.axes[i]));
  }
  if (const auto text = view(form.formula); !text.empty()) kept.formula = strategy_.name + ": " + std::string(text);
  request_.closed_forms.push_back(std::move(kept));
  return {};
}

Status PlacingVerbs::add_candidate(const baleen_candidate_t& offer) {
  if (offer.size == 0) return no_size("offer");
  if (offer.op >= graph_.op_count() || !graph_.op(offer.op).live)
    return invalid("there is no op number " + std::to_string(offer.op));
  const Op& op = graph_.op(offer.op);
  const std::string head =
      "offer `" + std::string(view(offer.name)) + "` for op " + std::to_string(op.id) + " (" + op.kind->name + "): ";
  if (offer.axis_count == 0 || !offer.axes) return invalid(head + "it names no axis of the mesh");
  const std::string owner = offer.run_unmodified ? std::string() : strategy_.name;
  Offer result{offer.op,
               std::string(view(offer.name)),
               owner,
               {},
               {},
               {},
               offer.bytes,
               offer.exclusive != 0,
               strategy_.name,
               strategy_.place};
  for (std::uint64_t i = 0; i < offer.axis_count; ++i) {
    const std::uint32_t axis = offer.axes[i];
    BALEEN_TRY(check_axis(axis));
    if (i > 0 && axis <= offer.axes[i - 1]) return invalid(head + "its axes do not ascend");
    if (result.exclusive) BALEEN_TRY(requests_.demand(graph_, strategy_, offer.op, axis));
    const auto with_head = [&](const Status& status) { return invalid(head + status.error().message); };
    const auto given = [&](const baleen_placement_t* all, const Ids& values) {
      return offered(all ? all + i * values.size() : nullptr, values, axis);
    };
    auto inputs = given(offer.inputs, op.inputs), outputs = given(offer.outputs, op.outputs);
    if (!inputs) return with_head(inputs.error());
    if (!outputs) return with_head(outputs.error());
    if (Status fits = check_coordinates(*inputs, *outputs, axis); offer.run_unmodified && !fits) return with_head(fits);
    result.axes.push_back(static_cast<int>(axis));
    result.inputs.push_back(*std::move(inputs));
    result.outputs.push_back(*std::move(outputs));
  }
  request_.offers.push_back(std::move(result));
  return {};
}

ScheduleVerbs::ScheduleVerbs(Graph& graph, const baleen_mesh_t& mesh, std::int64_t micro_batches,
                             std::vector<PipelineSchedule>& pipelines, Lack& lack)
    : graph_(graph), pipelines_(pipelines), lack_(lack), positions_(positions_in(graph)) {
  table_.micro_batches = static_cast<std::uint64_t>(micro_batches);
  for (OpId id : graph.ops())  // another strategy may have scheduled before
    if (graph.op(id).schedule->bucket) ++buckets_;
  table_.mesh = &mesh;
  table_.position = [](void* p, OpId op) -> std::uint32_t {
    return op < self(p).positions_.size() ? self(p).positions_[op] : kNone;
  };
  table_.local_bytes = [](void* p, ValueId value) { return local_bytes(self(p).graph_, value); };
  table_.coalesce = [](void* p, const OpId* ops, std::uint64_t count) {
    return self(p).run([&] { return self(p).coalesce({ops, ops + count}); });
  };
  table_.start_before = [](void* p, OpId op, OpId other) {
    return self(p).run([&] { return self(p).start_before(op, other); });
  };
  table_.set_pipeline_schedule = [](void* p, std::uint32_t axis, std::int64_t coordinate,
                                    const baleen_pipeline_action_t* actions, std::uint64_t count) {
    return self(p).run([&] { return self(p).set_pipeline_schedule(axis, coordinate, {actions, actions + count}); });
  };
  table_.must_complete_before = [](void* p, OpId op, OpId other) {
    return self(p).run([&] { return self(p).must_complete_before(op, other); });
  };
  table_.every_micro_batch = [](void* p, OpId op) {
    return self(p).run([&] { return self(p).every_micro_batch(op); });
  };
  table_.note = &note;
  table_.set_chunk = [](void* p, OpId op, std::uint32_t chunk) {
    return self(p).run([&] { return self(p).set_chunk(op, chunk); });
  };
  table_.lacking_bytes = [](void* p) {
    self(p).lack_.is_asked = true;
    return self(p).lack_.bytes;
  };
  table_.could_do_more = [](void* p) { self(p).lack_.could_do_more = true; };
  table_.update_in_pieces = [](void* p, ValueId value, std::uint64_t bytes) {
    return self(p).run([&] { return self(p).update_in_pieces(value, bytes); });
  };
  table_.update_on_host = [](void* p, ValueId value) {
    return self(p).run([&] { return self(p).update_on_host(value); });
  };
  table_.set_offloaded = [](void* p, ValueId state, std::uint32_t ahead) {
    return self(p).run([&] { return self(p).set_offloaded(state, ahead); });
  };
}

Status ScheduleVerbs::check_op(OpId op) const {
  if (op < graph_.op_count() && graph_.op(op).live) return {};
  return invalid("there is no op number " + std::to_string(op));
}

Status ScheduleVerbs::start_before(OpId op, OpId other) {
  BALEEN_TRY(check_collective(op));
  BALEEN_TRY(check_op(other));
  if (!moved_.insert(op).second) return invalid("an op begins in two places");
  moves_[other].push_back(op);
  graph_.op(op).schedule.edit().begins_here = true;
  graph_.op(op).phase = graph_.op(other).phase;
  return {};
}

Status ScheduleVerbs::must_complete_before(OpId op, OpId other) {
  for (const OpId id : {op, other}) {
    BALEEN_TRY(check_op(id));
    if (!graph_.op(id).kind->has(kCollective)) return invalid("`" + graph_.op(id).kind->name + "` is no collective");
  }
  if (positions_[op] >= positions_[other]) return invalid("a collective is over before one that comes earlier");
  graph_.op(other).schedule.edit().must_complete_before.push_back(op);
  return {};
}

Status ScheduleVerbs::every_micro_batch(OpId op) {
  BALEEN_TRY(check_op(op));
  graph_.op(op).schedule.edit().every_micro_batch = true;
  return {};
}

Status ScheduleVerbs::set_chunk(OpId op, std::uint32_t chunk) {
  BALEEN_TRY(check_op(op));
  if (chunk > 255) return invalid("a model has chunks 0 to 255 on a rank, and no chunk " + std::to_string(chunk));
  graph_.op(op).schedule.edit().chunk = static_cast<int>(chunk);
  return {};
}

Status ScheduleVerbs::set_offloaded(ValueId source, std::uint32_t ahead) {
  if (source >= graph_.value_count()) return invalid("there is no value number " + std::to_string(source));
  Value& value = graph_.value(source);
  const std::string which = "`" + value.name.str() + "` cannot be offloaded: ";
  const bool is_made = !graph_.op(value.producer).inputs.empty();
  const bool is_parameter = value.role == Role::parameter && !is_made;
  if (value.role != Role::state && !is_parameter && !is_made)
    return invalid(which + "no op computes it from others, and it stays in the device's memory");
  if (ahead < 1 || ahead > BALEEN_MAX_AHEAD)
    return invalid(which + "it is got 1 to " + std::to_string(BALEEN_MAX_AHEAD) + " uses ahead, and not " +
                   std::to_string(ahead));
  int assigns = 0;
  for (const OpId user : value.users) {
    const Op& op = graph_.op(user);
    const bool is_assign = op.kind->has(kStructural) && op.kind->has(kSideEffect);
    if (is_assign && op.inputs[0] == source) ++assigns;
    if (op.phase != Phase::update && value.role == Role::state)
      return invalid(which + title_of(op) + " reads it before the update; leave it out of what is offloaded");
  }
  if (!is_made && assigns != 1 && !(is_parameter && assigns == 0))
    return invalid(which + "it is assigned " + std::to_string(assigns) + " times in a step, and has to be once");
  if (value.offloaded_ahead > 0) return invalid(which + "it is offloaded already; name it once");
  value.offloaded_ahead = ahead;
  return {};
}

Status ScheduleVerbs::update_in_pieces(ValueId number, std::uint64_t bytes) {
  if (number >= graph_.value_count() || graph_.value(number).offloaded_ahead == 0)
    return invalid("value " + std::to_string(number) + " is not offloaded, so nothing of it is got in pieces");
  if (bytes == 0 || bytes % BALEEN_PIECE_BYTES != 0)
    return invalid("`" + graph_.value(number).name + "` cannot be updated in pieces of " + std::to_string(bytes) +
                   " bytes; give a multiple of " + std::to_string(BALEEN_PIECE_BYTES));
  graph_.value(number).offloaded_piece = bytes;
  return {};
}

Status ScheduleVerbs::update_on_host(ValueId number) {
  if (number >= graph_.value_count() || graph_.value(number).offloaded_ahead == 0)
    return invalid("value " + std::to_string(number) + " is not offloaded, so it cannot be updated where it lies");
  Value& value = graph_.value(number);
  if (!graph_.op(value.producer).inputs.empty())
    return invalid("`" + value.name + "` is made in each step, so it is not updated; name states and parameters");
  value.updated_on_host = true;
  return {};
}

Status ScheduleVerbs::set_pipeline_schedule(std::uint32_t axis, std::int64_t coordinate,
                                            const std::vector<baleen_pipeline_action_t>& actions) {
  if (axis >= table_.mesh->count || coordinate < 0 || coordinate >= table_.mesh->axes[axis].size)
    return invalid("there is no coordinate " + std::to_string(coordinate) + " on axis number " + std::to_string(axis));
  BALEEN_TRY_ASSIGN(std::vector<PipelineSchedule::Action> checked, checked_actions(actions, table_.micro_batches));
  pipelines_.push_back({static_cast<int>(axis), coordinate, std::move(checked)});
  return {};
}

Status ScheduleVerbs::apply() {
  if (moves_.empty()) return {};
  for (const auto& [place, ops] : moves_)
    if (moved_.contains(place)) return invalid("an op begins before another that moves itself");
  const std::vector<OpId> ops = as_run(graph_);
  // Sources and compute copies are there from the beginning: what reads them only may begin anywhere.
  const auto is_source = [&](OpId id) {
    const Op& op = graph_.op(id);
    return is_compute_copy(op) || (op.inputs.empty() && op.kind->has(kStructural));
  };
  std::vector<OpId> order;
  std::copy_if(ops.begin(), ops.end(), std::back_inserter(order), is_source);
  for (OpId id : ops) {
    if (moved_.contains(id) || is_source(id)) continue;
    if (auto before = moves_.find(id); before != moves_.end())
      order.insert(order.end(), before->second.begin(), before->second.end());
    order.push_back(id);
  }
  for (const auto& [place, before] : moves_)
    if (is_source(place)) return invalid("an op begins before a source of the graph");
  Status status = graph_.reorder(order);
  if (!status)
    return invalid("a collective begins before its operands are made or after its result is read: " +
                   status.error().message);
  return {};
}

Status ScheduleVerbs::check_collective(OpId id) const {
  BALEEN_TRY(check_op(id));
  if (graph_.op(id).kind->has(kCollective)) return {};
  return invalid("`" + graph_.op(id).kind->name + "` is no collective and begins nowhere");
}

Status ScheduleVerbs::coalesce(const std::vector<OpId>& ops) {
  std::set<OpId> seen;
  for (OpId id : ops) {
    BALEEN_TRY(check_collective(id));
    const Op &op = graph_.op(id), &first = graph_.op(ops.front());
    const auto dtype = [&](const Op& o) { return graph_.value(o.inputs[0]).dtype; };
    if (op.kind != first.kind || op.attributes.integers("axes") != first.attributes.integers("axes") ||
        dtype(op) != dtype(first))
      return invalid("collectives of different kinds, axes or dtypes cannot run as one");
    if (!seen.insert(id).second) return invalid("an op stands twice in one bucket");
    if (op.schedule->bucket) return invalid("an op stands in two buckets");
  }
  if (ops.size() < 2) return {};
  ++buckets_;
  for (OpId id : ops) graph_.op(id).schedule.edit().bucket = OpSchedule::Bucket{buckets_};
  return {};
}

}  // namespace baleen
