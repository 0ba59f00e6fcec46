/// \file Counts and words of products, and what a refused launch leads to.
#include "product_report.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace baleen::cuda {
namespace {

class Report : public testing::Test {
 protected:
  std::vector<std::string> said_;
  ProductReport report_{
      [this](baleen_level_t level, const std::string& text) { said_.push_back(std::to_string(level) + " " + text); }};
};

/// A script reads this line.
TEST_F(Report, TellsCountsOnceInOneLine) {
  using enum ProductKind;
  report_.tell();
  EXPECT_TRUE(said_.empty());
  report_.add({});
  report_.tell();
  EXPECT_TRUE(said_.empty()) << "of kernels without products nothing is said";
  report_.add(std::vector{kFused});
  report_.add(std::vector{kPlain, kOwn, kTwoSteps, kFused});
  report_.add(std::vector{kConverted, kConverted, kConverted});
  for (int time = 0; time < 2; ++time) report_.tell();
  ASSERT_EQ(said_, std::vector<std::string>{"1 products: 2 fused, 1 in two steps, 3 converted, 1 own"});
  report_.add(std::vector{kPlain});
  report_.tell();
  EXPECT_EQ(said_.back(), "1 products: 0 fused, 0 in two steps, 0 converted, 0 own") << "a later program's own";
}
TEST_F(Report, SaysTheSameOnce) {
  for (const char* text : {"one", "other", "one"}) report_.once(BALEEN_WARNING, text);
  EXPECT_EQ(said_, (std::vector<std::string>{"3 one", "3 other"}));
}

TEST_F(Report, KeepsAskingWhatDoesNotRefuse) {
  const Refusal refusal(report_, "in two steps");
  int asked = 0;
  const auto other = []() -> Status { return internal("nobody wants the other way"); };
  for (int time = 0; time < 2; ++time) EXPECT_TRUE(refusal.run([&] { return ++asked, Status(); }, other));
  EXPECT_EQ(asked, 2);
  const Status broken = refusal.run([]() -> Status { return internal("the device is lost"); }, other);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().message, "the device is lost") << "what is no refusal ends the run";
  EXPECT_TRUE(said_.empty());
}
TEST_F(Report, AsksNoMoreWhatRefused) {
  const Refusal refusal(report_, "it is computed in two steps");
  int asked = 0, other = 0;
  for (int time = 0; time < 3; ++time)
    EXPECT_TRUE(refusal.run([&]() -> Status { return ++asked, unsupported("cuBLASLt refuses a product"); },
                            [&] { return ++other, Status(); }));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(other, 3);
  EXPECT_EQ(said_, std::vector<std::string>{"3 cuBLASLt refuses a product; from now on it is computed in two steps"});
}

}  // namespace
}  // namespace baleen::cuda
