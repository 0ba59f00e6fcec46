/// \file Numbers of NCCL, as nccl.h has had them since 2.10, and which reductions are as promised.
#include "maps.hpp"

#include <gtest/gtest.h>

namespace baleen::nccl {
namespace {

TEST(NcclMaps, KnowEveryDtype) {
  const std::pair<baleen_dtype_t, int> all[] = {{BALEEN_U8, 1},  {BALEEN_I32, 2}, {BALEEN_I64, 4},  {BALEEN_F16, 6},
                                                {BALEEN_F32, 7}, {BALEEN_F64, 8}, {BALEEN_BF16, 9}, {BALEEN_E4M3, 1},
                                                {BALEEN_E5M2, 1}};  // bytes, which are moved alone
  std::size_t known = 0;
  for (const auto& [dtype, number] : all) {
    ASSERT_TRUE(data_type(dtype)) << dtype_name(dtype);
    EXPECT_EQ(int{*data_type(dtype)}, number) << dtype_name(dtype);
  }
  for (baleen_dtype_t dtype = 0; dtype < 32; ++dtype)
    if (dtype_size(dtype) > 0) known += data_type(dtype) ? 1 : 100;  // a dtype that was added to the SDK
  EXPECT_EQ(known, std::size(all));
  EXPECT_FALSE(data_type(0));
}

TEST(NcclMaps, KnowEveryReduction) {
  EXPECT_EQ(int{*red_op(BALEEN_SUM)}, 0);
  EXPECT_EQ(int{*red_op(BALEEN_MAXIMUM)}, 2);
  EXPECT_FALSE(red_op(0));
}

TEST(NcclMaps, TellWhereTheOrderOfSumsMatters) {
  EXPECT_TRUE(keeps_promise(BALEEN_I64, BALEEN_SUM, 100)) << "integers wrap in any order";
  EXPECT_TRUE(keeps_promise(BALEEN_I32, BALEEN_MAXIMUM, 100));
  EXPECT_TRUE(keeps_promise(BALEEN_BF16, BALEEN_SUM, 2)) << "a + b is b + a";
  EXPECT_FALSE(keeps_promise(BALEEN_F64, BALEEN_SUM, 3));
  EXPECT_FALSE(keeps_promise(BALEEN_F32, BALEEN_MAXIMUM, 2)) << "NCCL's drops a NaN";
  EXPECT_TRUE(keeps_promise(BALEEN_F32, BALEEN_MAXIMUM, 1));
}

}  // namespace
}  // namespace baleen::nccl
