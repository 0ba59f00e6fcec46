/// \file JSON that comes from strangers: bounded in size, depth and number of values, without repeated keys; and
/// reading an object such that no key is overlooked.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baleen/result.hpp"

namespace baleen::text {

struct JsonMember;

/// A value; objects keep their order.
struct Json {
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };
  Kind kind = Kind::null;
  bool boolean = false, is_integer = false;
  std::int64_t integer = 0;  ///< where is_integer
  double number = 0;
  std::string text;
  std::vector<Json> items;
  std::vector<JsonMember> members;
};

struct JsonMember {
  std::string name;
  Json value;
};

/// "an object", for messages.
const char* kind_name(Json::Kind kind);

/// Fails, with `where` and the place in the text, on what is no JSON (UTF-8), is deeper than 24 levels, has more than
/// six million values, or has a key twice in an object.
Result<Json> parse_json(std::string_view text, const std::string& where);

/// An object read key by key. Each getter fails on another type, and, but for the `_or` ones, where the key is missing.
class JsonObject {
 public:
  /// `where`: "tokenizer.json: model", for messages. Fails where the value is no object.
  static Result<JsonObject> of(const Json& value, std::string where);

  /// Null where the key is missing or null.
  const Json* find(std::string_view key);
  Result<const Json*> at(std::string_view key, Json::Kind kind);
  Result<std::string> text(std::string_view key);
  Result<bool> boolean(std::string_view key);
  /// `fallback` where the key is missing or null.
  Result<std::string> text_or(std::string_view key, std::string fallback);
  Result<bool> boolean_or(std::string_view key, bool fallback);
  Result<std::int64_t> integer(std::string_view key, std::int64_t least, std::int64_t most);
  Result<std::int64_t> integer_or(std::string_view key, std::int64_t least, std::int64_t most, std::int64_t fallback);
  /// One of `words`; its number.
  Result<std::size_t> word(std::string_view key, std::initializer_list<std::string_view> words);
  /// A key that has no meaning here.
  void pass_over(std::string_view key) { seen_.insert(std::string(key)); }
  /// Call at the end: fails with the name of a key that nobody asked for.
  Status finish() const;

  std::string where(std::string_view key) const { return where_ + "." + std::string(key); }
  const std::string& where() const { return where_; }
  const Json& json() const { return *json_; }

 private:
  JsonObject(const Json& json, std::string where) : json_(&json), where_(std::move(where)) {}
  Error wrong(std::string_view key, const Json* found, const std::string& wanted) const;

  const Json* json_;
  std::string where_;
  std::set<std::string, std::less<>> seen_;
};

}  // namespace baleen::text
