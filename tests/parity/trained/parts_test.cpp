/// \file Parts of a trained model in another one: the same numbers wherever they lie.
#include "parity/trained/trained_run.hpp"

namespace baleen::test {
namespace {

using Tensors = std::map<std::string, std::vector<double>>;

class Parts : public testing::TestWithParam<TrainedSplit> {
 protected:
  /// Trained on one rank, and again by two that save a checkpoint; and what a model starts with whose head has five
  /// outputs.
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    folder_->write("rows.csv", table_text("classify"));
    expect_good(run("run", {"--save", *folder_ / "trained.safetensors"}, trained_splits()[0], {}));
    expect_good(run("run", {"--steps", "3", "--set", "checkpoint.folder=" + (*folder_ / "checkpoints")},
                    trained_splits()[4], {}));
    expect_good(run("run", {"--steps", "0", "--save", *folder_ / "fresh.safetensors"}, trained_splits()[0],
                    {"--first", "body", "--outputs", "5"}));
    expect_good(run_baleen({"checkpoint", "export", *folder_ / "checkpoints", *folder_ / "shards.safetensors"}));
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  void SetUp() override {
    if (const std::string missing = missing_strategy(GetParam().plan); !missing.empty())
      GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  }

  static void expect_good(const ProcessResult& result) { ASSERT_EQ(result.exit_code, 0) << result.out << result.err; }
  static ProcessResult run(const std::string& command, const std::vector<std::string>& words, const TrainedSplit& split,
                           std::vector<std::string> own) {
    own.insert(own.begin(), {"--data", *folder_ / "rows.csv"});
    return run_trained(command, words, split, own);
  }
  static Tensors saved(const std::string& name) { return saved_tensors(read_file(*folder_ / name)); }

  /// Takes the first layer of `from` alone, under another name, into a model with another head.
  static void expect_first_layer(const std::string& from, const Tensors& expected,
                                 const std::vector<std::string>& parts) {
    std::vector<std::string> words{"--steps", "0", "--load", *folder_ / from, "--save", *folder_ / "mixed.safetensors"};
    words.insert(words.end(), parts.begin(), parts.end());
    expect_good(run("run", words, GetParam(), {"--first", "body", "--outputs", "5"}));
    const Tensors mixed = saved("mixed.safetensors"), fresh = saved("fresh.safetensors");
    ASSERT_EQ(mixed.size(), 4u);
    for (const std::string tensor : {"weight", "bias"}) {
      EXPECT_EQ(mixed.at("body." + tensor), expected.at("first." + tensor));
      EXPECT_EQ(mixed.at("last." + tensor), fresh.at("last." + tensor));
    }
    EXPECT_NE(mixed.at("body.weight"), fresh.at("body.weight"));
  }

  static inline const TemporaryFolder* folder_ = nullptr;
};

TEST_P(Parts, OfAFileAreTakenUnderOtherNames) {
  expect_first_layer("trained.safetensors", saved("trained.safetensors"),
                     {"--load-rename", "first.*=body.*", "--load-only", "body.*"});
}

TEST_P(Parts, AreAllButSome) {
  expect_first_layer("trained.safetensors", saved("trained.safetensors"),
                     {"--load-rename", "fi?st.*=body.*", "--load-except", "last.*"});
}

TEST_P(Parts, MayLackSomeAndHaveMore) {
  expect_first_layer("trained.safetensors", saved("trained.safetensors"),
                     {"--load-rename", "first.*=body.*", "--load-rename", "last.*=old.*", "--allow-extra", "old.*",
                      "--allow-missing", "last.*"});
}

TEST_P(Parts, OfACheckpointAreTakenUnderOtherNames) {
  expect_first_layer("checkpoints", saved("shards.safetensors"),
                     {"--load-rename", "first.*=body.*", "--load-only", "body.*"});
}

INSTANTIATE_TEST_SUITE_P(Trained, Parts, testing::ValuesIn(trained_splits()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
