/// \file Digests of what is loaded.
#include "frontend/engine/job_facts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "frontend/engine/line_difference.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::app {
namespace {

std::string digest(const std::string& path) {
  const auto found = digest_of_file(path);
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

TEST_F(DigestOfFiles, AreOfThoseThatAreLoadedEachWithItsName) {
  std::filesystem::create_directories(folder_ / "one");
  const std::vector<std::filesystem::path> files{folder_.write("one/b", "more"), folder_.write("one/a", "text")};
  const auto lines = file_lines(folder_ / "one", files);
  ASSERT_TRUE(lines) << lines.error().text();
  EXPECT_TRUE(lines->starts_with("of what is loaded, `a` has the digest ")) << *lines;
  EXPECT_NE(lines->find("\nof what is loaded, `b` has the digest "), std::string::npos) << *lines;
  folder_.write("one/.lock", "12345");
  EXPECT_EQ(*file_lines(folder_ / "one", files), *lines);
  folder_.write("one/a", "tent");
  EXPECT_NE(*file_lines(folder_ / "one", files), *lines);
}

/// As much is looked at as of one file.
TEST_F(DigestOfFiles, OfSeveralAreOfAllTheirBytesWhereThatIsNotTooMuch) {
  const std::string large = folder_.write("large", std::string(8 << 20, 'a')), small = folder_.write("small", "b");
  const auto lines = [&] { return *file_lines(folder_.path(), {large, small}); };
  const std::string before = lines();
  for (const std::uint64_t at : {(std::uint64_t{3} << 20) + 300'000, (std::uint64_t{5} << 20) + 123'456}) {
    change(large, at);
    EXPECT_NE(lines(), before) << at;
    std::fstream(large, std::ios::in | std::ios::out).seekp(static_cast<std::streamoff>(at)).put('a');
    EXPECT_EQ(lines(), before) << at;
  }
}

TEST_F(DigestOfFiles, ShareWhatIsLookedAtBySize) {
  const std::string one = folder_.write("one", ""), two = folder_.write("two", "");
  for (const std::string& path : {one, two}) std::filesystem::resize_file(path, 384ull << 20);
  const auto lines = [&] { return *file_lines(folder_.path(), {one, two}); };
  const std::string before = lines();
  std::string seen;
  for (std::uint64_t i = 0; i < 6; ++i) {  // of each 192 KiB 64 are looked at
    const std::string& changed = i % 2 == 0 ? one : two;
    change(changed, i * (17ull << 20));
    if (lines() != before) seen += std::to_string(i);
    std::ofstream(changed).close();
    std::filesystem::resize_file(changed, 384ull << 20);
  }
  EXPECT_EQ(seen, "03");
}

TEST(OptionLine, LeavesOutPathsAndAbbreviates) {
  Descriptor descriptor;
  descriptor.name = "rows";
  Option path;
  path.name = "path";
  path.flags = BALEEN_OPTION_PATH;
  descriptor.options = {path};
  MemberSpec data;
  data.options["path"].data = std::string("/somewhere/rows.csv");
  data.options["shuffle"].data = false;
  data.options["rows"].data = NumberTable{std::vector<double>(300, 0.5), 100, 3};
  const std::string line = option_line(data, descriptor);
  EXPECT_TRUE(line.starts_with("the data is `rows`, rows = of the digest ")) << line;
  EXPECT_TRUE(line.ends_with(", shuffle = false\n")) << line;
  std::get<NumberTable>(data.options["rows"].data).numbers[200] = 0.25;
  EXPECT_NE(option_line(data, descriptor), line);
}

TEST(Places, AreComparedByTheirLines) {
  EXPECT_EQ(line_of_place("/home/a/train.lua:12 (loss)"), "line 12 (loss)");
  EXPECT_EQ(line_of_place("other.lua:12 (loss)"), line_of_place("b/train.lua:12 (loss)"));
  EXPECT_NE(line_of_place("train.lua:13"), line_of_place("train.lua:12"));
  EXPECT_EQ(line_of_place(""), "");
}

TEST_F(DigestOfFiles, NamesWhatCannotBeRead) {
  const auto none = digest_of_file(folder_ / "absent");
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

TEST(OtherFact, IsNotComparedWithTheNextOne) {
  const auto differ = [](const char* one, const char* two) {
    const auto found = first_other_fact(one, two);
    return found ? found->one + " | " + found->two : "nothing";
  };
  EXPECT_EQ(differ("a\nb\n", "a\nb\n"), "nothing");
  EXPECT_EQ(differ("a\nmore\nb\n", "a\nb\n"), "more | nothing of the kind");
  EXPECT_EQ(differ("a\nb\n", "a\nmore\nb\n"), "nothing of the kind | more");
  EXPECT_EQ(differ("a\nb = 1\nc\n", "a\nb = 2\nc\n"), "b = 1 | b = 2");
  EXPECT_EQ(differ("a\nb\n", "b\na\n"), "a | b") << "another order";
  EXPECT_EQ(differ("a\n", "a\nb\n"), "nothing more | b");
}

}  // namespace
}  // namespace baleen::app
