/// \file The graph's verbs write and read a plugin's structs as far as the plugin has them.
#include "compiler/graph/abi.hpp"

#include <gtest/gtest.h>

#include "baleen/plugin.hpp"
#include "support/op_cases.hpp"
#include "support/sized_struct.hpp"

namespace baleen {
namespace {

using test::SizedStruct;

class GraphAbi : public testing::Test {
 protected:
  GraphAbi() {
    x_ = *graph_.input("x", {BALEEN_F32, {2, 3}, {"batch", ""}});
    y_ = *graph_.unary(BALEEN_X_GELU, x_);
  }

  Graph graph_{&test::builtin_ops()};
  ValueId x_ = kNone, y_ = kNone;
  AbiGraph abi_{graph_,
                [](const std::string&, const ValueType&, double) -> Result<ValueId> { return unsupported(""); }};
  const baleen_graph_t& verbs_ = *abi_.table();
};

TEST_F(GraphAbi, ReadsAValueIntoAnOlderStruct) {
  const std::uint64_t older = offsetof(baleen_value_info_t, users);
  SizedStruct<baleen_value_info_t> info(older);
  ASSERT_EQ(verbs_.read_value(verbs_.self, x_, info.get()), BALEEN_OK);
  EXPECT_EQ(info.get()->size, older);
  EXPECT_EQ(info.get()->rank, 2u);
  EXPECT_EQ(info.get()->shape[1], 3);
  EXPECT_EQ(view(info.get()->axes[0]), "batch");
  EXPECT_TRUE(info.is_whole_behind(older));
}

TEST_F(GraphAbi, ReadsAnOpIntoAnOlderStruct) {
  const std::uint64_t older = offsetof(baleen_op_view_t, attributes);
  SizedStruct<baleen_op_view_t> op(older);
  ASSERT_EQ(verbs_.read_op(verbs_.self, graph_.value(y_).producer, op.get()), BALEEN_OK);
  EXPECT_EQ(op.get()->size, older);
  EXPECT_EQ(view(op.get()->kind), "pointwise");
  EXPECT_EQ(op.get()->output_count, 1u);
  EXPECT_TRUE(op.is_whole_behind(older));
}

TEST_F(GraphAbi, ReadsWhatAnOpIsIntoAnOlderStruct) {
  const std::uint64_t older = offsetof(baleen_op_info_t, traits);
  SizedStruct<baleen_op_info_t> info(older);
  ASSERT_EQ(verbs_.read_op_info(verbs_.self, graph_.value(y_).producer, info.get()), BALEEN_OK);
  EXPECT_EQ(info.get()->size, older);
  EXPECT_EQ(info.get()->twin, kNone);
  EXPECT_TRUE(info.is_whole_behind(older));
}

TEST_F(GraphAbi, WritesNoMoreThanItKnowsIntoANewerStruct) {
  struct Newer {
    baleen_op_info_t known;
    std::uint64_t more;
  } info{{sizeof(Newer), 0, 0, 0, 0}, 77};
  ASSERT_EQ(verbs_.read_op_info(verbs_.self, graph_.value(y_).producer, &info.known), BALEEN_OK);
  EXPECT_EQ(info.known.size, sizeof(baleen_op_info_t));
  EXPECT_EQ(info.more, 77u);
}

TEST_F(GraphAbi, WhatAPluginReadsStaysWhileARuleReadsAnotherOp) {
  baleen_op_view_t mine{}, other{};
  mine.size = other.size = sizeof(mine);
  ASSERT_EQ(verbs_.read_op(verbs_.self, graph_.value(y_).producer, &mine), BALEEN_OK);
  {
    AbiGraph nested(graph_, {});
    ASSERT_EQ(nested.table()->read_op(&nested, graph_.value(x_).producer, &other), BALEEN_OK);
    ASSERT_EQ(other.input_count, 0u);
  }
  ASSERT_EQ(mine.input_count, 1u);
  EXPECT_EQ(mine.inputs[0], x_);
  EXPECT_EQ(mine.outputs[0], y_);
  EXPECT_EQ(view(mine.attributes[0].name), "expression");
}

TEST_F(GraphAbi, TagsOfTheScheduleAreReadAndThreeAreSet) {
  const OpId op = graph_.value(y_).producer;
  const auto tag = [&](const char* key) { return std::string(view(verbs_.tag(verbs_.self, op, abi(key)))); };
  for (const char* key : {"no_fuse", "whole", "compute_copy", "stage"})
    ASSERT_EQ(verbs_.set_tag(verbs_.self, op, abi(key), abi("cast")), BALEEN_OK);
  EXPECT_TRUE(graph_.op(op).schedule->no_fuse);
  EXPECT_TRUE(graph_.op(op).schedule->whole);
  EXPECT_EQ(graph_.op(op).schedule->compute_copy, "cast");
  EXPECT_EQ(graph_.op(op).tags, (std::map<std::string, std::string>{{"stage", "cast"}}));
  graph_.op(op).schedule.edit().bucket = OpSchedule::Bucket{2};
  graph_.op(op).schedule.edit().owner = "sequence";
  const baleen_string_t bucket = verbs_.tag(verbs_.self, op, abi("bucket"));
  EXPECT_EQ(tag("owner"), "sequence");
  EXPECT_EQ(tag("compute_copy"), "cast");
  EXPECT_EQ(tag("offer"), "");
  EXPECT_EQ(view(bucket), "2") << "valid until the graph changes";
  EXPECT_EQ(verbs_.set_tag(verbs_.self, op, abi("bucket"), abi("1")), BALEEN_INVALID);
  EXPECT_EQ(
      abi_.status().error().message,
      "the tag \"bucket\" is of an op's schedule, which the verbs of `place`, `recompute` and `schedule` set; give the "
      "tag another name");
}

TEST_F(GraphAbi, RefusesAStructWithoutASize) {
  SizedStruct<baleen_value_info_t> info(0);
  EXPECT_EQ(verbs_.read_value(verbs_.self, x_, info.get()), BALEEN_INVALID);
  EXPECT_TRUE(info.is_whole_behind(sizeof(std::uint64_t)));
  ASSERT_FALSE(abi_.status());
  EXPECT_EQ(abi_.status().error().message,
            "read_value: the struct's `size` is not set; set it to sizeof the struct before the call");
  const baleen_op_view_t op{};
  ValueId result = kNone;
  EXPECT_EQ(verbs_.append(verbs_.self, &op, &result, 1), BALEEN_INVALID);
  EXPECT_EQ(verbs_.amend(verbs_.self, graph_.value(y_).producer, &op), BALEEN_INVALID);
}

/// What lies past the size of a plugin's struct is no attribute, whatever bytes are there.
TEST_F(GraphAbi, AppendsWhatAnOlderStructSays) {
  SizedStruct<baleen_op_view_t> op(offsetof(baleen_op_view_t, attributes));
  const ValueId input = x_;
  op.get()->kind = abi("copy");
  op.get()->name = abi("older");
  op.get()->inputs = &input;
  op.get()->input_count = 1;
  op.get()->outputs = nullptr;
  op.get()->output_count = 0;
  ValueId result = kNone;
  ASSERT_EQ(verbs_.append(verbs_.self, op.get(), &result, 1), BALEEN_OK) << abi_.status().error().message;
  EXPECT_EQ(graph_.op(graph_.value(result).producer).name, "older");
  EXPECT_EQ(graph_.value(result).shape, (Shape{2, 3}));
}

}  // namespace
}  // namespace baleen
