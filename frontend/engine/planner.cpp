/// \file The passes of a run for one rank of each class, without processes, transport or memory.
#include "frontend/engine/planner.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "baleen/available_memory.hpp"
#include "baleen/dtype.hpp"
#include "baleen/plugin.hpp"
#include "compiler/plan/strategies.hpp"
#include "core/execute/offload_store.hpp"
#include "core/execute/plugin_transport.hpp"
#include "core/execute/staging.hpp"
#include "core/memory/planning_memory.hpp"
#include "core/plugin/crash.hpp"
#include "core/runtime/job_programs.hpp"
#include "core/runtime/session_memory.hpp"
#include "frontend/engine/advice.hpp"
#include "frontend/engine/device_limits.hpp"
#include "frontend/engine/fit.hpp"
#include "frontend/engine/host_device.hpp"
#include "frontend/engine/process_memory.hpp"
#include "frontend/engine/ranks.hpp"
#include "frontend/engine/threads.hpp"

namespace baleen::app {
namespace {

/// What a transport takes beyond its library when it begins, which no plan sees. The most that was measured, on 12
/// ranks of two busy cores, is 1.1 MB more than was planned (docs/measurements/tests.md).
constexpr std::uint64_t kTransport = 2 << 20;

/// Whether a rank of one is a rank of the other, as far as a plan goes.
bool are_alike(const ManifestHost& a, const ManifestHost& b) {
  const auto same = [](const auto& x, const auto& y) { return x.first == y.first && x.second.data == y.second.data; };
  return a.ranks == b.ranks && a.cores == b.cores && std::ranges::equal(a.compute, b.compute, same);
}

/// Per rank: the first host that is like its own.
std::vector<std::int64_t> host_marks(const Manifest& manifest) {
  std::vector<std::int64_t> marks;
  for (const ManifestHost& host : manifest.hosts) {
    const auto first =
        std::ranges::find_if(manifest.hosts, [&](const ManifestHost& other) { return are_alike(other, host); });
    marks.insert(marks.end(), static_cast<std::size_t>(host.ranks), first - manifest.hosts.begin());
  }
  return marks;
}

std::int64_t parameters_of(const Plan& plan) {
  std::int64_t parameters = 0;
  for (const PersistentSpec& spec : plan.persistent)
    if (spec.role == Role::parameter) parameters += element_count(spec.type.shape);
  return parameters;
}

/// In what training by the plan differs from the script alone.
std::string numbers_of(const Plan& plan, baleen_dtype_t dtype) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (plan.coarsest != dtype) add("computes in " + std::string(dtype_name(plan.coarsest)));
  if (!plan.approximated.empty()) add("approximates gradients");
  const auto is_late = [](const PersistentSpec& spec) { return spec.name.ends_with(kLateGradientSuffix); };
  if (std::ranges::any_of(plan.persistent, is_late)) add("each step makes the update of the step before");
  return text;
}

/// Compiles for ranks and counts. The device is described by the options of the ranks' host, and told that all of them
/// share it; where its plugin cannot describe one, it is one of this machine.
class Planner {
 public:
  Planner(const Prepared& prepared, const ScriptOptions& options, const Setup& setup, std::uint64_t seed)
      : prepared_(prepared), options_(options), setup_(setup), manifest_(setup.manifest), seed_(seed) {}

  /// One rank of each class of a plan; `marks` as of `host_marks`.
  Result<std::vector<PlannedClass>> count_all(const Plan& plan, bool exact, const std::vector<std::int64_t>& marks) {
    verdict_ = {};
    std::vector<PlannedClass> classes;
    for (RankClass& ranks : rank_classes(plan, exact ? Roles::apart : Roles::ignored, marks)) {
      const std::int64_t host = marks[static_cast<std::size_t>(ranks.first())];
      BALEEN_TRY_ASSIGN(PlannedClass one, count(plan, std::move(ranks), static_cast<std::size_t>(host)));
      classes.push_back(std::move(one));
    }
    return classes;
  }

  /// The first refusal of the classes, if there is one.
  const Status& verdict() const { return verdict_; }

 private:
  Result<PlannedClass> count(const Plan& plan, RankClass ranks, std::size_t host) {
    BALEEN_TRY(use_device(host));
    const std::int64_t local_ranks = manifest_.hosts[host].ranks;
    JobPrograms programs;
    BALEEN_TRY_ASSIGN(const StagedCollectives staged, staged_on_device());
    BALEEN_TRY_ASSIGN(const bool maps, maps_offloaded(setup_.registry, manifest_, plan));
    if (needs_host_device(plan, *device_, maps)) BALEEN_TRY(use_host_device(host));
    BALEEN_TRY(programs.compile_all(plan, *device_, coordinates(plan.mesh, ranks.first()),
                                    {staged, maps, false, host_device_.get()}));
    PlannedClass one;
    one.fits = true;
    one.ranks = std::move(ranks);
    one.planned = plan_memory(programs, *device_);
    // Of a job of programs alone the first that learns stands for a step.
    const JobProgram* step = programs.find(GraphRole::train);
    for (const GraphRole role : {GraphRole::learn, GraphRole::infer}) {
      if (step) break;
      if ((step = programs.find(role))) one.program = step->name;
    }
    one.held_gradients = step->program.memory().held_gradients;
    for (const OutsideSlot& slot : step->program.executable().outside)
      one.held_gradients += slot.is_held_gradient ? slot.bytes : 0;
    one.stored = stored_parts(programs.persistent, plan.mesh);
    one.work = work_of(step->program.executable());
    one.traffic = step->program.traffic();
    one.offloaded = step->program.offload_traffic();
    one.host_updates = step->program.executable().host_updates;
    one.why_on_device = programs.why_on_device;
    one.host_ranks = local_ranks;
    std::uint64_t stores = 0;
    if (programs.slots() > 0) {
      BALEEN_TRY_ASSIGN(stores, place(programs, step->program.executable(), one));
    }
    one.host = host_need(programs, one.planned, *device_, host_device_.get(), stores);
    one.host_memory = host_memory(host, one.host);
    const auto copies = one.planned.find("copies");
    one.closed_forms =
        closed_form_costs(plan, programs.persistent, coordinates(plan.mesh, one.ranks.first()),
                          {copies == one.planned.end() ? 0 : copies->second, one.held_gradients, one.traffic});
    if (!program_) {  // before other classes make it larger than a rank's
      if (prepared_.transport) open_parts(prepared_.transport->member.descriptor, prepared_.transport->member.options);
      program_ = process_memory();
    }
    one.program_bytes = program_->peak + (prepared_.transport ? kTransport : 0);
    one.unread_files = program_->unread_files;
    one.process = one.program_bytes + one.unread_files + one.host.total();
    one.device = limits_of(*device_);
    one.memory = memory_of_rank(*device_, local_ranks, manifest_.device);
    one.working = working_memory(programs.all());
    judge_all(programs, one);
    return one;
  }

  /// Of a host's memory nothing is known here but what is this machine's, or what the options say.
  std::uint64_t host_memory(std::size_t host, const HostNeed& need) const {
    const bool is_here = manifest_.hosts.size() == 1 && manifest_.hosts[host].name == "localhost";
    if (is_here) return std::max(sdk::available_memory(), need.told);
    return need.told > 0 ? need.told : std::numeric_limits<std::uint64_t>::max();
  }

  /// As a session does.
  void judge_all(const JobPrograms& programs, PlannedClass& one) {
    judge(check_memory(one.planned, *device_, one.host_ranks, manifest_.device), one);
    judge(check_pinned(programs.staging(), manifest_.pinned, one.host_ranks), one);
    judge(check_offloaded(taken_by(programs.all_slots()), manifest_.offloaded), one);
    const Status on_host = check_host(one.host, one.host_memory, one.host_ranks);
    one.fits_host = static_cast<bool>(on_host);
    judge(on_host, one);
    if (!manifest_.activations) return;
    one.budget = manifest_.activations->bytes;
    judge(check_budget(one.working, *manifest_.activations), one);
  }

  /// Opens the plugins that this one is made of, as a rank does when it connects: their libraries are in its process.
  /// What cannot be opened here is not counted.
  void open_parts(const Descriptor& descriptor, const UserValues& options) const {
    for (const Option* option : descriptor.member_options()) {
      const auto given = options.find(option->name);
      const auto* part = given == options.end() ? nullptr : std::get_if<UserMember>(&given->second.data);
      if (!part) continue;
      const Result<Descriptor> found = setup_.registry.find(descriptor.kind, part->plugin);
      if (!found || !setup_.registry.open(*found)) continue;
      open_parts(*found, *part->options);
    }
  }

  /// `step`: the program whose runs are counted. What is taken of the host's memory.
  Result<std::uint64_t> place(const JobPrograms& programs, const Executable& step, PlannedClass& one) {
    BALEEN_TRY_ASSIGN(const std::vector<ChosenPlace> chosen, choose_offload(setup_.registry, manifest_));
    for (const ChosenPlace& place : chosen)
      if (auto settings = place.member.settings(seed_); !settings) return std::move(settings).error();
    BALEEN_TRY_ASSIGN(const std::vector<OffloadPlace> places, places_of(setup_.registry, chosen));
    one.moves_directly = programs.moves_directly;
    const Result<PlacedSlots> placed = place_slots(programs, places);
    if (!placed) {
      judge(placed.error(), one);
      return 0;
    }
    add_places(places, *placed, one.planned);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!placed->uses[i].is_used()) continue;
      one.outside.push_back({places[i].name, placed->uses[i].bytes, placed->moved(step, i)});
    }
    return taken_of_host(places, *placed);
  }

  void judge(const Status& fits, PlannedClass& one) {
    if (fits) return;
    one.fits = false;
    if (!verdict_) return;
    const Error& error = fits.error();
    verdict_ = Error{error.code, ranks_text(one.ranks) + ": " + error.message, error.where};
  }

  /// As far as this machine's transport can tell.
  Result<StagedCollectives> staged_on_device() {
    if (!prepared_.transport || device_->host_reaches()) return StagedCollectives();
    const std::string kind(view(device_->memory()->kind));
    if (!operations_.contains(kind)) {
      const Opened& transport = *prepared_.transport;
      BALEEN_TRY_ASSIGN(const SettingsStorage settings, transport.member.settings(seed_));
      BALEEN_TRY_ASSIGN(operations_[kind], would_take_operations(transport.plugin, *settings.get(), kind));
    }
    return staged_collectives(*device_, operations_.at(kind), manifest_.pinned ? manifest_.pinned->bytes : 0);
  }

  Status use_device(std::size_t index) {
    if (device_ && index == device_host_) return {};
    const ManifestHost& host = manifest_.hosts[index];
    BALEEN_TRY_ASSIGN(Member member, choose_compute(setup_.registry, manifest_.on_host(index), options_.flags));
    Place place;  // the first of them: no other shares its device with more
    place.local_ranks = static_cast<int>(host.ranks);
    // What the user gives is checked before the share of threads takes its place.
    if (auto given = member.settings(seed_, place); !given) return std::move(given).error();
    if (manifest_.ranks() > 1)
      if (const Status shared = share_threads_of(member, host.ranks, host.cores); !shared)
        return Error{shared.error().code, "`cores` of host " + host.name + ": " + shared.error().message,
                     host.cores_where};
    BALEEN_TRY_ASSIGN(const SettingsStorage settings, member.settings(seed_, place));
    BALEEN_TRY_ASSIGN(device_, Device::describe(prepared_.compute.plugin, *settings.get()));
    device_host_ = index;
    host_device_.reset();
    return {};
  }

  /// With the share of threads that a rank of this host has.
  Status use_host_device(std::size_t index) {
    if (host_device_) return {};
    const ManifestHost& host = manifest_.hosts[index];
    BALEEN_TRY_ASSIGN(host_device_,
                      open_host_device(setup_.registry, manifest_, prepared_.compute.member.descriptor.name, seed_, {},
                                       true, [&](Member& member) {
                                         return manifest_.ranks() > 1 ? share_threads_of(member, host.ranks, host.cores)
                                                                      : Status();
                                       }));
    return {};
  }

  const Prepared& prepared_;
  const ScriptOptions& options_;
  const Setup& setup_;
  const Manifest& manifest_;
  std::uint64_t seed_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Device> host_device_;  ///< beside it, once a plan needs one
  std::size_t device_host_ = 0;
  std::map<std::string, baleen_operations_t> operations_;  ///< of the transport, by kind of memory
  std::optional<ProcessMemory> program_;                   ///< as a rank has it before its arenas
  Status verdict_;
};

}  // namespace

Result<PlanReport> plan_job(Job job, const ScriptOptions& options, const Setup& setup, const Prepared& prepared,
                            bool exact) {
  const PlanningMemory memory;
  BALEEN_TRY_ASSIGN(job.mesh, split_mesh(job, prepared.mesh, setup.registry));
  job.working_budget = setup.manifest.working_budget();
  Planner planner(prepared, options, setup, job.seed);
  const baleen_dtype_t dtype = job.dtype;
  now_doing("planning");
  const std::vector<std::int64_t> marks = host_marks(setup.manifest);
  const auto make = [&](Job one) -> Result<Plan> {
    auto made = make_plan(std::move(one), setup.registry);
    if (!made) return at_its_axis(made.error(), setup.manifest);
    return made;
  };
  std::vector<PlannedClass> classes;
  BALEEN_TRY_ASSIGN(const Plan made, plan_to_fit(std::move(job), make, [&](const Plan& plan) -> Result<MemoryNeed> {
                      BALEEN_TRY_ASSIGN(classes, planner.count_all(plan, exact, marks));
                      MemoryNeed need;
                      for (const PlannedClass& one : classes) {
                        MemoryNeed own = MemoryNeed::of(one.planned, one.memory);
                        own.heed(one.host, one.host_memory, one.host_ranks);
                        need.cover(own);
                      }
                      return need;
                    }));
  PlanReport report{options.script.string(), made.mesh, rank_count(made.mesh),
                    parameters_of(made),     {},        made.notes,
                    numbers_of(made, dtype), {},        {}};
  if (std::string note = order_note(setup.manifest); !note.empty()) report.notes.push_back(std::move(note));
  if (!made.lack.is_asked) {
    BALEEN_TRY_ASSIGN(classes, planner.count_all(made, exact, marks));
  }
  report.classes = std::move(classes);
  report.verdict = planner.verdict();
  return report;
}

Result<PlanReport> plan_job_with_advice(Job job, const ScriptOptions& options, const Setup& setup,
                                        const Prepared& prepared, bool exact) {
  BALEEN_TRY_ASSIGN(PlanReport report, plan_job(job, options, setup, prepared, exact));
  if (report.verdict) return report;
  const Choices choices{with_named_axes(job.strategies, prepared.mesh, setup.registry),
                        job.gradient_accumulation_steps};
  report.advice = advise(report, choices, job.batch, setup.registry, [&](const Choices& other) {
    Job changed = job;
    changed.strategies = other.strategies;
    changed.gradient_accumulation_steps = other.gradient_accumulation_steps;
    return plan_job(std::move(changed), options, setup, prepared, false);
  });
  return report;
}

namespace {

/// A device of this machine, as the first host of the manifest has it.
Result<std::unique_ptr<Device>> real_device(const ScriptOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(const Member member, choose_compute(setup.registry, setup.manifest.on_host(0), options.flags));
  BALEEN_TRY_ASSIGN(const SettingsStorage settings, member.settings(0));
  BALEEN_TRY_ASSIGN(const Plugin plugin, setup.registry.open(member.descriptor));
  auto device = Device::create(plugin, *settings.get());
  if (device) return device;
  return Error{device.error().code,
               "`--measure-offload`: the device copies to and from the store by itself, so it has to be there: " +
                   device.error().message,
               device.error().where};
}

}  // namespace

Status measure_offload(PlanReport& report, const ScriptOptions& options, const Setup& setup, double seconds) {
  if (std::ranges::all_of(report.classes, [](const PlannedClass& one) { return one.outside.empty(); })) {
    if (!report.verdict) return {};  // what does not fit may have no place
    return invalid(
        "`--measure-offload`: no strategy of the plan moves anything to an offload backend; add one, or leave it out");
  }
  const bool direct = std::ranges::any_of(report.classes, &PlannedClass::moves_directly);
  std::unique_ptr<Device> device;
  if (direct) {
    BALEEN_TRY_ASSIGN(device, real_device(options, setup));
  }
  BALEEN_TRY_ASSIGN(const std::vector<ChosenPlace> chosen, choose_offload(setup.registry, setup.manifest));
  for (const ChosenPlace& place : chosen) {
    std::vector<PlannedPlace*> uses;
    for (PlannedClass& one : report.classes)
      for (PlannedPlace& use : one.outside)
        if (use.name == place.place.name) uses.push_back(&use);
    if (uses.empty()) continue;
    BALEEN_TRY_ASSIGN(const SettingsStorage settings, place.member.settings(0));
    BALEEN_TRY_ASSIGN(const Plugin plugin, setup.registry.open(place.member.descriptor));
    BALEEN_TRY_ASSIGN(const auto store, OffloadStore::create(plugin, *settings.get(), {1, 0, "plan", device.get()}));
    BALEEN_TRY_ASSIGN(const baleen_offload_speed_t speed,
                      direct ? store->measure_copies(*device, seconds) : store->measure(seconds));
    for (PlannedPlace* use : uses) use->speed = speed;
  }
  return {};
}

}  // namespace baleen::app
