/// \file Index arithmetic of the kernels against plain counting.
#include "walks.hpp"

#include <gtest/gtest.h>

#include <random>

namespace baleen::cuda {
namespace {

TEST(Divisor, DividesEveryNumberBelowTwoToThe31) {
  std::mt19937 engine(7);
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  for (std::uint32_t i = 0; i < 2000; ++i) {
    const std::uint32_t d = i < 600 ? i + 1 : (random() >> (random() % 31)) >> 1 | 1u;
    const Divisor divisor = Divisor::of(d);
    for (const std::uint32_t n : {0u, 1u, d - 1, d, d + 1, 2 * d - 1, 0x7ffffffeu, 0x7fffffffu, random() >> 1}) {
      if (n > 0x7fffffffu) continue;
      ASSERT_EQ(divisor.quotient(n), n / d) << n << " / " << d;
    }
  }
  EXPECT_EQ(Divisor::of(0x7fffffffu).quotient(0x7fffffffu), 1u);
}

template <int kOperands>
void expect_offsets(const Strides& shape, const std::array<Strides, kOperands>& strides) {
  const Walk<kOperands> walk = make_walk<kOperands>(shape, strides);
  Strides index(shape.size(), 0);
  std::int64_t position = 0;
  for (bool more = walk.size > 0; more; ++position) {
    std::int64_t at[kOperands];
    walk.offsets(position, at);
    for (int i = 0; i < kOperands; ++i) {
      std::int64_t wanted = 0;
      for (std::size_t d = 0; d < shape.size(); ++d) wanted += index[d] * strides[static_cast<std::size_t>(i)][d];
      ASSERT_EQ(at[i], wanted) << "operand " << i << " at " << position;
    }
    more = false;
    for (std::size_t d = shape.size(); d-- > 0 && !more;) {
      more = ++index[d] < shape[d];
      if (!more) index[d] = 0;
    }
  }
  EXPECT_EQ(position, walk.size);
}

TEST(Walk, GivesEveryOperandsOffset) {
  expect_offsets<1>({}, {Strides{}});
  expect_offsets<2>({7}, {Strides{1}, Strides{0}});
  expect_offsets<2>({3, 4, 5}, {Strides{20, 5, 1}, Strides{1, 3, 12}});
  expect_offsets<3>({2, 1, 6, 3}, {Strides{18, 18, 3, 1}, Strides{0, 9, 0, 1}, Strides{1, 0, 2, 12}});
}
TEST(Walk, MergesWhatAllOperandsAllow) {
  const auto walk = make_walk<2>(Strides{2, 3, 4}, {Strides{12, 4, 1}, Strides{24, 8, 1}});
  EXPECT_EQ(walk.rank, 2);  // the first two dimensions; the second operand has gaps between rows
  EXPECT_EQ(walk.extent[0], 6);
  EXPECT_EQ(make_walk<1>(Strides{2, 1, 4}, {Strides{4, 99, 1}}).rank, 1);
}
TEST(Walk, IsWideBeyondTwoToThe31) {
  const std::int64_t rows = std::int64_t{3} << 20, columns = 1024;
  const auto walk = make_walk<1>(Strides{rows, columns}, {Strides{2048, 1}});
  EXPECT_TRUE(walk.wide);
  std::int64_t at[1];
  walk.offsets(rows * columns - 1, at);
  EXPECT_EQ(at[0], (rows - 1) * 2048 + columns - 1);
}
TEST(Walk, OfNothingIsEmpty) { EXPECT_EQ(make_walk<1>(Strides{3, 0, 2}, {Strides{0, 2, 1}}).size, 0); }

TEST(HeldRuns, FindsWhereAnIdStands) {
  Operand part;
  part.tensor.rank = 1;
  part.tensor.shape[0] = 3;
  part.tensor.global_shape[0] = 9;
  const baleen_run_t runs[] = {{0, 2, 2}, {2, 7, 1}};
  part.tensor.runs[0] = runs;
  part.tensor.run_count[0] = 2;
  const Held held = make_held(part, 0);
  EXPECT_EQ(held.all, 9);
  const std::int64_t wanted[] = {-1, -1, 0, 1, -1, -1, -1, 2, -1};
  for (std::int64_t id = 0; id < 9; ++id) EXPECT_EQ(held.runs.find(id), wanted[id]) << id;
}

}  // namespace
}  // namespace baleen::cuda
