/// \file Models of transformers' shapes, loaded from folders as it writes them, give its outputs. outputs.py made the
/// numbers and says what stands in a file.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "support/places.hpp"
#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

constexpr double kTolerance = 2e-5;

struct Tensor {
  std::string dtype;  ///< "fp32" or "int32"
  std::vector<std::int64_t> shape;
  std::vector<double> numbers;
};
using Tensors = std::map<std::string, Tensor>;

std::int64_t count_of(const Tensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.shape) count *= extent;
  return count;
}

std::string bytes_of(const Tensor& tensor) {
  std::string bytes;
  for (const double number : tensor.numbers) {
    const auto real = static_cast<float>(number);
    const auto whole = static_cast<std::int32_t>(number);
    char raw[4];
    std::memcpy(raw, tensor.dtype == "fp32" ? static_cast<const void*>(&real) : &whole, sizeof raw);
    bytes.append(raw, sizeof raw);
  }
  return bytes;
}

std::string safetensors_of(const Tensors& tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t begin = data.size();
    data += bytes_of(tensor);
    header[name] = {{"dtype", tensor.dtype == "fp32" ? "F32" : "I32"},
                    {"shape", tensor.shape},
                    {"data_offsets", {begin, data.size()}}};
  }
  const std::string text = header.dump();
  const std::uint64_t size = text.size();
  std::string file(sizeof size, '\0');
  std::memcpy(file.data(), &size, sizeof size);
  return file + text + data;
}

/// The one output of a program, fp32.
Tensor output_in(const std::string& file) {
  std::uint64_t size = 0;
  std::memcpy(&size, file.data(), sizeof size);
  const nlohmann::json header = nlohmann::json::parse(file.substr(sizeof size, size));
  Tensor tensor{"fp32", {}, {}};
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    EXPECT_EQ(entry.at("dtype"), "F32") << name;
    tensor.shape = entry.at("shape").get<std::vector<std::int64_t>>();
  }
  for (std::size_t at = sizeof size + size; at + sizeof(float) <= file.size(); at += sizeof(float)) {
    float number = 0;
    std::memcpy(&number, file.data() + at, sizeof number);
    tensor.numbers.push_back(number);
  }
  return tensor;
}

/// What a file of outputs.py says.
struct Golden {
  std::string config;
  Tensors inputs, parameters;
  Tensor output;

  explicit Golden(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) read(line);
  }

 private:
  static Tensor tensor(std::istringstream& words, const std::string& dtype) {
    Tensor read{dtype, {}, {}};
    std::string word;
    while (words >> word && word != ":") read.shape.push_back(std::stoll(word));
    while (words >> word) read.numbers.push_back(std::stod(word));
    return read;
  }
  void read(const std::string& line) {
    std::istringstream words(line);
    std::string kind, name, dtype;
    words >> kind;
    if (kind == "config") config = line.substr(kind.size() + 1);
    if (kind == "input") {
      words >> name >> dtype;
      inputs[name] = tensor(words, dtype);
    }
    if (kind == "tensor") {
      words >> name;
      Tensor made = tensor(words, "fp32");
      const auto number = static_cast<std::int64_t>(parameters.size());
      for (std::int64_t i = 0; i < count_of(made); ++i)
        made.numbers.push_back(static_cast<double>((7919 * i + 104729 * number) % 2003 - 1001) / 2048);
      parameters[name] = std::move(made);
    }
    if (kind == "output") output = tensor(words, "fp32");
  }
};

class TransformersModel : public testing::TestWithParam<const char*> {};

TEST_P(TransformersModel, GivesTheCommittedOutputs) {
  const std::string name = GetParam();
  const Golden golden(read_file(source_dir() + "/tests/golden/exchange/" + name + ".txt"));
  ASSERT_FALSE(golden.output.numbers.empty());
  const TemporaryFolder folder;
  folder.write("model/config.json", golden.config);
  folder.write("model/model.safetensors", safetensors_of(golden.parameters));
  folder.write("in.safetensors", safetensors_of(golden.inputs));
  const Tensor& first = golden.inputs.begin()->second;
  const bool sentences = name == "bert_sentences";
  std::vector<std::string> words{"infer",
                                 source_dir() + "/examples/05_pretrained/train.lua",
                                 "--load",
                                 folder / "model",
                                 "--program",
                                 sentences ? "embed" : "output",
                                 "--inputs",
                                 folder / "in.safetensors",
                                 "--outputs",
                                 folder / "out.safetensors",
                                 "--",
                                 "--rows",
                                 std::to_string(first.shape[0]),
                                 "--length",
                                 std::to_string(first.shape[1])};
  if (sentences) words.insert(words.end(), {"--head", "none"});
  const ProcessResult result = run_baleen(words);
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  const Tensor made = output_in(read_file(folder / "out.safetensors"));
  EXPECT_EQ(made.shape, golden.output.shape);
  ASSERT_EQ(made.numbers.size(), golden.output.numbers.size());
  for (std::size_t i = 0; i < made.numbers.size(); ++i)
    ASSERT_NEAR(made.numbers[i], golden.output.numbers[i], kTolerance) << i;
}

INSTANTIATE_TEST_SUITE_P(Exchange, TransformersModel,
                         testing::Values("gpt2", "llama", "mixtral", "bert_words", "bert_sentences", "vit"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace baleen::test
