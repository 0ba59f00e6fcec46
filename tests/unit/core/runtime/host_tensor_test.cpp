/// \file Elements of host tensors as numbers.
#include "core/runtime/host_tensor.hpp"

#include <gtest/gtest.h>

#include "baleen/dtype.hpp"

namespace baleen::test {
namespace {

TEST(HostTensor, KeepsNumbersThatTheDtypeHas) {
  for (const baleen_dtype_t dtype :
       {BALEEN_F32, BALEEN_F64, BALEEN_F16, BALEEN_BF16, BALEEN_I32, BALEEN_I64, BALEEN_U8, BALEEN_E4M3, BALEEN_E5M2}) {
    const std::vector<double> numbers{0, 1, 2, 128, 7, 96};
    const auto tensor = tensor_of(numbers, dtype, {2, 3});
    ASSERT_TRUE(tensor) << dtype_name(dtype);
    EXPECT_EQ(tensor->bytes.size(), 6 * dtype_size(dtype));
    EXPECT_EQ(numbers_of(*tensor), numbers) << dtype_name(dtype);
  }
}

TEST(HostTensor, RoundsToNearest) {
  EXPECT_EQ(numbers_of(*tensor_of({1.00390625}, BALEEN_BF16, {1})), std::vector<double>{1.0});
  EXPECT_EQ(numbers_of(*tensor_of({1.0625, 1.07, 1e4}, BALEEN_E4M3, {3})), (std::vector<double>{1, 1.125, 448}));
  EXPECT_EQ(numbers_of(*tensor_of({1.125, 1.13, 1e9}, BALEEN_E5M2, {3})), (std::vector<double>{1, 1.25, 57344}));
  EXPECT_EQ(numbers_of(*with_dtype(*tensor_of({0.1}, BALEEN_F64, {}), BALEEN_F32)),
            std::vector<double>{static_cast<double>(0.1f)});
}

TEST(HostTensor, RefusesNumbersThatNoIntegerIs) {
  const auto refused = [](double number, baleen_dtype_t dtype) {
    const auto tensor = tensor_of({0, number}, dtype, {2});
    return tensor ? "" : tensor.error().message;
  };
  EXPECT_EQ(refused(2147483648.0, BALEEN_I32), "element 1 is 2147483648.000000, which is no int32");
  EXPECT_EQ(refused(-2147483648.0, BALEEN_I32), "");
  EXPECT_EQ(refused(1.5, BALEEN_I64), "element 1 is 1.500000, which is no int64");
  EXPECT_EQ(refused(-1, BALEEN_U8), "element 1 is -1.000000, which is no uint8");
  EXPECT_EQ(refused(255, BALEEN_U8), "");
  EXPECT_EQ(tensor_of({1, 2}, BALEEN_F32, {3}).error().message, "there are 2 values for the shape [3]");
  EXPECT_EQ(with_dtype(*tensor_of({1}, BALEEN_I32, {1}), BALEEN_F32).error().code, BALEEN_UNSUPPORTED);
}

}  // namespace
}  // namespace baleen::test
