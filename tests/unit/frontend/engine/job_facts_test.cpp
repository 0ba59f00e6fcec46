/// \file Digests of what is loaded.
#include "frontend/engine/job_facts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "support/temporary_folder.hpp"

namespace baleen::app {
namespace {

std::string digest(const std::string& path) {
  const auto found = digest_of_files(path);
  EXPECT_TRUE(found) << found.error().text();
  return found ? *found : "";
}

class DigestOfFiles : public testing::Test {
 protected:
  void change(const std::string& path, std::uint64_t at) const {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put('x');
  }
  const test::TemporaryFolder folder_;
};

TEST_F(DigestOfFiles, ChangesWithEveryByteAndWithTheLength) {
  const std::string file = folder_.write("file", std::string(200'000, 'a')), whole = digest(file);
  EXPECT_EQ(digest(folder_.write("copy", std::string(200'000, 'a'))), whole);
  EXPECT_NE(digest(folder_.write("longer", std::string(200'001, 'a'))), whole);
  for (const std::uint64_t at : {0, 65'535, 65'536, 199'999}) {
    folder_.write("file", std::string(200'000, 'a'));
    change(file, at);
    EXPECT_NE(digest(file), whole) << at;
  }
}

/// A file of 400 MiB that takes no room. Of each 100 KiB of it 64 are looked at.
TEST_F(DigestOfFiles, OfLongOnesLooksAtPiecesAllOver) {
  const std::string file = folder_ / "long";
  const auto digest_with = [&](std::uint64_t at) {
    std::ofstream(file).close();
    std::filesystem::resize_file(file, 400ull << 20);
    change(file, at);
    return digest(file);
  };
  const std::string first = digest_with(0);
  int seen = 0;
  for (std::uint64_t i = 1; i <= 10; ++i)
    seen += digest_with(i * (39ull << 20)) != digest_with(i * (39ull << 20) + (1 << 15));
  EXPECT_GE(seen, 4) << "of ten";
  EXPECT_NE(digest_with(1), first);
}

TEST_F(DigestOfFiles, OfAFolderHasTheNames) {
  const std::string one = folder_ / "one", two = folder_ / "two";
  for (const std::string& path : {one, two}) {
    std::filesystem::create_directories(path + "/deep");
    std::ofstream(path + "/a") << "text";
    std::ofstream(path + "/deep/b") << "more";
  }
  EXPECT_EQ(digest(one), digest(two));
  std::filesystem::rename(two + "/a", two + "/c");
  EXPECT_NE(digest(one), digest(two));
  std::filesystem::rename(two + "/c", two + "/a");
  std::ofstream(two + "/deep/b") << "less";
  EXPECT_NE(digest(one), digest(two));
}

TEST_F(DigestOfFiles, NamesWhatCannotBeRead) {
  const auto none = digest_of_files(folder_ / "absent");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text().find("absent"), std::string::npos) << none.error().text();
}

TEST(JobLines, HaveSchedulesAtTheFirstTheLastAndSomeStepsBetween) {
  Job job;
  job.optimizer.name = "sgd";
  job.optimizer.schedules["lr"] = [](std::int64_t step) { return static_cast<double>(step); };
  const std::string lines = job_lines(job, 1000);
  for (const char* line : {"the optimizer is sgd\n", "the optimizer: `lr` at step 0 is 0\n", "at step 15 is 15\n",
                           "at step 24 is 24\n", "at step 999 is 999\n"})
    EXPECT_NE(lines.find(line), std::string::npos) << line << lines;
  EXPECT_EQ(lines.find("at step 1000 "), std::string::npos);
  EXPECT_LT(std::count(lines.begin(), lines.end(), '\n'), 60);
}

/// In few lines, however many steps there are.
TEST(JobLines, TellSchedulesApartWhereTheyAreNotShown) {
  const auto lines = [](std::int64_t steps, std::int64_t odd) {
    Job job;
    job.optimizer.schedules["lr"] = [odd](std::int64_t step) { return step == odd ? 0.5 : 0.25; };
    return job_lines(job, steps);
  };
  EXPECT_EQ(lines(10000, -1), lines(10000, 10000));
  for (const std::int64_t odd : {17, 777, 5000, 9998}) EXPECT_NE(lines(10000, -1), lines(10000, odd)) << odd;
  const std::string many = lines(100'000'000, -1);
  EXPECT_LT(std::count(many.begin(), many.end(), '\n'), 100);
}

TEST(JobLines, SayWhereAScheduleFails) {
  Job job;
  job.optimizer.schedules["lr"] = [](std::int64_t) -> double { throw std::runtime_error("no"); };
  EXPECT_NE(job_lines(job, 1).find("`lr` at step 0 is an error"), std::string::npos);
}

}  // namespace
}  // namespace baleen::app
