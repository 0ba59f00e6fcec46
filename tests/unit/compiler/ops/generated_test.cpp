/// \file Calls that schemas say are right, made from them: the operands of each example with every value that an
/// attribute may have, and with every number of optional operands. What a kind takes, all of its rules agree about, and
/// its expansion computes; and each value that a schema lists is taken by some call.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "support/op_cases.hpp"

namespace baleen {
namespace {

using test::BuiltCase;
using test::OpCase;

std::vector<OpCase> cases_of(const std::string& kind) {
  std::vector<OpCase> list;
  for (const OpCase& one : test::op_cases())
    if (kind_of(one).name == kind) list.push_back(one);
  return list;
}

/// What an attribute may be, by the schema alone; nothing where that says no more than its type.
std::vector<Attribute> listed_values(const AttributeSpec& spec, std::size_t rank) {
  std::vector<Attribute> values;
  if (spec.type == BALEEN_RULE_BOOLEAN) {
    values = {Attributes::ints({0}), Attributes::ints({1})};
  } else if (spec.type == BALEEN_RULE_DIMENSION) {
    for (std::size_t d = 0; d < rank; ++d) values.push_back(Attributes::ints({static_cast<std::int64_t>(d)}));
  } else if (spec.type == BALEEN_RULE_TEXT && !spec.choices.empty()) {
    for (std::size_t begin = 0, end = 0; end < spec.choices.size(); begin = end + 1) {
      end = std::min(spec.choices.find('|', begin), spec.choices.size());
      values.emplace_back(spec.choices.substr(begin, end - begin));
    }
  } else if (spec.type == BALEEN_RULE_NUMBER && spec.has_range()) {
    values.push_back(Attributes::floats({spec.minimum}));
    if (std::isfinite(spec.maximum) && spec.maximum < 100) values.push_back(Attributes::floats({spec.maximum}));
  } else if (spec.type == BALEEN_RULE_INTEGER && spec.has_range()) {
    values.push_back(Attributes::ints({static_cast<std::int64_t>(spec.minimum)}));
  }
  return values;
}

std::string text_of(const Attribute& value) {
  if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&value)) return std::to_string(ints->at(0));
  if (const auto* floats = std::get_if<std::vector<double>>(&value)) return std::to_string(floats->at(0));
  return std::get<std::string>(value);
}

class Generated : public testing::TestWithParam<const OpKind*> {
 protected:
  const OpKind& kind() const { return *GetParam(); }
  const OpSchema& schema() const { return *kind().schema; }

  /// Whether the kind takes the call; if so, everything that it says of it agrees.
  bool takes(const BuiltCase& built, const std::vector<ValueId>& inputs, const Attributes& attributes) {
    Graph graph = built.graph;
    const auto made = graph.append(kind().name, inputs, attributes);
    if (!made) {
      EXPECT_NE(made.error().message.find(kind().name), std::string::npos) << made.error().message;
      return false;
    }
    const Op op = graph.op(graph.value(made->at(0)).producer);
    check_iteration(graph, op);
    if (kind().cost) {
      const Cost cost = kind().cost(graph, op);
      EXPECT_TRUE(std::isfinite(cost.flops) && cost.flops >= 0 && std::isfinite(cost.bytes) && cost.bytes > 0);
    }
    if (kind().gradient) check_gradient(graph, op);
    // What rules of other kinds make reads what these computed, with the same attributes.
    if (kind().expand && !schema().derived) check_expansion(graph, op, built.data);
    EXPECT_TRUE(verify(graph));
    return true;
  }

 private:
  static void check_iteration(const Graph& graph, const Op& op) {
    const Iteration iteration = iteration_of(graph, op);
    ASSERT_EQ(iteration.inputs.size(), op.inputs.size());
    ASSERT_EQ(iteration.outputs.size(), op.outputs.size());
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      EXPECT_EQ(iteration.inputs[i].size(), graph.value(op.inputs[i]).rank()) << "operand " << i;
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
      EXPECT_EQ(iteration.outputs[i].size(), graph.value(op.outputs[i]).rank()) << "result " << i;
  }

  static void expect_like(const Graph& graph, ValueId got, ValueId wanted, const std::string& what) {
    EXPECT_EQ(graph.value(got).shape, graph.value(wanted).shape) << what;
    EXPECT_EQ(graph.value(got).dtype, graph.value(wanted).dtype) << what;
  }

  void check_gradient(Graph& graph, const Op& op) const {
    std::vector<ValueId> cotangents;
    for (std::size_t r = 0; r < op.outputs.size(); ++r) {
      const bool flows =
          is_floating(graph.value(op.outputs[r]).dtype) && !schema().result(r)->has(BALEEN_RESULT_INTERNAL);
      cotangents.push_back(flows ? *graph.parameter("cotangent" + std::to_string(r), graph.type(op.outputs[r]))
                                 : kNone);
    }
    std::vector<bool> wanted;
    for (const ValueId input : op.inputs) wanted.push_back(is_floating(graph.value(input).dtype));
    const auto gradients = kind().gradient(graph, op, cotangents, wanted);
    if (!gradients) return;  // refused: with a reason, as of a statistic
    ASSERT_EQ(gradients->size(), op.inputs.size());
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if ((*gradients)[i] == kNone) continue;
      EXPECT_TRUE(wanted[i]) << "operand " << i << " has no gradient";
      expect_like(graph, (*gradients)[i], op.inputs[i], "the gradient of operand " + std::to_string(i));
    }
  }

  void check_expansion(Graph graph, const Op& op, const std::map<std::string, std::vector<double>>& data) const {
    const auto results = kind().expand(graph, op);
    ASSERT_TRUE(results) << results.error().text();
    ASSERT_EQ(results->size(), op.outputs.size());
    test::ReferenceInterpreter interpreter(graph);
    for (const auto& [name, numbers] : data) interpreter.set(name, numbers);
    for (std::size_t r = 0; r < op.outputs.size(); ++r)
      if (const Value* source = cotangent(graph, r))
        interpreter.set(source->name, std::vector<double>(static_cast<std::size_t>(element_count(source->shape)), 0.5));
    interpreter.run();
    for (std::size_t r = 0; r < results->size(); ++r) {
      expect_like(graph, (*results)[r], op.outputs[r], "the expansion's result " + std::to_string(r));
      EXPECT_LT(test::difference(interpreter.value((*results)[r]), interpreter.value(op.outputs[r])), 1e-11)
          << "result " << r;
    }
  }

  static const Value* cotangent(const Graph& graph, std::size_t r) {
    for (ValueId id = 0; id < graph.value_count(); ++id)
      if (graph.value(id).name == "cotangent" + std::to_string(r)) return &graph.value(id);
    return nullptr;
  }
};

TEST_P(Generated, EveryValueThatAnAttributeMayHaveIsTaken) {
  for (const AttributeSpec& spec : schema().attributes) {
    std::set<std::string> listed, taken;
    for (const OpCase& example : cases_of(kind().name)) {
      const BuiltCase built(example, 2);
      for (const Attribute& value : listed_values(spec, built.graph.value(built.op.inputs[0]).rank())) {
        SCOPED_TRACE(example.name + ", " + spec.name + " = " + text_of(value));
        Attributes attributes = built.op.attributes;
        attributes.set(spec.name, value);
        listed.insert(text_of(value));
        if (takes(built, built.op.inputs, attributes)) taken.insert(text_of(value));
      }
    }
    EXPECT_EQ(taken, listed) << "no example takes some of them: " << spec.name;
  }
}

TEST_P(Generated, EveryNumberOfOperandsIsTaken) {
  if (schema().operands.back().many()) return;  // attributes are for the example's own number
  std::set<std::size_t> listed, taken;
  for (std::size_t count = 1; count <= schema().operands.size(); ++count)
    if (schema().given(count)) listed.insert(count);
  for (const OpCase& example : cases_of(kind().name)) {
    const BuiltCase built(example, 2);
    const auto all = *schema().given(built.op.inputs.size());
    taken.insert(all.size());
    for (const std::size_t count : listed) {
      const auto fewer = *schema().given(count);
      std::vector<ValueId> inputs;
      for (std::size_t i = 0; i < all.size(); ++i)
        if (std::find(fewer.begin(), fewer.end(), all[i]) != fewer.end()) inputs.push_back(built.op.inputs[i]);
      if (inputs.size() != count) continue;  // the example lacks some of them
      SCOPED_TRACE(example.name + ", " + std::to_string(count) + " operands");
      if (takes(built, inputs, built.op.attributes)) taken.insert(count);
    }
  }
  EXPECT_EQ(taken, listed);
}

std::vector<const OpKind*> kinds_with_schema() {
  std::vector<const OpKind*> list;
  for (const OpKind* kind : test::builtin_ops().all())
    if (kind->schema) list.push_back(kind);
  return list;
}

INSTANTIATE_TEST_SUITE_P(Kinds, Generated, testing::ValuesIn(kinds_with_schema()),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace baleen
