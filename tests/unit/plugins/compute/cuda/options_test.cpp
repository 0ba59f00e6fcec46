/// \file Which device a rank takes, and what is said of devices.
#include "options.hpp"

#include <gtest/gtest.h>

#include "limits.hpp"

namespace baleen::cuda {
namespace {

/// Device and ranks that share it, as "1 of 2".
std::string share(std::int64_t index, std::uint32_t rank, std::uint32_t ranks, int devices) {
  baleen_setting_t option{};
  option.name = abi("index");
  option.type = BALEEN_OPTION_INT;
  option.integer = index;
  const baleen_settings_t settings{sizeof settings, 1, &option, 0, {"", 0}, rank, ranks};
  const auto chosen = choose_share(Settings(&settings), devices);
  if (!chosen) return chosen.error().message;
  return std::to_string(chosen->index) + " of " + std::to_string(chosen->ranks);
}

TEST(Share, IsTakenInTurn) {
  EXPECT_EQ(share(-1, 0, 1, 1), "0 of 1");
  EXPECT_EQ(share(-1, 1, 2, 1), "0 of 2");
  EXPECT_EQ(share(-1, 3, 8, 8), "3 of 1");
  for (std::uint32_t rank = 0; rank < 5; ++rank)  // 0, 2 and 4 share the first
    EXPECT_EQ(share(-1, rank, 5, 2), rank % 2 == 0 ? "0 of 3" : "1 of 2");
}

TEST(Share, IsOfTheDeviceThatTheUserNames) {
  EXPECT_EQ(share(1, 0, 1, 2), "1 of 1");
  EXPECT_EQ(share(1, 3, 4, 2), "1 of 4");
  EXPECT_EQ(share(2, 0, 1, 2), "there is no CUDA device 2; option `index` can be 0 to 1");
}

TEST(Share, IsAllWhereTheHostTellsNoPlace) {
  baleen_setting_t option{};
  option.name = abi("index");
  option.type = BALEEN_OPTION_INT;
  option.integer = -1;
  baleen_settings_t settings{sizeof settings, 1, &option, 0, {"", 0}, 7, 9};
  settings.size = offsetof(baleen_settings_t, local_rank);
  const auto chosen = choose_share(Settings(&settings), 2);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->index, 0);
  EXPECT_EQ(chosen->ranks, 1);
}

/// What is said where ranks divide the one device that they see, unless the user has said what a rank may have.
std::string division(std::int64_t memory, double fraction, int devices, int ranks) {
  baleen_setting_t options[2]{};
  options[0].name = abi("memory");
  options[0].type = BALEEN_OPTION_INT;
  options[0].integer = memory;
  options[1].name = abi("fraction");
  options[1].type = BALEEN_OPTION_FLOAT;
  options[1].number = fraction;
  const baleen_settings_t settings{sizeof settings, 2, options, 0, {"", 0}, 0, 4};
  return division_text(Settings(&settings), devices, ranks);
}

TEST(Division, IsSaidWithItsRemedy) {
  EXPECT_NE(division(0, 0, 1, 4).find("a part of its memory each (1/4)"), std::string::npos);
  EXPECT_NE(division(0, 0, 1, 4).find("say `fraction = 0.9` in [compute]"), std::string::npos);
  EXPECT_EQ(division(100, 0, 1, 4), "");
  EXPECT_EQ(division(0, 0.5, 1, 4), "");
  EXPECT_EQ(division(0, 0, 2, 2), "");
  EXPECT_EQ(division(0, 0, 1, 1), "");
}

/// What the driver says of a device.
struct Attributes {
  int major, minor, processors, kilohertz, memory_kilohertz, bits;
};
Attributes attributes;

baleen_device_limits_t limits(const Attributes& of) {
  attributes = of;
  Driver driver{};
  driver.cuDeviceGetName = [](char* name, int, CUdevice) {
    name[0] = 0;
    return CUDA_SUCCESS;
  };
  driver.cuDeviceTotalMem = [](std::size_t* bytes, CUdevice) {
    *bytes = 80;
    return CUDA_SUCCESS;
  };
  driver.cuDeviceGetAttribute = [](int* value, CUdevice_attribute which, CUdevice) {
    *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? attributes.major
             : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? attributes.minor
             : which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? attributes.processors
             : which == CU_DEVICE_ATTRIBUTE_CLOCK_RATE               ? attributes.kilohertz
             : which == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE        ? attributes.memory_kilohertz
                                                                     : attributes.bits;
    return CUDA_SUCCESS;
  };
  baleen_device_limits_t out{};
  EXPECT_TRUE(describe_device(driver, 0, out));
  return out;
}

void expect_tera(double got, double wanted) { EXPECT_NEAR(got * 1e-12, wanted, 0.01 * wanted); }

/// The peaks of NVIDIA's data sheets, dense.
TEST(Limits, AreThoseOfTheDataSheets) {
  const auto a100 = limits({8, 0, 108, 1'410'000, 1'593'000, 5120});
  EXPECT_STREQ(a100.architecture, "compute capability 8.0");
  expect_tera(a100.fp64, 9.7);
  expect_tera(a100.fp32, 19.5);
  expect_tera(a100.tf32, 156);
  expect_tera(a100.bf16, 312);
  expect_tera(a100.fp16, 312);
  expect_tera(a100.bytes_per_second, 2.039);
  const auto h100 = limits({9, 0, 132, 1'980'000, 2'619'000, 5120});
  expect_tera(h100.fp64, 33.5);
  expect_tera(h100.fp32, 66.9);
  expect_tera(h100.tf32, 494.7);
  expect_tera(h100.bf16, 989.4);
  expect_tera(h100.bytes_per_second, 3.35);
  const auto l40s = limits({8, 9, 142, 2'520'000, 9'001'000, 384});
  expect_tera(l40s.fp32, 91.6);
  expect_tera(l40s.bf16, 366);
}

TEST(Limits, AreNotGuessedForUnknownArchitectures) {
  const auto unknown = limits({15, 0, 100, 1'000'000, 1'000'000, 1024});
  EXPECT_EQ(unknown.bf16, 0);
  EXPECT_EQ(unknown.fp32, 0);
  EXPECT_GT(unknown.bytes_per_second, 0);
}

}  // namespace
}  // namespace baleen::cuda
