/// \file Conversions as programs carry them out: a value goes from layout to layout over the reference transport and
/// comes back as it was. Meshes, shapes (uneven and too small for the mesh too) and layouts are random.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "compiler/placement/passes.hpp"
#include "core/plugin/descriptor.hpp"
#include "core/plugin/settings.hpp"
#include "support/ranks.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

using Random = std::mt19937_64;

int below(Random& random, std::size_t count) { return static_cast<int>(random() % count); }

const std::vector<Mesh>& meshes() {
  static const std::vector<Mesh> all{{{{"a", 2}}},           {{{"a", 3}}},           {{{"a", 4}}},
                                     {{{"a", 2}, {"b", 2}}}, {{{"a", 3}, {"b", 2}}}, {{{"a", 2}, {"b", 2}, {"c", 2}}}};
  return all;
}

Placement random_placement(const Shape& shape, std::int64_t size, bool may_sum, Random& random) {
  const int dim = below(random, shape.size());
  switch (below(random, may_sum ? 6 : 5)) {
    case 0: return Placement::replicate();
    case 1: return Placement::balanced(dim);
    case 2: return Placement::flat();
    case 3: return Placement::at(below(random, static_cast<std::size_t>(size)));
    case 4: return Placement::shard(dim);
    default: return Placement::partial();
  }
}

/// One that a value of this shape may have.
Layout random_layout(const Shape& shape, const Mesh& mesh, Random& random) {
  while (true) {
    Layout layout(mesh.axes.size());
    for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis)
      layout =
          with_placement(layout, static_cast<int>(axis), random_placement(shape, mesh.axes[axis].size, true, random));
    if (check(layout, shape, mesh)) return layout;
  }
}

/// What one case does.
struct Journey {
  Mesh mesh;
  Shape shape;
  std::vector<Layout> layouts;
  std::vector<std::string> steps;
};

std::string text_of(const Journey& journey) {
  std::string text = to_string(journey.shape) + " on";
  for (const MeshAxis& axis : journey.mesh.axes) text += " " + axis.name + " " + std::to_string(axis.size);
  for (const Layout& layout : journey.layouts) text += "\n  " + to_string(layout);
  text += "\nby";
  for (const std::string& step : journey.steps) text += " " + step;
  return text;
}

Journey random_journey(std::uint64_t seed) {
  Random random(seed);
  Journey journey{meshes()[static_cast<std::size_t>(below(random, meshes().size()))], {}, {}, {}};
  const int rank = 1 + below(random, 3);
  for (int d = 0; d < rank; ++d) journey.shape.push_back(1 + below(random, 9));
  for (int i = 0; i < 3; ++i) journey.layouts.push_back(random_layout(journey.shape, journey.mesh, random));
  journey.layouts.emplace_back(journey.mesh.axes.size());
  return journey;
}

/// `x`, through the layouts, as the output `y`.
Graph graph_of(Journey& journey) {
  Graph graph(&ops());
  graph.set_mesh(journey.mesh);
  ValueId value = *graph.input("x", {BALEEN_F64, journey.shape, {}});
  graph.value(value).layout = Layout(journey.mesh.axes.size());
  for (const Layout& to : journey.layouts)
    for (const Step& step : conversion(graph.value(value).layout, to, journey.shape, 8, journey.mesh)) {
      journey.steps.emplace_back(to_string(step.collective));
      value = *append_step(graph, value, step, false);
    }
  graph.set_output("y", value);
  return graph;
}

Numbers numbers_for(const Shape& shape) {
  Numbers numbers(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i + 1);
  return numbers;
}

/// What a rank has of `y` in the end.
Numbers run_rank(const Graph& graph, Communicator& communicator, const StagedCollectives& staged) {
  const auto device = make_device(CPU, {{"threads", "1"}});
  auto scheduled = test::scheduled(graph, 1);
  if (!scheduled) throw std::runtime_error(scheduled.error().text());
  CompileOptions options;
  options.at = communicator.at();
  options.poison = true;
  options.staged = staged;
  auto program = Program::compile(*scheduled, *device, {}, options);
  if (!program) throw std::runtime_error(program.error().text());
  auto arena = Arena::create_shared(*device, communicator, program->memory().arena_bytes);
  program->bind(nullptr, arena->base());
  Result<std::unique_ptr<Staging>> staging = std::unique_ptr<Staging>();
  if (program->stages()) staging = Staging::create(*device, communicator, program->staging());
  for (const ExecutableCall& call : program->executable().calls)
    expect(call.staged == staged.contains(call.op), "staged");
  if (!staging) throw std::runtime_error(staging.error().text());
  if (auto status = program->connect(communicator, "test", staging->get()); !status)
    throw std::runtime_error(status.error().text());
  for (const Port& port : program->inputs()) {
    const Numbers numbers = numbers_for(port.type.shape);
    std::memcpy(program->address(port), numbers.data(), port.bytes);
  }
  if (auto status = program->run(device->stream(), {}); !status) throw std::runtime_error(status.error().text());
  const Port& y = program->outputs().at(0);
  Numbers result(static_cast<std::size_t>(element_count(y.type.shape)));
  std::memcpy(result.data(), program->address(y), y.bytes);
  return result;
}

void travel(Journey& journey, const StagedCollectives& staged = {}) {
  const Graph graph = graph_of(journey);
  SCOPED_TRACE(text_of(journey));
  const auto descriptor = baleen::read_descriptor(LOOPBACK);
  const auto ranks = static_cast<std::int32_t>(rank_count(journey.mesh));
  SharedRendezvous rendezvous;
  EXPECT_EQ(run_bodies(As::kThreads, ranks,
                       [&](std::int32_t rank) {
                         const auto settings = SettingsStorage::build(*descriptor, {}, {7, "", "test"});
                         const auto plugin = Plugin::open(*descriptor, Log());
                         const baleen_rendezvous_t own = rendezvous.of(rank, ranks);
                         const auto communicator =
                             Communicator::create(*plugin, *settings->get(), own, journey.mesh, {});
                         if (!communicator) throw std::runtime_error(communicator.error().text());
                         expect(run_rank(graph, **communicator, staged) == numbers_for(journey.shape), "another value");
                       }),
            "");
}

struct How {
  const char* name;
  StagedCollectives staged;
};
void PrintTo(const How& how, std::ostream* out) { *out << how.name; }

constexpr baleen_operations_t kSums =
    BALEEN_OPERATION(BALEEN_ALL_REDUCE) | BALEEN_OPERATION(BALEEN_REDUCE_SCATTER) | BALEEN_OPERATION(BALEEN_REDUCE);

class Exchange : public testing::TestWithParam<How> {};
/// Pieces of some elements, or of all; and what is staged beside what is not.
INSTANTIATE_TEST_SUITE_P(InPieces, Exchange,
                         testing::Values(How{"direct", {}}, How{"pieces", {64, 0}}, How{"whole", {4 << 20, 0}},
                                         How{"sums", {64, kAllOperations & ~kSums}}, How{"moves", {64, kSums}}),
                         [](const auto& how) { return how.param.name; });

TEST_P(Exchange, BringsBackWhatWentFromLayoutToLayout) {
  std::map<std::string, int> carried;
  for (std::uint64_t seed = 0; seed < 500 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Journey journey = random_journey(seed);
    travel(journey, GetParam().staged);
    for (const std::string& step : journey.steps) ++carried[step];
  }
  for (int c = 0; c <= static_cast<int>(CollectiveOp::take_at); ++c)
    EXPECT_GT(carried[to_string(static_cast<CollectiveOp>(c))], 0) << to_string(static_cast<CollectiveOp>(c));
}

}  // namespace
}  // namespace baleen::test
