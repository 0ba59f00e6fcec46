#include "unit/core/runtime/small_job.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>

#include "compiler/graph/op_plugin.hpp"
#include "compiler/ops/ops.hpp"
#include "compiler/plan/strategies.hpp"
#include "support/op_cases.hpp"
#include "support/places.hpp"

namespace baleen::test {
namespace {

constexpr std::int64_t kContext = 8, kVocabulary = 256, kDim = 6;

/// Of all plugins: strategies have kinds of their own.
const OpRegistry& ops() {
  static const OpRegistry registry = [] {
    OpRegistry all;
    const PluginPlace place{built("lib/baleen/plugins"), "test"};
    const auto found = Registry::discover({&place, 1}, Log());
    Status made = found ? register_builtin_ops(all) : Status(found.error());
    if (made) made = register_op_plugins(all, *found);
    if (!made) throw std::runtime_error(made.error().text());
    return all;
  }();
  return registry;
}

/// Queries, keys and values are one projection by `weight` [d, h, e], which also brings the result back.
Result<ValueId> attention(Graph& graph, ValueId x, ValueId weight) {
  BALEEN_TRY_ASSIGN(const ValueId heads,
                    graph.append1("matmul", {x, weight}, {{"spec", std::string("bsd,dhe->bshe")}}, "heads"));
  BALEEN_TRY_ASSIGN(const auto seen,
                    graph.append("attention", {heads, heads, heads},
                                 {{"causal", Attributes::ints({1})}, {"scale", std::vector{0.6}}}, "attention"));
  return graph.append1("matmul", {seen[0], weight}, {{"spec", std::string("bshe,dhe->bsd")}}, "out");
}

/// tokens → embedding [→ attention] → tanh layer → logits, for all graphs of the job.
Result<ValueId> logits(Graph& graph, const std::vector<ParameterSpec>& parameters, ValueId tokens) {
  std::vector<ValueId> p;
  for (const ParameterSpec& spec : parameters) {
    BALEEN_TRY_ASSIGN(const ValueId value, graph.parameter(spec.name, spec.type));
    p.push_back(value);
  }
  BALEEN_TRY_ASSIGN(ValueId embedded, graph.append1("embedding", {p[0], tokens}, {}, "embedding"));
  if (p.size() > 3) {
    BALEEN_TRY_ASSIGN(embedded, attention(graph, embedded, p[3]));
  }
  BALEEN_TRY_ASSIGN(const ValueId hidden,
                    graph.append1("matmul", {embedded, p[1]}, {{"spec", std::string("bsd,dh->bsh")}}, "hidden"));
  BALEEN_TRY_ASSIGN(const ValueId active, graph.unary(BALEEN_X_TANH, hidden));
  return graph.append1("matmul", {active, p[2]}, {{"spec", std::string("bsh,hv->bsv")}}, "head");
}

Result<ValueId> sum_all(Graph& graph, ValueId x) {
  return graph.append1(
      "reduce", {x},
      {{"kind", std::string("sum")}, {"dims", Attributes::ints({0, 1})}, {"keep", Attributes::ints({0})}});
}

Result<Graph> loss_graph(const std::vector<ParameterSpec>& parameters, const JobOptions& options) {
  Graph graph(&ops());
  const ValueType ids{BALEEN_I32, {options.batch, kContext}, {"batch", "seq"}};
  BALEEN_TRY_ASSIGN(const ValueId tokens, graph.input("tokens", ids));
  BALEEN_TRY_ASSIGN(const ValueId targets, graph.input("targets", ids));
  BALEEN_TRY_ASSIGN(const ValueId x, logits(graph, parameters, tokens));
  BALEEN_TRY_ASSIGN(const auto losses, graph.append("cross_entropy", {x, targets}, {}, "loss"));
  BALEEN_TRY_ASSIGN(const ValueId loss, sum_all(graph, losses[0]));
  Expression counted;
  const auto one = counted.binary(BALEEN_X_NE, counted.input(0), counted.constant(-1));
  BALEEN_TRY_ASSIGN(const ValueId mask, graph.append1("pointwise", {targets},
                                                      {{"expression", std::move(counted)},
                                                       {"results", Attributes::ints({one})},
                                                       {"dtype", Attributes::ints({options.dtype})}}));
  BALEEN_TRY_ASSIGN(const ValueId weight, sum_all(graph, mask));
  graph.set_output("loss", loss);
  graph.set_output("weight", weight);
  return graph;
}

Result<Job> make_job(const JobOptions& options) {
  Job job;
  const Initializer noise{Initializer::Kind::normal, 0, 0.3};
  job.parameters = {{"embedding.table", {options.dtype, {kVocabulary, kDim}, {}}, noise, "test"},
                    {"hidden.weight", {options.dtype, {kDim, options.width}, {}}, noise, "test"},
                    {"head.weight", {options.dtype, {options.width, kVocabulary}, {}}, noise, "test"}};
  if (options.attention)
    job.parameters.push_back({"attention.weight", {options.dtype, {kDim, 2, 3}, {}}, noise, "test"});
  BALEEN_TRY_ASSIGN(job.train(), loss_graph(job.parameters, options));
  BALEEN_TRY_ASSIGN(Graph evaluate, loss_graph(job.parameters, options));
  job.graphs["evaluate"] = {GraphRole::evaluate, false, std::move(evaluate)};
  for (const bool replicated : {false, true}) {
    Graph write(&ops());
    BALEEN_TRY_ASSIGN(const ValueId tokens, write.input("tokens", {BALEEN_I32, {5, kContext}, {"batch", "seq"}}));
    BALEEN_TRY_ASSIGN(const ValueId x, logits(write, job.parameters, tokens));
    write.set_output("logits", x);
    job.graphs[replicated ? "alone" : "together"] = {GraphRole::infer, replicated, std::move(write)};
  }
  job.optimizer = {options.optimizer, {{"lr", {options.lr, "test"}}}, {}, "test"};
  if (options.optimizer == "sgd") job.optimizer.options["momentum"] = {0.9, "test"};
  job.optimizer.schedules["lr"] = [lr = options.lr](std::int64_t step) {
    return lr / (1.0 + 0.01 * static_cast<double>(step));
  };
  if (options.learns) {
    BALEEN_TRY_ASSIGN(Graph more, loss_graph(job.parameters, options));
    job.graphs["more"] = {GraphRole::learn, false, std::move(more), {{}, job.optimizer, {}, 1}};
  }
  job.clip_grad_norm = 1;
  job.gradient_accumulation_steps = options.accumulate;
  job.batch = options.batch;
  job.seed = 7;
  job.dtype = options.dtype;
  job.is_late = options.is_late;
  return job;
}

/// Opens the member of that name with its defaults.
auto store_of(const std::string& name, const Registry& registry) {
  return [&registry, name](std::size_t, const OffloadStore::Needs& needs) -> Result<std::unique_ptr<OffloadStore>> {
    BALEEN_TRY_ASSIGN(const Descriptor found, registry.find("offload", name));
    BALEEN_TRY_ASSIGN(const SettingsStorage settings, SettingsStorage::build(found, {}, {7, "", "test"}));
    BALEEN_TRY_ASSIGN(const Plugin plugin, registry.open(found));
    return OffloadStore::create(plugin, *settings.get(), needs);
  };
}

}  // namespace

std::string some_text() {
  std::string text;
  for (int i = 0; text.size() < 40000; ++i) text += "line " + std::to_string(i % 100) + " of the whale's baleen, ";
  return text;
}

SmallRun::SmallRun(const TemporaryFolder& folder, const JobOptions& options) { status = make(folder, options); }

Status SmallRun::make(const TemporaryFolder& folder, const JobOptions& options) {
  std::vector<PluginPlace> places{{build_dir() + "/lib/baleen/plugins", "test"}};
  if (const std::string spikes = build_dir() + "/tests/spike"; std::filesystem::exists(spikes))
    places.push_back({spikes, "test"});
  if (!options.store_folder.empty()) places.push_back({options.store_folder, "test"});
  BALEEN_TRY_ASSIGN(Registry found, Registry::discover(places, Log()));
  registry_ = std::make_unique<Registry>(std::move(found));
  BALEEN_TRY_ASSIGN(Job job, make_job(options));
  const std::string path = folder.write("corpus.txt", some_text());
  const MemberSpec corpus{
      "text",
      {{"path", {path, "test"}}, {"tokenizer", {std::string("bytes"), "test"}}, {"context", {kContext, "test"}}},
      {},
      "test"};
  BALEEN_TRY_ASSIGN(auto data, Dataset::create(*registry_, corpus, options.data_seed, folder.path()));

  BALEEN_TRY_ASSIGN(const Descriptor descriptor, registry_->best("compute"));
  const auto open = [&](const Descriptor& found, const UserValues& values) -> Result<std::unique_ptr<Device>> {
    BALEEN_TRY_ASSIGN(const SettingsStorage settings,
                      SettingsStorage::build(found, values, {job.seed, folder.path(), "test"}));
    BALEEN_TRY_ASSIGN(const Plugin plugin, registry_->open(found));
    return Device::create(plugin, *settings.get());
  };
  BALEEN_TRY_ASSIGN(device_,
                    open(descriptor, {{"threads", {std::int64_t{1}, "test"}},
                                      {"memory", {static_cast<std::int64_t>(std::stoll(options.memory)), "test"}}}));
  if (!options.device.empty()) {
    host_device_ = std::move(device_);
    BALEEN_TRY_ASSIGN(const Descriptor named, registry_->find("compute", options.device));
    BALEEN_TRY_ASSIGN(device_, open(named, options.device_options));
  }

  static std::atomic<int> runs = 0;
  log_ = folder / ("log" + std::to_string(runs++) + ".jsonl");
  BALEEN_TRY_ASSIGN(const Descriptor monitor, registry_->find("monitor", "jsonl"));
  BALEEN_TRY_ASSIGN(SettingsStorage monitor_settings,
                    SettingsStorage::build(monitor, {{"path", {log_, "test"}}}, {0, folder.path(), "test"}));
  BALEEN_TRY_ASSIGN(const Plugin monitor_plugin, registry_->open(monitor));
  std::vector<OpenMonitor> chosen;
  chosen.push_back({monitor_plugin, std::move(monitor_settings)});
  BALEEN_TRY_ASSIGN(monitors_, Monitors::create(std::move(chosen), registry_->log()));
  SessionOptions session_options{100, options.batch, options.seed, options.dtype, {{"script", 0, "small"}}};
  session_options.goes_on_not_finite = options.goes_on_not_finite;
  session_options.watch = options.watch;
  session_options.host_device = host_device_.get();
  job.strategies = options.strategies;
  if (options.rendezvous) {
    job.mesh = options.mesh;
    if (job.mesh.axes.empty()) job.mesh.axes = {{"data", options.rendezvous->ranks}};
    if (job.strategies.empty()) job.strategies = {{"data", {{"bucket_mb", {options.bucket_mb, "test"}}}, {}, "test"}};
    BALEEN_TRY_ASSIGN(job.mesh, split_mesh(job, job.mesh, *registry_));
    BALEEN_TRY(connect(options, job.mesh));
    session_options.communicator = communicator_.get();
  }
  if (std::ranges::any_of(job.strategies, [](const MemberSpec& one) { return one.name == "offload"; })) {
    session_options.offload_places = {{options.store, {}}};
    session_options.open_store = store_of(options.store, *registry_);
    session_options.store_maps = options.store_maps;
  }
  BALEEN_TRY_ASSIGN(Plan plan, make_plan(std::move(job), *registry_, {}, options.only));
  BALEEN_TRY_ASSIGN(session, Session::create(plan, *device_, data, *monitors_, session_options));
  return {};
}

Status SmallRun::connect(const JobOptions& options, const Mesh& mesh) {
  BALEEN_TRY_ASSIGN(const Descriptor descriptor, registry_->find("transport", options.transport));
  UserValues values;  // one that is made of others is made of the reference
  for (const Option* option : descriptor.member_options())
    values.insert_or_assign(option->name, UserValue{std::string("loopback"), "test"});
  BALEEN_TRY_ASSIGN(const SettingsStorage settings, SettingsStorage::build(descriptor, values, {7, "", "test"}));
  BALEEN_TRY_ASSIGN(const Plugin plugin, registry_->open(descriptor));
  BALEEN_TRY_ASSIGN(communicator_, Communicator::create(plugin, *settings.get(), *options.rendezvous, mesh,
                                                        {.begins = options.begins}));
  return {};
}

std::vector<std::string> SmallRun::finish() {
  session.reset();
  monitors_.reset();
  std::ifstream file(log_);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace baleen::test
