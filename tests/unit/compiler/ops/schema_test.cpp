/// \file What a schema says of a kind holds of its ops: each example is spoiled in every way that its schema forbids,
/// and the message names kind and place.
#include <gtest/gtest.h>

#include "support/op_cases.hpp"

namespace baleen {
namespace {

class Schema : public testing::TestWithParam<test::OpCase> {
 protected:
  /// The shape rule's message for other operands or attributes; "" where it takes them.
  std::string refusal(const std::vector<ValueType>& inputs, const Attributes& attributes) const {
    const auto types = op().kind->infer({attributes, inputs});
    return types ? std::string() : types.error().message;
  }
  std::string refusal(const std::string& attribute, Attribute value) const {
    Attributes attributes = op().attributes;
    attributes.set(attribute, std::move(value));
    return refusal(inputs(), attributes);
  }
  const Op& op() const { return built_.op; }
  const std::string& kind() const { return op().kind->name; }
  const OpSchema& schema() const { return *op().kind->schema; }
  std::vector<ValueType> inputs() const {
    std::vector<ValueType> types;
    for (const ValueId id : op().inputs) types.push_back(built_.graph.type(id));
    return types;
  }
  static void expect_begins(const std::string& message, const std::string& begin) {
    EXPECT_EQ(message.substr(0, begin.size()), begin) << message;
  }

 private:
  const test::BuiltCase built_{GetParam(), 3};
};

TEST_P(Schema, SaysHowManyOperandsThereAre) {
  std::vector<ValueType> one_less = inputs(), too_many = inputs();
  one_less.pop_back();
  too_many.resize(schema().operands.size() + 1, inputs()[0]);
  const auto given = schema().given(op().inputs.size());
  ASSERT_TRUE(given);
  if (!given->back()->optional()) expect_begins(refusal(one_less, op().attributes), kind());
  if (schema().operands.back().many()) return;
  expect_begins(refusal(too_many, op().attributes), kind() + " takes " + schema().signature() + "; it was given ");
}

TEST_P(Schema, SaysWhatOperandsAre) {
  const auto given = *schema().given(op().inputs.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::vector<ValueType> types = inputs();
    const bool ids = given[i]->has(BALEEN_OPERAND_IDS);
    if (!ids && !given[i]->has(BALEEN_OPERAND_FLOATING)) continue;
    types[i].dtype = ids ? BALEEN_F32 : BALEEN_I32;
    expect_begins(refusal(types, op().attributes), kind() + ": " + given[i]->name + " is " + (ids ? "fp32" : "int32") +
                                                       " " + to_string(types[i].shape) + "; it must be " +
                                                       (ids ? "int32" : "floating"));
  }
}

TEST_P(Schema, SaysHowManyResultsThereAre) {
  EXPECT_GE(op().outputs.size(), schema().least_results());
  EXPECT_TRUE(schema().result(op().outputs.size() - 1));
}

TEST_P(Schema, SaysWhichAttributesThereAre) {
  expect_begins(refusal("no_such_thing", Attributes::ints({1})), kind() + ": unknown attribute `no_such_thing`");
  for (const AttributeSpec& spec : schema().attributes) {
    Attributes attributes = op().attributes;
    attributes.erase(spec.name);
    const std::string missing = kind() + ": attribute `" + spec.name + "` is missing; it is " + spec.expected();
    EXPECT_EQ(refusal(inputs(), attributes) == missing, spec.required()) << spec.name;
  }
}

TEST_P(Schema, SaysWhatAttributesAre) {
  for (const AttributeSpec& spec : schema().attributes) {
    const bool text = spec.type == BALEEN_RULE_TEXT;
    expect_begins(refusal(spec.name, text ? Attributes::ints({1}) : Attribute(std::string("x"))),
                  kind() + ": attribute `" + spec.name + "` must be " + spec.expected());
    const auto expect_refused = [&](Attribute value) {
      EXPECT_NE(refusal(spec.name, std::move(value)).find("; it must be " + spec.expected()), std::string::npos);
    };
    if (!spec.choices.empty()) expect_refused(std::string("none"));
    if (spec.has_range() && spec.type == BALEEN_RULE_NUMBER) expect_refused(Attributes::floats({spec.minimum - 1}));
    if (spec.has_range() && spec.type == BALEEN_RULE_INTEGER)
      expect_refused(Attributes::ints({static_cast<std::int64_t>(spec.minimum) - 1}));
    if (spec.type == BALEEN_RULE_BOOLEAN)
      expect_begins(refusal(spec.name, Attributes::ints({2})), kind() + ": attribute `" + spec.name + "` must be ");
    if (spec.type == BALEEN_RULE_DIMENSION)
      expect_begins(refusal(spec.name, Attributes::ints({99})), kind() + ": `" + spec.name + "` is 99, but ");
  }
}

std::vector<test::OpCase> with_schema() {
  std::vector<test::OpCase> list;
  for (const test::OpCase& one : test::op_cases())
    if (kind_of(one).schema) list.push_back(one);
  return list;
}

INSTANTIATE_TEST_SUITE_P(Kinds, Schema, testing::ValuesIn(with_schema()),
                         test::case_name<testing::TestParamInfo<test::OpCase>>);

}  // namespace
}  // namespace baleen
