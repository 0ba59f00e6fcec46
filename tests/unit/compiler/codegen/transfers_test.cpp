/// \file States, parameters and values that ops make, which lie in an offload store: the numbers of a run, when puts
/// and gets are under way, the buffers that they take in turn, and what a failure of the store ends in.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "baleen/strategy.h"
#include "core/execute/persistent_layout.hpp"
#include "unit/compiler/codegen/graphs.hpp"
#include "unit/compiler/codegen/store_events.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

/// What ops make lies there too; with `all` everything, else gradients.
void offload_made(Graph& graph, std::uint32_t ahead, bool all) {
  for (const OpId id : graph.ops())
    for (const ValueId v : graph.op(id).outputs)
      if (!graph.op(id).inputs.empty() && (all || graph.value(v).role == Role::gradient))
        graph.value(v).offloaded_ahead = ahead;
}

/// s0 ... become sums of themselves and of x, each by an update of its own.
Graph updates(int count, std::uint32_t ahead) {
  GraphMaker m;
  m.graph.context().phase = Phase::update;
  const ValueId x = m.batch("x", {kElements});
  for (int i = 0; i < count; ++i) {
    const std::string name = "s" + std::to_string(i);
    const ValueId s = m.state(name, {kElements});
    m.assign(s, m.binary(BALEEN_X_ADD, s, x));
    offload(m.graph, name, ahead);
  }
  return std::move(m.graph);
}

TEST(Transfers, AStepOfTrainingComputesWhatItDoesWithoutAStore) {
  for (const std::int64_t micro_batches : {1, 2, 3})
    for (const std::uint32_t ahead : {1u, 2u, 5u}) {
      Graph graph = training_graph(6);
      int offloaded = 0;
      for (const OpId id : graph.ops())
        if (graph.op(id).kind->name == "state") {
          graph.value(graph.op(id).outputs[0]).offloaded_ahead = ahead;
          ++offloaded;
        }
      ASSERT_GT(offloaded, 0);
      SCOPED_TRACE(std::to_string(micro_batches) + " micro-batches, " + std::to_string(ahead) + " ahead");
      expect_as_reference(graph, TOY, {}, micro_batches, 7, 3, {LATE});
      expect_as_reference(graph, CPU, {}, micro_batches, 8, 3, {LATE});
    }
}

/// Parameters are got for the forward pass of each micro-batch, for its backward pass, and for the update.
TEST(Transfers, ParametersOfAStepOfTrainingAreGotWhereTheyAreUsed) {
  for (const std::int64_t micro_batches : {1, 2, 3})
    for (const std::uint32_t ahead : {1u, 2u, 5u}) {
      Graph graph = training_graph(6);
      for (const OpId id : graph.ops())
        if (const std::string& kind = graph.op(id).kind->name; kind == "state" || kind == "parameter")
          graph.value(graph.op(id).outputs[0]).offloaded_ahead = ahead;
      SCOPED_TRACE(std::to_string(micro_batches) + " micro-batches, " + std::to_string(ahead) + " ahead");
      expect_as_reference(graph, TOY, {}, micro_batches, 7, 3, {LATE});
      expect_as_reference(graph, CPU, {}, micro_batches, 8, 3, {LATE});
    }
}

/// A chain of products and back: y = w0 x, then w1 y, ...; the last one's weight is used first again.
TEST(Transfers, WhatIsUsedFarApartIsGotAgainAndTakesOtherBuffers) {
  constexpr int kLayers = 8;
  const auto graph = [](std::uint32_t ahead) {
    GraphMaker m;
    ValueId x = m.batch("x", {kElements});
    std::vector<ValueId> weights;
    for (int i = 0; i < kLayers; ++i) weights.push_back(m.parameter("w" + std::to_string(i), {kElements}));
    for (const ValueId w : weights) x = m.binary(BALEEN_X_MUL, x, w);
    m.graph.context().phase = Phase::backward;
    for (int i = kLayers; i-- > 0;) x = m.binary(BALEEN_X_MUL, x, weights[static_cast<std::size_t>(i)]);
    m.output("y", x);
    for (int i = 0; i < kLayers; ++i) offload(m.graph, "w" + std::to_string(i), ahead);
    return std::move(m.graph);
  };
  for (const std::uint32_t ahead : {1u, 2u, 3u}) {
    SCOPED_TRACE(ahead);
    Workbench bench(graph(ahead), make_device(TOY, {{"regions", "false"}}), 1, true, {LATE});
    // Weight i is used again behind 2 * (kLayers - 1 - i) other uses.
    std::uint64_t kept = 0;
    for (std::uint32_t i = 0; i < kLayers; ++i) kept += 2 * (kLayers - 1 - i) <= ahead ? 1 : 0;
    EXPECT_EQ(bench.program().offload_traffic().got, (2 * kLayers - kept) * kElements * 8u);
    EXPECT_EQ(bench.program().offload_traffic().put, 0u);
    EXPECT_LE(bench.program().memory().fetched, (2 * ahead + 2) * kElements * 8u);
    expect_as_reference(graph(ahead), TOY, {{"regions", "false"}}, 1, 5, 2, {LATE});
    expect_as_reference(graph(ahead), CPU, {}, 1, 5, 2, {LATE});
  }
}

/// The old value is read long after the new one is made, from bytes of its own, and put.
TEST(Transfers, WhoReadsTheOldValueLateHasIt) {
  for (const bool splits : {false, true}) {
    GraphMaker m;
    m.graph.context().phase = Phase::update;
    const ValueId x = m.batch("x", {kElements}), s = m.state("s", {kElements});
    ValueId y = m.binary(BALEEN_X_ADD, x, s);
    for (int i = 0; splits && i < 6; ++i)
      y = m.binary(BALEEN_X_ADD, y, m.parameter("a" + std::to_string(i), {kElements}));
    const ValueId made = m.binary(BALEEN_X_MUL, y, s);
    m.assign(s, made);
    for (int i = 0; i < 6; ++i) y = m.binary(BALEEN_X_ADD, y, m.parameter("b" + std::to_string(i), {kElements}));
    m.output("y", m.binary(BALEEN_X_MUL, m.binary(BALEEN_X_ADD, y, made), s));
    for (const OpId id : m.graph.ops())
      if (const std::string& kind = m.graph.op(id).kind->name; kind == "state" || kind == "parameter")
        m.graph.value(m.graph.op(id).outputs[0]).offloaded_ahead = 1;
    for (const char* aliases : {"true", "false"})
      expect_as_reference(m.graph, TOY, {{"aliases", aliases}, {"regions", "false"}}, 1, 5, 3, {LATE});
  }
}

/// Activations that the backward pass reads, gradients, and sums over micro-batches.
TEST(Transfers, AStepOfTrainingComputesTheSameWhateverOfItsValuesLieOutside) {
  for (const std::int64_t micro_batches : {1, 2, 3})
    for (const std::uint32_t ahead : {1u, 2u, 5u})
      for (const bool all : {false, true}) {
        Graph graph = training_graph(6);
        offload_made(graph, ahead, all);
        for (const OpId id : graph.ops())
          if (all && graph.op(id).kind->name == "state") graph.value(graph.op(id).outputs[0]).offloaded_ahead = ahead;
        SCOPED_TRACE(std::to_string(micro_batches) + " micro-batches, " + std::to_string(ahead) + " ahead");
        expect_as_reference(graph, TOY, {}, micro_batches, 7, 3, {LATE});
        expect_as_reference(graph, CPU, {}, micro_batches, 8, 3, {LATE});
      }
}

/// Layers and back: of each layer's result only the buffers of the neighbours are there.
TEST(Transfers, ActivationsLieOutsideUntilTheBackwardPass) {
  constexpr int kLayers = 12;
  const auto graph = [](std::uint32_t ahead) {
    GraphMaker m;
    std::vector<ValueId> made{m.batch("x", {kElements})};
    for (int i = 0; i < kLayers; ++i) made.push_back(m.scale(made.back(), 1.5));
    m.graph.context().phase = Phase::backward;
    ValueId y = m.scale(made.back(), 2);
    for (int i = kLayers; i > 0; --i) y = m.binary(BALEEN_X_MUL, y, made[static_cast<std::size_t>(i)]);
    m.output("y", y);
    for (std::size_t i = 1; ahead > 0 && i < made.size(); ++i) m.graph.value(made[i]).offloaded_ahead = ahead;
    return std::move(m.graph);
  };
  const Powers apart{{"regions", "false"}};
  const std::uint64_t inside =
      Workbench(graph(0), make_device(TOY, apart), 1, true, {LATE}).program().memory().arena_bytes;
  EXPECT_GE(inside, kLayers * kElements * 8u);
  for (const std::uint32_t ahead : {1u, 2u}) {
    SCOPED_TRACE(ahead);
    Workbench bench(graph(ahead), make_device(TOY, apart), 1, true, {LATE});
    const Executable& program = bench.program().executable();
    EXPECT_GE(program.outside.size(), kLayers - ahead - 1u);
    EXPECT_LT(program.outside.size(), std::size_t{kLayers});
    EXPECT_EQ(bench.program().offload_traffic().put, program.outside.size() * kElements * 8u);
    EXPECT_EQ(bench.program().offload_traffic().got, program.outside.size() * kElements * 8u);
    EXPECT_LE(program.memory.arena_bytes, (ahead + 6) * kElements * 8u);
    expect_as_reference(graph(ahead), TOY, apart, 1, 5, 2, {LATE});
  }
}

/// A sum over micro-batches is got for each turn but the first, put behind each, and got for the norm and the update.
TEST(Transfers, SumsOverMicroBatchesLieOutsideBetweenTheTurns) {
  constexpr int kSums = 8;
  const auto graph = [](std::uint32_t ahead) {
    GraphMaker m;
    const ValueId x = m.batch("x", {6, kElements});
    m.graph.context().phase = Phase::backward;
    std::vector<ValueId> sums;
    for (int i = 0; i < kSums; ++i) sums.push_back(m.sum(m.scale(x, 1.0 + i), {0}));
    m.graph.context().phase = Phase::update;
    ValueId norm = m.sum(sums[0], {0});
    for (int i = 1; i < kSums; ++i) norm = m.binary(BALEEN_X_ADD, norm, m.sum(sums[static_cast<std::size_t>(i)], {0}));
    m.output("norm", norm);
    for (int i = 0; i < kSums; ++i) {
      const ValueId s = m.state("s" + std::to_string(i), {kElements}), g = sums[static_cast<std::size_t>(i)];
      m.assign(s, m.binary(BALEEN_X_ADD, s, m.binary(BALEEN_X_MUL, g, norm)));
      m.graph.value(g).offloaded_ahead = ahead;
    }
    return std::move(m.graph);
  };
  for (const std::uint64_t turns : {2u, 3u, 6u}) {
    SCOPED_TRACE(turns);
    const auto micro_batches = static_cast<std::int64_t>(turns);
    Workbench bench(graph(1), make_device(TOY), micro_batches, true, {LATE});
    const Executable& program = bench.program().executable();
    ASSERT_EQ(program.outside.size(), std::size_t{kSums});
    EXPECT_EQ(bench.program().offload_traffic().put, turns * kSums * kElements * 8u);
    EXPECT_EQ(bench.program().offload_traffic().got, (turns - 1 + 2) * kSums * kElements * 8u);
    const std::uint64_t inside =
        Workbench(graph(0), make_device(TOY), micro_batches, true, {LATE}).program().memory().gradients;
    EXPECT_EQ(inside, kSums * kElements * 8u);
    EXPECT_LE(program.memory.gradients, inside / 2);
    expect_as_reference(graph(1), TOY, {}, micro_batches, 5, 3, {LATE});
    expect_as_reference(graph(2), CPU, {}, micro_batches, 5, 3, {LATE});
  }
}

/// Any reader, any number of assigns, swapped and copied values, outputs of old ones.
TEST(Transfers, RandomGraphsComputeWhatTheyDoWithoutAStore) {
  int transfers = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    Graph graph = random_graph(seed, 20);
    std::mt19937_64 random(seed);
    for (const OpId id : graph.ops()) {
      const std::string& kind = graph.op(id).kind->name;
      if ((kind != "state" && kind != "parameter") || random() % 3 == 0) continue;
      graph.value(graph.op(id).outputs[0]).offloaded_ahead = 1 + static_cast<std::uint32_t>(random() % 3);
      ++transfers;
    }
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const char* aliases : {"true", "false"})
      expect_as_reference(graph, TOY, {{"aliases", aliases}, {"regions", seed % 2 == 0 ? "true" : "false"}}, 1, seed, 3,
                          {LATE, {{"microseconds", "20"}}});
    if (HasFailure()) return;
  }
  EXPECT_GT(transfers, 120);
}

TEST(Transfers, RandomGraphsComputeTheSameWhateverOfTheirValuesLieOutside) {
  std::size_t outside = 0;
  for (std::uint64_t seed = 1; seed <= 160; ++seed) {
    Graph graph = random_graph(seed, 60);
    std::mt19937_64 random(seed);
    for (ValueId v = 0; v < graph.value_count(); ++v)
      if (const Op* producer = graph.producer(v); producer && producer->live && !producer->inputs.empty())
        graph.value(v).offloaded_ahead = random() % 4 == 0 ? 0 : 1;
    SCOPED_TRACE("seed " + std::to_string(seed));
    outside += Workbench(graph, make_device(TOY), 1, true, {LATE}).program().executable().outside.size();
    expect_as_reference(graph, TOY, {{"regions", seed % 2 == 0 ? "true" : "false"}}, 1, seed, 3,
                        {LATE, {{"microseconds", "20"}}});
    if (HasFailure()) return;
  }
  EXPECT_GT(outside, 120u);
}

TEST(Transfers, AGetBeginsSoManyUpdatesAheadAndAPutIsOverBehindTheNextUpdate) {
  for (const int ahead : {1, 2, 3}) {
    Workbench bench(updates(8, static_cast<std::uint32_t>(ahead)), make_device(TOY), 1, true, {LATE});
    const std::vector<std::string> list = events(bench.program());
    std::vector<std::ptrdiff_t> launches;
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i] == "launch") launches.push_back(static_cast<std::ptrdiff_t>(i));
    ASSERT_EQ(launches.size(), 8u);
    for (int i = 0; i < 8; ++i) {
      const std::string name = " s" + std::to_string(i);
      const std::ptrdiff_t own = launches[static_cast<std::size_t>(i)];
      EXPECT_LT(position(list, "end get" + name), own);
      EXPECT_LT(position(list, "begin get" + name), launches[static_cast<std::size_t>(std::max(0, i - ahead))]);
      const std::ptrdiff_t earliest = i > ahead ? launches[static_cast<std::size_t>(i - ahead - 1)] : -1;
      EXPECT_GT(position(list, "begin get" + name), earliest);
      EXPECT_GT(position(list, "begin put" + name), own);
      if (i == 7) continue;
      EXPECT_LT(position(list, "begin put" + name), launches[static_cast<std::size_t>(i + 1)]);
      EXPECT_GT(position(list, "end put" + name), launches[static_cast<std::size_t>(i + 1)]);
    }
  }
}

TEST(Transfers, StatesTakeTheirBuffersInTurn) {
  const auto arena = [](int count, std::uint32_t ahead) {
    return Workbench(updates(count, ahead), make_device(TOY), 1, true, {LATE}).program().memory().arena_bytes;
  };
  constexpr std::uint64_t kBytes = kElements * 8;
  for (const std::uint32_t ahead : {1u, 2u, 4u}) {
    EXPECT_EQ(arena(12, ahead), (ahead + 2) * kBytes + kBytes) << "one is put, one updated, others got; and x";
    EXPECT_EQ(arena(24, ahead), arena(12, ahead));
  }
}

TEST(Transfers, TheMemoryReportTellsOfBuffersAsModelStates) {
  Workbench bench(updates(6, 1), make_device(TOY), 1, true, {LATE});
  EXPECT_EQ(bench.program().memory().fetched, 3 * kElements * 8u);
  EXPECT_EQ(bench.program().memory().working.total(), kElements * 8u) << "x alone";
  EXPECT_EQ(bench.program().offload_traffic().put, 6 * kElements * 8u);
  EXPECT_EQ(bench.program().offload_traffic().got, 6 * kElements * 8u);
}

TEST(Transfers, PlacesInPinnedMemoryAreTakenInTurnAndNeverByTwoAtOnce) {
  const std::unique_ptr<Device> device = make_device(TOY);
  std::vector<PersistentSpec> specs;
  for (int i = 0; i < 12; ++i)
    specs.push_back({"s" + std::to_string(i), {BALEEN_F64, {kElements}, {}}, Role::state, "optimizer", {}, false, 2});
  const auto ready = scheduled(updates(12, 2), 1);
  ASSERT_TRUE(ready);
  CompileOptions options;
  options.stages_transfers = true;
  const auto program = Program::compile(*ready, *device, lay_out(specs, device->alignment()), options);
  ASSERT_TRUE(program) << program.error().text();
  const Executable& e = program->executable();
  EXPECT_EQ(e.transfer_staging, 4 * kElements * 8u) << "of three gets and a put";
  std::set<std::uint32_t> open;
  for (const Segment& segment : e.segments)
    for (const Instruction& i : segment.instructions) {
      if (i.kind == Instruction::Kind::settle) open.erase(i.call);
      if (i.kind != Instruction::Kind::transfer) continue;
      for (const std::uint32_t other : open) EXPECT_NE(e.transfers[other].staged, e.transfers[i.call].staged);
      open.insert(i.call);
    }
}

/// p becomes p + s, with pieces of at most so many bytes of each.
Graph sum(std::int64_t elements, std::uint64_t piece) {
  GraphMaker m;
  m.graph.context().phase = Phase::update;
  const ValueId p = m.parameter("p", {elements}), s = m.state("s", {elements});
  m.assign(p, m.binary(BALEEN_X_ADD, p, s));
  for (const ValueId v : {p, s}) {
    m.graph.value(v).offloaded_ahead = 1;
    m.graph.value(v).offloaded_piece = piece;
  }
  return std::move(m.graph);
}

TEST(Transfers, AnElementwiseUpdateHandlesPieces) {
  constexpr std::int64_t kAll = 150000, kPiece = 65536;
  const Graph graph = sum(kAll, BALEEN_PIECE_BYTES);
  expect_as_reference(graph, TOY, {}, 1, 7, 3, {LATE});
  expect_as_reference(graph, CPU, {}, 1, 8, 3, {LATE});
  Workbench bench(graph, make_device(CPU), 1, false, {LATE});
  const Executable& program = bench.program().executable();
  std::map<std::pair<std::uint32_t, bool>, std::vector<std::pair<std::uint64_t, std::uint64_t>>> ranges;
  for (const ExecutableTransfer& one : program.transfers)
    ranges[{one.slot, one.is_put}].emplace_back(one.offset, one.bytes);
  EXPECT_EQ(ranges.size(), 3u) << "two are got, and one is put";
  for (auto& [of, list] : ranges) {
    std::ranges::sort(list);
    ASSERT_EQ(list.size(), 3u);
    std::uint64_t end = 0;
    for (const auto& [offset, bytes] : list) {
      EXPECT_EQ(offset, end);
      end += bytes;
    }
    EXPECT_EQ(end, kAll * sizeof(double));
  }
  EXPECT_LE(bench.program().memory().fetched, 3 * 2 * kPiece * sizeof(double)) << "ahead + 2 pieces of each";
}

/// What another step has too is got as a whole; a piece that is not smaller than it is none.
TEST(Transfers, OnlyWhatIsElementwiseAndLargerIsDoneInPieces) {
  const auto puts = [](const Graph& graph) {
    Workbench bench(graph, make_device(CPU), 1, false, {LATE});
    return std::ranges::count_if(bench.program().executable().transfers, &ExecutableTransfer::is_put);
  };
  EXPECT_EQ(puts(sum(65536, BALEEN_PIECE_BYTES)), 1);
  EXPECT_EQ(puts(sum(65537, BALEEN_PIECE_BYTES)), 2);
  EXPECT_EQ(puts(sum(150000, 0)), 1);
}

/// A parameter of four tiles, each of them read by a product of its own; its gradient is made tile by tile, and the
/// update reads it as a whole.
Graph tiled(std::uint32_t ahead, std::int64_t rows) {
  constexpr std::int64_t kTiles = 4, kWidth = 256;
  GraphMaker m;
  const ValueId p = m.parameter("p", {kTiles * rows, kWidth}), x = m.batch("x", {2, kWidth});
  std::vector<ValueId> tiles, products, gradients;
  for (std::int64_t t = 0; t < kTiles; ++t) {
    tiles.push_back(m.slice(p, 0, t * rows, rows));
    products.push_back(m.matmul("bw,rw->br", x, tiles.back()));
  }
  m.graph.context().phase = Phase::backward;
  ValueId dx = kNone;
  for (std::size_t t = kTiles; t-- > 0;) {
    const ValueId back = m.matmul("br,rw->bw", products[t], tiles[t]);
    dx = dx == kNone ? back : m.binary(BALEEN_X_ADD, dx, back);
    gradients.push_back(m.matmul("br,bw->rw", products[t], x));
  }
  std::ranges::reverse(gradients);
  const ValueId whole = m.concat(gradients, 0);
  m.output("dx", dx);
  m.graph.context().phase = Phase::update;
  for (int i = 0; i < 4; ++i) {  // far from what made the gradient
    const std::string name = "s" + std::to_string(i);
    const ValueId s = m.state(name, {kElements});
    m.assign(s, m.scale(s, 0.5));
    offload(m.graph, name, ahead);
  }
  m.assign(p, m.binary(BALEEN_X_ADD, p, m.scale(whole, 1e-3)));
  offload(m.graph, "p", ahead);
  m.graph.value(whole).offloaded_ahead = ahead;
  return std::move(m.graph);
}

TEST(Transfers, WhatIsUsedInTilesIsGotAndPutInTiles) {
  constexpr std::int64_t kRows = 256, kTileBytes = kRows * 256 * 8;
  const Powers apart{{"regions", "false"}};
  Workbench bench(tiled(1, kRows), make_device(TOY, apart), 1, true, {LATE});
  const Executable& program = bench.program().executable();
  ASSERT_EQ(program.outside.size(), 1u) << "the gradient";
  std::map<std::pair<std::uint32_t, bool>, std::multiset<std::uint64_t>> offsets;  // of tiles
  for (const ExecutableTransfer& one : program.transfers)
    if (one.bytes == kTileBytes) offsets[{one.slot, one.is_put}].insert(one.offset);
  const std::multiset<std::uint64_t> each{0, kTileBytes, 2 * kTileBytes, 3 * kTileBytes};
  ASSERT_EQ(offsets.size(), 2u);
  for (const auto& [of, found] : offsets) {
    std::multiset<std::uint64_t> wanted = each;  // for forward and backward pass, but once for neighbours
    if (!of.second) wanted.insert(each.begin(), std::prev(each.end()));
    EXPECT_EQ(found, wanted) << (of.second ? "the gradient's" : "the parameter's");
  }
  const std::uint64_t whole = 4 * kTileBytes;
  EXPECT_EQ(bench.program().offload_traffic().put, 2 * whole + 4 * kElements * 8) << "gradient, parameter and states";
  EXPECT_LE(program.memory.arena_bytes, 2 * whole + 3 * kTileBytes) << "both as a whole in the update alone";
  for (const std::uint32_t ahead : {1u, 8u}) {
    SCOPED_TRACE(ahead);
    expect_as_reference(tiled(ahead, kRows), CPU, {}, 1, 5, 2, {LATE});
  }
  expect_as_reference(tiled(1, 100), TOY, apart, 1, 6, 2, {LATE});  // no tile begins at a store's block
}

TEST(Transfers, WhatIsOnlyAssignedIsNotGot) {
  GraphMaker m;
  m.graph.context().phase = Phase::update;
  const ValueId x = m.batch("x", {kElements});
  m.assign(m.state("s", {kElements}), m.scale(x, 2));
  offload(m.graph, "s", 1);
  Workbench bench(m.graph, make_device(TOY), 1, true, {LATE});
  EXPECT_EQ(bench.program().offload_traffic().got, 0u);
  expect_as_reference(m.graph, TOY, {}, 1, 3, 2, {LATE});
}

TEST(Transfers, AFailedTransferEndsTheRunAndNamesTheState) {
  for (int number = 9; number <= 24; ++number) {  // after the 8 that set the states
    Workbench bench(updates(8, 2), make_device(TOY), 1, true, {LATE, {{"fails", std::to_string(number)}}});
    for (int i = 0; i < 8; ++i) bench.set("s" + std::to_string(i), Numbers(kElements, i));
    bench.set("x", Numbers(kElements, 1));
    const Status status = bench.program().run(bench.device().stream(), {0, 0, nullptr, nullptr});
    ASSERT_FALSE(status) << number;
    EXPECT_EQ(status.error().code, BALEEN_IO);
    EXPECT_NE(status.error().message.find("the disk is gone"), std::string::npos) << status.error().message;
    EXPECT_NE(status.error().message.find("`s"), std::string::npos) << status.error().message;
  }
}

}  // namespace
}  // namespace baleen::test
