/// \file What a launcher is told, and the checks of what it says.
#include "core/launch/launcher.hpp"

#include "sample.hpp"

namespace baleen {
namespace {

using Numbers = NumberTable;

class LauncherTest : public SampleTest {};

Error refused(const UserValues& options) {
  const auto launcher = sample(options);
  if (!launcher) return launcher.error();
  ADD_FAILURE() << "taken";
  return {};
}

TEST_F(LauncherTest, TellsThePlaceOfARank) {
  const auto launcher = sample({{"rank", number(2)},
                                {"ranks", number(3)},
                                {"local_rank", number(1)},
                                {"local_ranks", number(2)},
                                {"host_index", number(1)},
                                {"threads", number(4)},
                                {"host_of_rank", {Numbers{{0, 1, 1}, 1, 3}, "test"}},
                                {"hosts", {std::vector<std::string>{"a", "b"}, "test"}},
                                {"address", {std::string("fd00::2"), "test"}}});
  ASSERT_TRUE(launcher) << launcher.error().text();
  EXPECT_EQ((*launcher)->place(), (Place{2, 3, 1, 2, "b", 4, 1, {0, 1, 1}, "fd00::2"}));
  EXPECT_EQ((*launcher)->hosts(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(LauncherTest, MaySayThatTheProcessIsNoRank) {
  const auto launcher = sample({{"ranks", number(0)}});
  ASSERT_TRUE(launcher) << launcher.error().text();
  EXPECT_FALSE((*launcher)->place());
  const auto outcome = (*launcher)->start({{"baleen"}, "--mark=", {}, {}, {}, 1, {}});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, BALEEN_INVALID);
  EXPECT_EQ(outcome.error().text(),
            "launcher `sample` starts no ranks: it serves processes that something else has started, and this is none");
}

TEST_F(LauncherTest, IsToldOfTheJob) {
  LaunchJob job{{{"a", 2, "10.0.0.1"}, {"b", 5}}, 7, 1, "file", "word"};
  const auto launcher = sample({}, job);
  ASSERT_TRUE(launcher) << launcher.error().text();
  EXPECT_EQ(*(*launcher)->get("launch"), "2 hosts, 7 ranks, index 1, secret `file`, word `word`");
  EXPECT_TRUE(*LauncherMember::fits(sample_plugin(), job));
  job = {};
  EXPECT_FALSE(*LauncherMember::fits(sample_plugin(), job));
  EXPECT_EQ(*(*sample({}, job))->get("launch"), "0 hosts, 1 ranks, index -1, secret ``, word ``");
}

TEST_F(LauncherTest, IsNamedWhereItsNumbersAreNone) {
  EXPECT_EQ(refused({{"rank", number(4)}, {"ranks", number(4)}}).text(),
            "launcher `sample` says that this process is rank 4 of 4; ranks are numbered from 0");
  EXPECT_EQ(refused({{"rank", number(-1)}, {"ranks", number(4)}}).text(),
            "launcher `sample` says that this process is rank -1 of 4; ranks are numbered from 0");
  EXPECT_EQ(refused({{"ranks", number(4)}, {"local_rank", number(2)}, {"local_ranks", number(2)}}).text(),
            "launcher `sample` says that this process is rank 2 of 2 of its host");
  EXPECT_EQ(refused({{"ranks", number(4)}, {"local_ranks", number(5)}}).text(),
            "launcher `sample` says that this process is rank 0 of 5 of its host");
}

TEST_F(LauncherTest, IsNamedWhereItsHostsAreNone) {
  const auto hosts = [](std::vector<double> numbers) { return UserValue{Numbers{std::move(numbers), 1, 2}, "test"}; };
  EXPECT_EQ(refused({{"ranks", number(2)}, {"host_of_rank", hosts({1, 0})}}).text(),
            "launcher `sample` says that hosts take turns in the numbers of ranks; let the ranks of a host follow each "
            "other");
  EXPECT_EQ(refused({{"ranks", number(2)}, {"host_of_rank", hosts({0, 1})}, {"host_index", number(1)}}).text(),
            "launcher `sample` says that this process is on host 1 and its rank on host 0");
  EXPECT_EQ(refused({{"ranks", number(2)},
                     {"host_of_rank", hosts({0, 3})},
                     {"hosts", {std::vector<std::string>{"a", "b"}, "test"}}})
                .text(),
            "launcher `sample` says that this process is in a job with a rank on host 3 of 2");
}

TEST_F(LauncherTest, SaysWhereItKnowsNoSecrets) {
  const Status made = LauncherMember::make_secret(sample_plugin(), "file");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, BALEEN_UNSUPPORTED);
}

}  // namespace
}  // namespace baleen
