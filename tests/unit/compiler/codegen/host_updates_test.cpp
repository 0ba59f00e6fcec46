/// \file Updates that run in the memory of slots: by a device that works on that memory, and by the host's cores beside
/// another one. Their numbers, what is copied for them, and the waits that keep them apart from all else.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <stdexcept>

#include "baleen/strategy.h"
#include "compiler/plan/passes.hpp"
#include "core/execute/persistent_layout.hpp"
#include "unit/compiler/codegen/graphs.hpp"
#include "unit/compiler/codegen/stream_order.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

constexpr std::int64_t kRow = 700;

/// Values that are sources of these kinds lie in the store, and are updated there.
void offload_on_host(Graph& graph, std::uint32_t ahead, bool parameters, std::uint64_t piece = 0) {
  for (const OpId id : graph.ops()) {
    const std::string& kind = graph.op(id).kind->name;
    if (kind != "state" && !(parameters && kind == "parameter")) continue;
    Value& value = graph.value(graph.op(id).outputs[0]);
    value.offloaded_ahead = ahead;
    value.offloaded_piece = piece;
    value.updated_on_host = true;
  }
}

const StoreChoice kInPlace{HOST, {}, StoreChoice::Updates::by_device, {}},
    kBeside{HOST, {}, StoreChoice::Updates::beside, CPU};

/// p_i and s_i become sums of themselves, a gradient that the backward pass makes, and times a rate.
Graph updates_of(int count, std::int64_t elements, bool parameters, std::uint32_t ahead, std::uint64_t piece = 0) {
  GraphMaker m;
  const ValueId x = m.batch("x", {elements}), rate = m.sum(m.batch("r", {2}), {0});
  std::vector<ValueId> gradients, values;
  for (int i = 0; i < count; ++i) values.push_back(m.parameter("p" + std::to_string(i), {elements}));
  m.graph.context().phase = Phase::backward;
  for (const ValueId p : values) gradients.push_back(m.binary(BALEEN_X_MUL, p, x));
  m.graph.context().phase = Phase::update;
  for (int i = 0; i < count; ++i) {
    const ValueId p = values[static_cast<std::size_t>(i)], s = m.state("s" + std::to_string(i), {elements});
    Expression e;
    const auto next = e.binary(BALEEN_X_ADD, e.binary(BALEEN_X_MUL, e.input(1), e.constant(0.5)), e.input(2));
    const auto moved = e.binary(BALEEN_X_SUB, e.input(0), e.binary(BALEEN_X_MUL, e.input(3), next));
    const ValueId numbers = m.reshape(rate, {1});
    const std::vector<ValueId> made =
        m.ops("pointwise", {p, s, gradients[static_cast<std::size_t>(i)], numbers},
              {{"expression", std::move(e)}, {"results", Attributes::ints({moved, next})}});
    m.assign(p, made[0]);
    m.assign(s, made[1]);
  }
  m.output("x", m.scale(x, 2));
  offload_on_host(m.graph, ahead, parameters, piece);
  return std::move(m.graph);
}

Executable compiled(const ScheduledGraph& ready, bool beside) {
  const std::unique_ptr<Device> device = make_device(TOY), host = make_device(CPU);
  CompileOptions options;
  options.describes = true;
  auto program = Program::compile(ready, *device, lay_out(persistent_specs(ready.graph), device->alignment()), options,
                                  beside ? host.get() : device.get());
  if (!program) throw std::runtime_error(program.error().text());
  Executable executable = program->executable();
  executable.kernels.clear();  // they are the devices'
  executable.host_kernels.clear();
  return executable;
}

Executable compiled(const Graph& graph, bool beside) {
  auto ready = scheduled(graph, 1);
  if (!ready) throw std::runtime_error(ready.error().text());
  return compiled(*ready, beside);
}

TEST(HostUpdates, AStepOfTrainingComputesWhatItDoesWithoutAStore) {
  for (const std::int64_t micro_batches : {1, 2, 3})
    for (const bool parameters : {false, true})
      for (const std::uint32_t ahead : {1u, 2u, 5u}) {
        Graph graph = training_graph(6);
        offload_on_host(graph, ahead, parameters);
        SCOPED_TRACE(std::to_string(micro_batches) + " micro-batches, " + std::to_string(ahead) + " ahead");
        expect_as_reference(graph, TOY, {}, micro_batches, 7, 3, kInPlace);
        expect_as_reference(graph, CPU, {}, micro_batches, 8, 3, kInPlace);
        expect_as_reference(graph, TOY, {}, micro_batches, 7, 3, kBeside);
      }
}

TEST(HostUpdates, RandomProgramsComputeTheSame) {
  std::uint64_t updates = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Graph graph = random_graph(seed, 24);
    for (const OpId id : graph.ops()) graph.op(id).phase = seed % 2 ? Phase::update : graph.op(id).phase;
    offload_on_host(graph, 1 + static_cast<std::uint32_t>(seed % 3), true);
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_as_reference(graph, TOY, {}, 1, seed, 2, kInPlace);
    expect_as_reference(graph, TOY, {}, 1, seed, 2, kBeside);
    const Executable program = compiled(graph, true);
    EXPECT_EQ(first_race(program), "");
    updates += program.host_updates.updates;
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(updates, 20u) << "that ran on the host";
}

TEST(HostUpdates, UseSlotsInPlaceAndCopyTheRest) {
  constexpr std::uint64_t kBytes = kRow * 8;
  for (const bool parameters : {false, true}) {
    const Graph graph = updates_of(5, kRow, parameters, 2);
    for (const bool beside : {false, true}) {
      const Executable program = compiled(graph, beside);
      const HostUpdateReport& report = program.host_updates;
      EXPECT_EQ(report.updates, 5u);
      EXPECT_EQ(report.in_place_bytes, (parameters ? 10 : 5) * kBytes);
      EXPECT_TRUE(report.on_device.empty());
      EXPECT_EQ(report.copied_out, beside ? (parameters ? 5 : 10) * kBytes + 8 : 0) << "one number once for all";
      EXPECT_EQ(report.copied_in, beside && !parameters ? 5 * kBytes : 0);
      EXPECT_EQ(program.beside.size(), beside ? 5u : 0u);
      EXPECT_EQ(program.memory.fetched, parameters ? program.memory.fetched : 0);
      EXPECT_EQ(first_race(program), "");
    }
    expect_as_reference(graph, TOY, {}, 1, 5, 3, kInPlace);
    expect_as_reference(graph, TOY, {}, 1, 5, 3, kBeside);
    expect_as_reference(graph, CPU, {}, 1, 5, 3, kBeside);
  }
}

TEST(HostUpdates, InPiecesTakeTurnsInPinnedMemory) {
  constexpr std::int64_t kElements = 5 * (BALEEN_PIECE_BYTES / 8) + 77;
  for (const bool parameters : {false, true}) {
    const Graph graph = updates_of(2, kElements, parameters, 1, BALEEN_PIECE_BYTES);
    const Executable program = compiled(graph, true);
    EXPECT_EQ(program.host_updates.updates, 12u);
    EXPECT_LE(program.beside_bytes, 4 * (parameters ? 1 : 2) * BALEEN_PIECE_BYTES + 4096u) << "of 22 pieces";
    EXPECT_EQ(first_race(program), "");
    // Fewer, for the reference takes its time.
    const Graph small = updates_of(2, 2 * (BALEEN_PIECE_BYTES / 8) + 77, parameters, 1, BALEEN_PIECE_BYTES);
    if (parameters) expect_as_reference(small, TOY, {}, 1, 5, 2, kInPlace);
    expect_as_reference(small, TOY, {}, 1, 5, 2, kBeside);
  }
}

/// An update whose result goes on into a norm is none that the host makes alone.
TEST(HostUpdates, WhatIsAPartOfAnUpdateStaysInTheDevice) {
  GraphMaker m;
  m.graph.context().phase = Phase::update;
  const ValueId x = m.batch("x", {kRow}), s = m.state("s", {kRow}), p = m.parameter("p", {kRow});
  const ValueId next = m.binary(BALEEN_X_ADD, s, x);
  m.assign(s, next);
  m.assign(p, m.binary(BALEEN_X_MUL, p, m.reshape(m.sum(m.binary(BALEEN_X_MUL, next, next), {0}), {1})));
  offload_on_host(m.graph, 1, false);
  const Executable program = compiled(m.graph, true);
  EXPECT_EQ(program.host_updates.updates, 0u);
  EXPECT_EQ(program.host_updates.on_device, std::vector<std::string>{"s"});
  EXPECT_EQ(program.beside_bytes, 0u);
  expect_as_reference(m.graph, TOY, {}, 1, 5, 2, kBeside);
}

/// Eight products of a backward pass, and beside them pieces of an update that reads nothing of the step: between the
/// launch of a piece and the wait for it stand products of the device.
TEST(HostUpdates, OfADelayedUpdateRunBesideTheBackwardPass) {
  constexpr std::int64_t kSide = 768;
  GraphMaker m;
  const ValueId p = m.parameter("p", {kSide, kSide}), s = m.state("s", {kSide, kSide});
  ValueId x = m.batch("x", {2, kSide});
  m.graph.context().phase = Phase::backward;
  for (int i = 0; i < 8; ++i) x = m.matmul("bi,io->bo", x, m.parameter("w" + std::to_string(i), {kSide, kSide}));
  m.graph.context().phase = Phase::update;
  Expression e;
  const auto next = e.binary(BALEEN_X_MUL, e.input(1), e.constant(0.5));
  const auto moved = e.binary(BALEEN_X_SUB, e.input(0), next);
  const std::vector<ValueId> made =
      m.ops("pointwise", {p, s}, {{"expression", std::move(e)}, {"results", Attributes::ints({moved, next})}});
  m.assign(p, made[0]);
  m.assign(s, made[1]);
  m.output("x", x);
  offload_on_host(m.graph, 2, false, BALEEN_PIECE_BYTES);
  auto ready = schedule_loops(Graph(m.graph), 1);
  ASSERT_TRUE(ready);
  advance_updates(*ready);
  const Executable program = compiled(*ready, true);
  EXPECT_EQ(first_race(program), "");
  ASSERT_EQ(program.beside.size(), 9u);
  std::map<std::uint32_t, int> products;  // begun while an update is under way
  for (const Segment& segment : program.segments)
    for (const Instruction& i : segment.instructions) {
      if (i.kind == Instruction::Kind::launch_beside) products[i.call] = 0;
      if (i.kind == Instruction::Kind::launch)
        for (auto& [update, count] : products) count += count >= 0 ? 1 : 0;
      const bool ends = i.kind == Instruction::Kind::settle && !program.transfers[i.call].is_put;
      if (!ends) continue;
      const std::uint32_t update = program.transfers[i.call].behind;
      EXPECT_GE(products[update], update < 7 ? 2 : 0) << update;
      products[update] = -1;
    }
}

/// Each wait is one that the order needs: without it the check finds who may meet.
TEST(HostUpdates, ADroppedWaitIsFound) {
  std::size_t mutants = 0;
  for (const bool parameters : {false, true}) {
    const Executable program = compiled(updates_of(6, kRow, parameters, 2), true);
    ASSERT_EQ(first_race(program), "");
    const auto is_found = [&](const std::string& what, const auto& change) {
      Executable mutant = program;
      change(mutant);
      EXPECT_NE(first_race(mutant), "") << what;
      ++mutants;
    };
    for (std::size_t i = 0; i < program.beside.size(); ++i) {
      if (program.beside[i].after != BesideLaunch::kNone)
        is_found("update " + std::to_string(i) + " does not wait for its copies",
                 [&](Executable& e) { e.beside[i].after = BesideLaunch::kNone; });
      if (program.beside[i].waits_for_stream)
        is_found("update " + std::to_string(i) + " does not wait for the stream",
                 [&](Executable& e) { e.beside[i].waits_for_stream = false; });
    }
    // The device does not wait for updates: their places, and what they had of it, are taken.
    is_found("no end of an update is waited for", [](Executable& e) {
      for (Segment& segment : e.segments)
        std::erase_if(segment.instructions, [&](const Instruction& i) {
          return i.kind == Instruction::Kind::join ||
                 (i.kind == Instruction::Kind::settle && e.transfers[i.call].is_copy());
        });
    });
    if (!parameters)
      is_found("what is made is copied before it is", [](Executable& e) {
        for (ExecutableTransfer& transfer : e.transfers)
          if (transfer.is_copy() && !transfer.is_put) transfer.behind = UINT32_MAX;  // of no launch
      });
  }
  EXPECT_GT(mutants, 12u);
}

}  // namespace
}  // namespace baleen::test
