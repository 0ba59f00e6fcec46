/// \file Messages that are added while they arrive, in fragments that cut elements and come in any order.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "program.hpp"

namespace baleen::ucx {
namespace {

// Tells which of the two came first.
void subtract(const std::byte* const* sources, std::size_t, std::byte* const* destinations, std::size_t,
              std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    reinterpret_cast<float*>(destinations[0])[i] =
        reinterpret_cast<const float*>(sources[0])[i] - reinterpret_cast<const float*>(sources[1])[i];
}

// A message of floats that is combined with what lies in two buffers.
class Addition : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr std::size_t kFirst = 3000, kCount = 7001;

  void SetUp() override {
    std::iota(own_.begin(), own_.end(), 1.0F);
    for (std::size_t i = 0; i < kCount; ++i) theirs_[i] = 0.5F * static_cast<float>(i * i % 1000);
    Stream own, to;
    own.add(own_.data(), kFirst * sizeof(float));
    own.add(own_.data() + kFirst, (kCount - kFirst) * sizeof(float));
    to.add(result_.data(), kFirst * sizeof(float));
    to.add(rest_.data(), (kCount - kFirst) * sizeof(float));
    ProgramBuilder build(2, sizeof(float), &subtract, scratch_, 1 << 20, true, nullptr);
    build.receive_added(1, own, GetParam(), to, {});
    program_ = build.finish();
  }

  // Cuts the messages at every `step` bytes; the fragments come from the last to the first.
  void arrive(std::size_t step) {
    std::uint64_t begin = 0;
    for (const Node& node : program_.nodes()) {
      if (!Program::adds(node)) continue;
      std::vector<Range> odd;
      const auto* bytes = reinterpret_cast<const std::byte*>(theirs_.data()) + begin;
      for (std::uint64_t at = (node.bytes - 1) / step * step + step; at > 0; at -= step) {
        const std::uint64_t from = at - step;
        program_.add_fragment(node, from, bytes + from, std::min<std::uint64_t>(step, node.bytes - from), odd);
      }
      program_.add_odd(node, odd);
      EXPECT_TRUE(odd.empty());
      begin += node.bytes;
    }
    EXPECT_EQ(begin, kCount * sizeof(float));
  }

  void expect_differences() const {
    for (std::size_t i = 0; i < kCount; ++i) {
      const float found = i < kFirst ? result_[i] : rest_[i - kFirst];
      ASSERT_EQ(found, GetParam() ? own_[i] - theirs_[i] : theirs_[i] - own_[i]) << i;
    }
  }

  std::vector<float> own_ = std::vector<float>(kCount), theirs_ = own_;
  std::vector<float> result_ = std::vector<float>(kFirst), rest_ = std::vector<float>(kCount - kFirst);
  Scratch scratch_;
  Program program_;
};

TEST_P(Addition, WholeMessages) {
  arrive(kCount * sizeof(float));
  expect_differences();
}

TEST_P(Addition, FragmentsOfWholeElements) {
  arrive(4096);
  expect_differences();
}

TEST_P(Addition, FragmentsThatCutElements) {
  arrive(4095);
  expect_differences();
}

TEST_P(Addition, FragmentsSmallerThanElements) {
  arrive(3);
  expect_differences();
}

INSTANTIATE_TEST_SUITE_P(Orders, Addition, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "OwnFirst" : "TheirsFirst"; });

}  // namespace
}  // namespace baleen::ucx
