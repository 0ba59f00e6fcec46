/// \file The prototype's 21 plans: propagation sends, in each phase and on each axis, what the closed forms say.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/placement/passes.hpp"
#include "placed_traffic.hpp"
#include "sketch_plans.hpp"

namespace baleen {
namespace {

class KnownPlan : public testing::TestWithParam<std::string> {};

std::string describe(const test::TrafficRow& row) { return table_text(std::vector{row}); }

TEST_P(KnownPlan, SendsWhatTheClosedFormSays) {
  const auto plan = test::make_plan(GetParam());
  const auto placed = propagate(plan.sketch->graph, plan.request);
  ASSERT_TRUE(placed) << placed.error().text();
  auto rows = test::traffic(test::transfers(plan.sketch->graph, plan.request, *placed), 4 * test::kScalarElements);
  for (const auto& e : plan.expected) {
    auto it = std::find_if(rows.begin(), rows.end(), [&](const test::TrafficRow& row) {
      return row.phase == e.phase && row.axis == e.axis && row.kind == e.kind;
    });
    const test::TrafficRow want{e.phase, e.axis, e.kind, e.count, 4 * e.elements};
    if (it == rows.end()) {
      ADD_FAILURE() << "missing: " << describe(want);
      continue;
    }
    EXPECT_NEAR(it->bytes, want.bytes, 0.04) << describe(*it) << "expected " << describe(want);
    if (e.count >= 0) {
      EXPECT_EQ(it->count, e.count) << describe(*it);
    }
    rows.erase(it);
  }
  EXPECT_TRUE(rows.empty()) << "unexpected:\n" << table_text(rows);
}

INSTANTIATE_TEST_SUITE_P(Sketch, KnownPlan, testing::ValuesIn(test::plan_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace baleen
