/// \file The public engine over the parts that the command line is made of too.
#include "baleen/engine.hpp"

#include <utility>

#include "baleen/caught.hpp"
#include "baleen/dtype.hpp"
#include "frontend/engine/accounting.hpp"
#include "frontend/engine/assembly.hpp"
#include "frontend/engine/join.hpp"
#include "frontend/engine/planner.hpp"

namespace baleen::engine {
namespace {

/// The one gate between callers and us: no exception passes.
template <class Function>
auto guarded_call(Function function) -> decltype(function()) {
  try {
    return function();
  } catch (...) {
    return sdk::caught_error();
  }
}

TensorInfo info_of(const std::string& name, const ValueType& type) { return {name, type.dtype, type.shape}; }

std::vector<TensorInfo> infos_of(const std::vector<NamedType>& types) {
  std::vector<TensorInfo> infos;
  for (const auto& [name, type] : types) infos.push_back(info_of(name, type));
  return infos;
}

Status check_size(const std::string& what, const Tensor& tensor) {
  const std::size_t bytes = static_cast<std::size_t>(element_count(tensor.shape)) * dtype_size(tensor.dtype);
  if (tensor.bytes.size() == bytes && dtype_size(tensor.dtype) > 0) return {};
  return invalid(what + " says that it is " + type_text(tensor.dtype, tensor.shape) + ", which is " +
                 std::to_string(bytes) + " bytes, and has " + std::to_string(tensor.bytes.size()));
}

}  // namespace

struct Engine::Impl {
  EngineOptions options;
  Log log;
  std::vector<Descriptor> plugins;
};

struct Job::Impl {
  app::LaunchedAs as;  ///< `setup` borrows it
  Status joined;       ///< why there are several ranks and this process can be none of them
  app::Setup setup;
  app::ScriptOptions options;
  app::RunFlags flags;
  app::Prepared prepared;
  app::Described described = {};
  std::int64_t steps = 0;
  bool is_started = false;  ///< of several ranks: their one session

  /// What a session uses up.
  Result<app::Described> describe() const { return app::describe(options, setup, prepared, flags); }

  /// That this process may have a session now.
  Status check_rank() const {
    BALEEN_TRY(joined);
    if (is_started)
      return unsupported(
          "a job of several ranks has one session, and this one has been started; load the job again in "
          "other processes");
    if (setup.link || !setup.launcher) return {};
    return unsupported("the manifest has " + std::to_string(setup.manifest.ranks()) + " ranks, and " +
                           setup.launcher->title() +
                           " says that this process is none of them; name the launcher that knows who starts this "
                           "program ([launcher]), plan here, or train with `baleen run`",
                       setup.manifest.hosts.front().where);
  }
};

struct Session::Impl {
  std::shared_ptr<const Job::Impl> job;
  bool monitors = false;
  std::unique_ptr<app::Run> run;  ///< null once closed

  /// Calls with the run; fails where there is none any more.
  template <class Function>
  auto with_run(Function function) -> decltype(function(*run)) {
    if (!run) return invalid("the session is closed");
    return guarded_call([&] { return function(*run); });
  }
};

// --- Engine

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

std::string Engine::version() { return BALEEN_VERSION; }

Result<Engine> Engine::open(EngineOptions options) {
  return guarded_call([&]() -> Result<Engine> {
    auto impl = std::make_unique<Impl>();
    if (options.log) impl->log = Log::to(options.log, options.log_level);
    BALEEN_TRY_ASSIGN(const app::Setup found,
                      app::set_up({options.plugin_paths, "EngineOptions::plugin_paths", {}, {}}, impl->log, {}));
    impl->plugins = found.registry.descriptors();
    impl->options = std::move(options);
    return Engine(std::move(impl));
  });
}

std::vector<std::string> Engine::plugins(std::string_view kind) const {
  std::vector<std::string> names;
  for (const Descriptor& one : impl_->plugins)
    if (one.kind == kind) names.push_back(one.name);
  return names;
}

Result<Job> Engine::load(JobOptions given) const {
  return guarded_call([&]() -> Result<Job> {
    BALEEN_TRY_ASSIGN(app::Setup setup, app::set_up({impl_->options.plugin_paths, "EngineOptions::plugin_paths",
                                                     given.manifest, given.settings},
                                                    impl_->log, {}));
    app::LaunchedAs as;
    Status joined = app::join_job(setup, {}, {}, as);
    app::ScriptOptions options;
    options.script = given.script;
    options.script_args = given.arguments;
    options.seed = given.seed;
    if (given.dtype && *given.dtype != BALEEN_F32 && *given.dtype != BALEEN_F64)
      return invalid("JobOptions::dtype is " + std::string(dtype_name(*given.dtype)) + "; it must be fp32 or fp64");
    if (given.dtype) options.dtype = dtype_name(*given.dtype);
    BALEEN_TRY_ASSIGN(app::Prepared prepared, app::prepare(options, setup));
    app::RunFlags flags;
    flags.steps = given.steps;
    flags.print = given.print ? given.print : [](std::string_view) {};
    auto impl = std::make_shared<Job::Impl>(Job::Impl{std::move(as), std::move(joined), std::move(setup),
                                                      std::move(options), std::move(flags), std::move(prepared)});
    BALEEN_TRY_ASSIGN(impl->described, impl->describe());
    impl->steps = impl->described.script->steps();
    return Job(std::move(impl));
  });
}

// --- Job

Job::Job(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Job::Job(Job&&) noexcept = default;
Job& Job::operator=(Job&&) noexcept = default;
Job::~Job() = default;

std::int64_t Job::steps() const { return impl_->steps; }
std::int64_t Job::batch() const { return impl_->described.script->job().batch; }
std::uint64_t Job::seed() const { return impl_->described.script->job().seed; }

std::vector<ProgramInfo> Job::programs() const {
  std::vector<ProgramInfo> list;
  for (const auto& [name, given] : impl_->described.script->job().graphs)
    if (is_program(given.role))
      list.push_back({name, infos_of(inputs_of(given.graph)), infos_of(outputs_of(given.graph))});
  return list;
}

std::vector<TensorInfo> Job::parameters() const {
  std::vector<TensorInfo> list;
  for (const ParameterSpec& parameter : impl_->described.script->job().parameters)
    list.push_back(info_of(parameter.name, parameter.type));
  return list;
}

Result<PlanReport> Job::plan() const {
  return guarded_call([&]() -> Result<PlanReport> {
    BALEEN_TRY_ASSIGN(const app::PlanReport made, app::plan_job(impl_->described.script->job(), impl_->options,
                                                                impl_->setup, impl_->prepared, false));
    PlanReport report{static_cast<bool>(made.verdict), {}, app::to_text(made), app::to_json(made)};
    if (!made.verdict) report.refusal = made.verdict.error().text();
    return report;
  });
}

Result<Session> Job::start(SessionOptions options) const {
  return guarded_call([&]() -> Result<Session> {
    BALEEN_TRY(impl_->check_rank());
    BALEEN_TRY_ASSIGN(app::Described described, impl_->describe());
    auto impl = std::make_unique<Session::Impl>();
    impl->job = impl_;
    impl->monitors = options.monitors;
    app::RunFlags flags = impl_->flags;
    if (!options.trains) flags.only = GraphRole::infer;
    flags.saves = options.trains;
    flags.resume = options.resume;
    BALEEN_TRY_ASSIGN(impl->run, app::Run::create(impl_->options, impl_->setup, impl_->prepared, flags,
                                                  options.monitors, std::move(described)));
    impl_->is_started = impl_->setup.link != nullptr;
    if (options.monitors) impl->run->session().start();
    return Session(std::move(impl));
  });
}

// --- Session

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() {
  // A rank that only lets go of its session has not said that its work is complete.
  if (impl_ && impl_->run && !impl_->job->setup.link) static_cast<void>(close());
}

std::int64_t Session::steps_done() const { return impl_->run ? impl_->run->steps_done() : 0; }

Result<Facts> Session::step() {
  return impl_->with_run([](app::Run& run) { return run.step(); });
}

Result<Facts> Session::evaluate(std::int64_t batches) {
  if (batches < 0) return invalid("evaluate: `batches` is " + std::to_string(batches) + "; it must be at least 0");
  return impl_->with_run([&](app::Run& run) { return run.evaluate(batches); });
}

Status Session::train() {
  return impl_->with_run([](app::Run& run) { return run.train(run); });
}

Result<Tensors> Session::run(const std::string& program, const Tensors& inputs) {
  return impl_->with_run([&](app::Run& run) -> Result<Tensors> {
    HostTensors given;
    for (const auto& [name, tensor] : inputs) {
      BALEEN_TRY(check_size("input `" + name + "`", tensor));
      given[name] = {tensor.dtype, tensor.shape, tensor.bytes};
    }
    BALEEN_TRY_ASSIGN(HostTensors made, run.infer(program, std::move(given)));
    Tensors outputs;
    for (auto& [name, tensor] : made) outputs[name] = {tensor.dtype, std::move(tensor.shape), std::move(tensor.bytes)};
    return outputs;
  });
}

std::vector<TensorInfo> Session::parameters() const {
  std::vector<TensorInfo> list;
  if (!impl_->run) return list;
  for (const PersistentBuffer& buffer : impl_->run->session().persistent().buffers)
    if (buffer.spec.role == Role::parameter) list.push_back(info_of(buffer.spec.name, buffer.spec.type));
  return list;
}

Result<Tensor> Session::read(const std::string& parameter) {
  return impl_->with_run([&](app::Run& run) -> Result<Tensor> {
    BALEEN_TRY_ASSIGN(HostTensor tensor, run.session().read_parameter(parameter));
    return Tensor{tensor.dtype, std::move(tensor.shape), std::move(tensor.bytes)};
  });
}

Status Session::write(const std::string& parameter, const Tensor& tensor) {
  return impl_->with_run([&](app::Run& run) -> Status {
    BALEEN_TRY(check_size("the tensor for `" + parameter + "`", tensor));
    return run.session().write_parameter(parameter, {tensor.dtype, tensor.shape, tensor.bytes});
  });
}

Status Session::save(const std::filesystem::path& file) {
  return impl_->with_run([&](app::Run& run) { return run.save(file.string()); });
}

Status Session::load(const std::filesystem::path& file) {
  return impl_->with_run([&](app::Run& run) { return run.load(file); });
}

Status Session::checkpoint() {
  return impl_->with_run([&](app::Run& run) { return run.checkpoint(); });
}

Status Session::close() {
  RankLink* const link = impl_->job->setup.link;
  Status status = impl_->with_run([&](app::Run& run) -> Status {
    BALEEN_TRY(run.finish_checkpoints());
    if (!impl_->monitors) return {};
    BALEEN_TRY_ASSIGN(auto facts, app::account(run.session(), link));
    run.session().finish(std::move(facts));
    return {};
  });
  if (!impl_->run) return status;
  impl_->run.reset();
  if (link && status) return guarded_call([&] { return link->finish(); });
  if (link) link->fail(status.error());
  return status;
}

}  // namespace baleen::engine
