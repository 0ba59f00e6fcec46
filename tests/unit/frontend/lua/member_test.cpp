/// \file Options of members as the plan gets them: values, lists, tables, schedules and parameter groups.
#include "script_fixture.hpp"

namespace baleen::testing {
namespace {

using Members = ScriptTest;

const std::string kModel = "nn.sequential { nn.embedding { vocab = 16, dim = 4 }, nn.linear { out = 16 } }";

std::string job_with(const std::string& more) { return "local unused\n" + more; }

TEST_F(Members, KeepTheTypesOfOptions) {
  MemberSpec seen;
  options_.data = [&](const MemberSpec& spec, std::uint64_t) -> Result<std::shared_ptr<ScriptData>> {
    seen = spec;
    return invalid("seen");
  };
  EXPECT_EQ(error_of(job_with("return require('baleen').data.any { flag = true, count = 3, share = 0.5, path = 'x',\n"
                              "  many = { 'a', 'b' }, row = { 1, 2.5 }, rows = { { 1, 2 }, { 3, 4 } }, none = {} }")),
            "train.lua:2: seen");
  EXPECT_EQ(seen.name, "any");
  const std::map<std::string, std::string> texts = {
      {"count", "3"},    {"flag", "true"},    {"many", "[\"a\", \"b\"]"},
      {"path", "\"x\""}, {"row", "[1, 2.5]"}, {"rows", "[[1, 2], [3, 4]]"},
      {"share", "0.5"}};
  for (const auto& [name, text] : texts) {
    EXPECT_EQ(seen.options.at(name).text(), text) << name;
    EXPECT_EQ(seen.options.at(name).where, (folder_ / "train.lua").string() + ":2");
  }
  EXPECT_EQ(seen.options.at("rows").data, (UserValue::Data(NumberTable{{1, 2, 3, 4}, 2, 2})));
  EXPECT_EQ(seen.options.at("none").data, (UserValue::Data(NumberTable{})));
}

TEST_F(Members, TakeFunctionsAsSchedules) {
  auto script = loaded(job_of(kModel, R"(optimizer = baleen.optimizer("o", {
      lr = function(step, steps) return step / steps end, momentum = 0.9 }),)"));
  ASSERT_TRUE(script);
  const MemberSpec& optimizer = script->job().optimizer;
  EXPECT_EQ(optimizer.name, "o");
  EXPECT_EQ(optimizer.options.size(), 1u);
  EXPECT_EQ(optimizer.options.at("momentum").text(), "0.9");
  EXPECT_EQ(optimizer.schedules.at("lr")(0), 0);
  EXPECT_EQ(optimizer.schedules.at("lr")(5), 0.5);
}

TEST_F(Members, KeepTheStateOfTheirSchedulesAlive) {
  Schedule schedule;
  {
    auto script = loaded(job_of(kModel, "optimizer = baleen.optimizer('o', { lr = function(s) return s * 2 end }),"));
    schedule = script->job().optimizer.schedules.at("lr");
  }
  EXPECT_EQ(schedule(21), 42);
}

TEST_F(Members, RefuseSchedulesThatFail) {
  EXPECT_EQ(error_of(job_of(kModel, "optimizer = baleen.optimizer('o', { lr = function() return 'x' end }),")),
            "train.lua:5: optimizer `o`: option `lr` gave the string \"x\" at step 0; a schedule must give a finite "
            "number");
  auto script =
      loaded(job_of(kModel, "optimizer = baleen.optimizer('o', { lr = function(s) return 1 / (1 - s) end }),"));
  ASSERT_TRUE(script);
  EXPECT_THROW(script->job().optimizer.schedules.at("lr")(1), std::runtime_error);
}

TEST_F(Members, GroupParametersByPattern) {
  auto script = loaded(job_of(kModel, R"(optimizer = baleen.optimizer("o", { lr = 0.1, groups = {
      { match = { "*.bias", "norm.*" }, decay = 0 },
      { match = "embedding.*", frozen = true, lr = baleen.constant { value = 3 } },
    } }),)"));
  ASSERT_TRUE(script);
  const auto& groups = script->job().groups;
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].patterns, (std::vector<std::string>{"*.bias", "norm.*"}));
  EXPECT_EQ(groups[0].options.at("decay").text(), "0");
  EXPECT_FALSE(groups[0].frozen);
  EXPECT_EQ(groups[1].patterns, std::vector<std::string>{"embedding.*"});
  EXPECT_TRUE(groups[1].frozen);
  EXPECT_EQ(groups[1].schedules.at("lr")(100), 3);
  EXPECT_TRUE(script->job().optimizer.options.contains("lr"));
  EXPECT_FALSE(script->job().optimizer.options.contains("groups"));
}

TEST_F(Members, RefuseBadGroups) {
  auto with = [&](const std::string& group) {
    return error_of(job_of(kModel, "optimizer = baleen.optimizer('o', { groups = { " + group + " } }),"));
  };
  EXPECT_EQ(with("{ decay = 0 }"),
            "train.lua:5: optimizer `o`: group 1: `match` is nil; it must be a pattern of parameter "
            "names, or a list of them");
  EXPECT_EQ(with("{ match = 'x', frozen = 1 }"),
            "train.lua:5: optimizer `o`: group 1: `frozen` is the number 1; it must be true or false");
}

TEST_F(Members, ListStrategiesInPlanOrder) {
  auto script = loaded(job_of(kModel, R"(
  plan = { baleen.strategy("first", { stage = 2 }), baleen.strategy("second") },)"));
  ASSERT_TRUE(script);
  const auto& strategies = script->job().strategies;
  ASSERT_EQ(strategies.size(), 2u);
  EXPECT_EQ(strategies[0].name, "first");
  EXPECT_EQ(strategies[0].options.at("stage").text(), "2");
  EXPECT_EQ(strategies[1].name, "second");
  EXPECT_EQ(strategies[1].where, (folder_ / "train.lua").string() + ":6");
}

TEST_F(Members, ReadScriptArgumentsByTheTypeOfTheirDefault) {
  options_.arguments = {"--path", "a b", "--depth=3", "--fast", "--rate", "0.5"};
  auto script = loaded(
      "local arg = require('baleen').arg\nprint(arg('path'), arg('depth', 1), arg('fast', false), "
      "arg('rate', 1), arg('absent', 'x'), math.type(arg('depth', 1)))\n" +
      job_of(kModel));
  ASSERT_TRUE(script);
  EXPECT_EQ(printed_, "a b\t3\ttrue\t0.5\tx\tinteger\n");
}

}  // namespace
}  // namespace baleen::testing
