/// \file Schedules against their closed forms.
#include <cmath>
#include <numbers>

#include "script_fixture.hpp"

namespace baleen::testing {
namespace {

class Schedules : public ScriptTest {
 protected:
  /// The schedule of a job of 100 steps.
  Schedule schedule(const std::string& text) {
    script_ = loaded(job_of("nn.embedding { vocab = 16, dim = 16 }",
                            "optimizer = baleen.optimizer('o', { lr = " + text + " }), steps = 100,"));
    return script_ ? script_->job().optimizer.schedules.at("lr") : Schedule([](std::int64_t) { return -1.0; });
  }
  std::unique_ptr<Script> script_;
};

TEST_F(Schedules, Constant) {
  const Schedule lr = schedule("baleen.constant { value = 0.25 }");
  EXPECT_EQ(lr(0), 0.25);
  EXPECT_EQ(lr(99), 0.25);
}

TEST_F(Schedules, Cosine) {
  const Schedule lr = schedule("baleen.cosine { peak = 2, warmup = 10 }");
  for (int step = 0; step < 10; ++step) EXPECT_DOUBLE_EQ(lr(step), 2.0 * (step + 1) / 10);
  for (int step = 10; step <= 100; ++step) {
    const double done = (step - 10) / 90.0;
    EXPECT_DOUBLE_EQ(lr(step), 0.2 + 1.8 * 0.5 * (1 + std::cos(std::numbers::pi * done))) << step;
  }
  EXPECT_DOUBLE_EQ(lr(1000), 0.2) << "it stays at the end";
}

TEST_F(Schedules, CosineOfItsOwnLength) {
  const Schedule lr = schedule("baleen.cosine { peak = 2, final = 0, steps = 50 }");
  EXPECT_DOUBLE_EQ(lr(0), 2);
  EXPECT_DOUBLE_EQ(lr(25), 1);
  EXPECT_NEAR(lr(50), 0, 1e-15);
}

TEST_F(Schedules, Linear) {
  const Schedule lr = schedule("baleen.linear { peak = 1, warmup = 20, final = 0.2 }");
  EXPECT_DOUBLE_EQ(lr(0), 0.05);
  EXPECT_DOUBLE_EQ(lr(20), 1);
  EXPECT_DOUBLE_EQ(lr(60), 0.6);
  EXPECT_DOUBLE_EQ(lr(100), 0.2);
}

TEST_F(Schedules, InverseSquareRoot) {
  const Schedule lr = schedule("baleen.inverse_sqrt { peak = 1, warmup = 16 }");
  EXPECT_DOUBLE_EQ(lr(7), 0.5);
  EXPECT_DOUBLE_EQ(lr(16), 1);
  EXPECT_DOUBLE_EQ(lr(64), 0.5);
}

TEST_F(Schedules, WarmUpToAnother) {
  const Schedule number = schedule("baleen.warm_up { to = 4, warmup = 4 }");
  EXPECT_DOUBLE_EQ(number(1), 2);
  EXPECT_DOUBLE_EQ(number(50), 4);
  const Schedule decay = schedule("baleen.warm_up { to = baleen.linear { peak = 1 }, warmup = 50 }");
  EXPECT_DOUBLE_EQ(decay(24), 0.5);
  EXPECT_DOUBLE_EQ(decay(75), 0.5);
}

TEST_F(Schedules, Piecewise) {
  const std::string points = "points = { { 10, 1 }, { 20, 3 }, { 40, 0 } }";
  const Schedule steps = schedule("baleen.piecewise { " + points + " }");
  const Schedule lines = schedule("baleen.piecewise { smooth = true, " + points + " }");
  const double expected[][3] = {{0, 1, 1}, {10, 1, 1}, {15, 1, 2}, {20, 3, 3}, {30, 3, 1.5}, {40, 0, 0}, {90, 0, 0}};
  for (const auto& [step, value, smooth] : expected) {
    EXPECT_DOUBLE_EQ(steps(static_cast<std::int64_t>(step)), value) << step;
    EXPECT_DOUBLE_EQ(lines(static_cast<std::int64_t>(step)), smooth) << step;
  }
}

TEST_F(Schedules, RefuseBadOptions) {
  auto error = [&](const std::string& text) {
    return error_of("local baleen = require 'baleen'\nlocal s = baleen." + text);
  };
  EXPECT_EQ(error("cosine { warmup = 3 }"), "train.lua:2: cosine: option `peak` is missing");
  EXPECT_EQ(error("cosine { peak = 1, warmups = 3 }"),
            "train.lua:2: cosine: unknown option `warmups`; did you mean `warmup`?");
  EXPECT_EQ(error("piecewise { points = { { 5, 1 }, { 5, 2 } } }"),
            "train.lua:2: piecewise: the steps must rise, but point 2 is at step 5 after step 5");
  EXPECT_EQ(error("piecewise { points = { { 5 } } }"), "train.lua:2: piecewise: point 1 must be { step, value }");
}

TEST_F(Schedules, PrintThemselves) {
  EXPECT_EQ(error_of("print(require('baleen').constant { value = 0.5 }) return 1").substr(0, 9), "train.lua");
  EXPECT_EQ(printed_, "constant { value = 0.5 }\n");
}

}  // namespace
}  // namespace baleen::testing
