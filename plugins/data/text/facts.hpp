/// \file What text teaches, as it is saved with a model: JSON there and back.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "baleen/result.hpp"

namespace baleen::text {

struct Facts {
  std::string tokenizer;        // as tokenizer_name calls it
  std::string alphabet;         // of characters: all of them in the order of their numbers, UTF-8
  std::int64_t vocabulary = 0;  // ids are below this

  std::string text() const;
  static Result<Facts> parse(std::string_view text);
};

}  // namespace baleen::text
