/// \file Discovery and choice. Copies of the sample with changed bytes stand for other members.
#include "core/plugin/registry.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace baleen {
namespace {

using test::TemporaryFolder;

/// The sample as a library of another name, kind, score and extension.
std::string member(const std::string& kind, const std::string& name, int score, const std::string& extension = "") {
  std::string bytes = test::read_file(SAMPLE);
  const std::size_t at = bytes.find("BALEEN01");
  baleen_descriptor_t record;
  std::memcpy(&record, bytes.data() + at, sizeof record);
  const auto set = [](auto& field, const std::string& text) {
    std::memset(field, 0, sizeof field);
    std::memcpy(field, text.data(), text.size());
  };
  set(record.kind, kind);
  set(record.name, name);
  set(record.extension, extension);
  record.score = score;
  for (baleen_option_t& option : record.options) set(option.cli, "");
  std::memcpy(bytes.data() + at, &record, sizeof record);
  return bytes;
}

class FindPlugins : public testing::Test {
 protected:
  Registry discover(std::vector<PluginPlace> places) {
    auto registry = Registry::discover(places, log_);
    if (!registry) throw std::runtime_error(registry.error().text());
    return *std::move(registry);
  }
  Registry three() {
    folder_.write("b.so", member("data", "beta", 5, "csv"));
    folder_.write("a.so", member("data", "alpha", 5, "txt"));
    folder_.write("c.so", member("data", "gamma", -1, "bin"));
    return discover({{folder_.path(), ""}});
  }
  TemporaryFolder folder_;
  const Log log_;
};

TEST_F(FindPlugins, SortsByKindAndName) {
  folder_.write("1.so", member("monitor", "zeta", 0));
  const Registry registry = three();
  ASSERT_EQ(registry.descriptors().size(), 4u);
  EXPECT_EQ(registry.names("data"), (std::vector<std::string>{"alpha", "beta", "gamma"}));
  EXPECT_EQ(registry.descriptors().back().name, "zeta");
}

TEST_F(FindPlugins, OverlooksOtherFiles) {
  folder_.write("README.md", "no plugin");
  EXPECT_TRUE(discover({{folder_.path(), ""}}).descriptors().empty());
}

TEST_F(FindPlugins, RejectsABadLibraryInAFolder) {
  folder_.write("bad.so", "not ELF at all");
  const Registry registry = discover({{folder_.path(), ""}});
  ASSERT_EQ(registry.rejected().size(), 1u);
  EXPECT_EQ(registry.rejected()[0].file.filename(), "bad.so");
}

/// As of a copy whose descriptor was left as it was, also where the original hides it.
TEST_F(FindPlugins, NamesTheFileThatSaysThatItIsAnother) {
  folder_.write("baleen_data_alpha.so", member("data", "alpha", 0));
  const std::string copy = folder_.write("baleen_data_mine.so", member("data", "alpha", 0));
  const auto found = discover({{folder_.path(), ""}}).find("data", "mine", "job.lua:3:7");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().text(),
            "job.lua:3:7: unknown data plugin `mine`; known: `alpha`; " + copy + " says that it is data `alpha`");
}

TEST_F(FindPlugins, FailsForABadLibraryThatWasNamed) {
  const std::vector<PluginPlace> places = {{folder_.write("bad.so", "not ELF at all"), "a.toml:2:3"}};
  const auto registry = Registry::discover(places, log_);
  ASSERT_FALSE(registry);
  EXPECT_EQ(registry.error().text(), "a.toml:2:3: " + places[0].path.string() + ": not ELF: it is no shared library");
}

TEST_F(FindPlugins, FailsForAPlaceThatIsNotThere) {
  const std::vector<PluginPlace> places = {{folder_ / "absent", "--plugin-path"}};
  EXPECT_FALSE(Registry::discover(places, log_));
}

TEST_F(FindPlugins, TakesTheFirstOfEqualNames) {
  const std::string first = folder_.write("one/x.so", member("data", "twin", 1));
  const std::string second = folder_.write("two/x.so", member("data", "twin", 2));
  const Registry registry = discover({{folder_ / "one", ""}, {folder_ / "two", ""}});
  ASSERT_EQ(registry.descriptors().size(), 1u);
  EXPECT_EQ(registry.descriptors()[0].file, first);
  EXPECT_TRUE(log_.recorded().back().ends_with(first + " is used, " + second + " is hidden by it"));
}

TEST_F(FindPlugins, FindsByName) {
  const auto found = three().find("data", "beta");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "beta");
}

TEST_F(FindPlugins, SuggestsTheNearestName) {
  const auto found = three().find("data", "betta", "job.lua:2:1");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().text(), "job.lua:2:1: unknown data plugin `betta`; did you mean `beta`?");
  EXPECT_EQ(three().find("data", "omicron").error().text(),
            "unknown data plugin `omicron`; known: `alpha`, `beta`, `gamma`");
}

TEST_F(FindPlugins, SaysWhenTheNameIsOfAnotherKind) {
  EXPECT_EQ(three().find("compute", "beta", "a.toml:1:1").error().text(),
            "a.toml:1:1: wrong kind: `beta` is a plugin of kind data, and a compute plugin is needed here");
}

TEST_F(FindPlugins, ReadsAnAbsolutePath) {
  const std::string file = folder_.write("x.so", member("data", "direct", 0));
  const Registry registry = discover({});
  EXPECT_EQ(registry.find("data", file)->name, "direct");
  EXPECT_EQ(
      registry.find("monitor", file, "a.toml:1:1").error().text(),
      "a.toml:1:1: " + file + ": wrong kind: it is the data plugin `direct`, and a monitor plugin is needed here");
}

TEST_F(FindPlugins, BlamesTheDamagedFileOfTheNamedMember) {
  folder_.write("baleen_data_delta.so", "damaged");
  const auto found = discover({{folder_.path(), ""}}).find("data", "delta");
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("baleen_data_delta.so: not ELF"), std::string::npos) << found.error().message;
}

/// Whatever they are called.
TEST_F(FindPlugins, NamesTheRefusedFilesThatMayHaveBeenMeant) {
  std::string other = member("data", "delta", 0);
  const std::uint16_t minor = 1000;
  std::memcpy(other.data() + other.find("BALEEN01") + offsetof(baleen_descriptor_t, abi_minor), &minor, sizeof minor);
  const std::string file = folder_.write("mine.so", other);
  const auto text = [&](const std::string& kind, const std::string& name) {
    return three().find(kind, name, "a.lua:1:1").error().text();
  };
  EXPECT_TRUE(text("data", "delta").starts_with("a.lua:1:1: " + file + ": needs plugin ABI 1.1000"))
      << text("data", "delta");
  const std::string unknown = text("data", "omicron");
  EXPECT_TRUE(unknown.starts_with(
      "a.lua:1:1: unknown data plugin `omicron`; known: `alpha`, `beta`, `gamma`; refused: " + file +
      ": needs plugin ABI 1.1000"))
      << unknown;
  EXPECT_NE(text("monitor", "delta").find("unknown monitor plugin `delta`"), std::string::npos);
  folder_.write("typo.so", member("moniter", "omega", 0));
  EXPECT_NE(text("monitor", "omega").find("typo.so: bad plugin descriptor: unknown kind `moniter`"), std::string::npos);
  for (const char* name : {"x.so", "y.so", "z.so"}) folder_.write(name, "damaged");
  EXPECT_TRUE(text("data", "omicron").ends_with("; and 2 more (`baleen plugins` lists them)"));
}

TEST_F(FindPlugins, TakesTheHighestScoreAndThenTheFirstName) {
  EXPECT_EQ(three().best("data")->name, "alpha");
  folder_.write("d.so", member("data", "delta", 6));
  EXPECT_EQ(three().best("data")->name, "delta");
}

TEST_F(FindPlugins, TakesANegativeScoreOnlyByName) {
  folder_.write("n.so", member("monitor", "never", -1));
  const Registry registry = discover({{folder_.path(), ""}});
  EXPECT_FALSE(registry.best("monitor"));
  EXPECT_TRUE(registry.find("monitor", "never"));
}

TEST_F(FindPlugins, SaysHowToGetAKindThatIsMissing) {
  EXPECT_EQ(three().best("compute").error().text(),
            "no compute plugin was found; build one (folder plugins/compute) or name its folder with --plugin-path");
}

TEST_F(FindPlugins, NamesRefusedFilesWhereAKindIsMissing) {
  const std::string bad = folder_.write("bad.so", "not ELF at all");
  const std::string text = discover({{folder_.path(), ""}}).best("compute").error().text();
  EXPECT_TRUE(text.ends_with("--plugin-path; refused: " + bad + ": not ELF: it is no shared library")) << text;
}

TEST_F(FindPlugins, ChoosesByExtension) {
  EXPECT_EQ(three().by_extension("data", "csv")->name, "beta");
  EXPECT_EQ(three().by_extension("data", "tx").error().text(),
            "unknown ending of a data file `tx`; did you mean `txt`?");
}

}  // namespace
}  // namespace baleen
