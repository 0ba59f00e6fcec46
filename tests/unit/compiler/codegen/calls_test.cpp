/// \file Where collectives begin and are waited for among the launches: as soon as their input is made, and right
/// before their result is read.
#include <gtest/gtest.h>

#include "compiler/plan/strategy_verbs.hpp"
#include "core/execute/persistent_layout.hpp"
#include "unit/compiler/codegen/graphs.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

/// C = A B on a grid of four by four, as a strategy lowers it, on the rank at {3, 3}.
struct Summa {
  static constexpr std::int64_t kSide = 4;

  Summa() {
    m.graph.set_mesh({{{"row", kSide}, {"col", kSide}}});
    const ValueId a = open("a"), b = open("b");
    for (std::int64_t block = 0; block < kSide; ++block) {
      blocks.push_back({broadcast(a, 1, block), broadcast(b, 0, block)});
      products.push_back(m.matmul("mk,kn->mn", blocks.back()[0], blocks.back()[1]));
      total = block == 0 ? products[0] : m.op("accumulate", {total, products.back()});
    }
    const ValueId c =
        m.op("from_local", {total}, {{"shape", Attributes::ints({8, 8})}, {"layout", std::string("S0,S1")}});
    m.graph.value(c).layout = *parse_layout("S0,S1");
    const ValueId sum = m.sum(c, {0, 1});
    m.graph.value(sum).layout = *parse_layout("P,P");
    ValueId whole = sum;
    for (const auto& [axis, after] : {std::pair{0, "R,P"}, std::pair{1, "R,R"}}) {
      whole = m.op("all_reduce", {whole},
                   {{"axes", Attributes::ints({axis})}, {"from", std::string("P")}, {"to", std::string("R")}});
      m.graph.value(whole).layout = *parse_layout(after);
    }
    m.output("sum", whole);
  }

  ValueId open(const std::string& name) {
    const ValueId x = m.batch(name, {8, 8});
    m.graph.value(x).layout = *parse_layout("S0,S1");
    return m.op("to_local", {x}, {{"shape", Attributes::ints({2, 2})}});
  }
  ValueId broadcast(ValueId v, std::int64_t axis, std::int64_t root) {
    return m.op("broadcast", {v}, {{"axes", Attributes::ints({axis})}, {"root", Attributes::ints({root})}});
  }
  OpId producer(ValueId v) const { return m.graph.value(v).producer; }

  /// "bbwl": begin, begin, wait, launch.
  std::string order() {
    auto graph = scheduled(m.graph, 1);
    EXPECT_TRUE(graph) << graph.error().text();
    const auto device = make_device(TOY, {{"regions", "false"}});
    CompileOptions options;
    options.at = {3, 3};
    const auto program = Program::compile(*graph, *device, lay_out({}, 64), options);
    EXPECT_TRUE(program) << program.error().text();
    std::string text;
    for (const Segment& segment : program->segments())
      for (const Instruction& i : segment.instructions)
        text += i.kind == Instruction::Kind::begin ? "b" : i.kind == Instruction::Kind::wait ? "w" : "l";
    return text;
  }

  GraphMaker m;
  std::vector<std::array<ValueId, 2>> blocks;
  std::vector<ValueId> products;
  ValueId total = kNone;
};

TEST(Calls, TheNextBlocksAreOnTheirWayWhileOneIsMultiplied) {
  Summa summa;
  // All begin at once, and each is waited for before its product. This rank has the last block.
  EXPECT_EQ(summa.order().substr(0, 18), "bbbbbbbbwwlwwllwwl");
}

TEST(Calls, BlocksMayLeaveNoSoonerThanTheProductBefore) {
  Summa summa;
  baleen_mesh_t mesh{sizeof(baleen_mesh_t), nullptr, 0};
  std::vector<PipelineSchedule> pipelines;
  Lack lack;
  ScheduleVerbs verbs(summa.m.graph, mesh, 1, pipelines, lack);
  const baleen_schedule_t& table = *verbs.table();
  for (std::size_t block = 0; block < Summa::kSide; ++block)
    for (ValueId v : summa.blocks[block])
      ASSERT_EQ(
          table.start_before(table.self, summa.producer(v), summa.producer(summa.products[block < 2 ? 0 : block - 1])),
          BALEEN_OK);
  ASSERT_TRUE(verbs.apply());
  // Block k + 1 is on its way while block k is multiplied, block k + 2 is not.
  EXPECT_EQ(summa.order().substr(0, 18), "bbbbwwlbbwwllbbwwl");
}

/// What is sent must not be overwritten while it is on its way: a parameter that is gathered is updated in its place
/// when that is over, though nobody has read the result yet.
TEST(Calls, ThatReadAParameterAreOverBeforeItIsUpdated) {
  GraphMaker m;
  m.graph.set_mesh({{{"data", 2}}});
  const auto lies = [&](ValueId v, const char* layout) {
    m.graph.value(v).layout = *parse_layout(layout);
    return v;
  };
  const ValueId p = lies(m.parameter("p", {64}), "S0"), s = lies(m.state("s", {64}), "S0");
  const ValueId whole = lies(
      m.op("all_gather", {p}, {{"axes", Attributes::ints({0})}, {"from", std::string("S0")}, {"to", std::string("R")}}),
      "R");
  m.assign(p, lies(m.binary(BALEEN_X_ADD, p, s), "S0"));
  m.output("sum", lies(m.sum(whole, {0}), "R"));
  auto graph = scheduled(m.graph, 1);
  ASSERT_TRUE(graph) << graph.error().text();
  const auto device = make_device(TOY);
  std::vector<PersistentSpec> specs{{"p", {BALEEN_F64, {64}, {}}, Role::parameter, "parameters", *parse_layout("S0")},
                                    {"s", {BALEEN_F64, {64}, {}}, Role::state, "optimizer", *parse_layout("S0")}};
  CompileOptions options;
  options.at = {1};
  const auto program =
      Program::compile(*graph, *device, lay_out(specs, device->alignment(), m.graph.mesh(), {1}), options);
  ASSERT_TRUE(program) << program.error().text();
  const Executable& e = program->executable();
  std::string order;
  for (const Segment& segment : e.segments)
    for (const Instruction& i : segment.instructions)
      order += i.kind == Instruction::Kind::begin ? "b" : i.kind == Instruction::Kind::wait ? "w" : "l";
  EXPECT_EQ(order, "bwll") << "begin, wait, the update, the sum";
}

}  // namespace
}  // namespace baleen::test
