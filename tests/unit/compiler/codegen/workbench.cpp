#include "unit/compiler/codegen/workbench.hpp"

#include <cmath>
#include <cstring>
#include <random>

#include "baleen/dtype.hpp"
#include "compiler/plan/passes.hpp"
#include "core/execute/persistent_layout.hpp"
#include "core/plugin/descriptor.hpp"
#include "core/plugin/option_value.hpp"
#include "core/plugin/settings.hpp"
#include "support/op_cases.hpp"
#include "support/reference_interpreter.hpp"

namespace baleen::test {
namespace {

constexpr std::size_t kAlignment = 64, kCanary = 4096;
constexpr char kMark = 0x5a;

void encode(const Numbers& numbers, baleen_dtype_t dtype, char* out) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = static_cast<float>(numbers[i]);
    const auto id = static_cast<std::int32_t>(numbers[i]);
    char* to = out + i * dtype_size(dtype);
    if (dtype == BALEEN_F64)
      std::memcpy(to, &numbers[i], 8);
    else if (dtype == BALEEN_F32)
      std::memcpy(to, &number, 4);
    else
      std::memcpy(to, &id, 4);
  }
}

template <class T>
Numbers decode_as(const char* in, std::size_t count) {
  std::vector<T> values(count);
  std::memcpy(values.data(), in, count * sizeof(T));
  return {values.begin(), values.end()};
}

Numbers decode(const char* in, std::size_t bytes, baleen_dtype_t dtype) {
  const std::size_t count = bytes / dtype_size(dtype);
  if (dtype == BALEEN_F64) return decode_as<double>(in, count);
  return dtype == BALEEN_F32 ? decode_as<float>(in, count) : decode_as<std::int32_t>(in, count);
}

template <class T>
T take(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  return *std::move(result);
}
void take(const Status& status) {
  if (!status) throw std::runtime_error(status.error().text());
}

std::pair<Plugin, SettingsStorage> open_member(const std::string& file, const Powers& options) {
  const Descriptor descriptor = take(read_descriptor(file));
  UserValues values;
  for (const auto& [name, text] : options) values[name] = take(parse_option_text(*descriptor.find(name), text, "test"));
  SettingsStorage settings = take(SettingsStorage::build(descriptor, values, {0, "/", "test"}));
  return {take(Plugin::open(descriptor, Log())), std::move(settings)};
}

}  // namespace

const OpRegistry& ops() { return builtin_ops(); }

std::unique_ptr<Device> make_device(const std::string& file, const Powers& powers) {
  const auto [plugin, settings] = open_member(file, powers);
  return take(Device::create(plugin, *settings.get()));
}

Result<ScheduledGraph> scheduled(Graph graph, std::int64_t micro_batches, std::vector<PipelineSchedule> pipelines) {
  graph.remove_dead();
  BALEEN_TRY(shard_micro(graph, micro_batches));
  BALEEN_TRY(verify(graph));
  return schedule_loops(std::move(graph), micro_batches, std::move(pipelines));
}

std::vector<PersistentSpec> persistent_specs(const Graph& graph) {
  std::vector<PersistentSpec> specs;
  for (OpId id : graph.ops())
    for (ValueId v : graph.op(id).outputs)
      if (const Value& value = graph.value(v); value.role == Role::parameter || value.role == Role::state)
        specs.push_back({value.name,
                         graph.type(v),
                         value.role,
                         "parameters",
                         {},
                         false,
                         value.offloaded_ahead > 0 ? std::optional(value.offloaded_ahead) : std::nullopt,
                         value.offloaded_piece,
                         value.updated_on_host});
  return specs;
}

// --- Workbench

Workbench::Guarded::Guarded(std::size_t size) : bytes(size), memory(size + 2 * kCanary + kAlignment, kMark) {
  std::memset(base(), 0, bytes);
}

char* Workbench::Guarded::base() {
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data() + kCanary);
  return memory.data() + kCanary + (kAlignment - address % kAlignment) % kAlignment;
}

void Workbench::Guarded::check() const {
  const char* begin = const_cast<Guarded*>(this)->base();
  for (const char* p = memory.data(); p != begin; ++p)
    ASSERT_EQ(*p, kMark) << "written " << begin - p << " bytes before the arena";
  for (const char* p = begin + bytes; p != memory.data() + memory.size(); ++p)
    ASSERT_EQ(*p, kMark) << "written " << p - begin - static_cast<std::ptrdiff_t>(bytes) << " bytes after the arena";
}

Workbench::Workbench(const Graph& graph, std::unique_ptr<Device> device, std::int64_t micro_batches, bool poison,
                     const StoreChoice& store)
    : Workbench(take(test::scheduled(graph, micro_batches)), std::move(device), poison, store) {}

Workbench::Workbench(const ScheduledGraph& scheduled, std::unique_ptr<Device> device, bool poison,
                     const StoreChoice& store)
    : device_(std::move(device)) {
  layout_ = lay_out(persistent_specs(scheduled.graph), device_->alignment());
  if (!store.host.empty()) host_ = make_device(store.host);
  const Device* const host = store.updates == StoreChoice::Updates::by_device ? device_.get() : host_.get();
  program_ = std::make_unique<Program>(
      take(Program::compile(scheduled, *device_, layout_, {.at = {}, .poison = poison, .staged = {}}, host)));
  work_ = std::make_unique<Guarded>(program_->memory().arena_bytes);
  persistent_ = std::make_unique<Guarded>(layout_.bytes);
  if (!store.file.empty()) open(store);
  program_->bind(persistent_->base(), work_->base(), store_.get(), cores_.get());
}

void Workbench::open(const StoreChoice& store) {
  const auto opened = open_member(store.file, store.options);
  OffloadStore::Needs needs{transfers_at_once(program_->executable()), 0, "the test"};
  needs.maps = store.updates != StoreChoice::Updates::as_others;
  std::vector<std::unique_ptr<OffloadStore>> stores;
  stores.push_back(take(OffloadStore::create(opened.first, *opened.second.get(), needs)));
  store_ = std::make_unique<OffloadStores>(std::move(stores));
  std::vector<OutsideSlot> slots;
  for (const PersistentBuffer& one : layout_.buffers)
    if (one.is_offloaded()) slots.push_back({one.spec.name, one.bytes});
  for (const OutsideSlot& own : program_->executable().outside) slots.push_back(own);
  mark_in_place(program_->executable(), slots);
  take(store_->reserve(slots, std::vector<std::uint32_t>(slots.size())));
  if (host_) cores_ = take(HostCores::create(*device_, *host_, program_->executable().beside_bytes));
}

const PersistentBuffer& Workbench::buffer(const std::string& name) const {
  const PersistentBuffer* found = layout_.find(name);
  if (!found) throw std::runtime_error("no persistent tensor " + name);
  return *found;
}

void Workbench::set(const std::string& name, const Numbers& numbers) {
  for (const Port& port : program_->inputs())
    if (port.name == name) return encode(numbers, port.type.dtype, static_cast<char*>(program_->address(port)));
  const PersistentBuffer& to = buffer(name);
  if (!to.is_offloaded()) return encode(numbers, to.spec.type.dtype, persistent_->base() + to.offset);
  std::vector<std::byte> bytes(to.bytes);
  encode(numbers, to.spec.type.dtype, reinterpret_cast<char*>(bytes.data()));
  take(store_->write(to.slot, bytes));
}

void Workbench::run(std::uint64_t seed, std::uint64_t step) {
  take(program_->run(device_->stream(), {seed, step, nullptr, nullptr}));
  work_->check();
  persistent_->check();
}

Numbers Workbench::output(const std::string& name) const {
  for (const Port& port : program_->outputs())
    if (port.name == name)
      return decode(static_cast<const char*>(program_->address(port)), port.bytes, port.type.dtype);
  throw std::runtime_error("no output " + name);
}

Numbers Workbench::persistent(const std::string& name) const {
  const PersistentBuffer& from = buffer(name);
  if (from.is_offloaded()) {
    std::vector<std::byte> bytes(from.bytes);
    take(store_->read(from.slot, from.bytes, 0, bytes));
    return decode(reinterpret_cast<const char*>(bytes.data()), from.bytes, from.spec.type.dtype);
  }
  return decode(persistent_->base() + from.offset, from.bytes, from.spec.type.dtype);
}

std::size_t Workbench::launches() const {
  std::size_t count = 0;
  for (const Segment& segment : program_->segments())
    for (const Instruction& i : segment.instructions) count += i.kind == Instruction::Kind::launch;
  return count;
}

// --- comparison

std::map<std::string, Numbers> random_sources(const Graph& graph, std::uint64_t seed, std::int64_t classes) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::map<std::string, Numbers> result;
  for (OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (!op.inputs.empty() || !op.kind->has(kStructural)) continue;
    const Value& value = graph.value(op.outputs[0]);
    Numbers& numbers = result[value.name];
    for (std::int64_t i = 0; i < element_count(value.shape); ++i)
      numbers.push_back(is_floating(value.dtype) ? uniform(random)
                                                 : static_cast<double>(random() % static_cast<std::uint64_t>(classes)));
  }
  return result;
}

namespace {

void expect_near(const Numbers& expected, const Numbers& got, const std::string& what) {
  ASSERT_EQ(expected.size(), got.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(expected[i], got[i], 1e-11 * (1 + std::abs(expected[i]))) << what << "[" << i << "]";
}

}  // namespace

void expect_as_reference(const Graph& graph, const std::string& file, const Powers& powers, std::int64_t micro_batches,
                         std::uint64_t seed, int steps, const StoreChoice& store) {
  auto sources = random_sources(graph, seed);
  Workbench bench(graph, make_device(file, powers), micro_batches, true, store);
  for (const auto& [name, numbers] : sources) bench.set(name, numbers);
  for (int step = 0; step < steps; ++step) {
    ReferenceInterpreter reference(graph, seed, static_cast<std::uint64_t>(step));
    for (const auto& [name, numbers] : sources) reference.set(name, numbers);
    reference.run();
    for (const Port& port : bench.program().inputs()) bench.set(port.name, sources.at(port.name));
    bench.run(seed, static_cast<std::uint64_t>(step));
    for (const GraphOutput& output : graph.outputs())
      expect_near(reference.output(output.name).data, bench.output(output.name), "output " + output.name);
    for (const auto& [name, tensor] : reference.assigned()) {
      expect_near(tensor.data, bench.persistent(name), "assigned " + name);
      sources[name] = tensor.data;
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace baleen::test
