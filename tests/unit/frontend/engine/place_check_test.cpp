/// \file What processes are told of themselves, by the launcher of tests/unit/core/launch.
#include "frontend/engine/place_check.hpp"

#include "unit/core/launch/sample.hpp"

namespace baleen::app {
namespace {

class Places : public SampleTest {
 protected:
  std::unique_ptr<RankLink> link = sample_link();
};

TEST_F(Places, NamesTwoProcessesOfOneNumber) {
  const auto other = sample_link(1), twin = sample_link(0);
  EXPECT_FALSE(compare_places(*other));  // which comes first, and finds nobody
  EXPECT_TRUE(compare_places(*link));
  const Status status = compare_places(*twin);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, BALEEN_INVALID);
  const std::string text = status.error().text();
  EXPECT_TRUE(text.starts_with("launcher `sample` says that two processes are rank 0 of 2: process ")) << text;
  EXPECT_NE(text.find(" on host `localhost`, and process "), std::string::npos) << text;
}

TEST_F(Places, NamesANumberThatNoProcessHas) {
  const Status status = compare_places(*link);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, BALEEN_TIMEOUT);
  EXPECT_EQ(status.error().text(),
            "no process says that it is rank 1 of 2: launcher `sample`: `process of rank 1` is not there");
}

}  // namespace
}  // namespace baleen::app
