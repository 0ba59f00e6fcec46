/// \file Builds the tree from nlohmann's events, and counts as it goes.
#include "json_tree.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace baleen::text {
namespace {

constexpr std::size_t kDeepest = 24, kMostValues = 6'000'000;

/// Receives events; stops at the first thing that is not allowed.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return put({}); }
  bool boolean(bool value) override {
    Json json;
    json.kind = Json::Kind::boolean;
    json.boolean = value;
    return put(std::move(json));
  }
  bool number_integer(std::int64_t value) override { return put(of_integer(value)); }
  bool number_unsigned(std::uint64_t value) override {
    if (value > INT64_MAX) return put(of_number(static_cast<double>(value)));
    return put(of_integer(static_cast<std::int64_t>(value)));
  }
  bool number_float(double value, const std::string&) override { return put(of_number(value)); }
  bool string(std::string& value) override {
    Json json;
    json.kind = Json::Kind::string;
    json.text = std::move(value);
    return put(std::move(json));
  }
  bool binary(nlohmann::json::binary_t&) override { return refuse("binary data"); }
  bool start_object(std::size_t) override { return open(Json::Kind::object); }
  bool start_array(std::size_t) override { return open(Json::Kind::array); }
  bool key(std::string& name) override {
    open_.back().key = std::move(name);
    return true;
  }
  bool end_array() override { return close(); }
  bool end_object() override {
    std::vector<std::string_view> keys;
    for (const auto& [name, value] : open_.back().value.members) keys.push_back(name);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) return refuse("the key `" + std::string(*twice) + "` stands twice in an object");
    return close();
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::json::exception& problem) override {
    std::string text = problem.what();
    if (const auto colon = text.find(']'); text.starts_with("[") && colon != text.npos) text = text.substr(colon + 2);
    return refuse("no JSON, byte " + std::to_string(at) + ": " + text);
  }

  Json root;
  std::string problem;

 private:
  struct Open {
    Json value;
    std::string key;
  };

  static Json of_integer(std::int64_t value) {
    Json json = of_number(static_cast<double>(value));
    json.is_integer = true;
    json.integer = value;
    return json;
  }
  static Json of_number(double value) {
    Json json;
    json.kind = Json::Kind::number;
    json.number = value;
    return json;
  }
  bool refuse(std::string why) {
    if (problem.empty()) problem = std::move(why);
    return false;
  }
  bool open(Json::Kind kind) {
    if (open_.size() == kDeepest) return refuse("more than " + std::to_string(kDeepest) + " levels deep");
    Open one;
    one.value.kind = kind;
    open_.push_back(std::move(one));
    return true;
  }
  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return put(std::move(value));
  }
  bool put(Json value) {
    if (++values_ > kMostValues) return refuse("more than " + std::to_string(kMostValues) + " values");
    if (open_.empty()) {
      root = std::move(value);
    } else if (Open& parent = open_.back(); parent.value.kind == Json::Kind::array) {
      parent.value.items.push_back(std::move(value));
    } else {
      parent.value.members.push_back({std::move(parent.key), std::move(value)});
    }
    return true;
  }

  std::vector<Open> open_;
  std::size_t values_ = 0;
};

}  // namespace

const char* kind_name(Json::Kind kind) {
  switch (kind) {
    case Json::Kind::null: return "null";
    case Json::Kind::boolean: return "a boolean";
    case Json::Kind::number: return "a number";
    case Json::Kind::string: return "a string";
    case Json::Kind::array: return "an array";
    case Json::Kind::object: return "an object";
  }
  return "?";
}

Result<Json> parse_json(std::string_view text, const std::string& where) {
  TreeBuilder builder;
  if (!nlohmann::json::sax_parse(text, &builder)) return invalid(builder.problem, where);
  return std::move(builder.root);
}

Result<JsonObject> JsonObject::of(const Json& value, std::string where) {
  if (value.kind == Json::Kind::object) return JsonObject(value, std::move(where));
  return invalid(std::string("is ") + kind_name(value.kind) + ", not an object", std::move(where));
}

const Json* JsonObject::find(std::string_view key) {
  seen_.insert(std::string(key));
  for (const auto& [name, value] : json_->members)
    if (name == key) return value.kind == Json::Kind::null ? nullptr : &value;
  return nullptr;
}

Error JsonObject::wrong(std::string_view key, const Json* found, const std::string& wanted) const {
  if (!found) return invalid("is missing; it must be " + wanted, where(key));
  std::string value = kind_name(found->kind);
  if (found->kind == Json::Kind::string) value = "`" + found->text.substr(0, 80) + "`";
  if (found->kind == Json::Kind::number && found->is_integer) value = std::to_string(found->integer);
  return invalid("is " + value + "; it must be " + wanted, where(key));
}

Result<const Json*> JsonObject::at(std::string_view key, Json::Kind kind) {
  const Json* found = find(key);
  if (!found || found->kind != kind) return wrong(key, found, kind_name(kind));
  return found;
}

Result<std::string> JsonObject::text(std::string_view key) {
  BALEEN_TRY_ASSIGN(const Json* found, at(key, Json::Kind::string));
  return found->text;
}

Result<bool> JsonObject::boolean(std::string_view key) {
  BALEEN_TRY_ASSIGN(const Json* found, at(key, Json::Kind::boolean));
  return found->boolean;
}

Result<std::string> JsonObject::text_or(std::string_view key, std::string fallback) {
  if (!find(key)) return fallback;
  return text(key);
}

Result<bool> JsonObject::boolean_or(std::string_view key, bool fallback) {
  if (!find(key)) return fallback;
  return boolean(key);
}

Result<std::int64_t> JsonObject::integer(std::string_view key, std::int64_t least, std::int64_t most) {
  const Json* found = find(key);
  if (!found || !found->is_integer || found->integer < least || found->integer > most)
    return wrong(key, found, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return found->integer;
}

Result<std::int64_t> JsonObject::integer_or(std::string_view key, std::int64_t least, std::int64_t most,
                                            std::int64_t fallback) {
  if (!find(key)) return fallback;
  return integer(key, least, most);
}

Result<std::size_t> JsonObject::word(std::string_view key, std::initializer_list<std::string_view> words) {
  const Json* found = find(key);
  const auto* at = found ? std::find(words.begin(), words.end(), found->text) : words.end();
  if (at != words.end()) return static_cast<std::size_t>(at - words.begin());
  std::string known;
  for (const std::string_view word : words) known += (known.empty() ? "`" : ", `") + std::string(word) + "`";
  return wrong(key, found, "one of " + known);
}

Status JsonObject::finish() const {
  for (const auto& [name, value] : json_->members)
    if (!seen_.contains(name))
      return unsupported("the key `" + name.substr(0, 80) + "` is unknown here; what it asks for would be left out",
                         where_);
  return {};
}

}  // namespace baleen::text
