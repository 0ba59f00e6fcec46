/// \file Calls strategies through the ABI.
#include "compiler/plan/strategies.hpp"

#include <algorithm>
#include <deque>
#include <optional>

#include "baleen/plugin.hpp"
#include "baleen/strategy.h"
#include "compiler/graph/abi.hpp"
#include "compiler/placement/passes.hpp"
#include "compiler/plan/strategy_verbs.hpp"
#include "core/input/nearest.hpp"
#include "core/plugin/crash.hpp"
#include "core/plugin/settings.hpp"

namespace baleen {
namespace {

/// One opened strategy.
struct Member {
  Member(Plugin opened, std::string member_name) : plugin(opened), name(std::move(member_name)) {}
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member() {
    if (self) table->destroy(self);
  }

  Plugin plugin;
  std::string name, where;
  const baleen_strategy_t* table = nullptr;
  void* self = nullptr;
  std::vector<bool> claims;  ///< by axis of the mesh, as it said once
};

/// The ops of a graph as they ran before a strategy changed it.
using Order = std::vector<OpId>;
using GraphPhase = baleen_status_t (*baleen_strategy_t::*)(void*, const baleen_graph_t*);

/// How a strategy is called.
struct Call {
  const char* phase;
  bool checks_layouts = false;  ///< layouts are settled, and are to hold after each strategy that changed the graph
  AbiGraph::AddState add_state = {};
};

Error no_state(const std::string& name) {
  return unsupported("state `" + name + "`: a strategy adds states in `gradients` only");
}

}  // namespace

struct Strategies::Impl {
  Mesh mesh;
  std::vector<baleen_axis_t> axes;
  baleen_mesh_t abi_mesh{};
  std::deque<Member> members;
  std::vector<std::string> notes;
  std::uint64_t working_budget = 0;
  Lack lack;
  bool runs = true;
  std::optional<Error>* wrong_layouts = nullptr;

  Status open(const MemberSpec& spec, const Registry& plugins, std::uint64_t seed);
  Status claim(const Job& job, const Annotations& annotations, const Registry& plugins);
  bool claimed(std::uint32_t axis) const;
  Status check_claims() const;

  /// Calls one strategy on the graph, with which a failed plan is thrown away. `phase` gets the order that its ops had.
  template <class Phase>
  Status on(Member& member, Graph& graph, Call call, Phase&& phase) {
    const Order order = graph.ops();
    const std::size_t ops = graph.op_count();
    now_doing(call.phase);
    graph.context().where = member.where;
    if (!call.add_state)
      call.add_state = [](const std::string& name, const ValueType&, double) -> Result<ValueId> {
        return no_state(name);
      };
    AbiGraph abi_graph(graph, std::move(call.add_state));
    Status result = phase(abi_graph.table(), order);
    now_doing("planning");
    if (!abi_graph.status()) result = abi_graph.status().error();
    if (!result) return blamed(member, call, result.error());
    if (call.checks_layouts && (abi_graph.has_changed() || graph.op_count() != ops))
      return check_layouts(graph, wrong_layouts, [&](const Error& error) { return blamed(member, call, error); });
    return {};
  }

  static Error blamed(const Member& member, const Call& call, const Error& error) {
    const std::string name = "strategy `" + member.name + "`", own = name + ": ";  // what a plugin says begins so
    const std::string& message = error.message;
    return {error.code,
            name + ", " + call.phase + ": " + (message.starts_with(own) ? message.substr(own.size()) : message),
            error.where.empty() ? member.where : error.where};
  }

  /// Before there is an update, which assigns each trained parameter once.
  static Status refuse_updates(const Graph& graph, OpId first) {
    for (OpId id = first; id < graph.op_count(); ++id) {
      const Op& op = graph.op(id);
      if (!op.live || !op.kind->has(kStructural) || !op.kind->has(kSideEffect) || op.inputs.empty()) continue;
      const Value& target = graph.value(op.inputs[0]);
      if (target.role == Role::parameter)
        return invalid("`" + target.name.str() +
                       "` is a parameter, which the optimizer's update assigns; assign a state "
                       "of the strategy's own (`add_state`)");
    }
    return {};
  }

  /// Calls a phase in which the strategy has verbs.
  template <class Function, class Verbs>
  Status ask(Member& member, Function&& function, const baleen_graph_t* view, Verbs& verbs) {
    const baleen_status_t status = function(member.self, view, verbs.table());
    if (!verbs.status()) return verbs.status();
    BALEEN_TRY(member.plugin.check(status));
    keep(verbs.notes(), member);
    return {};
  }

  /// What has not been said yet.
  void keep(const std::vector<std::string>& said, const Member& member) {
    for (const std::string& text : said) {
      std::string note = "strategy `" + member.name + "`: " + text;
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
    }
  }

  Status edit(Graph& graph, const Call& call, GraphPhase function) {
    for (Member& member : members) {
      if (!(member.table->*function)) continue;
      const auto first = static_cast<OpId>(graph.op_count());
      BALEEN_TRY(on(member, graph, call, [&](const baleen_graph_t* view, const Order& order) -> Status {
        BALEEN_TRY(member.plugin.check((member.table->*function)(member.self, view)));
        if (function != &baleen_strategy_t::lower) BALEEN_TRY(refuse_updates(graph, first));
        return graph.order_by_need(order);
      }));
    }
    return {};
  }
};

Status Strategies::Impl::open(const MemberSpec& spec, const Registry& plugins, std::uint64_t seed) {
  BALEEN_TRY_ASSIGN(const Descriptor descriptor, plugins.find("strategy", spec.name, spec.where));
  BALEEN_TRY_ASSIGN(SettingsStorage settings, SettingsStorage::build(descriptor, spec.options, {seed, "", spec.where}));
  BALEEN_TRY_ASSIGN(Plugin plugin, plugins.open(descriptor));
  Member& member = members.emplace_back(plugin, descriptor.name);
  member.where = spec.where;
  BALEEN_TRY_ASSIGN(member.table, plugin.table<baleen_strategy_t>("strategy"));
  Status made = plugin.check(member.table->create(plugin.host(), settings.get(), &abi_mesh, &member.self));
  if (!made) return Error{made.error().code, made.error().message, spec.where};
  for (std::uint32_t axis = 0; axis < axes.size(); ++axis) {
    const auto claims = plugin.checked_value([&] { return member.table->claims(member.self, axis); });
    if (!claims) return Error{claims.error().code, claims.error().message, spec.where};
    member.claims.push_back(*claims != 0);
  }
  return {};
}

bool Strategies::Impl::claimed(std::uint32_t axis) const {
  return std::any_of(members.begin(), members.end(), [&](const Member& m) { return m.claims[axis]; });
}

Status Strategies::Impl::check_claims() const {
  for (std::uint32_t axis = 0; axis < axes.size(); ++axis) {
    if (mesh.axes[axis].size == 1) continue;
    const Member* first = nullptr;
    for (const Member& member : members) {
      if (!member.claims[axis]) continue;
      if (first)
        return invalid("strategies `" + first->name + "` and `" + member.name + "` both claim the mesh axis `" +
                           mesh.axes[axis].name +
                           "`; leave one of the two out of the plan, or let it work along another axis",
                       member.where);
      first = &member;
    }
  }
  return {};
}

Status Strategies::Impl::claim(const Job& job, const Annotations& annotations, const Registry& plugins) {
  for (std::uint32_t axis = 0; axis < axes.size(); ++axis) {
    if (claimed(axis) || mesh.axes[axis].size == 1 || annotations.claims(mesh.axes[axis].name)) continue;
    const std::string& name = mesh.axes[axis].name;
    const MemberSpec spec{name, {}, {}, "mesh." + name};
    if (!plugins.find("strategy", name, spec.where))
      return invalid("mesh axis `" + name + "` has " + std::to_string(mesh.axes[axis].size) +
                         " ranks, and no strategy of the plan works along it; add one to the plan, or make the axis 1",
                     spec.where);
    BALEEN_TRY(open(spec, plugins, job.seed));
    if (!claimed(axis))
      return invalid(
          "strategy `" + name + "` does not work along the mesh axis of its name; add one to the plan that does",
          spec.where);
  }
  return {};
}

Result<Strategies> Strategies::open(const Job& job, const Mesh& mesh, const Annotations& annotations,
                                    const Registry& plugins, std::optional<Error>* wrong_layouts) {
  auto impl = std::make_unique<Impl>();
  impl->wrong_layouts = wrong_layouts;
  impl->mesh = mesh;
  impl->working_budget = job.working_budget;
  impl->lack.bytes = job.lacking_bytes;
  for (const MeshAxis& axis : impl->mesh.axes) impl->axes.push_back({abi(axis.name), axis.size});
  impl->abi_mesh = {sizeof(baleen_mesh_t), impl->axes.data(), impl->axes.size()};
  for (const MemberSpec& spec : job.strategies) BALEEN_TRY(impl->open(spec, plugins, job.seed));
  BALEEN_TRY(impl->claim(job, annotations, plugins));
  BALEEN_TRY(impl->check_claims());
  return Strategies(std::move(impl));
}

Strategies::Strategies(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Strategies::Strategies(Strategies&&) noexcept = default;
Strategies::~Strategies() = default;

bool Strategies::empty() const { return impl_->members.empty(); }
bool Strategies::claims(int axis) const { return impl_->claimed(static_cast<std::uint32_t>(axis)); }
const std::vector<std::string>& Strategies::notes() const { return impl_->notes; }
const Lack& Strategies::lack() const { return impl_->lack; }
void Strategies::plan_to_run(bool runs) { impl_->runs = runs; }

Result<std::int64_t> Strategies::begin(std::int64_t step) {
  std::uint64_t first = 0;
  for (Member& member : impl_->members) {
    std::uint64_t next = 0;
    if (!member.table->begin) continue;
    now_doing("begin");
    const Status begun = member.plugin.check(member.table->begin(member.self, static_cast<std::uint64_t>(step), &next));
    now_doing("planning");
    if (!begun) return Impl::blamed(member, {"begin"}, begun.error());
    if (next > static_cast<std::uint64_t>(step) && (first == 0 || next < first)) first = next;
  }
  return static_cast<std::int64_t>(first);
}

Status Strategies::finish() {
  for (Member& member : impl_->members) {
    if (!member.table->finish) continue;
    now_doing("finish");
    Status done = member.plugin.check(member.table->finish(member.self));
    now_doing("planning");
    if (!done) return Error{done.error().code, done.error().message, member.where};
  }
  return {};
}

Status Strategies::tag(Graph& graph) { return impl_->edit(graph, {"tag"}, &baleen_strategy_t::tag); }
Status Strategies::rewrite(Graph& graph) {
  BALEEN_TRY(impl_->edit(graph, {"rewrite"}, &baleen_strategy_t::rewrite));
  return settle_compute_copies(graph);
}
Status Strategies::lower(Graph& graph) { return impl_->edit(graph, {"lower", true}, &baleen_strategy_t::lower); }

Status Strategies::gradients(Graph& graph, const Job& job, LossGradients& gradients) {
  for (Member& member : impl_->members) {
    if (!member.table->gradients) continue;
    std::optional<GradientVerbs> verbs;
    const auto add_state = [&](const std::string& name, const ValueType& type, double initial) {
      return verbs->add_state(name, type, initial);
    };
    BALEEN_TRY(impl_->on(member, graph, {"gradients", false, add_state},
                         [&](const baleen_graph_t* view, const Order& order) -> Status {
                           graph.context() = {Phase::update, kNone, member.name, member.where};
                           verbs.emplace(graph, job, member.name, gradients);
                           const auto first = static_cast<OpId>(graph.op_count());
                           BALEEN_TRY(impl_->ask(member, member.table->gradients, view, *verbs));
                           BALEEN_TRY(impl_->refuse_updates(graph, first));
                           BALEEN_TRY(graph.order_by_need(order));
                           return hasten_gradient_ops(graph, first, gradients);
                         }));
  }
  return {};
}

Status Strategies::place(Graph& graph, PlacementRequest& request, std::int64_t micro_batches) {
  request.cuts.resize(impl_->mesh.axes.size());
  ShardingRequests requests;
  for (std::size_t i = 0; i < impl_->members.size(); ++i) {
    Member& member = impl_->members[i];
    if (!member.table->place) continue;
    BALEEN_TRY(impl_->on(member, graph, {"place"}, [&](const baleen_graph_t* view, const Order& order) -> Status {
      PlacingVerbs verbs(graph, request, requests, impl_->abi_mesh, {i, member.name}, micro_batches);
      const baleen_status_t status = member.table->place(member.self, view, verbs.table());
      if (!verbs.status()) return verbs.status();
      BALEEN_TRY(member.plugin.check(status));
      return graph.order_by_need(order);
    }));
  }
  return {};
}

Status Strategies::recompute(Graph& graph, std::int64_t micro_batches) {
  const bool has_layouts = !impl_->mesh.axes.empty();
  // As Placer goes on (plan.cpp); what strategies have to say is said when they are called for good.
  const auto rest = [&](Graph& trial, std::vector<PipelineSchedule>& pipelines) -> Status {
    const std::vector<std::string> notes = impl_->notes;
    Status done = has_layouts ? impl_->edit(trial, {"lower"}, &baleen_strategy_t::lower) : Status();
    if (done) done = schedule(trial, micro_batches, pipelines);
    impl_->notes = notes;
    return done;
  };
  for (Member& member : impl_->members) {
    if (!member.table->recompute) continue;
    BALEEN_TRY(impl_->on(member, graph, {"recompute", has_layouts},
                         [&](const baleen_graph_t* view, const Order& order) -> Status {
                           RecomputeVerbs verbs(graph, impl_->abi_mesh, micro_batches, impl_->working_budget, rest);
                           BALEEN_TRY(impl_->ask(member, member.table->recompute, view, verbs));
                           return graph.order_by_need(order);
                         }));
  }
  return {};
}

Status Strategies::schedule(Graph& graph, std::int64_t micro_batches, std::vector<PipelineSchedule>& pipelines) {
  const bool has_layouts = !impl_->mesh.axes.empty();
  for (Member& member : impl_->members) {
    if (!member.table->schedule) continue;
    BALEEN_TRY(impl_->on(
        member, graph, {"schedule", has_layouts}, [&](const baleen_graph_t* view, const Order& order) -> Status {
          Lack nothing;
          ScheduleVerbs verbs(graph, impl_->abi_mesh, micro_batches, pipelines, impl_->runs ? impl_->lack : nothing);
          BALEEN_TRY(impl_->ask(member, member.table->schedule, view, verbs));
          BALEEN_TRY(graph.order_by_need(order));
          return verbs.apply();  // last: what begins ahead stands where nothing needs it yet
        }));
  }
  return {};
}

}  // namespace baleen
