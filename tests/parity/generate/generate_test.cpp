/// \file A model that has learned a periodic text goes on with it, by as many tokens as were asked for; drawn text is
/// of the seed.
#include <gtest/gtest.h>

#include <set>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

/// No letter twice, so one letter decides the next; the period (7) and the context (16) have no common part.
const std::string kPeriod = "whales.";

class Generate : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    std::string text;
    for (int i = 0; i < 300; ++i) text += kPeriod;
    folder_->write("text.txt", text);
    const ProcessResult trained = run({"run", script(), "--save", model()});
    ASSERT_EQ(trained.exit_code, 0) << trained.out << trained.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string script() { return source_dir() + "/tests/parity/generate/periodic.lua"; }
  static std::string model() { return *folder_ / "model.safetensors"; }
  static ProcessResult run(std::vector<std::string> words) {
    words.insert(words.end(), {"--", "--data", *folder_ / "text.txt"});
    return run_baleen(words);
  }
  /// What is printed, without the line break at its end.
  static std::string text(const std::string& prompt, std::size_t tokens, const std::string& temperature,
                          const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"generate",      script(),   "--load",   model(),
                                   "--prompt",      prompt,     "--tokens", std::to_string(tokens),
                                   "--temperature", temperature};
    words.insert(words.end(), more.begin(), more.end());
    const ProcessResult result = run(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(result.out.ends_with('\n')) << result.out;
    return result.out.substr(0, result.out.size() - 1);
  }
  /// `count` letters of the period from letter `first` on.
  static std::string periodic(std::size_t first, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += kPeriod[(first + i) % kPeriod.size()];
    return text;
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

/// From every letter, and past the length of the context.
TEST_F(Generate, ContinuesThePeriod) {
  for (std::size_t first = 0; first < kPeriod.size(); ++first)
    EXPECT_EQ(text(kPeriod.substr(first, 1), 20, "0"), periodic(first, 21)) << "from letter " << first;
  EXPECT_EQ(text(periodic(3, 30), 14, "0"), periodic(3, 44)) << "from a prompt longer than the context";
}
TEST_F(Generate, WritesAsManyTokensAsAreAskedFor) {
  for (const std::size_t tokens : {1u, 8u, 23u}) EXPECT_EQ(text("wh", tokens, "0").size(), 2 + tokens);
}
/// A temperature at which nearly every token is as likely as any other.
TEST_F(Generate, DrawsTheSameTextFromTheSameSeed) {
  std::set<std::string> texts;
  for (const std::string seed : {"1", "2", "3"}) {
    const std::string once = text("w", 12, "30", {"--seed", seed});
    EXPECT_EQ(text("w", 12, "30", {"--seed", seed}), once);
    texts.insert(once);
  }
  EXPECT_EQ(texts.size(), 3u) << "another seed is another text";
  EXPECT_FALSE(texts.contains(periodic(0, 13))) << "so hot a model does not keep to the period";
}
/// However hot: of one token, or of what makes up next to nothing, there is no choice; of all there is.
TEST_F(Generate, DrawsOfTheLikeliestTokensOnly) {
  const std::string likeliest = periodic(0, 13);
  for (const std::string seed : {"1", "2", "3"}) {
    EXPECT_EQ(text("w", 12, "30", {"--seed", seed, "--top-k", "1"}), likeliest);
    EXPECT_EQ(text("w", 12, "30", {"--seed", seed, "--top-p", "0"}), likeliest);
    const std::string all = text("w", 12, "30", {"--seed", seed});
    EXPECT_EQ(text("w", 12, "30", {"--seed", seed, "--top-p", "1", "--top-k", "0"}), all);
    EXPECT_NE(text("w", 12, "30", {"--seed", seed, "--top-k", "2"}), all);
    EXPECT_NE(text("w", 12, "30", {"--seed", seed, "--top-p", "0.2"}), all);
  }
  // As learned, one letter has nearly all of the probability.
  EXPECT_EQ(text("w", 12, "1", {"--top-p", "0.5"}), likeliest);
}
TEST_F(Generate, EndsBehindAText) {
  EXPECT_EQ(text("wh", 50, "0", {"--stop", "es.w"}), periodic(0, 8));
  EXPECT_EQ(text("whales.w", 50, "0", {"--stop", "s.w"}), periodic(0, 15)) << "not in the prompt, nor half in it";
  EXPECT_EQ(text("wh", 5, "0", {"--stop", "nowhere"}).size(), 7u);
}
/// Ranks are for training: the text is that of one.
TEST_F(Generate, IsOfOneRankOnAnyMesh) { EXPECT_EQ(text("ale", 8, "0", {"--set", "mesh.data=2"}), periodic(2, 11)); }

/// A text whose period has bytes that a terminal obeys, and one that is no text: they are written out, by `run` too.
TEST(GeneratedBytes, ThatAreNoTextAreWrittenOut) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 300; ++i) text += std::string("w\x1b[\0\xff\n.", 7);
  const std::string data = folder.write("bytes.txt", text), model = folder / "model.safetensors";
  const std::string script = source_dir() + "/tests/parity/generate/periodic.lua";
  const std::string shown = "w\\x1b[\\x00\\xff\n.w\\x1b[\\x00\\xff\n.";
  const ProcessResult trained = run_baleen({"run", script, "--save", model, "--", "--sample", "--data", data});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_NE(trained.out.find(shown + "\n"), std::string::npos) << trained.out;
  for (const char byte : {'\x1b', '\0', '\xff'}) EXPECT_EQ(trained.out.find(byte), std::string::npos);
  const ProcessResult generated = run_baleen({"generate", script, "--load", model, "--prompt", "w", "--tokens", "13",
                                              "--temperature", "0", "--", "--data", data});
  EXPECT_EQ(generated.out, shown + "\n") << generated.err;
}

/// Nobody should learn at the end of a training that its data has no words for what it is to write.
TEST(GeneratedText, OfTokenFilesIsRefusedBeforeTheFirstStep) {
  const TemporaryFolder folder;
  const std::string data = folder.write("tokens.bin", std::string(4000, '\1'));
  const ProcessResult refused = run_baleen({"run", source_dir() + "/tests/parity/generate/periodic.lua", "--",
                                            "--sample", "--tokenizer", "u16", "--data", data});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("token files hold numbers whose text is unknown here"), std::string::npos) << refused.err;
  EXPECT_EQ(refused.out, "") << "nothing has been trained";
}

}  // namespace
}  // namespace baleen::test
