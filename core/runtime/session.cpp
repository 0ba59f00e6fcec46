/// \file Runs steps and evaluations.
#include "core/runtime/session_impl.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "baleen/dtype.hpp"
#include "baleen/plugin.hpp"
#include "core/input/user_value.hpp"

namespace baleen {
namespace {

using Clock = std::chrono::steady_clock;

bool is_finite(const Facts& facts) {
  return std::isfinite(facts.at("loss")) && std::isfinite(facts.at("gradient_norm"));
}

/// FNV-1a over the eight bytes of each value.
void add_to_digest(std::uint64_t& digest, double value) {
  constexpr std::uint64_t kBegin = 0xcbf29ce484222325, kFactor = 0x100000001b3;
  if (digest == 0) digest = kBegin;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (int shift = 0; shift < 64; shift += 8) digest = (digest ^ (bits >> shift & 0xff)) * kFactor;
}

double milliseconds(Clock::duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

}  // namespace

Status Session::Impl::put(const Program& program, const std::string& name, const void* bytes, std::uint64_t size) {
  const Port* port = find_port(program.inputs(), name);
  if (!port) return {};  // the program does not read it
  if (port->bytes != size)
    return internal("input `" + name + "` takes " + std::to_string(port->bytes) + " bytes, not " +
                    std::to_string(size));
  settle_transfers();
  return device.check(device.table().copy(device.handle(), device.stream(), work_arena.at(port->offset), bytes, size));
}

void Session::Impl::settle_transfers() {
  // What the stream has not come to has not begun to move. Of a device that is broken nothing ends.
  if (!is_cut_short || !device.check(device.table().synchronize(device.handle(), device.stream()))) return;
  for (JobProgram& one : programs) one.program.settle_transfers();
  is_cut_short = false;
}

Result<HostTensor> Session::Impl::get(const Program& program, const std::string& name) {
  const Port* port = find_port(program.outputs(), name);
  if (!port) return internal("the program has no output `" + name + "`");
  HostTensor tensor{port->type.dtype, port->type.shape, std::vector<std::byte>(port->bytes)};
  const auto* from = (port->persistent ? persistent_arena : work_arena).at(port->offset);
  BALEEN_TRY(copy(tensor.bytes.data(), from, port->bytes));
  return tensor;
}

Result<double> Session::Impl::get_number(const Program& program, const std::string& name) {
  const Port* port = find_port(program.outputs(), name);
  const std::byte* const there = port ? numbers.find(device, program, *port) : nullptr;
  if (there) return numbers_of({port->type.dtype, port->type.shape, {there, there + port->bytes}}).at(0);
  BALEEN_TRY_ASSIGN(const HostTensor tensor, get(program, name));
  return numbers_of(tensor).at(0);
}

Status Session::Impl::put_batch(const Program& program, const BatchShare& share, Batch rows) {
  settle_transfers();
  // Of a run that failed, or never began, the stream may not have come to the batch.
  if (std::exchange(is_given, true))
    BALEEN_TRY(device.check(device.table().synchronize(device.handle(), device.stream())));
  given = share.cut(std::move(rows));
  for (std::size_t f = 0; f < given.size(); ++f)
    BALEEN_TRY(put(program, data->info().fields[f].name, given[f].data(), given[f].size()));
  return {};
}

Result<Facts> Session::Impl::put_scalars(const JobProgram& program, std::int64_t step) {
  Facts values;
  settle_transfers();
  scalars.assign(program.scalars.size(), 0);
  for (const ScalarSpec& scalar : program.scalars) {
    const double value = values[scalar.name] = scalar.schedule(step);
    BALEEN_TRY(scalar.check(value, step));
    const bool is_wide = options.dtype == BALEEN_F64;
    const float narrow = static_cast<float>(value);
    const bool learns = program.role == GraphRole::learn;
    if (learns || &program == train)
      add_to_digest(schedule_digests[(learns ? program.name + "." : "") + scalar.name],
                    is_wide ? value : double{narrow});
    double& own = scalars[static_cast<std::size_t>(&scalar - program.scalars.data())];
    if (is_wide)
      own = value;
    else
      std::memcpy(&own, &narrow, sizeof narrow);
    BALEEN_TRY(put(program.program, scalar.name, &own, dtype_size(options.dtype)));
  }
  return values;
}

Status Session::Impl::run(Program& program, std::uint64_t step, InstructionWatch* watch, std::function<Status()> gate) {
  Program::RunOptions run_options;
  run_options.seed = options.seed;
  run_options.step = step;
  if (monitors.wants_spans()) run_options.spans = &spans;
  run_options.watch = watch;
  const bool has_gate = gate && program.executable().gate;
  bool has_passed = false;
  if (gate)
    run_options.gate = [&, gate = std::move(gate)] {
      const Status kept = gate();
      has_passed = static_cast<bool>(kept);
      return kept;
    };
  run_options.before_wait = [&] { return numbers.fetch(device, program); };
  if (train && &program == &train->program) run_options.segment_ns = &segment_ns;
  settle_transfers();
  Status ran = program.run(device.stream(), run_options);
  is_given = is_given && !ran;
  if (ran) return {};
  is_cut_short = true;
  const auto found = std::ranges::find(programs, &program, [](const JobProgram& one) { return &one.program; });
  const bool reads_only = found->role == GraphRole::evaluate || found->role == GraphRole::infer;
  is_whole = is_whole && (reads_only || (has_gate && !has_passed));
  return ran;
}

/// "loss" and the metrics, each divided by its weight; the weights stay, for means over batches.
Result<Facts> Session::Impl::means(const Program& program) {
  Facts facts;
  for (const Port& port : program.outputs()) {
    const bool metric = port.name.starts_with("metric.") && !port.name.ends_with(".weight");
    if (port.name != "loss" && !metric) continue;
    BALEEN_TRY_ASSIGN(const double sum, get_number(program, port.name));
    BALEEN_TRY_ASSIGN(const double weight, get_number(program, metric ? port.name + ".weight" : "weight"));
    const std::string name = metric ? port.name.substr(7) : "loss";
    facts[name] = weight == 0 ? 0 : sum / weight;
    facts[name + ".weight"] = weight;
  }
  return facts;
}

Status Session::Impl::add_facts(Facts& facts) {
  const std::size_t prefix = std::strlen(kFactPrefix);
  for (const Port& port : train->program.outputs()) {
    if (!port.name.starts_with(kFactPrefix)) continue;
    BALEEN_TRY_ASSIGN(facts[port.name.substr(prefix)], get_number(train->program, port.name));
  }
  return {};
}

Status Session::Impl::check_stops(const JobProgram& program, const std::string& when) {
  for (const StopRule& rule : program.stops) {
    BALEEN_TRY_ASSIGN(const double condition, get_number(program.program, rule.output));
    if (condition != 0) return invalid(when + ": " + rule.text);
  }
  return {};
}

Status Session::Impl::check_finite(const Program& program, double loss, double gradient_norm, const std::string& when,
                                   Session& session, const std::string& where) {
  const bool is_loss = !std::isfinite(loss);
  if (!is_loss && std::isfinite(gradient_norm)) return {};
  // A strategy leaves such steps out, counts them, and ends the run where there are too many.
  if (find_port(program.outputs(), "applied")) return {};
  const std::string text = (is_loss ? "the loss is not finite " : "the gradient is not finite, though the loss is, ") +
                           when + where + "; a lower learning rate, a longer warm-up or clipping may help";
  if (!options.goes_on_not_finite)
    return Error{BALEEN_DAMAGED, text + "; `on_nan = \"continue\"` in the job trains on all the same", {}};
  if (!reported_not_finite) session.note(text);
  reported_not_finite = true;
  return {};
}

void Session::Impl::add_times(Facts& facts, double step_ms, double data_ms) {
  facts["step_ms"] = step_ms;
  facts["data_ms"] = data_ms;
  for (std::size_t i = 0; i < segment_ns.size(); ++i) {
    facts[train->program.segments()[i].name + "_ms"] += static_cast<double>(segment_ns[i]) * 1e-6;
    segment_ns[i] = 0;
  }
  const double seconds = step_ms * 1e-3;
  facts["units_per_second"] = static_cast<double>(options.batch) * data->info().units_per_row / seconds;
  facts["flops_per_second"] = train->program.flops() / seconds;
  facts["memory_bytes"] = facts["memory_peak_bytes"] = static_cast<double>(planned.at("total"));
}

/// What the device does at most, for those who compare spans with it.
void Session::Impl::add_peaks(std::vector<Fact>& facts) const {
  if (!monitors.wants_spans()) return;
  const auto peak = device.extension<baleen_peak_t>(BALEEN_DEVICE_PEAK);
  double flops = 0, bytes = 0;
  if (!peak || !peak->measure || !device.check(peak->measure(device.handle(), &flops, &bytes))) return;
  facts.push_back({"peak_flops_per_second", flops, {}});
  facts.push_back({"peak_bytes_per_second", bytes, {}});
}

void Session::Impl::tell_spans() {
  if (spans.empty()) return;
  std::vector<MonitorSpan> list;
  list.reserve(spans.size());
  for (const SpanRecord& s : spans)
    list.push_back({s.name, s.category, s.begin - monitors.start_ns(), s.end - monitors.start_ns(), steps_done,
                    s.work.flops, s.work.bytes});
  spans.clear();
  monitors.spans(std::move(list));
}

void Session::Impl::tell_step(const Facts& facts) {
  tell_spans();
  std::vector<Fact> told;
  for (const auto& [name, number] : facts)
    if (name != "step" && !name.ends_with(".weight")) told.push_back({name, number, {}});
  monitors.record(BALEEN_RECORD_STEP, steps_done, options.steps, std::move(told));
}

Session::Session() = default;
Session::~Session() {
  if (!impl_) return;
  // Queued spans borrow their names from the programs.
  impl_->monitors.drain();
  // Calls that a failure left behind touch the arenas.
  for (JobProgram& one : impl_->programs) one.program.settle();
  // So may what the stream has not come to yet: a failure of the device or of a peer, which is told already.
  static_cast<void>(impl_->device.table().synchronize(impl_->device.handle(), impl_->device.stream()));
}

Result<std::unique_ptr<Session>> Session::create(const Plan& plan, Device& device, std::shared_ptr<Dataset> data,
                                                 Monitors& monitors, SessionOptions options) {
  auto session = std::unique_ptr<Session>(new Session);
  session->impl_ = std::make_unique<Impl>(device, monitors);
  Impl& impl = *session->impl_;
  impl.data = std::move(data);
  impl.options = std::move(options);
  BALEEN_TRY(impl.compile(plan));
  if (impl.options.compiled) BALEEN_TRY(impl.options.compiled(impl.programs));
  BALEEN_TRY(impl.allocate());
  BALEEN_TRY(impl.run(impl.find(GraphRole::initialize)->program, 0));
  impl.spans.clear();
  return session;
}

void Session::start() {
  std::vector<Fact> facts = impl_->options.start_facts;
  double parameters = 0;
  for (const PersistentBuffer& buffer : impl_->persistent.buffers)
    if (buffer.spec.role == Role::parameter) parameters += static_cast<double>(element_count(buffer.spec.type.shape));
  facts.push_back({"parameters", parameters, {}});
  facts.push_back({"compute", 0, impl_->device.info().name});
  facts.push_back({"threads", static_cast<double>(impl_->device.info().threads), {}});
  facts.push_back({"dtype", 0, std::string(dtype_name(impl_->options.dtype))});
  facts.push_back({"seed", static_cast<double>(impl_->options.seed), {}});
  if (impl_->data) {
    facts.push_back({"batch", static_cast<double>(impl_->options.batch), {}});
    facts.push_back({"unit", 0, impl_->data->info().unit});
    facts.push_back({"data", 0, impl_->data->info().summary});
  }
  facts.push_back({"planned_bytes", static_cast<double>(impl_->planned.at("total")), {}});
  impl_->add_peaks(facts);
  for (const Traffic& t : traffic())
    facts.push_back({"sent_bytes." + t.kind + "." + t.axes, static_cast<double>(t.bytes), {}});
  if (const OffloadTraffic moved = offload_traffic(); moved.put + moved.got > 0) {
    facts.push_back({"offload_put_bytes", static_cast<double>(moved.put), {}});
    facts.push_back({"offload_got_bytes", static_cast<double>(moved.got), {}});
  }
  for (const auto& [kind, bytes] : impl_->planned)
    if (kind != "total") facts.push_back({"planned_bytes." + kind, static_cast<double>(bytes), {}});
  impl_->monitors.record(BALEEN_RECORD_START, impl_->steps_done, impl_->options.steps, std::move(facts));
}

std::vector<Traffic> Session::traffic() const {
  const JobProgram* const last = impl_->find(GraphRole::train);  // what most steps send
  return last ? last->program.traffic() : std::vector<Traffic>();
}

OffloadTraffic Session::offload_traffic() const {
  const JobProgram* const last = impl_->find(GraphRole::train);
  return last ? last->program.offload_traffic() : OffloadTraffic();
}

const HostUpdateReport& Session::host_updates() const {
  static const HostUpdateReport kNone;
  return impl_->train ? impl_->train->program.executable().host_updates : kNone;
}

const std::string& Session::why_on_device() const { return impl_->why_on_device; }
bool Session::updates_beside() const { return impl_->updates_beside; }

Status Session::Impl::load_batch() {
  const BatchShare& share = shares.at(train->name);
  if (!reader) reader = std::make_unique<BatchReader>(data, options.batch, share.rows(), options.dtype, position);
  if (options.doing) options.doing("reading data");
  BALEEN_TRY_ASSIGN(Batch batch, reader->next(position));
  position.add(options.batch);
  if (options.doing) options.doing("training");
  return put_batch(train->program, share, std::move(batch));
}

Result<Facts> Session::step() {
  Impl& impl = *impl_;
  if (!impl.train) return invalid("this session has the job's programs alone: it cannot train");
  const auto begin = Clock::now();
  impl.was_undone = false;
  impl.undone_rows = 0;
  if (impl.options.watch) BALEEN_TRY(impl.options.watch->begins_step());
  impl.train = impl.train_at(impl.steps_done);
  Program& program = impl.train->program;
  impl.segment_ns.resize(program.segments().size(), 0);
  BALEEN_TRY(impl.load_batch());
  const double data_ms = milliseconds(Clock::now() - begin);
  const auto last = impl.last.find("loss");
  const std::string before = last != impl.last.end() && std::isfinite(last->second)
                                 ? " (the loss of the step before was " + number_text(last->second) + ")"
                                 : "";
  BALEEN_TRY_ASSIGN(impl.last, impl.put_scalars(*impl.train, impl.steps_done));
  const std::function<Status()> gate = impl.gate_of(program);
  if (Status ran = impl.run(program, static_cast<std::uint64_t>(impl.steps_done), impl.options.watch, gate); !ran) {
    impl.undone_rows = impl.options.batch;  // it does not count
    return std::move(ran).error();
  }
  impl.steps_done.add(1);
  BALEEN_TRY_ASSIGN(Facts facts, impl.means(program));
  facts.merge(Facts(impl.last));
  BALEEN_TRY_ASSIGN(facts["gradient_norm"], impl.get_number(program, "gradient_norm"));
  BALEEN_TRY(impl.add_facts(facts));
  facts["step"] = static_cast<double>(impl.steps_done);
  impl.add_times(facts, milliseconds(Clock::now() - begin), data_ms);
  impl.last = facts;
  impl.tell_step(facts);
  const std::string when = "at step " + std::to_string(impl.steps_done) + before;
  std::string where;
  if (gate && !is_finite(facts)) {
    BALEEN_TRY_ASSIGN(where, impl.take_back(*this));
  }
  BALEEN_TRY(impl.check_finite(program, facts.at("loss"), facts.at("gradient_norm"), when, *this, where));
  BALEEN_TRY(impl.check_stops(*impl.train, "step " + std::to_string(impl.steps_done)));
  return facts;
}

void Session::note(const std::string& message) {
  impl_->monitors.record(BALEEN_RECORD_NOTE, impl_->steps_done, impl_->options.steps, {{"message", 0, message}});
}

bool Session::print(std::string_view line) {
  return impl_->monitors.print(impl_->steps_done, impl_->options.steps, line);
}

std::uint64_t Session::allocated_bytes() const { return impl_->persistent_arena.bytes() + impl_->work_arena.bytes(); }

void Session::finish(std::vector<Fact> more) {
  std::vector<Fact> facts{{"seconds", impl_->monitors.seconds(), {}}};
  for (const auto& [name, number] : impl_->last)
    if (name == "loss" || name.starts_with("held_out_") || impl_->shows(name)) facts.push_back({name, number, {}});
  facts.push_back({"planned_bytes", static_cast<double>(impl_->planned.at("total")), {}});
  facts.insert(facts.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  impl_->monitors.record(BALEEN_RECORD_FINISH, impl_->steps_done, impl_->options.steps, std::move(facts));
}

bool Session::was_undone() const { return impl_->was_undone; }
const std::map<std::string, std::uint64_t>& Session::schedule_digests() const { return impl_->schedule_digests; }
const std::map<std::string, std::uint64_t>& Session::input_digests() const { return impl_->input_digests; }
bool Session::is_whole() const { return impl_->is_whole; }
std::int64_t Session::steps() const { return impl_->options.steps; }
std::int64_t Session::steps_done() const { return impl_->steps_done; }
std::string Session::damaged_count() const {
  if (!impl_->steps_done.is_right()) return "the number of steps of the job";
  if (!impl_->position.is_right()) return "the job's place in the data";
  for (const JobProgram& one : impl_->programs)
    if (!one.runs.is_right()) return "the number of runs of program `" + one.name + "`";
  return {};
}
std::int64_t Session::progress() const { return steps_done() == 0 ? updates() : steps_done(); }
std::int64_t Session::updates() const {
  std::int64_t done = steps_done();
  for (const JobProgram& one : impl_->programs)
    if (one.role == GraphRole::learn) done += one.runs;
  return done;
}
bool Session::trains() const { return impl_->train != nullptr; }
std::uint64_t Session::seed() const { return impl_->options.seed; }
std::int64_t Session::position() const { return impl_->position - impl_->undone_rows; }
const std::shared_ptr<Dataset>& Session::data() const { return impl_->data; }
baleen_dtype_t Session::coarsest_dtype() const { return impl_->coarsest; }
bool Session::is_late() const { return impl_->persistent.find(kLateCountsState) != nullptr; }
const std::map<std::string, Approximated>& Session::approximated() const { return impl_->approximated; }
const PersistentLayout& Session::persistent() const { return impl_->persistent; }
const std::map<std::string, std::uint64_t>& Session::planned_bytes() const { return impl_->planned; }
const WorkingBytes& Session::working() const { return impl_->working; }

}  // namespace baleen
