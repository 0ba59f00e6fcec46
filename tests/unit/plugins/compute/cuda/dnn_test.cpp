/// \file cuDNN, the real one, takes the graphs of attention for an H200 that need not be there: engines are found,
/// their kernels compiled, plans made. Skipped where there is no cuDNN; built where there is an emulated driver for it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "attention_graph.hpp"
#include "support/places.hpp"

namespace baleen::cuda {
namespace {

/// What cuDNN would read from the device, as its own description.
constexpr char kH200[] = R"({"cudnnVersion":91900,"schemaVersion":1,"deviceId":0,"cudaDeviceId":0,"deviceVer":900,
"driverVer":13000,"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,
"multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,
"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,
"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1980000,
"memClockRateKHz":3201000,"l2CacheSize":62914560,"totalGlobalMem":150754820096,"deviceName":"NVIDIA H200"})";

constexpr int kHopper = 90;
constexpr std::uint64_t kAny = std::uint64_t{1} << 40;  // of workspace

/// The same for another compute capability.
std::string described(int capability, int processors, int shared_bytes) {
  std::string text = kH200;
  const auto put = [&](const std::string& name, const std::string& value) {
    const std::size_t at = text.find("\"" + name + "\":") + name.size() + 3;
    text.replace(at, text.find_first_of(",}", at) - at, value);
  };
  put("deviceVer", std::to_string(10 * capability));
  put("multiProcessorCount", std::to_string(processors));
  put("maxSharedMemoryPerBlockOptin", std::to_string(shared_bytes));
  put("deviceName", "\"a device of " + std::to_string(capability) + "\"");
  return text;
}

#ifdef BALEEN_EMULATES_CUDA
class DnnAttention : public testing::Test {
 protected:
  void SetUp() override {
    // A driver without devices, which takes the kernels that cuDNN compiles; found by the name of its library.
    setenv("EMULATED_CUDA_DEVICES", "0", 1);
    ASSERT_TRUE(dlopen((test::emulated_folder() + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL)) << dlerror();
    open(kH200);
  }
  void open(const std::string& device) {
    auto opened = Dnn::open_described({}, device);
    if (!opened && opened.error().code == BALEEN_NOT_FOUND) GTEST_SKIP() << "needs cuDNN: " << opened.error().text();
    ASSERT_TRUE(opened) << opened.error().text();
    dnn_ = *std::move(opened);
  }
  /// [batch, sequence, heads, width] packed, as the core lays it out.
  static AttentionShape shape(std::int64_t heads, std::int64_t groups, std::int64_t width) {
    AttentionShape s;
    s.batch = 32;
    s.heads = heads;
    s.groups = groups;
    s.queries = s.keys = 1024;
    s.width = width;
    s.causal = true;
    const auto strides = [&](std::int64_t all) { return DnnExtents{1024 * all * width, width, all * width, 1}; };
    s.q = s.o = s.d_o = s.dq = strides(heads);
    s.k = s.v = s.dk = s.dv = strides(groups);
    s.lse = {heads * 1024, 1024, 1};
    return s;
  }
  void expect_plans(const AttentionShape& s) {
    const auto forward = plan_attention(*dnn_, s, kAny);
    ASSERT_TRUE(forward) << forward.error().text();
    EXPECT_LT(forward->plan->workspace_bytes(), 1u << 20) << "scores must not lie in memory";
    const auto backward = plan_attention_grad(*dnn_, s, kAny);
    ASSERT_TRUE(backward) << backward.error().text();
    EXPECT_LE(forward->plan->workspace_bytes(), most_workspace(s, false, kHopper))
        << "what a plan without a device counts with";
    EXPECT_LE(backward->plan->workspace_bytes(), most_workspace(s, true, kHopper));
    const auto scores = static_cast<std::uint64_t>(s.batch * s.heads * s.queries * s.keys);
    if (s.deterministic)
      EXPECT_GE(backward->plan->workspace_bytes(), 2 * scores);
    else
      EXPECT_LT(backward->plan->workspace_bytes(), scores);
  }
  std::unique_ptr<Dnn> dnn_;
};

TEST_F(DnnAttention, OfGpt2IsTakenForAnH200) {
  for (const cudnnDataType_t type : {CUDNN_DATA_BFLOAT16, CUDNN_DATA_HALF})
    for (const bool deterministic : {true, false}) {
      AttentionShape s = shape(12, 12, 64);
      s.type = type;
      s.deterministic = deterministic;
      expect_plans(s);
    }
}
TEST_F(DnnAttention, OfGroupedHeadsAndWithoutAMaskIsTakenForAnH200) {
  for (const bool causal : {true, false}) {
    AttentionShape s = shape(12, 4, 128);
    s.causal = causal;
    s.deterministic = false;
    expect_plans(s);
  }
}
/// q, k and v as parts of one [batch, sequence, 3, heads, width].
TEST_F(DnnAttention, OfInterleavedOperandsIsTakenForAnH200) {
  AttentionShape s = shape(12, 12, 64);
  s.q = s.k = s.v = s.dq = s.dk = s.dv = {1024 * 3 * 768, 64, 3 * 768, 1};
  expect_plans(s);
}
/// Lengths that are no multiples of a tile, few and many rows; and no plan at all where the scores alone take too much.
TEST_F(DnnAttention, TakesNoMoreWorkspaceThanPlansCountWith) {
  for (const bool deterministic : {true, false})
    for (const auto& [batch, heads, length] : {std::tuple{1, 2, 72}, {3, 12, 1000}, {2, 32, 4096}}) {
      AttentionShape s = shape(heads, heads, 128);
      s.deterministic = deterministic;
      s.batch = batch;
      s.queries = s.keys = length;
      s.q = s.k = s.v = s.o = s.d_o = s.dq = s.dk = s.dv = {length * heads * 128, 128, heads * 128, 1};
      s.lse = {static_cast<std::int64_t>(heads) * length, length, 1};
      SCOPED_TRACE(s.key());
      const auto forward = plan_attention(*dnn_, s, kAny), backward = plan_attention_grad(*dnn_, s, kAny);
      ASSERT_TRUE(forward && backward);
      EXPECT_LE(forward->plan->workspace_bytes(), most_workspace(s, false, kHopper));
      EXPECT_LE(backward->plan->workspace_bytes(), most_workspace(s, true, kHopper));
    }
  AttentionShape large = shape(32, 32, 128);
  large.batch = 65;
  EXPECT_FALSE(most_workspace(large, true, kHopper).has_value())
      << "2 bytes of 65 x 32 x 1024 x 1024 scores are more than 4 GiB";
  large.deterministic = false;
  EXPECT_TRUE(most_workspace(large, true, kHopper).has_value());
}
/// On every kind of device that the plugin computes on, where parts of dq are added as they come: some keep its sums in
/// the workspace.
TEST_F(DnnAttention, OfEachComputeCapabilityTakesNoMoreWorkspaceThanPlansCountWith) {
  for (const auto& [capability, processors, shared] :
       {std::tuple{80, 108, 166912}, {89, 142, 101376}, {90, 132, 232448}, {100, 148, 232448}, {120, 188, 101376}}) {
    SCOPED_TRACE(capability);
    open(described(capability, processors, shared));
    AttentionShape s = shape(12, 12, 64);
    s.deterministic = false;
    const std::optional<std::uint64_t> most = most_workspace(s, true, capability);
    ASSERT_TRUE(most);
    const auto plan = plan_attention_grad(*dnn_, s, *most);
    EXPECT_TRUE(plan) << plan.error().text();
  }
}
TEST_F(DnnAttention, ThatTakesTooMuchWorkspaceIsRefusedWithNumbers) {
  AttentionShape s = shape(12, 12, 64);
  const auto plan = plan_attention_grad(*dnn_, s, 1 << 20);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, BALEEN_NO_MEMORY);
  EXPECT_NE(plan.error().message.find("MiB of scratch; plans of ranks count with 1 MiB"), std::string::npos)
      << plan.error().message;
}
/// The emulated library, whose first engine is of no use: its plan takes 1 GiB, or it does not say how it computes.
TEST(DnnEngines, AreTriedUntilOneIsGoodEnough) {
  setenv("EMULATED_CUDA_DEVICES", "0", 1);
  for (const char* const first : {"large", "mute"}) {
    SCOPED_TRACE(first);
    setenv("EMULATED_CUDA_DNN_FIRST", first, 1);
    auto opened = Dnn::open_described({test::emulated_folder()}, kH200);
    ASSERT_TRUE(opened) << opened.error().text();
    DnnGraph graph(**opened);
    const DnnExtents extents{1, 1, 8, 8};
    const auto matrix = [&] { return graph.stored(extents, packed(extents), CUDNN_DATA_HALF); };
    const DnnTensor a = matrix(), b = matrix(), c = matrix();
    graph.matmul(a, b, c);
    const auto plan = graph.plan(true, 1 << 20);
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_EQ((*plan)->workspace_bytes(), 512u);
  }
  unsetenv("EMULATED_CUDA_DNN_FIRST");
}
TEST_F(DnnAttention, IsPlannedOnceForAShape) {
  const AttentionShape s = shape(12, 12, 64);
  const auto one = plan_attention(*dnn_, s, kAny), other = plan_attention(*dnn_, s, kAny);
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->plan, other->plan);
  AttentionShape another = s;
  another.causal = false;
  const auto third = plan_attention(*dnn_, another, kAny);
  ASSERT_TRUE(third);
  EXPECT_NE(one->plan, third->plan);
}
TEST_F(DnnAttention, OfAnUnsuitableWidthIsRefusedWithWords) {
  const auto plan = plan_attention(*dnn_, shape(12, 12, 60), kAny);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, BALEEN_UNSUPPORTED);
  EXPECT_NE(plan.error().message.find("cuDNN"), std::string::npos) << plan.error().message;
}
#endif

/// The largest part of the batch, without remainder, of which the scores' gradient takes at most 1 GiB: 2 bytes for
/// each query and key, in tiles of 128.
TEST(AttentionSlice, IsWhatFitsIntoAGigabyte) {
  const auto slice = [](std::int64_t batch, std::int64_t heads, std::int64_t length, bool backward = true,
                        bool deterministic = true) {
    AttentionShape s;
    s.batch = batch;
    s.heads = s.groups = heads;
    s.queries = s.keys = length;
    s.width = 64;
    s.lse = {heads * length, length, 1};
    s.deterministic = deterministic;
    return attention_slice(s, backward);
  };
  EXPECT_EQ(slice(32, 16, 1024), 32) << "1 GiB";
  EXPECT_EQ(slice(33, 16, 1024), 11);
  EXPECT_EQ(slice(64, 16, 1024), 32);
  EXPECT_EQ(slice(48, 16, 1024), 24) << "without remainder";
  EXPECT_EQ(slice(37, 16, 1024), 1) << "a prime number";
  EXPECT_EQ(slice(32, 16, 1025), 16) << "whole tiles";
  EXPECT_EQ(slice(4, 32, 8192), 1) << "4 GiB";
  EXPECT_EQ(slice(33012, 1, 3), 11004) << "of two slices the second one's statistics would begin 8 bytes beside";
  EXPECT_EQ(slice(33010, 1, 3), 33010) << "no part is a multiple of four rows";
  EXPECT_EQ(slice(64, 16, 1024, false), 64) << "forward there is none";
  EXPECT_EQ(slice(64, 16, 1024, true, false), 64);
}

TEST(DnnDescription, ThatIsNoneIsRefused) {
  const auto opened = Dnn::open_described({}, "nonsense");
  ASSERT_FALSE(opened);
  if (opened.error().code == BALEEN_NOT_FOUND) GTEST_SKIP() << "needs cuDNN: " << opened.error().text();
  EXPECT_NE(opened.error().message.find("description of a device"), std::string::npos) << opened.error().message;
}

}  // namespace
}  // namespace baleen::cuda
