/// \file Every element is written by one rank, whatever the layout; groups fit their budget; digests do not depend on
/// who holds what.
#include "frontend/checkpoint/owned_part.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "core/runtime/shards.hpp"
#include "support/seed.hpp"

namespace baleen::test {
namespace {

Mesh mesh_of(std::vector<std::int64_t> sizes) {
  Mesh mesh;
  for (std::size_t i = 0; i < sizes.size(); ++i) mesh.axes.push_back({"a" + std::to_string(i), sizes[i]});
  return mesh;
}

std::vector<Coordinates> all_of(const Mesh& mesh) {
  std::vector<Coordinates> all{Coordinates()};
  for (const auto& axis : mesh.axes) {
    std::vector<Coordinates> next;
    for (const Coordinates& one : all)
      for (std::int64_t i = 0; i < axis.size; ++i) {
        next.push_back(one);
        next.back().push_back(i);
      }
    all = std::move(next);
  }
  return all;
}

PersistentLayout layout_of(const std::vector<PersistentSpec>& specs) {
  PersistentLayout persistent;
  for (const PersistentSpec& spec : specs) persistent.buffers.push_back({spec, 0, 0});
  return persistent;
}

/// What a tensor holds: element i is i + 1, as fp64.
std::vector<double> numbers(const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

/// The elements of a part, as they lie on its rank.
std::vector<std::byte> bytes_of(const PersistentSpec& spec, const OwnedPart& part, const std::vector<double>& whole) {
  std::vector<double> piece(static_cast<std::size_t>(part.piece.elements()));
  for (const PieceRun& run : runs_of(spec.type.shape, part.piece))
    std::copy_n(whole.begin() + run.in_whole, run.count, piece.begin() + run.in_piece);
  const auto* begin = reinterpret_cast<const std::byte*>(piece.data() + part.elements.begin);
  return {begin, begin + part.count() * static_cast<std::int64_t>(sizeof(double))};
}

/// Random layouts that a persistent tensor can have.
std::vector<PersistentSpec> random_specs(std::mt19937_64& random, const Mesh& mesh) {
  std::vector<PersistentSpec> specs;
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
  for (int t = 0; t < 12; ++t) {
    PersistentSpec spec{"t" + std::to_string(t), {BALEEN_F64, {}}, Role::parameter, "parameters", {}};
    const int rank = below(4);
    for (int d = 0; d < rank; ++d) spec.type.shape.push_back(1 + below(t % 3 == 0 ? 90 : 12));
    if (below(5) != 0)
      for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
        const int kind = below(4);
        if (kind == 0 || rank == 0)
          spec.layout.push_back(Placement::replicate());
        else if (kind == 1)
          spec.layout.push_back(Placement::shard(below(rank)));
        else if (kind == 2)
          spec.layout.push_back(Placement::at(below(static_cast<int>(mesh.axes[axis].size))));
        else
          spec.layout.push_back(axis + 1 == mesh.axes.size() ? Placement::flat() : Placement::replicate());
      }
    specs.push_back(std::move(spec));
  }
  return specs;
}

TEST(OwnedPart, CoversEveryElementOnceWhateverTheLayout) {
  std::mt19937_64 random(seed());
  for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{1}, {2}, {3}, {2, 2}, {3, 2}, {2, 2, 3}}) {
    const Mesh mesh = mesh_of(sizes);
    for (int turn = 0; turn < 20; ++turn) {
      const std::vector<PersistentSpec> specs = random_specs(random, mesh);
      const PersistentLayout persistent = layout_of(specs);
      std::vector<std::vector<int>> seen;
      for (const PersistentSpec& spec : specs)
        seen.emplace_back(static_cast<std::size_t>(element_count(spec.type.shape)));
      for (const Coordinates& at : all_of(mesh))
        for (const OwnedPart& part : owned_parts(persistent, mesh, at))
          for (const PieceRun& run : runs_of(specs[part.buffer].type.shape, part.piece))
            for (std::int64_t i = 0; i < run.count; ++i)
              if (run.in_piece + i >= part.elements.begin && run.in_piece + i < part.elements.end)
                ++seen[part.buffer][static_cast<std::size_t>(run.in_whole + i)];
      for (std::size_t t = 0; t < specs.size(); ++t)
        for (const int times : seen[t]) ASSERT_EQ(times, 1) << specs[t].name << " in turn " << turn;
    }
  }
}

TEST(OwnedPart, SharesLargeCopiesEvenly) {
  const Mesh mesh = mesh_of({4});
  const PersistentLayout persistent = layout_of({{"w", {BALEEN_F32, {1 << 20, 4}}, Role::parameter, "parameters", {}}});
  for (const Coordinates& at : all_of(mesh)) {
    const auto parts = owned_parts(persistent, mesh, at);
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].count(), 1 << 20);
  }
}

TEST(OwnedPart, GroupsKeepTheirBudgetAndTheirOrder) {
  std::mt19937_64 random(seed());
  const Mesh mesh = mesh_of({2});
  for (int turn = 0; turn < 50; ++turn) {
    std::vector<PersistentSpec> specs = random_specs(random, mesh);
    for (PersistentSpec& spec : specs)
      spec.type.dtype = std::array{BALEEN_F64, BALEEN_F32, BALEEN_BF16, BALEEN_U8}[random() % 4];
    const PersistentLayout persistent = layout_of(specs);
    const auto parts = owned_parts(persistent, mesh, {1});
    const std::uint64_t budget = 8 + random() % 1600;
    const auto groups = grouped(parts, persistent, budget);
    std::vector<std::int64_t> counted(persistent.buffers.size());
    for (const auto& group : groups) {
      std::uint64_t bytes = 0;
      std::vector<std::size_t> tensors;
      for (const OwnedPart& part : group) {
        bytes += aligned(static_cast<std::uint64_t>(part.count()) * dtype_size(specs[part.buffer].type.dtype));
        counted[part.buffer] += part.count();
        EXPECT_EQ(std::ranges::count(tensors, part.buffer), 0);
        tensors.push_back(part.buffer);
      }
      EXPECT_LE(bytes, budget);
    }
    for (const OwnedPart& part : parts) EXPECT_EQ(counted[part.buffer], part.count());
    EXPECT_EQ(grouped(parts, persistent, 0).size(), 1u);
  }
}

TEST(Digest, IsThatOfTheWholeWhateverTheLayout) {
  std::mt19937_64 random(seed());
  const Mesh mesh = mesh_of({2, 3});
  for (int turn = 0; turn < 20; ++turn) {
    const std::vector<PersistentSpec> specs = random_specs(random, mesh);
    const PersistentLayout persistent = layout_of(specs);
    std::vector<std::uint64_t> sums(specs.size());
    for (const Coordinates& at : all_of(mesh))
      for (const OwnedPart& part : owned_parts(persistent, mesh, at)) {
        const PersistentSpec& spec = specs[part.buffer];
        sums[part.buffer] += digest_of(spec, part, bytes_of(spec, part, numbers(spec.type.shape)));
      }
    for (std::size_t t = 0; t < specs.size(); ++t) {
      OwnedPart whole{0, piece_of(specs[t].type.shape, {}, {}, {}), {}};
      whole.elements = {0, whole.piece.elements()};
      EXPECT_EQ(sums[t], digest_of(specs[t], whole, bytes_of(specs[t], whole, numbers(specs[t].type.shape))));
    }
  }
}

TEST(Digest, SeesEveryBitAndEveryExchange) {
  const PersistentSpec spec{"t", {BALEEN_F32, {5, 3}}, Role::parameter, "", {}};
  OwnedPart whole{0, piece_of(spec.type.shape, {}, {}, {}), {0, 15}};
  std::vector<float> values(15);
  std::iota(values.begin(), values.end(), 1.0f);
  const auto digest = [&] { return digest_of(spec, whole, std::as_bytes(std::span(values))); };
  const std::uint64_t right = digest();
  for (std::size_t bit = 0; bit < 15 * 32; ++bit) {
    auto* const bytes = reinterpret_cast<unsigned char*>(values.data());
    bytes[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
    EXPECT_NE(digest(), right) << "bit " << bit;
    bytes[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
  }
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    std::swap(values[i], values[i + 1]);
    EXPECT_NE(digest(), right) << "elements " << i << " and " << i + 1;
    std::swap(values[i], values[i + 1]);
  }
}

}  // namespace
}  // namespace baleen::test
