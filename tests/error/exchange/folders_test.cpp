/// \file Folders of other frameworks, damaged or hostile: refused with file, tensor and shapes, before anything is
/// made.
#include <filesystem>

#include "support/exchange_model.hpp"

namespace baleen::test {
namespace {

/// An export of a model that was never trained, to be damaged. Made once.
class Folder : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    made_ = new TemporaryFolder;
    made_->write("config.json", gpt2_config());
    const ProcessResult saved =
        train_exchange(exchange_script(*made_), {"--steps", "0", "--save", *made_ / "ours.safetensors"},
                       {"--config", *made_ / "config.json"});
    ASSERT_EQ(saved.exit_code, 0) << saved.out << saved.err;
    for (const std::string size : {"1GiB", "4KiB"}) {
      const ProcessResult exported = run_baleen({"checkpoint", "export", *made_ / "ours.safetensors", *made_ / size,
                                                 "--config", *made_ / "config.json", "--max-file", size});
      ASSERT_EQ(exported.exit_code, 0) << exported.out << exported.err;
    }
  }
  static void TearDownTestSuite() { delete made_; }

  /// A copy of the export in one file, or in several.
  void copy(bool several = false) {
    std::filesystem::remove_all(folder_ / "theirs");
    std::filesystem::copy(*made_ / (several ? "4KiB" : "1GiB"), folder_ / "theirs");
  }
  std::string error_of(std::vector<std::string> words) {
    words.insert(words.begin(), "checkpoint");
    const ProcessResult result = run_baleen(words);
    EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "x.safetensors"));
    return result.err;
  }
  std::string import_error() { return error_of({"import", folder_ / "theirs", folder_ / "x.safetensors"}); }
  void expect_import_error(const std::string& part) {
    const std::string error = import_error();
    EXPECT_NE(error.find(part), std::string::npos) << error << "\nlacks " << part;
  }
  /// The name of the copy's n-th file of several.
  std::string file(int n) const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "theirs"))
      if (entry.path().filename().string().starts_with("model-0000" + std::to_string(n) + "-of-"))
        return entry.path().filename().string();
    ADD_FAILURE() << "there is no file " << n;
    return "";
  }
  /// Replaces the first `from` in a file of the folder.
  void replace(const std::string& file, const std::string& from, const std::string& to) {
    std::string text = read_file(folder_ / ("theirs/" + file));
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    folder_.write("theirs/" + file, text.replace(at, from.size(), to));
  }

  static TemporaryFolder* made_;
  const TemporaryFolder folder_;
};
TemporaryFolder* Folder::made_ = nullptr;

constexpr const char* kIndex = "model.safetensors.index.json";

TEST_F(Folder, WithoutItsFilesIsRefused) {
  copy();
  std::filesystem::remove(folder_ / "theirs/model.safetensors");
  expect_import_error("/theirs: has neither model.safetensors nor model.safetensors.index.json");
  folder_.write("theirs/pytorch_model.bin", "x");
  expect_import_error(
      "pytorch_model.bin is a pickle file, which is never opened: scripts/to_safetensors.py converts it");
  std::filesystem::remove(folder_ / "theirs/config.json");
  expect_import_error("/theirs/config.json: there is no such file");
}

TEST_F(Folder, WithAConfigThatIsNoneIsRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "config.json: it is not JSON at byte"},
      {"[]", "config.json: `model_type` is missing; it must be a text"},
      {"3", "config.json: is the number 3; it must be an object"},
      {"{\"model_type\": \"gpt2\", \"model_type\": \"bert\"}", "config.json: the key `model_type` occurs twice"},
      {"{\"model_type\": \"gpt3\"}", "config.json: `model_type`: unknown kind of model `gpt3`; did you mean `gpt2`?"},
      {"{\"model_type\": \"gpt2\", \"architectures\": [\"GPT2ForMiracles\"]}", "for which the map `gpt2` has no head"},
      {"{\"model_type\": \"gpt2\", \"architectures\": 3}", "`architectures` is the number 3"},
      {"{\"model_type\": \"gpt2\"}", "config.json: `n_embd` is missing; it must be an integer of at least 1"}};
  for (const auto& [text, part] : cases) {
    copy();
    folder_.write("theirs/config.json", text);
    expect_import_error(part);
  }
  copy();
  folder_.write("theirs/config.json", std::string(100000, '['));
  expect_import_error("config.json: it is nested more than 64 deep");
}

TEST_F(Folder, WithNumbersInItsConfigThatFitNoModelIsRefused) {
  for (const char* number : {"-8", "8.5", "1e300", "\"8\"", "0", "9223372036854775807", "99999999999999999999"}) {
    copy();
    replace("config.json", "\"n_embd\": 8", std::string("\"n_embd\": ") + number);
    expect_import_error("config.json: `n_embd` is ");
  }
  copy();
  replace("config.json", "\"n_embd\": 8", "\"n_embd\": 1099511627776");
  expect_import_error("too many elements");
  copy();
  replace("config.json", "\"n_layer\": 2", "\"n_layer\": 99999999999");
  expect_import_error("config.json: `n_layer` is the number 99999999999; it must be an integer from 1 to 10000");
  copy();
  replace("config.json", "\"n_head\": 2", "\"n_head\": 3");
  expect_import_error("config.json: a width of 8 does not divide into 3 heads");
}

TEST_F(Folder, WithOtherShapesThanItsConfigSaysIsRefused) {
  copy();
  replace("config.json", "\"vocab_size\": 259", "\"vocab_size\": 260");
  expect_import_error(
      "/theirs/model.safetensors: `transformer.wte.weight` is [259, 8]; the map `gpt2` expects [260, 8] (for "
      "`embedding.weight`)");
  copy();
  replace("config.json", "\"n_layer\": 2", "\"n_layer\": 3");
  expect_import_error(
      "/theirs: there is no tensor `transformer.h.2.ln_1.weight` [8] (for "
      "`blocks.2.attention_norm.gamma`)");
  copy();
  replace("config.json", "\"n_layer\": 2", "\"n_layer\": 1");
  expect_import_error("model.safetensors: holds `transformer.h.1.");
}

TEST_F(Folder, WithAnIndexThatLeadsElsewhereIsRefused) {
  for (const char* name : {"../model-00001-of-00002.safetensors", "/etc/passwd", "a/b.safetensors", ".safetensors",
                           "model.bin", "x\\\\y.safetensors"}) {
    copy(true);
    replace(kIndex, "\"model-00001-", std::string("\"") + name + "\", \"x\": \"model-00001-");
    expect_import_error(std::string(kIndex) + ": `weight_map` says that `");
  }
}

TEST_F(Folder, WithAnIndexThatIsNotOfItsFilesIsRefused) {
  copy(true);
  replace(kIndex, "\"transformer.h.0.ln_1.weight\"", "\"transformer.h.0.ln_9.weight\"");
  expect_import_error("`weight_map` names `transformer.h.0.ln_9.weight`, which is in none of the files");
  copy(true);
  replace(kIndex, "\"weight_map\": {",
          "\"weight_map\": {\"transformer.wte.weight\": \"model-00002-of-00003.safetensors\",");
  expect_import_error("index.json: the key `transformer.wte.weight` occurs twice");
  copy(true);
  std::filesystem::copy(folder_ / ("theirs/" + file(1)), folder_ / "theirs/other.safetensors");
  replace(kIndex, "\"weight_map\": {", "\"weight_map\": {\"x\": \"other.safetensors\",");
  expect_import_error("which ");
  for (const char* index : {"{}", "{\"weight_map\": []}", "{\"weight_map\": {}}", "{\"weight_map\": {\"a\": 3}}",
                            "{\"weight_map\": [\"a\"]}", "[1]", "null"}) {
    copy(true);
    folder_.write(std::string("theirs/") + kIndex, index);
    expect_import_error(kIndex);
  }
}

TEST_F(Folder, WithFilesThatAreNoneIsRefused) {
  copy();
  folder_.write("theirs/model.safetensors", "x");
  expect_import_error("model.safetensors: has 1 bytes");
  copy(true);
  const std::string second = file(2);
  std::filesystem::remove(folder_ / ("theirs/" + second));
  expect_import_error("/theirs/" + second + ": cannot open: No such file or directory");
}

TEST_F(Folder, ExportsNeedAPlaceAndAConfig) {
  const std::string ours = *made_ / "ours.safetensors";
  EXPECT_NE(error_of({"export", ours, folder_ / "new"}).find("needs --config"), std::string::npos);
  copy();
  const std::string there = error_of({"export", ours, folder_ / "theirs", "--config", *made_ / "config.json"});
  EXPECT_NE(there.find("/theirs: is there already"), std::string::npos) << there;
  folder_.write("llama.json", llama_config());
  const std::string other = error_of({"export", ours, folder_ / "new", "--config", folder_ / "llama.json"});
  EXPECT_NE(other.find("llama.json: there is no parameter `blocks.0.attention.q.weight`, which the map `llama` needs"),
            std::string::npos)
      << other;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 2) << "nothing half made is left";
}

TEST_F(Folder, WordsOfFoldersAreNotForFiles) {
  const std::string ours = *made_ / "ours.safetensors", file = folder_ / "other.safetensors";
  const std::pair<const char*, std::string> words[] = {
      {"--config", *made_ / "config.json"}, {"--map", "own.lua"}, {"--head", "lm"}, {"--max-file", "1MiB"}};
  for (const auto& [word, value] : words) {
    const std::string said = error_of({"export", ours, file, word, value});
    EXPECT_NE(said.find("/other.safetensors: " + std::string(word) + " is for a folder, and this is a file"),
              std::string::npos)
        << said;
  }
  for (const std::string word : {"--config", "--max-file"}) {
    const std::string said = error_of({"convert", ours, file, word, word == "--config" ? "none" : "1MiB"});
    EXPECT_NE(said.find(word + " is for a folder"), std::string::npos) << said;
  }
  EXPECT_FALSE(std::filesystem::exists(file));
  const std::string bare = error_of({"convert", ours, folder_ / "new"});
  EXPECT_NE(bare.find("/ours.safetensors: a folder needs a config.json, and a file has none"), std::string::npos)
      << bare;
}

TEST_F(Folder, LoadsOnlyIntoAModelOfItsShape) {
  copy();
  folder_.write("other.json", gpt2_config("\"n_inner\": 16"));
  const std::string script = exchange_script(folder_);
  const ProcessResult shape =
      train_exchange(script, {"--load", folder_ / "theirs", "--steps", "0"}, {"--config", folder_ / "other.json"});
  EXPECT_EQ(shape.exit_code, 2);
  EXPECT_NE(shape.err.find("`transformer.h.0.mlp.c_fc.weight` is [8, 32]; the map `gpt2` expects [8, 16]"),
            std::string::npos)
      << shape.err;
  folder_.write("none.lua",
                "local baleen = require 'baleen'\n"
                "return baleen.job { model = baleen.nn.linear { out = 2 }, programs = { p = {\n"
                "  inputs = { x = { shape = { 1, 2 } } }, run = function(t)\n"
                "    return { y = baleen.nn.linear { out = 2 }(t.x) } end } } }\n");
  const ProcessResult names =
      run_baleen({"infer", folder_ / "none.lua", "--load", folder_ / "theirs", "--outputs", folder_ / "y.safetensors"});
  EXPECT_EQ(names.exit_code, 2);
  EXPECT_NE(names.err.find("the map `gpt2` makes no parameter `linear.weight` [2, 2]"), std::string::npos) << names.err;
}

TEST_F(Folder, NewParametersOfAModelKeepTheirFirstValuesWhereTheyAreNamed) {
  copy();
  folder_.write("more.lua",
                "local baleen = require 'baleen'\n"
                "local net = baleen.models.load { head = 'none' }\n"
                "local head = baleen.nn.linear { name = 'score', out = 256 }\n"
                "return baleen.job { model = baleen.nn.sequential { net, head }, loss = baleen.nn.cross_entropy {},\n"
                "  batch = 2, steps = 1, data = baleen.data.text { path = baleen.arg('data'), context = 8 },\n"
                "  optimizer = baleen.optimizer('sgd', { lr = 0.1 }) }\n");
  const ProcessResult without = train_exchange(folder_ / "more.lua", {"--load", folder_ / "theirs"}, {});
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_NE(without.err.find("makes no parameter `score.weight`"), std::string::npos) << without.err;
  const ProcessResult with =
      train_exchange(folder_ / "more.lua", {"--load", folder_ / "theirs", "--allow-missing", "score.*"}, {});
  EXPECT_EQ(with.exit_code, 0) << with.err;
  const ProcessResult left_out =
      train_exchange(folder_ / "more.lua", {"--load", folder_ / "theirs", "--load-except", "score.*"}, {});
  EXPECT_EQ(left_out.exit_code, 0) << left_out.err;
  const ProcessResult renamed =
      train_exchange(folder_ / "more.lua", {"--load", folder_ / "theirs", "--load-rename", "wte.*=tok.*"}, {});
  EXPECT_EQ(renamed.exit_code, 2);
  EXPECT_NE(renamed.err.find("--load-rename is for files and checkpoints of Baleen"), std::string::npos) << renamed.err;
}

}  // namespace
}  // namespace baleen::test
