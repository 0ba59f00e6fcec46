/// \file Looks through the bytes of a SentencePiece model before its library does, which trusts them.
#pragma once
#include <string>
#include <string_view>

#include "baleen/result.hpp"

namespace baleen::text {

/// Fails where the model is no protocol buffer of sentencepiece_model.proto, its pieces are empty, no UTF-8, twice
/// there or too many, its scores are no numbers, or its table of characters points outside itself.
Status check_sentencepiece(std::string_view model, const std::string& where);

}  // namespace baleen::text
