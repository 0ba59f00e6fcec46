/// \file Every expansion against the definition of its kind.
#include <gtest/gtest.h>

#include <set>

#include "support/op_cases.hpp"

namespace baleen {
namespace {

using test::BuiltCase;
using test::OpCase;

class Expansion : public testing::TestWithParam<OpCase> {};

TEST_P(Expansion, ComputesTheSame) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(GetParam().name + ", seed " + std::to_string(seed));
    const BuiltCase built(GetParam(), seed);
    Graph graph = built.graph;
    const auto results = built.op.kind->expand(graph, built.op);
    ASSERT_TRUE(results) << results.error().text();
    ASSERT_EQ(results->size(), built.op.outputs.size());
    test::ReferenceInterpreter interpreter(graph);
    for (const auto& [name, numbers] : built.data) interpreter.set(name, numbers);
    interpreter.run();
    for (std::size_t r = 0; r < results->size(); ++r) {
      const ValueId result = (*results)[r];
      EXPECT_NE(graph.producer(result)->kind, built.op.kind) << "expands to itself";
      EXPECT_EQ(graph.value(result).dtype, graph.value(built.op.outputs[r]).dtype);
      EXPECT_LT(test::difference(interpreter.value(result), built.values.at(built.op.outputs[r])), 1e-12)
          << "result " << r;
    }
    EXPECT_TRUE(verify(graph));
  }
}

std::vector<OpCase> expandable_cases() {
  std::vector<OpCase> list;
  for (const OpCase& c : test::op_cases())
    if (kind_of(c).expand) list.push_back(c);
  return list;
}

INSTANTIATE_TEST_SUITE_P(Kinds, Expansion, testing::ValuesIn(expandable_cases()),
                         test::case_name<testing::TestParamInfo<OpCase>>);

TEST(Expansion, EveryKindWithOneHasACase) {
  std::set<std::string> covered;
  for (const OpCase& c : expandable_cases()) covered.insert(kind_of(c).name);
  for (const OpKind* kind : test::builtin_ops().all())
    EXPECT_TRUE(!kind->expand || covered.contains(kind->name)) << kind->name;
}

TEST(Expansion, OfAttentionGivesZerosWhereAQuerySeesNothing) {
  const OpCase example{
      "attention", [](test::CaseBuilder& b) {
        const ValueId q = b.normal({1, 2, 1, 3}), k = b.normal({1, 2, 1, 3}), v = b.normal({1, 2, 1, 3});
        return b.op("attention", {q, k, v, b.ids({1, 2}, -1, -1), b.ids({1, 2}, -1, -1)},
                    {{"scale", Attributes::floats({1})}});
      }};
  const BuiltCase built(example, 1);
  Graph graph = built.graph;
  const auto results = *built.op.kind->expand(graph, built.op);
  test::ReferenceInterpreter interpreter(graph);
  for (const auto& [name, numbers] : built.data) interpreter.set(name, numbers);
  interpreter.run();
  for (double x : interpreter.value(results[0]).data) EXPECT_EQ(x, 0);
  for (double x : interpreter.value(results[1]).data) EXPECT_EQ(x, -INFINITY);
}

TEST(Fusion, OfALossOverAProjectionComputesTheSame) {
  for (const char* spec : {"bsd,dv->bsv", "bsd,vd->bsv"}) {
    SCOPED_TRACE(spec);
    const std::string text = spec;
    const OpCase example{
        "cross_entropy", [text](test::CaseBuilder& b) {
          const bool transposed = text[4] == 'v';
          const ValueId x = b.normal({2, 3, 4}), w = b.normal(transposed ? Shape{5, 4} : Shape{4, 5});
          const ValueId logits = b.append("matmul", {x, w}, {{"spec", text}})[0];
          return b.op("cross_entropy", {logits, b.ids({2, 3}, -1, 4)}, {{"ignore_index", Attributes::ints({-1})}});
        }};
    const BuiltCase built(example, 7);
    Graph graph = built.graph;
    const auto fused = built.op.kind->fuse(graph, built.op);
    ASSERT_TRUE(fused) << fused.error().text();
    ASSERT_EQ(fused->size(), 2u);
    EXPECT_EQ(graph.producer((*fused)[0])->kind->name, "linear_cross_entropy");
    test::ReferenceInterpreter interpreter(graph);
    for (const auto& [name, numbers] : built.data) interpreter.set(name, numbers);
    interpreter.run();
    for (std::size_t r = 0; r < 2; ++r)
      EXPECT_LT(test::difference(interpreter.value((*fused)[r]), built.values.at(built.op.outputs[r])), 1e-12);
  }
}

TEST(Fusion, LeavesLogitsThatOthersReadAlone) {
  const OpCase example{
      "cross_entropy", [](test::CaseBuilder& b) {
        const ValueId logits = b.append("matmul", {b.normal({3, 4}), b.normal({4, 5})}, {{"spec", "sd,dv->sv"}})[0];
        b.append("softmax", {logits});
        return b.op("cross_entropy", {logits, b.ids({3}, 0, 4)});
      }};
  const BuiltCase built(example, 7);
  Graph graph = built.graph;
  const auto fused = built.op.kind->fuse(graph, built.op);
  ASSERT_TRUE(fused);
  EXPECT_TRUE(fused->empty());
}

}  // namespace
}  // namespace baleen
