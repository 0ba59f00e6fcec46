/// \file Kernels of kinds of ops that write beside their results, each in its own way; and one that does not.
#include "frontend/engine/kernel_check.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "baleen/op_kind.h"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::app {
namespace {

/// What the kernel does after it has computed y = 2 x, with strides.
using Fault = std::function<void(const baleen_cpu_call_t& call)>;
Fault fault;

float* at(const baleen_cpu_call_t& call, std::size_t number) { return static_cast<float*>(call.addresses[number]); }

baleen_status_t twice(void*, const baleen_cpu_call_t* call) {
  const baleen_tensor_t &x = call->tensors[0], &y = call->tensors[1];
  for (std::int64_t i = 0; i < x.shape[0]; ++i)
    for (std::int64_t j = 0; j < x.shape[1]; ++j)
      at(*call, 1)[i * y.stride[0] + j * y.stride[1]] = 2 * at(*call, 0)[i * x.stride[0] + j * x.stride[1]];
  if (fault) fault(*call);
  return BALEEN_OK;
}

class KernelCheck : public testing::Test {
 protected:
  KernelCheck() {
    kind_.size = sizeof kind_;
    kind_.name = text("twice");
    kind_.cpu = twice;
  }
  ~KernelCheck() override { fault = nullptr; }

  static baleen_string_t text(const char* letters) { return {letters, std::strlen(letters)}; }

  /// Of an op on fp32 [4, 6]. What is wrong with the kernel; "" where nothing is.
  std::string verdict(Fault with) {
    fault = std::move(with);
    baleen_tensor_t tensors[2];
    for (baleen_tensor_t& tensor : tensors) {
      tensor = {};
      tensor.size = sizeof tensor;
      tensor.dtype = BALEEN_F32;
      tensor.rank = 2;
      tensor.micro_dim = -1;
      tensor.shape[0] = tensor.global_shape[0] = 4;
      tensor.shape[1] = tensor.global_shape[1] = tensor.stride[0] = 6;
      tensor.stride[1] = 1;
    }
    const std::uint32_t in = 0, out = 1;
    const baleen_op_view_t op{sizeof op, kind_.name, text("layer"), &in, 1, &out, 1, nullptr, 0};
    const baleen_op_kind_t* const kind = &kind_;
    const baleen_region_t region{sizeof region, &op, 1, tensors, 2, &kind};
    const GuardedTarget target(*device_);
    EXPECT_TRUE(target.supports(region));
    const auto made = target.compile(region);
    return made ? "" : made.error().message;
  }
  std::string wrote(const std::string& where) const {
    return "its kernel for the device `" + std::string(device_->info().name) + "` wrote " + where +
           "; a kernel writes its results and nothing else";
  }

  baleen_op_kind_t kind_{};
  const std::unique_ptr<Device> device_ = test::make_device(BALEEN_CPU_PLUGIN, {{"threads", "2"}, {"pin", "false"}});
};

TEST_F(KernelCheck, TakesAKernelThatWritesItsResults) { EXPECT_EQ(verdict(nullptr), ""); }

TEST_F(KernelCheck, NamesAWriteBehindAResult) {
  EXPECT_EQ(verdict([](const baleen_cpu_call_t& call) { at(call, 1)[4 * call.tensors[1].stride[0]] = 1; }),
            wrote("byte 0 behind result 1, fp32 [4, 6]"));
  EXPECT_EQ(verdict([](const baleen_cpu_call_t& call) { at(call, 1)[26] = 1; }),
            wrote("byte 8 behind result 1, fp32 [4, 6]"));
}
TEST_F(KernelCheck, NamesAWriteBeforeAResult) {
  EXPECT_EQ(verdict([](const baleen_cpu_call_t& call) { at(call, 1)[-2] = 1; }),
            wrote("byte 8 before result 1, fp32 [4, 6]"));
}
TEST_F(KernelCheck, NamesAWriteBehindAnOperand) {
  EXPECT_EQ(verdict([](const baleen_cpu_call_t& call) { at(call, 0)[25] = 1; }),
            wrote("byte 4 behind operand 1, fp32 [4, 6]"));
  EXPECT_EQ(verdict([](const baleen_cpu_call_t& call) { at(call, 0)[-1] = 1; }),
            wrote("byte 4 before operand 1, fp32 [4, 6]"));
}
TEST_F(KernelCheck, NamesAWriteIntoAnOperand) {
  EXPECT_EQ(verdict([](const baleen_cpu_call_t& call) { at(call, 0)[3] = 0.3f; }),
            wrote("into operand 1, fp32 [4, 6], at its byte 12"));
}
/// It writes well where rows lie together, and between them where they do not.
TEST_F(KernelCheck, NamesAWriteBetweenTheRowsOfAResult) {
  EXPECT_EQ(verdict([](const baleen_cpu_call_t& call) {
              for (std::int64_t i = 0; i < 24; ++i) at(call, 1)[i] = 1;
            }),
            wrote("between the elements of result 1, fp32 [4, 6], at its byte 24"));
}
/// One byte of an element is enough.
TEST_F(KernelCheck, NamesAByte) {
  EXPECT_EQ(verdict([](const baleen_cpu_call_t& call) { reinterpret_cast<char*>(at(call, 1) + 24)[1] = 1; }),
            wrote("byte 1 behind result 1, fp32 [4, 6]"));
}

}  // namespace
}  // namespace baleen::app
