/// \file Kinds of ops from plugins: they work as built-in ones do, and what is wrong with one names plugin, kind and
/// rule.
#include "compiler/graph/op_plugin.hpp"

#include <gtest/gtest.h>

#include "compiler/graph/autodiff.hpp"
#include "compiler/ops/ops.hpp"
#include "support/places.hpp"

namespace baleen {
namespace {

Plugin open(const std::string& file) {
  const auto registry = Registry::discover(std::vector<PluginPlace>{{file, "test"}}, Log());
  if (!registry) throw std::runtime_error(registry.error().text());
  auto plugin = registry->open(registry->descriptors().at(0));
  if (!plugin) throw std::runtime_error(plugin.error().text());
  return *plugin;
}

OpRegistry with(const std::string& file) {
  OpRegistry all;
  Status made = register_builtin_ops(all);
  if (made) made = register_op_plugin(all, open(file));
  if (!made) throw std::runtime_error(made.error().text());
  return all;
}

class OpPlugin : public testing::Test {
 protected:
  /// The message of an append that is refused.
  std::string refusal(const std::string& kind, Attributes attributes = {}, std::vector<ValueId> inputs = {}) {
    if (inputs.empty()) inputs = {x_};
    const auto made = graph_.append(kind, inputs, std::move(attributes));
    return made ? "it was taken" : made.error().message;
  }

  OpRegistry registry_ = with(RULES);
  Graph graph_{&registry_};
  ValueId x_ = *graph_.parameter("x", {BALEEN_F32, {2, 3}, {"batch", ""}});
};

TEST_F(OpPlugin, GivesAKindThatIsLikeABuiltInOne) {
  const auto made = graph_.append("twice", {x_});
  ASSERT_TRUE(made) << made.error().text();
  const Op& op = graph_.op(graph_.value((*made)[0]).producer);
  EXPECT_EQ(graph_.value((*made)[0]).shape, (Shape{2, 3}));
  EXPECT_EQ(graph_.value((*made)[0]).axes[0], "batch");
  const Iteration letters = op.kind->iteration(graph_, op);
  EXPECT_EQ(letters.inputs, std::vector<std::string>{"ab"});
  EXPECT_EQ(letters.linear, (std::vector<std::vector<std::uint32_t>>{{0}}));
  EXPECT_EQ(op.kind->cost(graph_, op).bytes, 2 * 6 * 4) << "no rule: operand and result once";
  EXPECT_TRUE(verify(graph_));
  EXPECT_EQ(graph_.append("twice", {x_})->at(0), (*made)[0]) << "it is pure";
}

TEST_F(OpPlugin, FillsInDefaults) {
  const auto made = *graph_.append("twice", {x_}, {{"times", Attributes::ints({3})}});
  const Attributes& attributes = graph_.op(graph_.value(made[0]).producer).attributes;
  EXPECT_EQ(attributes.integer("times"), 3);
  EXPECT_EQ(attributes.number("factor"), 0.5);
  EXPECT_EQ(attributes.integers("dims"), std::vector<std::int64_t>{0});
  EXPECT_EQ(attributes.text("mode"), "up");
}

TEST_F(OpPlugin, HoldsAttributesAgainstTheSchema) {
  EXPECT_EQ(refusal("twice", {{"tims", Attributes::ints({2})}}),
            "twice: unknown attribute `tims`; did you mean `times`?");
  EXPECT_EQ(refusal("twice", {{"times", Attributes::ints({5})}}),
            "twice: `times` is 5; it must be an integer of 1 to 4");
  EXPECT_EQ(refusal("twice", {{"times", std::string("2")}}), "twice: attribute `times` must be an integer of 1 to 4");
  EXPECT_EQ(refusal("twice", {{"mode", std::string("left")}}), "twice: `mode` is \"left\"; it must be one of up, down");
  EXPECT_EQ(refusal("twice", {{"dims", Attributes::ints({0, 2})}}),
            "twice: `dims` is 2, but the first operand has 2 dimensions, counted from 0");
}

TEST_F(OpPlugin, HoldsOperandsAgainstTheSchema) {
  const ValueId ids = *graph_.input("ids", {BALEEN_I32, {2, 3}, {}});
  EXPECT_EQ(refusal("twice", {}, {ids}), "twice: x is int32 [2, 3]; it must be floating");
  EXPECT_EQ(refusal("twice", {}, {x_, x_, x_}), "twice takes 1 to 2 operands; it was given 3");
  const ValueId wide = *graph_.input("wide", {BALEEN_F64, {2, 3}, {}});
  EXPECT_EQ(refusal("twice", {}, {x_, wide}),
            "twice: addend is fp64 [2, 3] and the first operand fp32 [2, 3]; fp64 meets fp64 only");
}

TEST_F(OpPlugin, NamesTheRuleThatDisagreesWithTheShapes) {
  EXPECT_EQ(refusal("two_results"),
            "op kind `two_results` of the plugin `rules`, rule infer: gave 2 results; the kind has 1");
  EXPECT_EQ(refusal("negative_shape"), "op kind `negative_shape` of the plugin `rules`, rule infer: a result is [-1]");
  EXPECT_EQ(
      refusal("short_letters"),
      "op kind `short_letters` of the plugin `rules`, rule iteration: gave \"a\", 1 letters, for operand 1, [2, 3]");
  EXPECT_EQ(
      refusal("narrow"),
      "op kind `narrow` of the plugin `rules`, rule iteration: letter 'b' is 3 in operand 1 and 2 in result 1; no "
      "cut divides both");
  EXPECT_EQ(refusal("linear_in_nothing"),
            "op kind `linear_in_nothing` of the plugin `rules`, rule iteration: is linear in operand 4; the op has 1");
}

TEST_F(OpPlugin, ARuleThatOnlyLooksMayNotEdit) {
  const std::size_t before = graph_.op_count();
  EXPECT_EQ(
      refusal("edits"),
      "op kind `edits` of the plugin `rules`, rule iteration: this rule looks at the graph and does not change it");
  EXPECT_EQ(graph_.op_count(), before + 1) << "the op alone, which its caller throws away";
}

TEST_F(OpPlugin, NamesAGradientThatDoesNotFit) {
  const auto gradient_of = [&](const std::string& kind) -> std::string {
    Graph graph = graph_;
    const ValueId y = graph.append(kind, {x_})->at(0);
    Attributes all{{"kind", std::string("sum")}, {"dims", Attributes::ints({0, 1})}, {"keep", Attributes::ints({0})}};
    const ValueId loss = *graph.append1("reduce", {y}, all);
    const ValueId seed = *graph.constant(1, BALEEN_F32);
    const auto made = differentiate(graph, loss, seed, {x_});
    return made ? "it was taken" : made.error().message;
  };
  EXPECT_EQ(gradient_of("twice"), "it was taken");
  EXPECT_NE(gradient_of("wrong_gradient").find("the gradient rule of wrong_gradient (plugin `rules`) gave fp32 []"),
            std::string::npos)
      << gradient_of("wrong_gradient");
  EXPECT_NE(gradient_of("throws").find("op kind `throws` of the plugin `rules`, rule gradient: "), std::string::npos);
  EXPECT_NE(gradient_of("throws").find("the tide is out"), std::string::npos);
}

TEST_F(OpPlugin, NamesAnExpansionThatDoesNotFit) {
  for (const auto& [kind, expected] :
       {std::pair{"twice", std::string()},
        {"wrong_expansion",
         "op kind `wrong_expansion` of the plugin `rules`, rule expand: gave fp32 [] for result 1, which by the rule "
         "infer is fp32 [2, 3]"}}) {
    const ValueId y = graph_.append(kind, {x_})->at(0);
    const Op op = graph_.op(graph_.value(y).producer);
    const auto made = op.kind->expand(graph_, op);
    EXPECT_EQ(made ? std::string() : made.error().message, expected);
  }
}

TEST(OpPlugins, WithAWrongSchemaAreRefused) {
  const auto refused = [](const std::string& fault) {
    OpRegistry all;
    if (!register_builtin_ops(all)) return std::string("no built-in kinds");
    const Status made = register_op_plugin(all, open(SCHEMAS + ("/baleen_op_" + fault + ".so")));
    return made ? std::string("it was taken") : made.error().message;
  };
  EXPECT_EQ(refused("taken"),
            "the plugin `taken` has an op kind `matmul`, which is built in; a kind's name is its own");
  EXPECT_EQ(refused("again"),
            "the plugin `again` has an op kind `wrong`, which it has already; a kind's name is its own");
  EXPECT_EQ(
      refused("capital"),
      "the plugin `capital` has an op kind named \"Sum\"; a name has small letters, digits and '_', and begins with "
      "a letter");
  EXPECT_EQ(refused("late"),
            "op kind `wrong` of the plugin `late`: operand `x` is required, but stands behind one that is not");
  EXPECT_EQ(refused("default"),
            "op kind `wrong` of the plugin `default`: the default \"9\" of `times` is not an integer of 1 to 4");
  EXPECT_EQ(refused("same"), "op kind `wrong` of the plugin `same`: the name `x` of an attribute stands twice");
  EXPECT_EQ(refused("empty"), "op kind `wrong` of the plugin `empty` has no results");
}

}  // namespace
}  // namespace baleen
