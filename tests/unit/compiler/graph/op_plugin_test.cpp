/// \file Kinds of ops from plugins: they work as built-in ones do, and what is wrong with one names plugin, kind and
/// rule.
#include "compiler/graph/op_plugin.hpp"

#include <gtest/gtest.h>

#include "compiler/graph/graph.hpp"
#include "compiler/ops/ops.hpp"
#include "support/op_cases.hpp"
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
  Status made = test::register_all_ops(all);
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
  EXPECT_EQ(graph_.value((*made)[0]).axis(0), "batch");
  const Iteration letters = iteration_of(graph_, op);
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
            "twice: `dims` is 2, but x [2, 3] has 2 dimensions, counted from 0");
}

TEST_F(OpPlugin, HoldsOperandsAgainstTheSchema) {
  const ValueId ids = *graph_.input("ids", {BALEEN_I32, {2, 3}, {}});
  EXPECT_EQ(refusal("twice", {}, {ids}), "twice: x is int32 [2, 3]; it must be floating");
  EXPECT_EQ(refusal("twice", {}, {x_, x_, x_}), "twice takes x [, addend]; it was given 3 operands");
  const ValueId wide = *graph_.input("wide", {BALEEN_F64, {2, 3}, {}});
  EXPECT_EQ(refusal("twice", {}, {x_, wide}),
            "twice: x is fp32 [2, 3] and addend is fp64 [2, 3]; fp64 meets fp64 only");
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

TEST_F(OpPlugin, OffersABetterFormOfWhatNobodyElseReads) {
  const auto fused = [&](const std::string& kind, std::int64_t times) -> std::string {
    const ValueId inner = graph_.append("twice", {x_}, {{"times", Attributes::ints({times})}})->at(0);
    if (times == 4) graph_.set_output("inner", inner);
    const Op op = graph_.op(graph_.value(graph_.append(kind, {inner})->at(0)).producer);
    const auto made = op.kind->fuse(graph_, op);
    if (!made) return made.error().message;
    return made->empty() ? "nothing" : graph_.producer(made->at(0))->kind->name;
  };
  EXPECT_EQ(fused("fuses", 1), "pointwise");
  EXPECT_EQ(fused("fuses", 1), "pointwise") << "an equal op is merged, so the inner one still has one reader";
  EXPECT_EQ(fused("fuses", 4), "nothing") << "the graph gives the inner one out";
  EXPECT_EQ(fused("wrong_fusion", 2),
            "op kind `wrong_fusion` of the plugin `rules`, rule fuse: gave fp32 [] for result 1, which by the rule "
            "infer is fp32 [2, 3]");
}

TEST_F(OpPlugin, OffersOneOpForTwo) {
  const ValueId inner = graph_.append("twice", {x_})->at(0);
  const auto joined = [&](std::int64_t times) {
    const ValueId y = graph_.append("joins", {inner}, {{"times", Attributes::ints({times})}})->at(0);
    const Op op = graph_.op(graph_.value(y).producer);
    Join join = op.kind->join(graph_, op);
    EXPECT_EQ(join.results, join.with == kNone ? std::vector<ValueId>() : std::vector<ValueId>{y});
    return join;
  };
  const Join join = joined(2);
  EXPECT_EQ(join.with, graph_.value(inner).producer);
  EXPECT_EQ(join.kind, "twice");
  EXPECT_EQ(join.inputs, std::vector<ValueId>{x_});
  EXPECT_EQ(join.attributes.integer("times"), 3);
  EXPECT_EQ(joined(4).with, kNone) << "a value that is not there";
}

TEST_F(OpPlugin, MayHaveAResultWhereAnAttributeSaysSo) {
  EXPECT_EQ(graph_.append("half_too", {x_}, {{"times", Attributes::ints({1})}})->size(), 1u);
  EXPECT_EQ(graph_.append("half_too", {x_}, {{"times", Attributes::ints({2})}})->size(), 2u);
  EXPECT_TRUE(verify(graph_));
}

TEST_F(OpPlugin, IsAskedForLettersOnce) {
  const Op& op = graph_.op(graph_.value(graph_.append("twice", {x_})->at(0)).producer);
  const Iteration* first = &iteration_of(graph_, op);
  EXPECT_EQ(&iteration_of(graph_, op), first);
  const Graph copy = graph_;
  EXPECT_EQ(&iteration_of(copy, copy.op(op.id)), first) << "of a copy of the graph too";
  Attributes attributes = op.attributes;
  attributes.set("times", Attributes::ints({3}));
  ASSERT_TRUE(graph_.amend(op.id, {x_, x_}, attributes));
  EXPECT_EQ(iteration_of(graph_, graph_.op(op.id)).inputs, (std::vector<std::string>{"ab", "ab"})) << "it has changed";
}

TEST(OpPlugins, OfWhichThereIsNoneAreMissed) {
  OpRegistry all;
  const auto nothing = Registry::discover({}, Log());
  ASSERT_TRUE(nothing);
  const Status made = register_op_plugins(all, *nothing);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message.find("no plugin of kind `op` is found, and the ops that layers are made of come from"),
            0u)
      << made.error().message;
}

TEST(OpPlugins, OfAKindThatNobodyHasAreMissed) {
  OpRegistry all;
  ASSERT_TRUE(register_builtin_ops(all));
  Graph graph(&all);
  const ValueId x = *graph.parameter("x", {BALEEN_F32, {2}, {}});
  graph.context().where = "train.lua:3";
  const auto made = graph.append("softmax", {x});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().text(),
            "train.lua:3: there is no op kind `softmax`: it is not built in, and no plugin of kind `op` that was found "
            "has it (`baleen plugins` lists those that are)");
}

TEST(OpPlugins, WithAWrongSchemaAreRefused) {
  const auto refused = [](const std::string& fault) {
    OpRegistry all;
    if (!register_builtin_ops(all)) return std::string("no built-in kinds");
    const Status made = register_op_plugin(all, open(SCHEMAS + ("/baleen_op_" + fault + ".so")));
    return made ? std::string("it was taken") : made.error().message;
  };
  EXPECT_EQ(refused("taken"),
            "the plugin `taken` has an op kind `all_reduce`, which is built in; a kind's name is its own");
  EXPECT_EQ(refused("again"),
            "the plugin `again` has an op kind `wrong`, which it has already; a kind's name is its own");
  EXPECT_EQ(
      refused("capital"),
      "the plugin `capital` has an op kind named \"Sum\"; a name has small letters, digits and '_', and begins with "
      "a letter");
  EXPECT_EQ(refused("late"),
            "op kind `wrong` of the plugin `late`: operand `again` may be left out, and so may others before required "
            "ones; optional operands stand in one run");
  EXPECT_EQ(refused("alone"),
            "op kind `wrong` of the plugin `alone`: operand `x` comes together with the one before; both must be "
            "optional");
  EXPECT_EQ(refused("results"),
            "op kind `wrong` of the plugin `results`: result `y` is always there, but stands behind one that is not");
  EXPECT_EQ(refused("untyped"),
            "op kind `wrong` of the plugin `untyped` is typed, and has no optional attribute `dtype` of type dtype");
  EXPECT_EQ(refused("default"),
            "op kind `wrong` of the plugin `default`: the default \"9\" of `times` is not an integer of 1 to 4");
  EXPECT_EQ(refused("same"), "op kind `wrong` of the plugin `same`: the name `x` of an attribute stands twice");
  EXPECT_EQ(refused("many"),
            "op kind `wrong` of the plugin `many`: operand `some` stands for any number; it must be the last, and no "
            "other may be left out");
  EXPECT_EQ(refused("called"),
            "op kind `wrong` of the plugin `called`: operand `some` stands for any number, which no function of "
            "scripts can have; the kind must be derived");
  EXPECT_EQ(refused("empty"), "op kind `wrong` of the plugin `empty` has no results");
}

}  // namespace
}  // namespace baleen
