/// \file Ids of 64 bits and lists of them: a recommender that learns from a file computes on any mesh what it computes
/// on one rank, and programs take and give ids with all their bits.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "parity/parity_run.hpp"
#include "support/losses.hpp"

namespace baleen::test {
namespace {

const std::string kZero = "[[plan]]\nstrategy = \"zero\"\nstage = ";
const std::string kTensor = "[[plan]]\nstrategy = \"tensor\"\n";

/// As SplitMix64 gives it after its state (https://prng.di.unimi.it/splitmix64.c).
std::uint64_t next_after(std::uint64_t state) {
  std::uint64_t z = state + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// 150 rows: a user of 20 and up to 4 items of 30, by their hashes; what is read next follows from both.
std::string readers() {
  std::string csv = "user,items,next\n";
  for (std::uint64_t row = 0; row < 150; ++row) {
    const std::uint64_t user = next_after(row) % 20, count = next_after(row + 1000) % 5;
    csv += std::to_string(static_cast<std::int64_t>(next_after(user << 40))) + ",";
    std::uint64_t sum = user;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t item = next_after(row * 8 + i) % 30;
      csv += (i ? "|" : "") + std::to_string(static_cast<std::int64_t>(next_after(~item)));
      sum += item;
    }
    csv += "," + std::to_string(sum % 3) + "\n";
  }
  return csv;
}

/// One file of tensors: the length of a header, the header, all bytes.
class Tensors {  // NOLINT(bugprone-exception-escape): moving JSON throws nothing, whatever its checks could
 public:
  template <class T>
  Tensors& add(const std::string& name, const char* dtype, std::vector<std::int64_t> shape,
               const std::vector<T>& values) {
    const std::size_t begin = bytes_.size(), count = values.size() * sizeof(T);
    bytes_.append(reinterpret_cast<const char*>(values.data()), count);
    header_[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {begin, begin + count}}};
    return *this;
  }
  std::string text() const {
    const std::string words = header_.dump();
    const std::uint64_t size = words.size();
    return std::string(reinterpret_cast<const char*>(&size), sizeof size) + words + bytes_;
  }

  template <class T>
  static std::vector<T> read(const std::string& file, const std::string& name, const std::string& dtype) {
    const std::string all = read_file(file);
    std::uint64_t size = 0;
    std::memcpy(&size, all.data(), sizeof size);
    const auto entry = nlohmann::json::parse(all.substr(sizeof size, size)).at(name);
    EXPECT_EQ(entry.at("dtype"), dtype) << name;
    const std::size_t begin = entry.at("data_offsets").at(0), end = entry.at("data_offsets").at(1);
    std::vector<T> values((end - begin) / sizeof(T));
    std::memcpy(values.data(), all.data() + sizeof size + size + begin, end - begin);
    return values;
  }

 private:
  nlohmann::json header_;
  std::string bytes_;
};

class Ids : public testing::Test {
 protected:
  ProcessResult run(std::vector<std::string> words, const std::string& manifest,
                    const std::vector<std::string>& arguments = {}) const {
    words.insert(words.begin() + 1, source_dir() + "/tests/parity/ids/ids.lua");
    if (!manifest.empty()) words.insert(words.end(), {"--manifest", folder_.write("ranks.toml", manifest)});
    words.insert(words.end(), {"--", "--data", data_});
    for (const std::string& word : arguments) words.push_back("--" + word);
    return run_baleen(words);
  }
  /// `baleen infer` with the parameters of a first step.
  ProcessResult infer(const std::string& program, const std::string& inputs, const std::string& manifest = "") const {
    const std::string model = folder_ / "model.safetensors";
    if (!std::filesystem::exists(model)) {
      const ProcessResult saved = run({"run", "--dtype", "fp64", "--steps", "1", "--save", model}, "");
      EXPECT_EQ(saved.exit_code, 0) << saved.err;
    }
    return run(
        {"infer", "--dtype", "fp64", "--load", model, "--program", program, "--inputs", inputs, "--outputs", outputs_},
        manifest);
  }
  void expect_parity(const std::string& manifest, const std::vector<std::string>& arguments) const {
    if (const std::string missing = missing_strategy(manifest); !missing.empty())
      GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
    SCOPED_TRACE(manifest);
    expect_equal(run({"verify"}, manifest, arguments));
  }

  const TemporaryFolder folder_;
  const std::string outputs_ = folder_ / "out.safetensors";
  const std::string data_ = folder_.write("readers.csv", readers());
};

struct Mix {
  const char* name;
  MeshAxes axes;
  std::string plan;
  std::vector<std::string> arguments = {};
};
void PrintTo(const Mix& mix, std::ostream* out) { *out << mix.name; }

class IdsOnMeshes : public Ids, public testing::WithParamInterface<Mix> {};

TEST_P(IdsOnMeshes, LearnAsOnOneRank) {
  expect_parity(manifest_of(GetParam().axes, GetParam().plan), GetParam().arguments);
}

INSTANTIATE_TEST_SUITE_P(
    All, IdsOnMeshes,
    testing::Values(Mix{"data", {{"data", 4}}, ""},
                    Mix{"micro", {{"data", 3}}, "", {"batch=10", "accumulate=2", "clip=0.5", "pooling=sum"}},
                    Mix{"zero1", {{"data", 2}}, kZero + "1\n"}, Mix{"zero2", {{"data", 3}}, kZero + "2\n"},
                    Mix{"zero3", {{"data", 2}}, kZero + "3\n", {"accumulate=3"}},
                    Mix{"tensor", {{"tensor", 2}}, "", {"whole=true"}},
                    Mix{"zero3_tensor", {{"data", 2}, {"tensor", 2}}, kZero + "3\n" + kTensor, {"whole=true"}}),
    [](const auto& info) { return std::string(info.param.name); });

/// Against a guess among three.
TEST_F(Ids, Learn) {
  const std::string log = folder_ / "log.jsonl";
  const ProcessResult result = run({"run", "--log-json", log, "--steps", "60"}, "");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto losses = losses_in(log);
  ASSERT_EQ(losses.size(), 60u);
  EXPECT_LT(std::stod(losses.back()), 0.8 * std::stod(losses.front()));
}

TEST_F(Ids, KeepAllTheirBitsThroughPrograms) {
  const std::vector<std::int64_t> ids{INT64_MIN, INT64_MAX, std::int64_t{1} << 53, (std::int64_t{1} << 53) + 1, -1, 0};
  const std::string inputs = folder_.write("ids.safetensors", Tensors().add("ids", "I64", {6}, ids).text());
  std::vector<std::int32_t> rows;
  for (const std::int64_t id : ids)
    rows.push_back(static_cast<std::int32_t>((next_after(static_cast<std::uint64_t>(id)) >> 32) * 0x7fffffff >> 32));
  ASSERT_NE(rows[2], rows[3]);
  for (const std::string& manifest : {std::string(), manifest_of({{"data", 2}}, "")}) {
    if (const std::string missing = missing_strategy(manifest); !missing.empty()) continue;
    const ProcessResult result = infer("buckets", inputs, manifest);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(Tensors::read<std::int64_t>(outputs_, "again", "I64"), ids);
    EXPECT_EQ(Tensors::read<std::int32_t>(outputs_, "rows", "I32"), rows);
  }
}

/// What stands behind a list changes nothing.
TEST_F(Ids, BehindAListDoNotCount) {
  const std::vector<std::int64_t> users{1, 2, 3, 4, 5, 6};
  const std::vector<std::int32_t> lengths{0, 1, 2, 3, 4, 0};
  std::vector<std::int64_t> padded(24), other(24);
  for (std::int64_t i = 0; i < 24; ++i) {
    const bool inside = i % 4 < lengths[static_cast<std::size_t>(i / 4)];
    padded[static_cast<std::size_t>(i)] = inside ? 100 + i : 0;
    other[static_cast<std::size_t>(i)] = inside ? 100 + i : 77 * i;
  }
  std::vector<std::vector<double>> logits;
  for (const auto& items : {padded, other}) {
    const std::string inputs = folder_.write("in.safetensors", Tensors()
                                                                   .add("user", "I64", {6}, users)
                                                                   .add("items", "I64", {6, 4}, items)
                                                                   .add("items_length", "I32", {6}, lengths)
                                                                   .text());
    const ProcessResult result = infer("score", inputs);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    logits.push_back(Tensors::read<double>(outputs_, "logits", "F64"));
  }
  EXPECT_EQ(logits[0], logits[1]);
  EXPECT_NE(logits[0][0], logits[0][3]) << "rows differ";
}

TEST_F(Ids, OfADtypeThatAProgramDoesNotTakeAreRefused) {
  const std::string inputs =
      folder_.write("ids.safetensors", Tensors().add("ids", "I32", {6}, std::vector<std::int32_t>(6)).text());
  const ProcessResult result = infer("buckets", inputs);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "error: input `ids` of program `buckets` is int64 [6], not int32 [6]\n");
}

/// Documents that a script numbers are those that the data numbers; attention that sees past them gives other losses.
TEST(MadeIds, AreTheDocumentsOfTheData) {
  const TemporaryFolder folder;
  std::map<std::string, Losses> losses;
  for (const std::string from : {"script", "data", "none"}) {
    const std::string log = folder / (from + ".jsonl");
    const ProcessResult result =
        run_parity({"run", "--steps", "5", "--log-json", log}, "ids/made_documents", manifest_of({{"data", 1}}, ""),
                   {"documents=" + from, "data=" + source_dir() + "/tests/golden/whales.txt"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    losses[from] = losses_in(log);
  }
  EXPECT_EQ(losses["script"].size(), 5u);
  EXPECT_EQ(losses["script"], losses["data"]);
  EXPECT_NE(losses["script"], losses["none"]);
}

TEST(MadeIds, AreThoseOfOneRank) {
  for (const char* axis : {"data", "tensor", "sequence"})
    verify_parity("ids/made_documents", manifest_of({{axis, 2}}, ""),
                  {"data=" + source_dir() + "/tests/golden/whales.txt"});
}

/// In 16 bits ids stay as they are.
TEST_F(Ids, LearnIn16Bits) {
  const std::string manifest = manifest_of({{"data", 2}}, "[[plan]]\nstrategy = \"precision\"\ndtype = \"bf16\"\n");
  if (const std::string missing = missing_strategy(manifest); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const ProcessResult result = run({"run", "--steps", "4"}, manifest);
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

}  // namespace
}  // namespace baleen::test
