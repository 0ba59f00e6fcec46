/// \file The plugin's tokenizers without a data set: trained, and opened ("baleen.data.tokenizer/1").
#pragma once
#include <memory>
#include <string_view>

#include "baleen/data_tokenizer.hpp"

namespace baleen::text {

struct TokenizerMaker {
  static std::string_view kinds();
  /// Reads the files as a data set would and writes `out` at once: an old one stays until the new one is whole.
  static Status train(const Host& host, const sdk::TokenizerTraining& training);
  static Result<std::unique_ptr<sdk::OpenedTokenizer>> open(const Host& host, std::string_view path);
};

}  // namespace baleen::text
