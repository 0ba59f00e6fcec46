/// \file Small tokenizers, written out.
#pragma once
#include <string>

#include "tokenizer/pre_tokenizer.hpp"
#include "tokenizer/trained_tokenizer.hpp"

namespace baleen::test {

/// `"a": 0, "b": 1, …` of all bytes' characters, in the order of the bytes.
inline std::string byte_vocabulary() {
  std::string members;
  for (int byte = 0; byte < 256; ++byte) {
    std::string name;
    text::append_byte_character(name, static_cast<unsigned char>(byte));
    if (name == "\"" || name == "\\") name.insert(0, "\\");
    members += (members.empty() ? "\"" : ", \"") + name + "\": " + std::to_string(byte);
  }
  return members;
}

/// GPT-2's form: 256 bytes, then `th`, `he`, `the`, `Ġthe`; and `<|end|>`, 260. `edit` replaces a text in it.
inline std::string small_json(const std::string& from = "", const std::string& to = "") {
  std::string json = R"({"version": "1.0", "truncation": null, "padding": null,
 "added_tokens": [{"id": 260, "content": "<|end|>", "single_word": false, "lstrip": false, "rstrip": false,
                   "normalized": false, "special": true}],
 "normalizer": null,
 "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
 "post_processor": null,
 "decoder": {"type": "ByteLevel"},
 "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
           "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
           "vocab": {)" +
                     byte_vocabulary() +
                     R"(, "th": 256, "he": 257, "the": 258, "Ġthe": 259},
           "merges": ["t h", "h e", ["th", "e"], "Ġ the"]}})";
  if (const auto at = json.find(from); !from.empty() && at != std::string::npos) json.replace(at, from.size(), to);
  return json;
}

}  // namespace baleen::test
