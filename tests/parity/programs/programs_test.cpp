/// \file `baleen infer`: a named program gives on any mesh what it gives on one rank.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "parity/parity_run.hpp"
#include "support/refusal.hpp"

namespace baleen::test {
namespace {

/// Tensors of one file, as safetensors has them: the length of a header, the header, all bytes.
struct Tensors {  // NOLINT(bugprone-exception-escape): moving JSON throws nothing, whatever its checks could
  nlohmann::json header;
  std::string bytes;

  static Tensors read(const std::string& file) {
    const std::string all = read_file(file);
    std::uint64_t size = 0;
    std::memcpy(&size, all.data(), sizeof size);
    return {nlohmann::json::parse(all.substr(sizeof size, size)), all.substr(sizeof size + size)};
  }
  template <class T>
  void add(const std::string& name, const char* dtype, std::vector<std::int64_t> shape, const std::vector<T>& values) {
    const std::size_t begin = bytes.size(), count = values.size() * sizeof(T);
    bytes.append(reinterpret_cast<const char*>(values.data()), count);
    header[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {begin, begin + count}}};
  }
  std::string text() const {
    const std::string words = header.dump();
    const std::uint64_t size = words.size();
    return std::string(reinterpret_cast<const char*>(&size), sizeof size) + words + bytes;
  }
  std::vector<double> numbers(const std::string& name) const {
    const std::size_t begin = header.at(name).at("data_offsets").at(0), end = header.at(name).at("data_offsets").at(1);
    EXPECT_EQ(header.at(name).at("dtype"), "F64") << name;
    std::vector<double> values((end - begin) / sizeof(double));
    std::memcpy(values.data(), bytes.data() + begin, end - begin);
    return values;
  }
};

class NamedPrograms : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    Tensors both, tokens;
    std::vector<std::int32_t> ids(48);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(97 + 5 * i % 26);
    const std::vector<float> scale{1, 2, 3, 4, -1, -2, -3, -4};
    tokens.add("tokens", "I32", {6, 8}, ids);
    both.add("tokens", "I32", {6, 8}, ids);
    both.add("scale", "F32", {8}, scale);
    folder_->write("tokens.safetensors", tokens.text());
    folder_->write("both.safetensors", both.text());
    const ProcessResult trained = run("run", {"--save", model()}, "");
    ASSERT_EQ(trained.exit_code, 0) << trained.out << trained.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string model() { return *folder_ / "model.safetensors"; }
  static std::string inputs(const std::string& program) {
    return *folder_ / (program == "embed" ? "both.safetensors" : "tokens.safetensors");
  }
  static ProcessResult run(const std::string& command, std::vector<std::string> words, const std::string& manifest,
                           const std::string& rows = "6") {
    words.insert(words.begin(), {command, source_dir() + "/tests/parity/programs/named.lua", "--dtype", "fp64"});
    if (!manifest.empty()) words.insert(words.end(), {"--manifest", folder_->write("ranks.toml", manifest)});
    words.insert(words.end(), {"--", "--data", source_dir() + "/tests/golden/whales.txt", "--rows", rows});
    return run_baleen(words);
  }
  static ProcessResult infer(const std::string& program, const std::string& outputs, const std::string& manifest = "") {
    return run("infer",
               {"--load", model(), "--program", program, "--inputs", inputs(program), "--outputs", *folder_ / outputs},
               manifest);
  }
  static void expect_near(const std::vector<double>& got, const std::vector<double>& wanted, const std::string& what) {
    ASSERT_EQ(got.size(), wanted.size()) << what;
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      difference += std::pow(got[i] - wanted[i], 2);
      norm += std::pow(wanted[i], 2);
    }
    EXPECT_GT(norm, 0) << what;
    EXPECT_LE(std::sqrt(difference), 1e-12 * std::sqrt(norm)) << what;
  }
  /// On the manifest's ranks, by each program, against one rank.
  static void expect_parity(const MeshAxes& axes, const std::string& plan = "") {
    const std::string manifest = manifest_of(axes, plan);
    if (const std::string missing = missing_strategy(manifest); !missing.empty())
      GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
    for (const auto& [program, outputs] : {std::pair{"embed", std::vector<std::string>{"hidden", "scaled"}},
                                           {"score", {"logits"}},
                                           {"alone", {"logits"}}}) {
      const ProcessResult one = infer(program, "one.safetensors"), many = infer(program, "many.safetensors", manifest);
      ASSERT_EQ(one.exit_code, 0) << one.err;
      ASSERT_EQ(many.exit_code, 0) << manifest << many.err;
      const Tensors wanted = Tensors::read(*folder_ / "one.safetensors");
      const Tensors got = Tensors::read(*folder_ / "many.safetensors");
      for (const std::string& output : outputs) {
        EXPECT_EQ(got.header.at(output).at("shape"), wanted.header.at(output).at("shape"));
        expect_near(got.numbers(output), wanted.numbers(output), std::string(program) + "." + output);
      }
    }
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

const std::string kZero = "[[plan]]\nstrategy = \"zero\"\nstage = 3\naxis = \"data\"\n";

TEST_F(NamedPrograms, AreWhatTheyAreUnderDataParallelism) { expect_parity({{"data", 2}}); }
/// Six rows on four ranks: the last has none.
TEST_F(NamedPrograms, AreWhatTheyAreWhereRanksHaveNoRows) { expect_parity({{"data", 4}}); }
TEST_F(NamedPrograms, AreWhatTheyAreUnderZero) { expect_parity({{"data", 2}}, kZero); }
TEST_F(NamedPrograms, AreWhatTheyAreUnderTensorParallelism) { expect_parity({{"tensor", 2}}); }
TEST_F(NamedPrograms, AreWhatTheyAreUnderAMix) {
  expect_parity({{"data", 2}, {"tensor", 2}}, kZero + "[[plan]]\nstrategy = \"tensor\"\n");
}

/// The outputs are those of the parts: scaled is hidden times scale, and two programs give the same logits.
TEST_F(NamedPrograms, ComputeWhatTheScriptSays) {
  ASSERT_EQ(infer("embed", "embed.safetensors").exit_code, 0);
  ASSERT_EQ(infer("score", "score.safetensors").exit_code, 0);
  ASSERT_EQ(infer("alone", "alone.safetensors").exit_code, 0);
  const Tensors embed = Tensors::read(*folder_ / "embed.safetensors");
  const double scale[] = {1, 2, 3, 4, -1, -2, -3, -4};
  std::vector<double> expected = embed.numbers("hidden");
  ASSERT_EQ(expected.size(), 6u * 8 * 8);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] *= scale[i % 8];
  EXPECT_EQ(embed.numbers("scaled"), expected);
  EXPECT_EQ(Tensors::read(*folder_ / "score.safetensors").numbers("logits"),
            Tensors::read(*folder_ / "alone.safetensors").numbers("logits"));
}

TEST_F(NamedPrograms, RefuseWhatIsNotTheirs) {
  const auto refused = [&](std::vector<std::string> words, const std::string& said) {
    words.insert(words.end(), {"--load", model(), "--outputs", *folder_ / "refused.safetensors"});
    expect_refusal(run("infer", words, ""), {.after_others = true, .parts = {said}});
  };
  refused({"--inputs", inputs("score")},
          "the job has the programs `alone`, `embed`, `score`; choose one with --program");
  refused({"--program", "scor", "--inputs", inputs("score")}, "unknown program `scor`; did you mean `score`?");
  refused({"--program", "score"}, "input `tokens` of program `score` is missing; it is int32 [6, 8]");
  refused({"--program", "score", "--inputs", inputs("embed")}, "program `score`: unknown input `scale`");
  refused({"--program", "score", "--inputs", "nowhere.safetensors"}, "nowhere.safetensors");
}

/// A mesh that a program's rows cannot feed, though those of training can.
TEST_F(NamedPrograms, AreNamedWhereAStrategyRefusesThem) {
  const std::string manifest = manifest_of({{"tensor", 8}}, "[[plan]]\nstrategy = \"tensor\"\nmode = \"3d\"\n");
  if (const std::string missing = missing_strategy(manifest); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const ProcessResult result =
      run("infer", {"--load", model(), "--outputs", *folder_ / "refused.safetensors"}, manifest, "2");
  EXPECT_EQ(result.exit_code, 2) << result.out;
  EXPECT_NE(result.err.find("program `embed`: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("a batch of 2 rows cannot feed the 4 rows of the cube"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace baleen::test
