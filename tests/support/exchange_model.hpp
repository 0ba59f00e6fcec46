/// \file Models of the shapes of other frameworks, small, made and trained by the program; and their folders.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "support/places.hpp"
#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {

/// A config.json of two blocks of width 8, with further keys ("\"tie_word_embeddings\": false") behind a comma.
inline std::string gpt2_config(const std::string& more = {}) {
  return R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 8, "n_head": 2, "n_layer": 2,
  "n_positions": 8, "vocab_size": 259)" +
         (more.empty() ? "" : ", " + more) + "}\n";
}

inline std::string llama_config(const std::string& more = {}) {
  return R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 8, "num_attention_heads": 4,
  "num_key_value_heads": 2, "num_hidden_layers": 2, "intermediate_size": 12, "vocab_size": 259)" +
         (more.empty() ? "" : ", " + more) + "}\n";
}

inline std::string mixtral_config() {
  return R"({"model_type": "mixtral", "hidden_size": 8, "num_attention_heads": 4, "num_key_value_heads": 2,
  "num_hidden_layers": 2, "intermediate_size": 12, "num_local_experts": 3, "num_experts_per_tok": 2,
  "vocab_size": 259, "rope_theta": 1e6})";
}

/// A script that trains the model of `--config` on bytes, two steps unless told otherwise.
inline std::string exchange_script(const TemporaryFolder& folder) {
  return folder.write("train.lua",
                      "local baleen = require 'baleen'\n"
                      "local from = baleen.arg('config', '')\n"
                      "local net = baleen.models.load {\n"
                      "  config = from ~= '' and from or nil, vocab_multiple = baleen.arg('multiple', 1) }\n"
                      "return baleen.job { model = net, loss = baleen.nn.cross_entropy {}, batch = 2, steps = 2,\n"
                      "  data = baleen.data.text { path = baleen.arg('data'), context = 8 },\n"
                      "  optimizer = baleen.optimizer('sgd', { lr = 0.1 }) }\n");
}

/// `baleen run` of that script, with words before `--`, then those of the script.
inline ProcessResult train_exchange(const std::string& script, std::vector<std::string> words,
                                    const std::vector<std::string>& arguments) {
  words.insert(words.begin(), {"run", script});
  words.insert(words.end(), {"--", "--data", source_dir() + "/tests/golden/whales.txt"});
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_baleen(words);
}

/// What follows a safetensors file's header: the tensors, in an order that their names and dtypes decide.
inline std::string data_of(const std::string& path) {
  const std::string file = read_file(path);
  std::uint64_t header = 0;
  if (file.size() < sizeof header) return "";
  std::memcpy(&header, file.data(), sizeof header);
  return file.substr(sizeof header + header);
}

}  // namespace baleen::test
