/// \file Which folders are checkpoints, which is the latest, and what pruning may delete.
#include "frontend/checkpoint/checkpoint_root.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "baleen/plugin.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

namespace fs = std::filesystem;

struct Root : testing::Test {
  TemporaryFolder folder;
  Registry registry = *Registry::discover(std::vector<PluginPlace>{{built("lib/baleen/plugins"), ""}},
                                          Log::to([](baleen_level_t, std::string_view) {}));
  ShardFormat format = *ShardFormat::find(registry, "", "");
  fs::path path = folder / "checkpoints";

  /// A checkpoint of one number.
  void save(CheckpointRoot& root, std::int64_t step, float number = 1) {
    const std::string attempt = "a" + std::to_string(++attempts_);
    const fs::path partial = root.partial(step, attempt);
    baleen_shard_t shard{};
    shard.size = sizeof shard;
    const std::string name = "x";
    shard.name = abi(name);
    shard.dtype = BALEEN_F32;
    shard.bytes = sizeof number;
    shard.data = &number;
    ASSERT_TRUE(format.write(partial.string(), attempt, 0, 1, std::span(&shard, 1)));
    ASSERT_TRUE(format.commit(partial.string(), attempt, 1, {{"step", std::to_string(step)}}));
    const Status published = root.publish(partial, step, format);
    ASSERT_TRUE(published) << published.error().text();
  }
  std::vector<std::int64_t> steps(const CheckpointRoot& root) const {
    std::vector<std::int64_t> found;
    for (const FoundCheckpoint& one : root.list()) found.push_back(one.step);
    return found;
  }

  float number_in(const std::string& name) const {
    const auto opened = format.open((path / name).string());
    EXPECT_TRUE(opened) << opened.error().text();
    float number = 0;
    baleen_shard_t shard{};
    shard.size = sizeof shard;
    shard.name = {"x", 1};
    shard.dtype = BALEEN_F32;
    shard.bytes = sizeof number;
    shard.data = &number;
    if (opened) {
      EXPECT_TRUE((*opened)->read(shard));
    }
    return number;
  }

 private:
  int attempts_ = 0;
};

TEST_F(Root, NamesTheLatest) {
  CheckpointRoot root(path);
  EXPECT_FALSE(*root.latest());
  ASSERT_TRUE(root.begin_writing(format));
  EXPECT_FALSE(*root.latest());
  save(root, 20);
  save(root, 100);
  EXPECT_EQ(**root.latest(), path / "step-000000100");
  EXPECT_EQ(steps(root), (std::vector<std::int64_t>{20, 100}));
  save(root, 40);  // of a run that went back
  EXPECT_EQ(**root.latest(), path / "step-000000040");
}

/// Folders and pipes in the place of the files of names.
TEST_F(Root, RefusesNamesThatAreNoFiles) {
  {
    CheckpointRoot root(path);
    ASSERT_TRUE(root.begin_writing(format));
    save(root, 20);
  }
  for (const char* const name : {"latest", "best"}) {
    for (const bool is_folder : {true, false}) {
      fs::remove_all(path / name);
      ASSERT_TRUE(is_folder ? fs::create_directory(path / name) : ::mkfifo((path / name).c_str(), 0600) == 0);
      CheckpointRoot root(path);
      const Status begun = root.begin_writing(format);
      ASSERT_FALSE(begun);
      EXPECT_EQ(begun.error().where, (path / name).string());
      EXPECT_NE(begun.error().message.find("move it away"), std::string::npos) << begun.error().text();
      EXPECT_FALSE(root.best());
      EXPECT_EQ(static_cast<bool>(root.latest()), name == std::string("best"));
    }
    fs::remove_all(path / name);
  }
}

TEST_F(Root, TakesThePlaceOfOneOfTheSameStep) {
  CheckpointRoot root(path);
  ASSERT_TRUE(root.begin_writing(format));
  save(root, 20, 1);
  save(root, 20, 2);
  EXPECT_EQ(steps(root), (std::vector<std::int64_t>{20}));
  EXPECT_EQ(number_in("step-000000020"), 2);
  for (const auto& entry : fs::directory_iterator(path))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".partial")) << entry.path();
}

TEST_F(Root, PrunesAllButTheLastTheBestAndWhatIsNotItsOwn) {
  CheckpointRoot root(path);
  ASSERT_TRUE(root.begin_writing(format));
  for (const std::int64_t step : {10, 20, 30, 40, 50}) save(root, step);
  ASSERT_TRUE(root.set_best({"step-000000020", 1.5}, format));
  fs::create_directories(path / "step-000000005");  // somebody's own
  std::ofstream(path / "step-000000005" / "notes.txt") << "mine";
  std::ofstream(path / "step-000000010" / "notes.txt") << "mine";
  ASSERT_TRUE(root.prune(2, format));
  EXPECT_EQ(steps(root), (std::vector<std::int64_t>{5, 10, 20, 40, 50}));
  EXPECT_EQ(read_file((path / "step-000000005" / "notes.txt").string()), "mine");
  EXPECT_EQ(read_file((path / "step-000000010" / "notes.txt").string()), "mine");
  EXPECT_FALSE(format.open((path / "step-000000010").string())) << "its own files are gone";
  ASSERT_TRUE(root.prune(0, format));
  EXPECT_EQ(steps(root).size(), 5u);
}

/// A run that begins anew, or goes back, counts what it saves itself and what it went on from.
TEST_F(Root, PrunesOfItsOwnLineAlone) {
  {
    CheckpointRoot root(path);
    ASSERT_TRUE(root.begin_writing(format));
    for (const std::int64_t step : {10, 20, 30, 40, 50}) save(root, step);
    ASSERT_TRUE(root.set_best({"step-000000040", 0.5}, format));
  }
  {
    CheckpointRoot back(path);
    ASSERT_TRUE(back.begin_writing(format));
    EXPECT_EQ(back.begin_line(20), 3u);
    EXPECT_FALSE(back.own_best());
    EXPECT_EQ(back.best()->name, "step-000000040");
    for (const std::int64_t step : {25, 30, 35}) {
      save(back, step, 2);
      ASSERT_TRUE(back.prune(2, format));
    }
    EXPECT_EQ(steps(back), (std::vector<std::int64_t>{30, 35, 40, 50}));
    EXPECT_EQ(number_in("step-000000030"), 2);
    EXPECT_EQ(number_in("step-000000030.earlier-1"), 1);
    EXPECT_EQ(number_in("step-000000050"), 1);
    ASSERT_TRUE(back.set_best({"step-000000035", 0.9}, format));
    EXPECT_EQ(back.own_best()->loss, 0.9);
  }
  CheckpointRoot fresh(path);
  ASSERT_TRUE(fresh.begin_writing(format));
  EXPECT_EQ(fresh.begin_line(std::nullopt), 4u);
  for (const std::int64_t step : {1, 2, 3}) {
    save(fresh, step, 3);
    ASSERT_TRUE(fresh.prune(1, format));
  }
  EXPECT_EQ(steps(fresh), (std::vector<std::int64_t>{3, 30, 35, 40, 50}));
  EXPECT_EQ(**fresh.latest(), path / "step-000000003");
}

/// What an earlier run saved outlives all that later ones save of the same steps, the best among it.
TEST_F(Root, KeepsWhatEarlierRunsSavedOfAStep) {
  for (int run = 1; run <= 3; ++run) {
    CheckpointRoot root(path);
    ASSERT_TRUE(root.begin_writing(format));
    EXPECT_EQ(root.begin_line(std::nullopt), run == 1 ? 0u : 2u);
    for (const std::int64_t step : {10, 20}) {
      save(root, step, static_cast<float>(10 * run) + static_cast<float>(step));
      ASSERT_TRUE(step != 10 || root.set_best({"step-000000010", 1.0 / run}, format));
      ASSERT_TRUE(root.prune(1, format));
    }
  }
  EXPECT_EQ(number_in("step-000000010"), 40);
  EXPECT_EQ(number_in("step-000000020"), 50);
  for (const auto& [name, number] : {std::pair{"step-000000010.earlier-1", 20},
                                     {"step-000000010.earlier-2", 30},
                                     {"step-000000020.earlier-1", 30},
                                     {"step-000000020.earlier-2", 40}})
    EXPECT_EQ(number_in(name), static_cast<float>(number)) << name;
  const CheckpointRoot root(path);
  EXPECT_EQ(root.best()->name, "step-000000010");
  // The process may end before the new one has its place.
  fs::remove_all(path / "step-000000020");
  EXPECT_EQ(**root.latest(), path / "step-000000020.earlier-2");
}

TEST_F(Root, LeavesTheBestAsItWasMeasured) {
  CheckpointRoot root(path);
  ASSERT_TRUE(root.begin_writing(format));
  save(root, 20, 1);
  ASSERT_TRUE(root.set_best({"step-000000020", 1.5}, format));
  for (const float number : {2.0F, 3.0F}) {
    save(root, 20, number);
    ASSERT_TRUE(root.prune(1, format));
    EXPECT_EQ(number_in("step-000000020"), number);
    EXPECT_EQ(number_in(root.best()->name), 1);
    EXPECT_EQ(root.best()->loss, 1.5);
    EXPECT_EQ(**root.latest(), path / "step-000000020");
    EXPECT_EQ(steps(root), (std::vector<std::int64_t>{20}));
  }
  // The process may end before the other one has its place.
  fs::remove_all(path / "step-000000020");
  EXPECT_EQ(**root.latest(), path / "step-000000020.best");
  save(root, 20, 4);
  ASSERT_TRUE(root.set_best({"step-000000020", 1}, format));
  EXPECT_EQ(number_in(root.best()->name), 4);
  save(root, 30, 5);
  save(root, 20, 6);
  EXPECT_EQ(number_in(root.best()->name), 4);
  ASSERT_TRUE(root.set_best({"step-000000030", 0.5}, format));
  ASSERT_TRUE(root.prune(2, format));
  EXPECT_EQ(number_in(root.best()->name), 5);
  EXPECT_FALSE(fs::exists(path / "step-000000020.best"));
}

TEST_F(Root, CountsOnlyThoseThatCanBeOpenedAmongWhatItKeeps) {
  CheckpointRoot root(path);
  ASSERT_TRUE(root.begin_writing(format));
  for (const std::int64_t step : {10, 20, 30, 40}) save(root, step);
  std::ofstream(path / "step-000000030" / "index.baleen.json") << "{";
  ASSERT_TRUE(root.prune(2, format));
  EXPECT_EQ(steps(root), (std::vector<std::int64_t>{20, 30, 40}));
  EXPECT_TRUE(format.open((path / "step-000000020").string()));
}

TEST_F(Root, HasNoBestThatIsGone) {
  CheckpointRoot root(path);
  ASSERT_TRUE(root.begin_writing(format));
  save(root, 10);
  ASSERT_TRUE(root.set_best({"step-000000010", 1.5}, format));
  EXPECT_EQ(root.best()->loss, 1.5);
  fs::remove_all(path / "step-000000010");
  EXPECT_FALSE(root.best());
}

TEST_F(Root, LeavesFoldersThatAreNamedAlmostLikeItsOwn) {
  for (const std::string name : {".partial-mine", ".partial-step-000000020", ".partial-step-20-a"}) {
    fs::create_directories(path / name);
    std::ofstream(path / name / "shard-a-00001-of-00001.safetensors") << "mine";
  }
  CheckpointRoot root(path);
  ASSERT_TRUE(root.begin_writing(format));
  for (const std::string name : {".partial-mine", ".partial-step-000000020", ".partial-step-20-a"})
    EXPECT_TRUE(fs::exists(path / name / "shard-a-00001-of-00001.safetensors")) << name;
}

TEST_F(Root, RemovesTokensOfJobsThatWereKilled) {
  CheckpointRoot root(path);
  fs::create_directories(path);
  const fs::path token = root.token("0123"), written = token.string() + ".partial.host.1.2.3";
  for (const fs::path& one : {token, written}) std::ofstream(one) << "0123\n";
  ASSERT_TRUE(root.begin_writing(format));
  EXPECT_FALSE(fs::exists(token));
  EXPECT_FALSE(fs::exists(written));
}

TEST_F(Root, RemovesWhatAnEarlierProcessLeftUnfinished) {
  {
    CheckpointRoot root(path);
    ASSERT_TRUE(root.begin_writing(format));
    save(root, 10);
    const float number = 1;
    baleen_shard_t shard{};
    shard.size = sizeof shard;
    shard.name = {"x", 1};
    shard.dtype = BALEEN_F32;
    shard.bytes = sizeof number;
    shard.data = const_cast<float*>(&number);
    ASSERT_TRUE(format.write(root.partial(20, "b").string(), "b", 0, 2, std::span(&shard, 1)));
  }
  CheckpointRoot root(path);
  ASSERT_TRUE(root.begin_writing(format));
  EXPECT_FALSE(fs::exists(root.partial(20, "b")));
  EXPECT_EQ(steps(root), (std::vector<std::int64_t>{10}));
}

TEST_F(Root, IsOfOneJobAtATime) {
  CheckpointRoot first(path), second(path);
  ASSERT_TRUE(first.begin_writing(format));
  const Status refused = second.begin_writing(format);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("another job saves its checkpoints there"), std::string::npos);
}

TEST_F(Root, SaysThatTheLatestIsGone) {
  CheckpointRoot root(path);
  ASSERT_TRUE(root.begin_writing(format));
  save(root, 10);
  save(root, 20);
  fs::remove_all(path / "step-000000020");
  const auto latest = root.latest();
  ASSERT_FALSE(latest);
  EXPECT_NE(latest.error().message.find("name one of those that are there: step-000000010"), std::string::npos)
      << latest.error().message;
}

}  // namespace
}  // namespace baleen::test
