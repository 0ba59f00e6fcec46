/// \file Conversions, executed on numbers by a few simulated ranks and compared with the tensor as it was.
#include "compiler/layout/conversion.hpp"

#include <gtest/gtest.h>

#include "all_layouts.hpp"
#include "compiler/layout/piece.hpp"
#include "world.hpp"

namespace baleen {
namespace {

using test::all_layouts;
using test::mesh_of;
using test::World;

/// Runs the conversion; every step is checked by the world.
void convert(const Mesh& mesh, const Shape& shape, const Layout& from, const Layout& to) {
  SCOPED_TRACE(to_string(from) + " → " + to_string(to) + " of " + to_string(shape));
  World world(mesh, shape, from, 7);
  ASSERT_EQ(world.assemble(), world.global());
  const auto steps = conversion(from, to, shape, 4, mesh);
  bool exact = true;
  Layout now = from;
  for (const Step& step : steps) {
    ASSERT_EQ(step.from, now);
    ASSERT_NO_THROW(world.run(step)) << to_string(step.collective) << " to " << to_string(step.to);
    now = step.to;
    const bool even = is_even(shape, step.from, mesh) && is_even(shape, step.to, mesh);
    const bool at = std::any_of(now.begin(), now.end(), [](const Placement& p) { return p.is_at(); });
    exact = exact && !at && (even || step.collective != CollectiveOp::all_to_all);
    ASSERT_EQ(sends(step.collective) || step.bytes == 0, true) << "a free step sends " << step.bytes;
  }
  ASSERT_EQ(now, to);
  ASSERT_EQ(world.assemble(), world.global());
  if (exact) {
    ASSERT_NEAR(total_bytes(steps), 4 * world.mean_sent(), 1e-6);
  }
}

TEST(Conversion, MovesTheRightNumbersOnOneAxis) {
  for (std::int64_t size : {1, 2, 3, 4})
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{5, 6}, Shape{8, 8}}) {
      const Mesh mesh = mesh_of({size});
      const auto layouts = all_layouts(mesh, shape);
      for (const Layout& from : layouts)
        for (const Layout& to : layouts) convert(mesh, shape, from, to);
    }
}

/// All pairs of layouts take long, so they are shared out among cases.
class ConversionOnTwoAxes : public testing::TestWithParam<std::size_t> {
 public:
  static constexpr std::size_t kParts = 8;
};

INSTANTIATE_TEST_SUITE_P(Part, ConversionOnTwoAxes, testing::Range<std::size_t>(0, ConversionOnTwoAxes::kParts));

TEST_P(ConversionOnTwoAxes, MovesTheRightNumbers) {
  for (const auto& [sizes, shape] : {std::pair<std::vector<std::int64_t>, Shape>{{2, 3}, {7}}, {{2, 2}, {8, 3}}}) {
    const Mesh mesh = mesh_of(sizes);
    const auto layouts = all_layouts(mesh, shape);
    ASSERT_GT(layouts.size(), kParts);
    for (std::size_t from = GetParam(); from < layouts.size(); from += kParts)
      for (const Layout& to : layouts) {
        convert(mesh, shape, layouts[from], to);
        if (HasFatalFailure()) return;
      }
  }
}

TEST(Conversion, MovesTheRightNumbersOnThreeAxes) {
  const std::uint64_t seed = 20240611;
  std::mt19937_64 rng(seed);
  for (const auto& [sizes, shape] :
       {std::pair<std::vector<std::int64_t>, Shape>{{2, 2, 2}, {5, 4}}, {{2, 3, 2}, {13}}, {{2, 1, 4}, {8, 4}}}) {
    const Mesh mesh = mesh_of(sizes);
    const auto layouts = all_layouts(mesh, shape);
    for (int n = 0; n < 400; ++n) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", number " + std::to_string(n));
      convert(mesh, shape, layouts[rng() % layouts.size()], layouts[rng() % layouts.size()]);
      if (HasFatalFailure()) return;
    }
  }
}

std::string steps_text(const Mesh& mesh, const Shape& shape, const char* from, const char* to) {
  std::string text;
  for (const Step& step : conversion(*parse_layout(from), *parse_layout(to), shape, 1, mesh)) {
    text += text.empty() ? "" : ", ";
    text += to_string(step.collective);
    for (int axis : step.axes) text += " " + mesh.axes[static_cast<std::size_t>(axis)].name;
  }
  return text;
}

TEST(Conversion, IsTheTableOfTheDesignOnOneAxis) {
  const Mesh mesh = mesh_of({4});
  const auto steps = [&](const char* from, const char* to) { return steps_text(mesh, {8, 8}, from, to); };
  EXPECT_EQ(steps("P", "R"), "all_reduce x");
  EXPECT_EQ(steps("P", "S0"), "reduce_scatter x");
  EXPECT_EQ(steps("P", "@1"), "reduce_to x");
  EXPECT_EQ(steps("S1", "R"), "all_gather x");
  EXPECT_EQ(steps("S0", "S1"), "all_to_all x");
  EXPECT_EQ(steps("R", "S1"), "take_shard x");
  EXPECT_EQ(steps("R", "P"), "take_partial x");
  EXPECT_EQ(steps("@2", "R"), "broadcast x");
  EXPECT_EQ(steps("@2", "@0"), "send x");
  EXPECT_EQ(steps("@2", "P"), "take_partial x");
  EXPECT_EQ(steps("S0", "P"), "take_partial x");
  EXPECT_EQ(steps("@1", "S0"), "broadcast x, take_shard x");
  EXPECT_EQ(steps("S0", "F"), "all_to_all x");
  EXPECT_EQ(steps("S0", "S0"), "");
}

TEST(Conversion, SendsWhatTheTextbooksSay) {
  const Mesh mesh = mesh_of({4});
  const auto bytes = [&](const char* from, const char* to) {
    const double whole = total_bytes(conversion(*parse_layout(from), *parse_layout(to), {8, 8}, 4, mesh));
    EXPECT_EQ(whole, conversion_bytes((*parse_layout(from))[0], (*parse_layout(to))[0], 64, 4, 4));
    return whole;
  };
  EXPECT_DOUBLE_EQ(bytes("P", "R"), 2 * 0.75 * 256);
  EXPECT_DOUBLE_EQ(bytes("P", "S0"), 0.75 * 256);
  EXPECT_DOUBLE_EQ(bytes("S0", "R"), 0.75 * 256);
  EXPECT_DOUBLE_EQ(bytes("S0", "S1"), 0.75 * 64);
  EXPECT_DOUBLE_EQ(bytes("@0", "R"), 0.75 * 256);
  EXPECT_DOUBLE_EQ(bytes("@0", "@3"), 0.25 * 256);
  EXPECT_DOUBLE_EQ(bytes("@0", "S1"), 0.75 * 256);
}

TEST(Conversion, CutsBeforeItReducesAndReducesBeforeItGathers) {
  const Mesh mesh = mesh_of({2, 4});
  EXPECT_EQ(steps_text(mesh, {8, 8}, "P,R", "R,S0"), "take_shard y, all_reduce x");
  EXPECT_EQ(steps_text(mesh, {8, 8}, "P,S0", "S0,R"), "reduce_scatter x, all_to_all x y, all_gather y")
      << "gathering y first would send twice as much";
  EXPECT_EQ(steps_text(mesh, {8, 8}, "S0,P", "R,S1"), "reduce_scatter y, all_gather x");
}

TEST(Conversion, OnlyTheInnermostSplitComesAndGoes) {
  const Mesh mesh = mesh_of({2, 2});
  EXPECT_EQ(steps_text(mesh, {8}, "S0.1,S0", "R,S0"), "all_gather x") << "x is innermost: gathered as it stands";
  EXPECT_EQ(steps_text(mesh, {8}, "S0,S0", "R,S0"), "all_to_all x y, all_gather x") << "x is outermost";
  EXPECT_EQ(steps_text(mesh, {8}, "P,S0", "S0.1,S0"), "reduce_scatter x");
  EXPECT_EQ(steps_text(mesh, {8}, "P,S0", "S0,S0"), "reduce_scatter x, all_to_all x y");
  EXPECT_EQ(steps_text(mesh, {8}, "S0,S0", "S0.1,S0"), "all_to_all x y");
}

/// The cheapest way in which each axis is converted once, directly, in any order: brute force.
double best_direct(const Mesh& mesh, const Shape& shape, const Layout& from, const Layout& to) {
  std::vector<int> axes;
  for (int i = 0; i < static_cast<int>(from.size()); ++i) axes.push_back(i);
  double best = INFINITY;
  do {
    Layout now = from;
    double bytes = 0;
    for (int axis : axes) {
      const auto i = static_cast<std::size_t>(axis);
      if (now[i].same_kind(to[i])) continue;
      const auto last = [&](const Placement& p) { return !p.cut() || split_order(now, *p.cut()).back() == axis; };
      if (!last(now[i]) || !collective_between(now[i], to[i])) bytes = INFINITY;
      bytes += conversion_bytes(now[i], to[i], mean_elements(shape, now, mesh, axis), 4, mesh.size(axis));
      now = with_placement(now, axis, to[i]);
    }
    if (now == to) best = std::min(best, bytes);
  } while (std::next_permutation(axes.begin(), axes.end()));
  return best;
}

TEST(Conversion, IsNeverDearerThanOneStepPerAxisInTheBestOrder) {
  const Mesh mesh = mesh_of({2, 2, 4});
  const Shape shape{16, 16};
  std::vector<Layout> layouts = all_layouts(mesh, shape);
  std::erase_if(layouts, [](const Layout& layout) {
    return std::any_of(layout.begin(), layout.end(),
                       [](const Placement& p) { return p.kind == Placement::Kind::shard_flat; });
  });
  const std::uint64_t seed = 5;
  std::mt19937_64 rng(seed);
  int compared = 0;
  for (int n = 0; n < 3000; ++n) {
    const Layout &from = layouts[rng() % layouts.size()], &to = layouts[rng() % layouts.size()];
    const double best = best_direct(mesh, shape, from, to);
    if (std::isinf(best)) continue;
    ++compared;
    EXPECT_LE(total_bytes(conversion(from, to, shape, 4, mesh)), best + 1e-6)
        << to_string(from) << " → " << to_string(to) << ", seed " << seed;
  }
  EXPECT_GT(compared, 200);
}

}  // namespace
}  // namespace baleen
