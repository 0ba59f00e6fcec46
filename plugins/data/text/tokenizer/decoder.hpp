/// \file From tokens back to text.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "json_tree.hpp"

namespace baleen::text {

/// A step over the tokens of a text. Immutable. [any thread]
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual Status apply(std::vector<std::string>& tokens) const = 0;
};
using Decoders = std::vector<std::unique_ptr<Decoder>>;

/// The steps of the value `decoder` of a tokenizer.json. Null: tokens with spaces between. Fails, naming it, on a type
/// that is not known: known are BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Sequence, Strip and
/// WordPiece.
Result<Decoders> read_decoder(const Json& json, const std::string& where);

Decoders byte_level_decoder();
Decoders wordpiece_decoder();

/// The bytes of a text. They are UTF-8 where the tokens are whole characters.
Result<std::string> decode_tokens(const Decoders& steps, std::vector<std::string> tokens);

}  // namespace baleen::text
