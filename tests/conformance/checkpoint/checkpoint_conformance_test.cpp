/// \file What every checkpoint format must do: the same bits come back, and a failed write leaves the old file.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "support/checkpoint_run.hpp"
#include "support/ordinary_user.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::test;

class Checkpoint : public testing::TestWithParam<std::string> {
 protected:
  CheckpointRun run{built_plugin("checkpoint", GetParam())};
  TemporaryFolder folder;
  const std::string path = folder / ("model." + std::string(run.plugin.descriptor.extension));

  /// By name, since a format may order tensors as it likes.
  static std::map<std::string, NamedTensor> by_name(const std::vector<NamedTensor>& tensors) {
    std::map<std::string, NamedTensor> result;
    for (const auto& tensor : tensors) EXPECT_TRUE(result.emplace(tensor.name, tensor).second) << tensor.name;
    return result;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      names.push_back(entry.path().filename().string());
    return names;
  }
};

TEST_P(Checkpoint, DescribesItself) {
  EXPECT_STREQ(run.plugin.descriptor.kind, "checkpoint");
  EXPECT_EQ(run.plugin.descriptor.name, GetParam());
  EXPECT_NE(run.plugin.descriptor.extension[0], 0) << "it could never be chosen by a file's name";
}

TEST_P(Checkpoint, GivesEveryBitBack) {
  const std::vector<NamedTensor> tensors = {some_tensor("blocks.0.weight", BALEEN_F32, {3, 5}),
                                            some_tensor("odd", BALEEN_U8, {7}),
                                            some_tensor("double", BALEEN_F64, {2, 1, 2}),
                                            some_tensor("half", BALEEN_F16, {3}),
                                            some_tensor("brain", BALEEN_BF16, {5}),
                                            some_tensor("eighth", BALEEN_E4M3, {3}),
                                            some_tensor("eighth of a gradient", BALEEN_E5M2, {2, 3}),
                                            some_tensor("ids", BALEEN_I64, {2}),
                                            some_tensor("count", BALEEN_I32, {}),
                                            some_tensor("empty", BALEEN_F32, {0, 4}),
                                            some_tensor("naïve \"name\"", BALEEN_F32, {1}),
                                            some_tensor("deep", BALEEN_F32, {1, 1, 2, 1, 1, 1, 1, 2})};
  ASSERT_EQ(run.write(path, tensors), BALEEN_OK) << run.plugin.host->failure();
  EXPECT_EQ(by_name(run.read(path)), by_name(tensors));
}

TEST_P(Checkpoint, GivesFactsBack) {
  const TestFacts facts = {{"baleen.step", "120"}, {"note", "line\nbreak, \"quotes\", ümlaut"}, {"empty", ""}};
  ASSERT_EQ(run.write(path, {some_tensor("w", BALEEN_F32, {1})}, facts), BALEEN_OK);
  TestFacts found;
  run.read(path, &found);
  for (const auto& [name, text] : facts) EXPECT_EQ(found[name], text) << name;
}

TEST_P(Checkpoint, HoldsNoTensorsAtAll) {
  ASSERT_EQ(run.write(path, {}), BALEEN_OK);
  EXPECT_TRUE(run.read(path).empty());
}

TEST_P(Checkpoint, WritesTheSameBytesForTheSameTensors) {
  const std::vector<NamedTensor> tensors = {some_tensor("a", BALEEN_F32, {3}), some_tensor("b", BALEEN_F64, {3})};
  ASSERT_EQ(run.write(path, tensors), BALEEN_OK);
  const std::string first = read_file(path);
  ASSERT_EQ(run.write(path, {tensors[1], tensors[0]}), BALEEN_OK);
  EXPECT_EQ(read_file(path), first);
}

TEST_P(Checkpoint, ReplacesAFileAndLeavesNothingBeside) {
  ASSERT_EQ(run.write(path, {some_tensor("old", BALEEN_F32, {100})}), BALEEN_OK);
  ASSERT_EQ(run.write(path, {some_tensor("new", BALEEN_F32, {2})}), BALEEN_OK);
  EXPECT_EQ(run.read(path).at(0).name, "new");
  EXPECT_EQ(files().size(), 1u);
}

TEST_P(Checkpoint, KeepsTheOldFileWhereTheDiskIsFull) {
  ASSERT_EQ(run.write(path, {some_tensor("old", BALEEN_F32, {4})}), BALEEN_OK);
  const std::string before = read_file(path);
  // A limit on file sizes ends a write as a full disk does, in the middle.
  rlimit usual{};
  ::getrlimit(RLIMIT_FSIZE, &usual);
  const rlimit small{16384, usual.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto status = run.write(path, {some_tensor("big", BALEEN_F32, {100000})});
  ::setrlimit(RLIMIT_FSIZE, &usual);
  EXPECT_EQ(status, BALEEN_IO);
  EXPECT_NE(run.plugin.host->failure().find("File too large"), std::string::npos) << run.plugin.host->failure();
  EXPECT_EQ(read_file(path), before);
  EXPECT_EQ(files().size(), 1u);
}

TEST_P(Checkpoint, NamesAFolderItCannotWriteTo) {
  EXPECT_NE(run.write(folder / "missing/model", {}), BALEEN_OK);
  EXPECT_NE(run.plugin.host->failure().find(folder / "missing"), std::string::npos) << run.plugin.host->failure();
  ::chmod(folder.path().c_str(), 0555);
  const OrdinaryUser user;
  if (!user.possible()) GTEST_SKIP() << "needs to become an ordinary user";
  EXPECT_EQ(run.write(path, {}), BALEEN_IO);
  EXPECT_NE(run.plugin.host->failure().find("Permission denied"), std::string::npos) << run.plugin.host->failure();
}

TEST_P(Checkpoint, RefusesTwoTensorsOfOneName) {
  EXPECT_EQ(run.write(path, {some_tensor("w", BALEEN_F32, {1}), some_tensor("w", BALEEN_F32, {2})}), BALEEN_INVALID);
  EXPECT_TRUE(files().empty());
}

TEST_P(Checkpoint, RefusesAFileCutShortAnywhere) {
  ASSERT_EQ(run.write(path, {some_tensor("a", BALEEN_F32, {5}), some_tensor("b", BALEEN_U8, {3})}), BALEEN_OK);
  const std::string whole = read_file(path);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    folder.write("cut." + std::string(run.plugin.descriptor.extension), whole.substr(0, size));
    EXPECT_NE(run.failure_of_reading(folder / ("cut." + std::string(run.plugin.descriptor.extension))), "") << size;
  }
}

TEST_P(Checkpoint, NamesAMissingFile) {
  EXPECT_EQ(run.failure_of_reading(path), path + ": cannot open: No such file or directory");
}

INSTANTIATE_TEST_SUITE_P(Members, Checkpoint, testing::ValuesIn(built_members("checkpoint")),
                         [](const auto& info) { return info.param; });

}  // namespace
