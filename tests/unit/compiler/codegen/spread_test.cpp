/// \file Where pieces of an update stand that runs in the backward pass.
#include <gtest/gtest.h>

#include <stdexcept>

#include "baleen/strategy.h"
#include "compiler/plan/passes.hpp"
#include "core/execute/persistent_layout.hpp"
#include "unit/compiler/codegen/graphs.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

/// Eight products of a backward pass, and an update of nine pieces that reads nothing of the step. With `reads` the
/// last product is of what is updated, which is then got as a whole and once more in pieces.
Graph early_update(bool reads) {
  constexpr std::int64_t kSide = 768;
  GraphMaker m;
  const ValueId p = m.parameter("p", {kSide, kSide}), s = m.state("s", {kSide, kSide});
  ValueId x = m.batch("x", {2, kSide});
  m.graph.context().phase = Phase::backward;
  for (int i = 0; i < 8; ++i)
    x = m.matmul("bi,io->bo", x, reads && i == 7 ? p : m.state("w" + std::to_string(i), {kSide, kSide}));
  m.graph.context().phase = Phase::update;
  m.assign(p, m.binary(BALEEN_X_ADD, p, s));
  m.output("x", x);
  for (const ValueId v : {p, s}) {
    m.graph.value(v).offloaded_ahead = 1;
    m.graph.value(v).offloaded_piece = BALEEN_PIECE_BYTES;
  }
  return std::move(m.graph);
}

/// Launches in their order, as the plan has them: "m" for a product, "u" for a piece of the update.
std::string order_of(Graph graph) {
  auto ready = schedule_loops(std::move(graph), 1);
  if (!ready) throw std::runtime_error(ready.error().text());
  advance_updates(*ready);
  const std::unique_ptr<Device> device = make_device(TOY);
  std::vector<PersistentSpec> specs;
  for (const OpId id : ready->graph.ops()) {
    const Value& value = ready->graph.value(ready->graph.op(id).outputs.empty() ? 0 : ready->graph.op(id).outputs[0]);
    if (value.role != Role::parameter && value.role != Role::state) continue;
    PersistentSpec spec{value.name, {value.dtype, value.shape, {}}, value.role, "optimizer"};
    if (value.offloaded_ahead > 0) spec.offloaded_ahead = value.offloaded_ahead;
    spec.offloaded_piece = value.offloaded_piece;
    specs.push_back(std::move(spec));
  }
  const auto program = Program::compile(*ready, *device, lay_out(specs, device->alignment()), {});
  if (!program) throw std::runtime_error(program.error().text());
  const Executable& e = program->executable();
  std::string order;
  for (const Segment& segment : e.segments)
    for (const Instruction& i : segment.instructions)
      if (i.kind == Instruction::Kind::launch)
        order += e.labels[i.label].find("matmul") != std::string::npos ? "m" : "u";
  return order;
}

/// What lies in a store moves beside the work of the steps between: pieces stand evenly among them, and none before
/// what reads the old value.
TEST(Spread, PiecesStandApart) {
  EXPECT_EQ(order_of(early_update(false)), "umumumumumumumumu");
  EXPECT_EQ(order_of(early_update(true)), "mmmmmmmmuuuuuuuuu");
}

}  // namespace
}  // namespace baleen::test
