/// \file Operands of fp32, bf16 and fp16 in any mixture: expansions and gradients have the dtypes that they must have,
/// and come to what fp64 comes to.
#include <gtest/gtest.h>

#include "support/op_cases.hpp"

namespace baleen {
namespace {

using test::BuiltCase;
using test::OpCase;
using test::ReferenceInterpreter;
using test::Tensor;

/// Numbers of some roundings to 8 digits, where cancellation is moderate.
constexpr double kTolerance = 0.08;

void set(ReferenceInterpreter& interpreter, const BuiltCase& built) {
  for (const auto& [name, numbers] : built.data) interpreter.set(name, numbers);
}

/// What joins tensors takes one dtype.
std::vector<OpCase> mixed_cases() {
  std::vector<OpCase> list;
  for (const OpCase& c : test::op_cases())
    if (!c.name.starts_with("concat")) list.push_back(c);
  return list;
}

class MixedDtypes : public testing::TestWithParam<OpCase> {
 protected:
  static constexpr test::CaseManner kMixed{false, true};
};

TEST_P(MixedDtypes, ExpansionsHaveTheDtypesOfTheirKinds) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const BuiltCase built(GetParam(), seed, kMixed);
    if (!built.op.kind->expand) return;
    Graph graph = built.graph;
    const auto results = built.op.kind->expand(graph, built.op);
    ASSERT_TRUE(results) << results.error().text();
    ReferenceInterpreter interpreter(graph);
    set(interpreter, built);
    interpreter.run();
    for (std::size_t r = 0; r < results->size(); ++r) {
      EXPECT_EQ(graph.value((*results)[r]).dtype, graph.value(built.op.outputs[r]).dtype) << "result " << r;
      EXPECT_LT(test::difference(interpreter.value((*results)[r]), built.values.at(built.op.outputs[r])), kTolerance)
          << "result " << r;
    }
    EXPECT_TRUE(verify(graph));
  }
}

/// The sum of the first result, in fp32 or wider.
ValueId loss_of(Graph& graph, const Op& op) {
  const Value& y = graph.value(op.outputs[0]);
  std::vector<std::int64_t> dims(y.rank());
  for (std::size_t d = 0; d < dims.size(); ++d) dims[d] = static_cast<std::int64_t>(d);
  Attributes attributes{{"kind", std::string("sum")}, {"dims", dims}};
  if (y.dtype != BALEEN_F64) attributes.set("dtype", Attributes::ints({BALEEN_F32}));
  return *graph.append1("reduce", {y.id}, std::move(attributes));
}

/// Gradients of the floating sources, by name.
std::map<std::string, Tensor> gradients_of(const BuiltCase& built, const BuiltCase& numbers) {
  Graph graph = built.graph;
  const ValueId loss = loss_of(graph, built.op);
  const std::vector<ValueId> targets = test::floating_sources(built),
                             gradients = test::add_gradients(graph, loss, targets);
  ReferenceInterpreter interpreter(graph);
  set(interpreter, numbers);
  interpreter.run();
  std::map<std::string, Tensor> result;
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const ValueId id = gradients[t];
    const Value& source = graph.value(targets[t]);
    EXPECT_TRUE(id == kNone || graph.value(id).dtype == source.dtype) << source.name;
    result[source.name] = id == kNone ? Tensor(source.shape) : interpreter.value(id);
  }
  return result;
}

TEST_P(MixedDtypes, GradientsHaveTheDtypesOfTheirOperands) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const BuiltCase mixed(GetParam(), seed, kMixed), exact(GetParam(), seed);
    if (!mixed.op.kind->gradient) return;
    const auto expected = gradients_of(exact, mixed);
    for (const auto& [name, gradient] : gradients_of(mixed, mixed))
      EXPECT_LT(test::difference(gradient, expected.at(name)), kTolerance) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, MixedDtypes, testing::ValuesIn(mixed_cases()),
                         test::case_name<testing::TestParamInfo<OpCase>>);

}  // namespace
}  // namespace baleen
