/// \file Pieces against lists of elements made by the sentences of the design.
#include "compiler/layout/piece.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "all_layouts.hpp"
#include "world.hpp"

namespace baleen {
namespace {

using test::all_layouts;
using test::elements_of;
using test::mesh_of;

/// The elements of a piece, from its runs.
std::vector<test::Element> listed(const Piece& piece, const Shape& shape) {
  if (!piece.held) return {};
  std::vector<test::Element> elements{0};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::vector<test::Element> more;
    for (test::Element e : elements)
      for (const Range& run : piece.dims[d])
        for (std::int64_t i = run.begin; i < run.end; ++i) more.push_back(e * shape[d] + i);
    elements = std::move(more);
  }
  if (!piece.flat) return elements;
  return {elements.begin() + piece.flat->begin, elements.begin() + piece.flat->end};
}

void check_all(const Mesh& mesh, const Shape& shape) {
  for (const Layout& layout : all_layouts(mesh, shape)) {
    SCOPED_TRACE(to_string(layout) + " of " + to_string(shape));
    const Shape largest = local_shape(shape, layout, mesh);
    std::set<std::size_t> counts;
    for (std::int64_t rank = 0; rank < rank_count(mesh); ++rank) {
      const Coordinates at = coordinates(mesh, rank);
      const Piece piece = piece_of(shape, layout, mesh, at);
      const auto expected = elements_of(shape, layout, mesh, at);
      ASSERT_EQ(listed(piece, shape), expected) << "rank " << rank;
      ASSERT_EQ(piece.elements(), static_cast<std::int64_t>(expected.size()));
      if (!piece.held) continue;
      counts.insert(expected.size());
      ASSERT_EQ(piece.shape(), local_shape(shape, layout, mesh, at));
      ASSERT_EQ(piece.shape().size(), largest.size());
      for (std::size_t d = 0; d < largest.size(); ++d) ASSERT_LE(piece.shape()[d], largest[d]);
    }
    if (is_even(shape, layout, mesh)) {
      ASSERT_EQ(counts.size(), 1u);
    }
  }
}

TEST(Piece, HoldsTheElementsThatItsLayoutSaysOnOneAxis) {
  for (std::int64_t size : {1, 2, 3, 4})
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{2}, Shape{7}, Shape{8}, Shape{3, 5}, Shape{0, 2}})
      check_all(mesh_of({size}), shape);
}

TEST(Piece, HoldsTheElementsThatItsLayoutSaysOnTwoAxes) {
  for (const auto& sizes : {std::vector<std::int64_t>{2, 3}, {3, 2}, {4, 2}, {1, 3}})
    for (const Shape& shape : {Shape{5}, Shape{12}, Shape{5, 6}, Shape{4, 8}}) check_all(mesh_of(sizes), shape);
}

TEST(Piece, HoldsTheElementsThatItsLayoutSaysOnThreeAxes) {
  check_all(mesh_of({2, 2, 2}), {9});
  check_all(mesh_of({2, 3, 2}), {5, 4});
}

TEST(Piece, TheLastBlocksAreShortOrEmpty) {
  const Mesh mesh = mesh_of({4});
  std::vector<Shape> shapes;
  for (std::int64_t rank = 0; rank < 4; ++rank)
    shapes.push_back(local_shape({5, 2}, {Placement::shard(0)}, mesh, {rank}));
  EXPECT_EQ(shapes, (std::vector<Shape>{{2, 2}, {2, 2}, {1, 2}, {0, 2}}));
}

TEST(Piece, BalancedChunksPairTheEnds) {
  const Mesh mesh = mesh_of({2});
  EXPECT_EQ(piece_of({8}, {Placement::balanced(0)}, mesh, {0}).dims[0], (Ranges{{0, 2}, {6, 8}}));
  EXPECT_EQ(piece_of({8}, {Placement::balanced(0)}, mesh, {1}).dims[0], (Ranges{{2, 6}})) << "neighbours are one run";
}

TEST(Piece, AnInnerSplitCutsWhatTheOuterLeft) {
  const Mesh mesh = mesh_of({2, 2});
  const Layout data_inside{{Placement::Kind::shard, 0, 1}, Placement::shard(0)};
  EXPECT_EQ(piece_of({8}, data_inside, mesh, {1, 0}).dims[0], (Ranges{{2, 4}}));
  EXPECT_EQ(piece_of({8}, {Placement::shard(0), Placement::shard(0)}, mesh, {1, 0}).dims[0], (Ranges{{4, 6}}));
}

TEST(Piece, LargestShapeIsReachedByEvenCuts) {
  const Mesh mesh = mesh_of({2, 3});
  const Layout layout{Placement::shard(1), Placement::shard(0)};
  EXPECT_TRUE(is_even({6, 4}, layout, mesh));
  EXPECT_FALSE(is_even({7, 4}, layout, mesh));
  EXPECT_EQ(local_shape({7, 4}, layout, mesh), (Shape{3, 2}));
  EXPECT_FALSE(is_even({6}, {Placement::balanced(0), Placement::replicate()}, mesh)) << "four chunks";
}

/// All axes cut `dim` (or kFlat), nested in every order.
std::vector<Layout> nestings(const Mesh& mesh, int dim) {
  std::vector<Layout> layouts;
  std::vector<int> order(mesh.axes.size());
  std::iota(order.begin(), order.end(), 0);
  const Placement cut = dim == kFlat ? Placement::flat() : Placement::shard(dim);
  do layouts.push_back(with_order(Layout(mesh.axes.size(), cut), dim, order));
  while (std::next_permutation(order.begin(), order.end()));
  return layouts;
}

TEST(MovedShare, OfANestingIsWhatListsOfElementsSay) {
  for (const Mesh& mesh : {mesh_of({2, 3}), mesh_of({4, 2}), mesh_of({2, 3, 2}), mesh_of({3, 1, 3})})
    for (const Shape& shape : {Shape{36}, Shape{24, 3}, Shape{18, 2}, Shape{37}, Shape{5, 7}, Shape{72, 0}})
      for (const int dim : {0, kFlat}) {
        const auto layouts = nestings(mesh, dim);
        std::vector<int> axes(mesh.axes.size());
        std::iota(axes.begin(), axes.end(), 0);
        for (const Layout& from : layouts)
          for (const Layout& to : layouts) {
            double held = 0, kept = 0;
            for (std::int64_t rank = 0; rank < rank_count(mesh); ++rank) {
              const auto before = elements_of(shape, from, mesh, coordinates(mesh, rank));
              const auto after = elements_of(shape, to, mesh, coordinates(mesh, rank));
              held += static_cast<double>(before.size());
              for (const test::Element e : before) kept += std::ranges::find(after, e) != after.end() ? 1 : 0;
            }
            ASSERT_DOUBLE_EQ(moved_share(from, to, shape, mesh, axes), held == 0 ? 0 : 1 - kept / held)
                << to_string(from) << " to " << to_string(to) << " of " << to_string(shape);
          }
      }
}

}  // namespace
}  // namespace baleen
