/// \file Training tokenizers: which kinds there are, and what the file of a trained one holds.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/result.hpp"

namespace baleen::text {

struct TrainingRequest {
  std::string kind;
  std::int64_t vocabulary = 0;
  std::vector<std::string> options;  ///< "name=value"
};

/// A file's text with its path, for messages.
struct TrainingText {
  std::string path;
  std::string_view text;
};

/// Told now and then, for people.
using TrainingLog = std::function<void(const std::string& line)>;

/// A line for each kind with its options.
std::string_view trained_kinds();
/// The contents of the tokenizer's file. The same text gives the same bytes, whatever the number of threads.
Result<std::string> train_tokenizer(const TrainingRequest& request, const std::vector<TrainingText>& texts,
                                    const TrainingLog& log);

}  // namespace baleen::text
