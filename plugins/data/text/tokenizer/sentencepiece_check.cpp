/// \file Protocol buffers on the wire (protobuf.dev, Encoding), and the double array of the table of characters (Aoe
/// 1989, as darts-clone lays it out).
#include "sentencepiece_check.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <unordered_set>
#include <vector>

#include "unicode.hpp"

namespace baleen::text {
namespace {

constexpr std::size_t kMostPieces = 1 << 22, kLongestPiece = 1 << 12, kMostSamples = 1 << 10;

struct Field {
  std::uint32_t number = 0, type = 0;
  std::uint64_t value = 0;  ///< of types 0, 1 and 5
  std::string_view bytes;   ///< of type 2
};

/// The fields of a message, one after the other.
class Wire {
 public:
  explicit Wire(std::string_view bytes) : rest_(bytes) {}
  /// False at the end, or where what follows is no field.
  bool next(Field& field) {
    if (rest_.empty()) return false;
    std::uint64_t tag = 0;
    good_ = varint(tag) && tag >> 32 == 0 && tag >> 3 != 0;
    field.number = static_cast<std::uint32_t>(tag >> 3);
    field.type = tag & 7;
    if (good_) good_ = value(field);
    return good_;
  }
  bool good() const { return good_; }

 private:
  bool varint(std::uint64_t& out) {
    out = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      out |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool fixed(std::size_t size, std::uint64_t& out) {
    out = 0;
    if (rest_.size() < size) return false;
    std::memcpy(&out, rest_.data(), size);
    rest_.remove_prefix(size);
    return true;
  }
  bool value(Field& field) {
    if (field.type == 0) return varint(field.value);
    if (field.type == 1) return fixed(8, field.value);
    if (field.type == 5) return fixed(4, field.value);
    std::uint64_t size = 0;
    if (field.type != 2 || !varint(size) || size > rest_.size()) return false;
    field.bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
  bool good_ = true;
};

std::uint32_t word_at(std::string_view bytes, std::size_t number) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + 4 * number, 4);
  return word;
}

/// A unit of the double array: an offset and a label, or, in a leaf, a value.
struct Unit {
  std::uint32_t word;
  bool is_leaf() const { return word >> 31 != 0; }
  bool has_leaf() const { return (word >> 8 & 1) != 0; }
  std::uint32_t offset() const { return (word >> 10) << ((word & (1u << 9)) >> 6); }
  std::uint32_t value() const { return word & 0x7fffffffu; }
};

/// The table: bytes of the double array, the array, and the texts that it points to, each ended by a zero.
Status check_charsmap(std::string_view map, const std::string& where) {
  const auto wrong = [&](const std::string& what) { return invalid("its table of characters " + what, where); };
  if (map.empty()) return {};
  if (map.size() < 8) return wrong("has " + std::to_string(map.size()) + " bytes");
  const std::uint32_t bytes = word_at(map, 0);
  if (bytes > map.size() - 4 || bytes % 4 != 0 || bytes < 1024)
    return wrong("says that its array has " + std::to_string(bytes) + " bytes, of " + std::to_string(map.size()));
  const std::string_view array = map.substr(4, bytes), texts = map.substr(4 + bytes);
  if (texts.empty() || texts.back() != '\0') return wrong("does not end its texts");
  if (const std::size_t end = end_of_utf8(texts); end < texts.size()) return wrong("has texts that are not UTF-8");
  const std::uint32_t units = bytes / 4;
  for (std::uint32_t i = 0; i < units; ++i) {
    const Unit unit{word_at(array, i)};
    if (unit.is_leaf()) continue;
    const std::uint32_t base = i ^ unit.offset();
    if ((base | 0xff) >= units) return wrong("points outside its array, at unit " + std::to_string(i));
    if (!unit.has_leaf()) continue;
    const Unit leaf{word_at(array, base)};
    if (leaf.value() >= texts.size()) return wrong("points outside its texts, at unit " + std::to_string(base));
  }
  return {};
}

Status check_normalizer(std::string_view bytes, const std::string& where) {
  Wire wire(bytes);
  for (Field field; wire.next(field);) {
    if (field.number == 2 && field.type == 2) BALEEN_TRY(check_charsmap(field.bytes, where));
    if (field.number == 2 && field.type != 2) return invalid("its normalizer is damaged", where);
  }
  return wire.good() ? Status() : invalid("its normalizer is damaged", where);
}

Error no_model(const std::string& why, const std::string& where) {
  return invalid("is no SentencePiece model: it " + why +
                     " (a file of lines in base64 is tiktoken's; give the model's tokenizer.json instead)",
                 where);
}

class Pieces {
 public:
  Status add(std::string_view bytes, const std::string& where) {
    const std::string which = "piece " + std::to_string(texts_.size());
    Wire wire(bytes);
    std::string_view text;
    std::uint64_t type = 1;
    for (Field field; wire.next(field);) {
      if (field.number == 1 && field.type == 2) text = field.bytes;
      if (field.number == 3 && field.type == 0) type = field.value;
      if (field.number == 2 && field.type == 5) {
        float score = 0;
        std::memcpy(&score, &field.value, sizeof(score));
        if (!std::isfinite(score) || std::fabs(score) > 1e9f)
          return invalid(which + " has no number as its score", where);
      }
    }
    if (!wire.good()) return invalid(which + " is damaged", where);
    if (text.empty() || text.size() > kLongestPiece || end_of_utf8(text) < text.size() || text.find('\0') != text.npos)
      return invalid(which + " is no text of 1 to 4096 bytes", where);
    if (type < 1 || type > 6) return invalid(which + " is of type " + std::to_string(type), where);
    if (texts_.size() == kMostPieces) return invalid("has more than 2^22 pieces", where);
    if (!texts_.insert(text).second)
      return invalid(which + ", `" + std::string(text.substr(0, 80)) + "`, stands twice", where);
    unknown_ += type == 2;
    if (type == 6 && !is_byte(text)) return invalid(which + " is of type byte but not <0x00> … <0xFF>", where);
    return {};
  }
  Status finish(const std::string& where) const {
    if (texts_.empty()) return no_model("has no pieces", where);
    if (unknown_ == 1) return {};
    return invalid("has " + std::to_string(unknown_) + " pieces for what is unknown; there must be one", where);
  }

 private:
  static bool is_byte(std::string_view text) {
    const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
    return text.size() == 6 && text.starts_with("<0x") && digit(text[3]) && digit(text[4]) && text[5] == '>';
  }
  std::unordered_set<std::string_view> texts_;
  int unknown_ = 0;
};

}  // namespace

Status check_sentencepiece(std::string_view model, const std::string& where) {
  Wire wire(model);
  Pieces pieces;
  std::size_t samples = 0;
  for (Field field; wire.next(field);) {
    if (field.number > 5) continue;
    if (field.type != 2) return no_model("begins otherwise", where);
    if (field.number == 1) BALEEN_TRY(pieces.add(field.bytes, where));
    if (field.number == 3 || field.number == 5) BALEEN_TRY(check_normalizer(field.bytes, where));
    if (field.number == 4 && (samples += field.bytes.size()) > kMostSamples * 1024)
      return invalid("has more than a megabyte of samples for testing itself", where);
  }
  if (!wire.good()) return no_model("is damaged or cut short", where);
  return pieces.finish(where);
}

}  // namespace baleen::text
