/// \file What a command needs of a job, made in the order of a run.
#include "frontend/engine/assembly.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>

#include "baleen/available_memory.hpp"
#include "baleen/dtype.hpp"
#include "compiler/graph/op_plugin.hpp"
#include "compiler/ops/ops.hpp"
#include "compiler/plan/strategies.hpp"
#include "core/memory/planning_memory.hpp"
#include "core/runtime/session_memory.hpp"
#include "frontend/checkpoint/digests.hpp"
#include "frontend/checkpoint/parameter_file.hpp"
#include "frontend/checkpoint/tensor_files.hpp"
#include "frontend/engine/host_device.hpp"
#include "frontend/engine/installation.hpp"
#include "frontend/engine/job_facts.hpp"
#include "frontend/engine/kernel_check.hpp"
#include "frontend/engine/schedule_check.hpp"
#include "frontend/engine/script_data.hpp"
#include "frontend/engine/start_order.hpp"
#include "frontend/engine/threads.hpp"
#include "frontend/engine/typed_paths.hpp"
#include "frontend/engine/written_files.hpp"

namespace baleen::app {
namespace {

/// Of all ranks together, each parameter once.
std::uint64_t parameter_bytes(const Plan& plan) {
  std::uint64_t bytes = 0;
  for (const PersistentSpec& one : plan.persistent)
    if (one.role == Role::parameter)
      bytes += static_cast<std::uint64_t>(element_count(one.type.shape)) * dtype_size(one.type.dtype);
  return bytes;
}

Result<std::unique_ptr<OffloadStore>> open_store(const Setup& setup, const Member& member, std::uint64_t seed,
                                                 const Place& place, const OffloadStore::Needs& needs) {
  BALEEN_TRY_ASSIGN(const SettingsStorage settings, member.settings(seed, place));
  BALEEN_TRY_ASSIGN(const Plugin plugin, setup.registry.open(member.descriptor));
  return OffloadStore::create(plugin, *settings.get(), needs);
}

/// Where what the plan moves outside the device lies, and how the stores there are opened.
Status choose_stores(const Plan& plan, const Setup& setup, const Place& place, SessionOptions& session) {
  BALEEN_TRY_ASSIGN(session.store_maps, maps_offloaded(setup.registry, setup.manifest, plan));
  if (!offloads(plan)) return {};
  BALEEN_TRY_ASSIGN(std::vector<ChosenPlace> chosen, choose_offload(setup.registry, setup.manifest));
  BALEEN_TRY_ASSIGN(session.offload_places, places_of(setup.registry, chosen));
  session.open_store = [&setup, place, seed = session.seed, chosen = std::move(chosen)](
                           std::size_t number, const OffloadStore::Needs& needs) {
    return open_store(setup, chosen[number].member, seed, place, needs);
  };
  return {};
}

void tell_notes(const Plan& plan, const Setup& setup) {
  for (const std::string& note : plan.notes) setup.log.info(note);
  if (!setup.manifest.offload.empty() && !offloads(plan))
    setup.log.info("[offload] is not used: no strategy of the plan moves anything there");
}

void tell_host_updates(const Session& session, const Setup& setup) {
  const std::string text = host_updates_text(session.host_updates(), session.why_on_device());
  if (!text.empty()) setup.log.info(text);
  if (!setup.manifest.host_compute.where.empty() && !session.updates_beside())
    setup.log.info("[host_compute] is not used: no update runs beside the device");
}

/// The manifest's plan stands above the script's.
void take_plan(const std::vector<Opened>& plan, const Setup& setup, Job& job) {
  if (!job.strategies.empty() && (!setup.link || setup.link->place().rank == 0))
    setup.log.info("the manifest's plan stands above the script's");
  job.strategies.clear();
  for (const Opened& chosen : plan)
    job.strategies.push_back({chosen.member.descriptor.name, chosen.member.options, {}, chosen.member.where});
}

/// Names of those whose kinds stand in a graph.
void add_op_plugins(const Graph& graph, std::set<std::string>& names) {
  for (const OpId id : graph.ops())
    if (const OpKind& kind = *graph.op(id).kind; kind.table && kind.schema) names.insert(kind.schema->plugin);
}

/// The plugins that train: others of their names may compute otherwise.
std::vector<Descriptor> plugins_of(const Setup& setup, const Prepared& prepared, const Job& job, const Dataset* data) {
  std::vector<Descriptor> plugins;
  const auto add = [&](const Descriptor& one) {
    if (std::ranges::none_of(plugins, [&](const Descriptor& had) { return title_of(had) == title_of(one); }))
      plugins.push_back(one);
  };
  const auto add_named = [&](const std::string& kind, const std::string& name) {
    if (const auto found = setup.registry.find(kind, name)) add(*found);
  };
  add(prepared.compute.member.descriptor);
  add(prepared.transport->member.descriptor);
  if (data) add_named("data", data->plugin());
  if (!job.optimizer.name.empty()) add_named("optimizer", job.optimizer.name);
  for (const auto& [name, given] : job.graphs)
    if (given.role == GraphRole::learn) add_named("optimizer", given.learning.optimizer.name);
  for (const MemberSpec& strategy : job.strategies) add_named("strategy", strategy.name);
  std::set<std::string> names;
  for (const auto& [name, given] : job.graphs) add_op_plugins(given.graph, names);
  for (const std::string& name : names) add_named("op", name);
  return plugins;
}

std::string version_lines(const std::vector<Descriptor>& plugins) {
  std::string lines;
  for (const Descriptor& one : plugins) lines += title_of(one) + " is of version " + one.version + '\n';
  return lines;
}

/// Of op plugins: strategies take kinds of their own.
std::string version_lines(const Plan& plan, const Registry& registry) {
  std::set<std::string> names;
  for (const PlannedGraph& planned : plan.graphs) add_op_plugins(planned.scheduled.graph, names);
  std::vector<Descriptor> plugins;
  for (const std::string& name : names)
    if (const auto found = registry.find("op", name)) plugins.push_back(*found);
  return version_lines(plugins);
}

/// How a run begins, is saved as it goes, and ends. Where it is saved is no matter: each host may have its own folders.
std::string course_lines(const RunFlags& flags, const std::optional<UserValues>& checkpoint) {
  std::string lines = flags.resume.empty() ? "the run begins at step 0\n" : "the run is resumed\n";
  for (const std::string& pattern : flags.allow_missing) lines += "what it may lack is `" + pattern + "`\n";
  lines += flags.save.empty() ? "the run is not saved at its end\n" : "the run is saved at its end\n";
  if (!flags.saves) return lines;
  lines += checkpoint ? "the job has `checkpoint`\n" : "the job has no `checkpoint`\n";
  for (const auto& [name, value] : checkpoint.value_or(UserValues()))
    if (name != "folder") lines += "checkpoint: " + name + " = " + value.text() + '\n';
  return lines;
}

}  // namespace

Result<Described> describe(const ScriptOptions& options, const Setup& setup, const Prepared& prepared,
                           const RunFlags& flags) {
  now_doing("describing the model");
  const PlanningMemory memory;
  Described described;
  described.ops = std::make_unique<OpRegistry>();
  BALEEN_TRY(register_builtin_ops(*described.ops));
  BALEEN_TRY(register_op_plugins(*described.ops, setup.registry));
  baleen::ScriptOptions script;
  script.ops = described.ops.get();
  script.library = lua_library();
  script.seed = options.seed;
  if (options.dtype) script.dtype = *options.dtype == "fp64" ? BALEEN_F64 : BALEEN_F32;
  script.arguments = options.script_args;
  script.steps = flags.steps;
  script.generate = flags.generate;
  script.print = flags.print;
  script.stuck = setup.stuck;
  // Of other ranks in a callback the launcher tells, if anybody waits for them.
  if (!setup.link || setup.link->place().rank == 0)
    script.warn = [log = setup.log](std::string_view text) { log.warning(text); };
  script.load = options.load.string();
  if (flags.silent || (setup.link && setup.link->place().rank != 0)) script.print = [](std::string_view) {};
  script.predict = flags.predict;
  std::optional<LearnedRecord> record;
  if (flags.data.takes_learned && !options.load.empty()) {
    BALEEN_TRY_ASSIGN(record, read_learned(setup.registry, options.load));
  }
  DataOpener opener(setup.registry, std::move(record), flags.data);
  std::map<const Dataset*, std::string> option_lines;
  script.data = [&](const MemberSpec& spec, std::uint64_t seed) -> Result<std::shared_ptr<ScriptData>> {
    BALEEN_TRY_ASSIGN(const Descriptor descriptor, setup.registry.find("data", spec.name, spec.where));
    MemberSpec anchored = spec;
    anchor_typed_paths(anchored.options, descriptor, options.script_args);
    for (std::string& path : paths_of(anchored.options, descriptor, prepared.folder))
      described.data_paths.push_back(std::move(path));
    BALEEN_TRY_ASSIGN(auto data, opener.open(anchored, seed, prepared.folder));
    option_lines[data.get()] = option_line(anchored, descriptor);
    BALEEN_TRY_ASSIGN(std::shared_ptr<ScriptData> made, DataForScript::create(std::move(data), title_of(descriptor)));
    return made;
  };
  BALEEN_TRY_ASSIGN(described.script, Script::load(options.script, std::move(script)));
  if (const auto data = std::static_pointer_cast<DataForScript>(described.script->data()))
    described.data = data->dataset();
  if (described.data) {
    described.data_number = opener.number_of(*described.data);
    described.data_options = option_lines[described.data.get()];
    BALEEN_TRY(opener.check(*described.data, described.script->job().where));
  }
  if (const auto& checkpoint = described.script->checkpoint())
    BALEEN_TRY(read_checkpoint_settings(*checkpoint, described.script->job().where));
  if (prepared.plan) take_plan(*prepared.plan, setup, described.script->job());
  return described;
}

Result<std::unique_ptr<Run>> Run::create(const ScriptOptions& options, const Setup& setup, Prepared prepared,
                                         const RunFlags& flags, bool with_monitors) {
  const PlanningMemory memory;
  BALEEN_TRY_ASSIGN(Described described, describe(options, setup, prepared, flags));
  return create(options, setup, std::move(prepared), flags, with_monitors, std::move(described));
}

Result<std::unique_ptr<Run>> Run::create(const ScriptOptions& options, const Setup& setup, Prepared prepared,
                                         const RunFlags& flags, bool with_monitors, Described described) {
  const PlanningMemory memory;
  auto run = std::unique_ptr<Run>(new Run(setup));
  run->described_ = std::move(described);
  run->alone_ = flags.alone;
  run->save_ = flags.save;
  run->shows_prints_ = with_monitors && run->speaks() && !flags.print && !flags.silent;
  Job& job = run->script().job();
  const std::string where = job.where;
  const std::int64_t check_every = flags.keep_gradients ? 0 : job.check_every;  // `verify` compares copies by itself
  const bool checks_memory = !flags.keep_gradients && job.check_memory;
  job.keep_gradients = flags.keep_gradients;
  job.takes_gradients = flags.takes_gradients;
  job.is_late = flags.is_late;
  if (flags.alone) job.strategies.clear();
  if (flags.rewrite) BALEEN_TRY(flags.rewrite(job));
  CheckpointFacts told = facts_of(job, run->script().steps());
  SessionOptions session{
      run->script().steps(), job.batch, job.seed, job.dtype, {{"script", 0, options.script.string()}}};
  session.goes_on_not_finite = job.goes_on_not_finite || flags.keep_gradients;  // `verify` compares such steps too
  if (!flags.alone) {
    session.memory = setup.manifest.device;
    session.activations = setup.manifest.activations;
    session.pinned = setup.manifest.pinned;
    session.offloaded = setup.manifest.offloaded;
    job.working_budget = setup.manifest.working_budget();
  }
  if (flags.keep_gradients && job.dtype == BALEEN_F64)
    session.where_too_little =
        "`verify` computes in fp64, with twice the bytes of fp32: take `--dtype fp32`, or a greater budget";
  session.host_memory = sdk::available_memory();  // ranks take none before all of them are connected
  if (setup.link && prepared.transport && !flags.alone)
    BALEEN_TRY(run->connect(options, flags, prepared, job, session));
  BALEEN_TRY_ASSIGN(const Plan plan, run->plan(std::move(job), prepared, session, flags));
  if (!flags.only) BALEEN_TRY(check_schedules(plan, session.steps));
  if (run->ranks_) run->plan_lines_ = version_lines(plan, setup.registry) + plan_lines(plan);
  if (run->speaks() && !flags.save.empty()) BALEEN_TRY(check_room(flags.save, parameter_bytes(plan)));
  if (run->speaks() && !flags.alone) tell_notes(plan, setup);
  BALEEN_TRY(run->open_device(prepared, session.seed));
  BALEEN_TRY(choose_stores(plan, setup, run->ranks_ ? run->ranks_->place() : Place(), session));
  BALEEN_TRY(run->open_host(plan, prepared, session.seed, session.store_maps));
  session.host_device = run->host_device_.get();
  if (checks_memory) session.watch = &run->memory_;
  session.doing = [raw = run.get()](const char* phase) { raw->tell_place(raw->session_->steps_done() + 1, phase); };
  now_doing("preparing the devices");
  if (flags.check_kernels && run->speaks()) BALEEN_TRY(check_kernels(plan, *run->device_));
  if (!with_monitors) prepared.monitors.clear();
  BALEEN_TRY(run->open_monitors(prepared, session.seed, options, flags));
  BALEEN_TRY_ASSIGN(run->session_,
                    Session::create(plan, *run->device_, run->described_.data, *run->monitors_, session));
  if (run->speaks() && !flags.alone) tell_host_updates(*run->session_, setup);
  if (!options.load.empty()) BALEEN_TRY(run->load(options.load, options.parts));
  if (!options.load.empty() && flags.saves && !flags.alone) BALEEN_TRY(run->compare_learned(options.load));
  BALEEN_TRY(run->open_checkpoints(options, flags, session, where, std::move(told)));
  if (checks_memory) run->memory_.attach(*run->session_);
  if (checks_memory && run->session_->data()) run->rows_.emplace(*run->session_, check_every);
  if (run->ranks_)
    run->copies_.emplace(*run->session_, *setup.link, run->mesh(), run->ranks_->communicator().at(), check_every,
                         run->device_->info().name);
  return run;
}

Result<Plan> Run::plan(Job job, const Prepared& prepared, const SessionOptions& session, const RunFlags& flags) {
  PassPrinter printer(speaks() ? flags.passes : PassView(), job.mesh);
  if (flags.only)
    for (const auto& [name, given] : job.graphs)
      if (given.role == GraphRole::learn) left_out_.insert(name);
  now_doing("planning");
  PassObserver observer = printer.observer();
  if (flags.watch)
    observer = [shown = std::move(observer), &flags](const std::string& phase, const Graph& graph) {
      if (shown) shown(phase, graph);
      flags.watch(phase, graph);
    };
  const auto make = [&](Job one) -> Result<Plan> {
    if (one.lacking_bytes > 0) printer.begin_again();
    auto made = make_plan(std::move(one), setup_.registry, observer, flags.only, flags.wrong_layouts);
    if (!made) return at_its_axis(made.error(), setup_.manifest);
    return made;
  };
  int round = 0;
  BALEEN_TRY_ASSIGN(Plan planned, plan_to_fit(std::move(job), make, [&](const Plan& made) {
                      return need_of(made, prepared, session, ++round);
                    }));
  BALEEN_TRY(printer.finish());
  return planned;
}

Status Run::open_device(const Prepared& prepared, std::uint64_t seed) {
  if (device_) return {};
  const Place place = ranks_ ? ranks_->place() : Place();
  BALEEN_TRY_ASSIGN(const SettingsStorage compute, prepared.compute.member.settings(seed, place));
  BALEEN_TRY_ASSIGN(device_, Device::create(prepared.compute.plugin, *compute.get()));
  return {};
}

Status Run::open_host(const Plan& plan, const Prepared& prepared, std::uint64_t seed, bool maps) {
  if (host_device_ || !needs_host_device(plan, *device_, maps)) return {};
  BALEEN_TRY_ASSIGN(host_device_,
                    open_host_device(setup_.registry, setup_.manifest, prepared.compute.member.descriptor.name, seed,
                                     ranks_ ? ranks_->place() : Place(), false, [&](Member& member) {
                                       share_threads(member, setup_);
                                       return Status();
                                     }));
  return {};
}

Result<MemoryNeed> Run::need_of(const Plan& plan, const Prepared& prepared, const SessionOptions& session, int round) {
  BALEEN_TRY(open_device(prepared, session.seed));
  BALEEN_TRY_ASSIGN(const bool maps, maps_offloaded(setup_.registry, setup_.manifest, plan));
  BALEEN_TRY(open_host(plan, prepared, session.seed, maps));
  const Communicator* const communicator = session.communicator;
  const std::uint64_t bound = session.pinned ? session.pinned->bytes : 0;
  const StagedCollectives staged =
      communicator ? staged_collectives(*device_, *communicator, bound) : StagedCollectives();
  JobPrograms programs;
  BALEEN_TRY(programs.compile_all(plan, *device_, communicator ? communicator->at() : Coordinates(),
                                  {staged, maps, false, host_device_.get()}));
  const auto planned = plan_memory(programs, *device_);
  std::uint64_t stores = 0;
  if (programs.slots() > 0) {
    BALEEN_TRY_ASSIGN(const std::vector<ChosenPlace> chosen, choose_offload(setup_.registry, setup_.manifest));
    BALEEN_TRY_ASSIGN(const std::vector<OffloadPlace> places, places_of(setup_.registry, chosen));
    const Result<PlacedSlots> placed = place_slots(programs, places);
    if (placed) stores = taken_of_host(places, *placed);  // what has no place is refused behind the last plan
  }
  MemoryNeed own = MemoryNeed::of(planned, memory_of_rank(*device_, session.local_ranks, session.memory));
  own.heed(host_need(programs, planned, *device_, host_device_.get(), stores), session.host_memory,
           session.local_ranks);
  return ranks_ ? most_of(*setup_.link, own, round) : own;
}

Status Run::connect(const ScriptOptions& options, const RunFlags& flags, const Prepared& prepared, Job& job,
                    SessionOptions& session) {
  BALEEN_TRY_ASSIGN(job.mesh, split_mesh(job, prepared.mesh, setup_.registry));
  BALEEN_TRY_ASSIGN(ranks_, Ranks::connect(options, setup_, *prepared.transport, job.mesh));
  BALEEN_TRY_ASSIGN(const std::string inputs, input_lines(options, flags));
  const std::string begin = flags.command.empty() ? "" : "the command is `" + flags.command + "`\n";
  const std::vector<Descriptor> plugins = plugins_of(setup_, prepared, job, described_.data.get());
  BALEEN_TRY(ranks_->compare(job, begin + job_lines(job, session.steps) + version_lines(plugins), inputs));
  ranks_->tell_other_builds(plugins, setup_.log);
  session.communicator = &ranks_->communicator();
  session.compiled = [this, ranks = session.communicator](const std::vector<JobProgram>& programs) -> Status {
    BALEEN_TRY(compare_starts(*setup_.link, shared_starts(executables_of(programs), ranks->mesh(), ranks->rank())));
    return ranks_->compare_plan(std::exchange(plan_lines_, {}));
  };
  session.local_ranks = ranks_->place().local_ranks;
  session.start_facts.push_back({"ranks", static_cast<double>(ranks_->place().ranks), {}});
  session.start_facts.push_back({"transport", 0, text_of(prepared.transport->member)});
  return {};
}

Result<std::string> Run::input_lines(const ScriptOptions& options, const RunFlags& flags) {
  std::string lines = course_lines(flags, described_.script->checkpoint()) + described_.script->loop_lines();
  if (described_.data) {
    BALEEN_TRY_ASSIGN(data_digest_, digest_of_data(*described_.data));
    lines += described_.data_options + data_lines(*described_.data, data_digest_);
  }
  if (options.load.empty()) lines += "nothing is loaded\n";
  if (!options.parts.says_nothing()) lines += "of what is loaded: " + options.parts.text() + '\n';
  if (!options.load.empty()) {
    const auto loaded = loaded_lines(options.load);
    lines += loaded ? *loaded : "what is to be loaded cannot be read\n";
  }
  const std::string text = described_.script->text_between_steps();
  return text.empty() ? lines : lines + "the digest of the script's text is " + digest_of(text) + '\n';
}

namespace {

/// A text that lives as long as the process, as launchers' heartbeats need it.
const char* lasting(const std::string& text) {
  static auto& all = *new std::set<std::string>;
  return all.insert(text).first->c_str();
}

}  // namespace

Status Run::train(TrainingRun& driven) {
  if (const std::string between = script().between_steps(); !between.empty()) between_steps_ = lasting(between);
  std::optional<AbortWatch> watch;
  if (ranks_ && speaks() && !save_.empty() && !gathers_parameters(*session_))
    watch.emplace(*setup_.link, [this](const std::string&) {
      will_rescue_ = true;
      setup_.link->at(BALEEN_PHASE_RESCUING);
    });
  BALEEN_TRY(script().train(driven));
  BALEEN_TRY(finish_checkpoints());
  if (ranks_) BALEEN_TRY(ranks_->meet_at_end());
  return compare_copies();
}

Result<HostTensors> Run::infer(const std::string& program, HostTensors inputs) {
  if (left_out_.contains(program))
    return invalid("program `" + program + "` learns, which takes a run: call run:run(\"" + program +
                   "\", { ... }) in the job's `loop` or `on_step`");
  BALEEN_TRY(boundary("program " + program));
  tell_launcher("inferring");
  for (const ProgramInfo& info : session_->programs())
    for (const auto& [name, type] : info.inputs) {
      const auto given = info.name == program ? inputs.find(name) : inputs.end();
      if (given == inputs.end() || !is_floating(given->second.dtype) || !is_floating(type.dtype)) continue;
      BALEEN_TRY_ASSIGN(given->second, with_dtype(std::move(given->second), type.dtype));
    }
  const std::int64_t before = session_->updates();
  BALEEN_TRY_ASSIGN(HostTensors outputs, session_->run(program, inputs));
  if (copies_ && session_->updates() != before) BALEEN_TRY(copies_->after_run());
  return outputs;
}

Result<TrainingRun::Outputs> Run::run(const std::string& program, const Inputs& inputs) {
  HostTensors tensors;
  for (const ProgramInfo& info : session_->programs()) {
    if (info.name != program) continue;
    for (const auto& [name, type] : info.inputs)
      if (const auto given = inputs.find(name); given != inputs.end()) {
        Result<HostTensor> tensor = tensor_of(given->second, type.dtype, type.shape);
        if (!tensor) return invalid("input `" + name + "` of program `" + program + "`: " + tensor.error().message);
        tensors[name] = *std::move(tensor);
      }
    for (const auto& [name, numbers] : inputs) tensors.try_emplace(name);  // what it does not have is refused below
  }
  BALEEN_TRY_ASSIGN(const HostTensors results, infer(program, std::move(tensors)));
  Outputs outputs;
  for (const auto& [name, tensor] : results) {
    outputs[name] = {tensor.shape, numbers_of(tensor)};
    if (tensor.dtype != BALEEN_I64) continue;
    for (const double number : outputs[name].values)
      if (std::abs(number) > 0x1p53)
        return unsupported("output `" + name + "` of program `" + program +
                           "` holds an int64 of more than 53 bits, which scripts cannot take; get it with `baleen "
                           "infer`, or let the program return `hash_bucket` of it");
  }
  return outputs;
}

Status Run::finish_monitors() {
  monitors_->drain();
  Status told = monitors_->failure();
  if (told) return {};
  Error error = told.error();
  error.message += "; the run itself is complete, what it saved is good";
  return error;
}

Status Run::open_monitors(const Prepared& prepared, std::uint64_t seed, const ScriptOptions& options,
                          const RunFlags& flags) {
  const std::int32_t rank = setup_.link ? static_cast<std::int32_t>(setup_.link->place().rank) : 0;
  std::vector<OpenMonitor> chosen;
  std::vector<NamedFile> written{{"--save", flags.save}};
  for (const Opened& monitor : prepared.monitors) {
    BALEEN_TRY_ASSIGN(SettingsStorage settings, monitor.member.settings(seed));
    const Member& member = monitor.member;
    for (std::string& path : paths_of(member.options, member.descriptor, member.folder))
      written.push_back({"monitor `" + member.descriptor.name + "`", std::move(path)});
    chosen.push_back({monitor.plugin, std::move(settings)});
  }
  std::vector<NamedFile> read{{"the script", options.script}, {"the manifest", setup_.manifest.file}};
  for (const std::string& path : described_.data_paths) read.push_back({"the data", path});
  BALEEN_TRY(check_written_files(written, read));
  BALEEN_TRY_ASSIGN(monitors_, Monitors::create(std::move(chosen), setup_.log, rank));
  return {};
}

Status Run::add_learned(std::map<std::string, std::string>& facts) const {
  if (!described_.data) return {};
  BALEEN_TRY_ASSIGN(const std::string learned, learned_text(*described_.data, described_.data_number));
  if (!learned.empty()) facts[kLearnedFact] = learned;
  return {};
}

}  // namespace baleen::app
