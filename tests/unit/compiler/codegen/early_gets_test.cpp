/// \file What the update gets of an offload store begins as early as free memory allows, and never before it is there.
#include <gtest/gtest.h>

#include <random>

#include "unit/compiler/codegen/store_events.hpp"

namespace baleen::test {
namespace {

/// Layers keep what they make for the backward pass, which frees it layer by layer; then come updates of states.
Graph layers_and_updates(int layers, int updates, const std::vector<std::string>& outside) {
  GraphMaker m;
  ValueId x = m.batch("x", {kElements});
  std::vector<ValueId> kept;
  for (int i = 0; i < layers; ++i) kept.push_back(x = m.unary(BALEEN_X_EXP, m.scale(x, 1e-3)));
  m.graph.context().phase = Phase::backward;
  ValueId back = kept.back();
  for (int i = layers; i-- > 0;) back = m.binary(BALEEN_X_MUL, back, kept[static_cast<std::size_t>(i)]);
  m.output("loss", back);
  m.output("gradient_norm", m.scale(back, 2));
  m.graph.context().phase = Phase::update;
  for (int i = 0; i < updates; ++i) {
    const ValueId s = m.state("s" + std::to_string(i), {kElements});
    m.assign(s, m.binary(BALEEN_X_ADD, s, back));
  }
  for (const std::string& name : outside) offload(m.graph, name, 1);
  return std::move(m.graph);
}

/// Memory that the backward pass leaves free holds states before the update begins, and not a byte more is planned.
TEST(EarlyGets, StatesAreGotInTheBackwardPassWhereMemoryIsFree) {
  constexpr int kLayers = 12, kUpdates = 6;
  std::vector<std::string> outside;
  for (int i = 0; i < kUpdates; ++i) outside.push_back("s" + std::to_string(i));
  const Powers apart{{"regions", "false"}, {"aliases", "false"}};
  const auto of = [&](int updates, const std::vector<std::string>& names) {
    return Workbench(layers_and_updates(kLayers, updates, names), make_device(TOY, apart), 1, true, {LATE});
  };
  Workbench none = of(0, {}), all = of(kUpdates, outside);
  EXPECT_EQ(all.program().memory().arena_bytes, none.program().memory().arena_bytes);
  const std::vector<std::string> list = events(all.program());
  std::vector<std::ptrdiff_t> launches;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i] == "launch") launches.push_back(static_cast<std::ptrdiff_t>(i));
  ASSERT_GT(launches.size(), static_cast<std::size_t>(2 * kLayers + kUpdates));
  const std::ptrdiff_t update = launches[launches.size() - kUpdates], backward = launches[2 * kLayers];
  for (const std::string& name : outside) {
    EXPECT_LT(position(list, "begin get " + name), update) << name;
    EXPECT_GT(position(list, "begin get " + name), backward) << name;
  }
  const Executable& program = all.program().executable();
  ASSERT_TRUE(program.gate);
  const std::vector<Instruction>& last = program.segments[program.gate->segment].instructions;
  ASSERT_LT(program.gate->instruction, last.size());
  EXPECT_EQ(program.labels[last[program.gate->instruction].label], "put s0") << "nothing before it is lost";
  expect_as_reference(layers_and_updates(kLayers, kUpdates, outside), TOY, apart, 1, 5, 3, {LATE});
}

/// What an update makes is got again no sooner than it is put; what a loop uses, no sooner than behind it.
TEST(EarlyGets, NothingIsGotBeforeItIsThere) {
  std::size_t transfers = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    Graph graph = random_graph(seed, 40);
    std::mt19937_64 random(seed);
    const std::vector<OpId> all = graph.ops();
    for (std::size_t i = all.size() / 2; i < all.size(); ++i) graph.op(all[i]).phase = Phase::update;
    for (ValueId v = 0; v < graph.value_count(); ++v)
      if (const Op* producer = graph.producer(v); producer && producer->live && random() % 3 != 0)
        if (!producer->inputs.empty() || producer->kind->name == "state" || producer->kind->name == "parameter")
          graph.value(v).offloaded_ahead = 1 + static_cast<std::uint32_t>(random() % 2);
    SCOPED_TRACE("seed " + std::to_string(seed));
    transfers += Workbench(graph, make_device(TOY), 1, true, {LATE}).program().executable().transfers.size();
    for (const char* aliases : {"true", "false"})
      expect_as_reference(graph, TOY, {{"aliases", aliases}, {"regions", seed % 2 == 0 ? "true" : "false"}}, 1, seed, 3,
                          {LATE, {{"microseconds", "20"}}});
    if (HasFailure()) return;
  }
  EXPECT_GT(transfers, 1000u);
}

}  // namespace
}  // namespace baleen::test
