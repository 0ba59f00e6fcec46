/// \file What a document is: nothing, a file, a line, or a text in a line of JSON; and its ids with what ends it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/trained_tokenizer.hpp"

namespace baleen::text {

enum class Documents { none, files, lines, jsonl };

/// How text becomes ids.
struct DocumentRules {
  Documents documents = Documents::none;
  std::string field;                     ///< of a line's object, for jsonl
  std::vector<std::uint32_t> separator;  ///< behind every document; empty for none
};

/// A part of a file that is encoded alone. `ends`: it ends a document that is a file.
struct TextTask {
  std::size_t file = 0;
  std::string_view text;
  bool ends = false;
};

/// The file in parts.
void add_tasks(std::size_t file, std::string_view text, Documents documents, std::vector<TextTask>& tasks);

/// Appends the ids of a part. Errors say the byte or line within the part's file: `whole` is the file's text.
Status encode_task(const TextTask& task, std::string_view whole, const std::string& path,
                   const TrainedTokenizer& tokenizer, const DocumentRules& rules, std::vector<std::uint32_t>& ids);

}  // namespace baleen::text
