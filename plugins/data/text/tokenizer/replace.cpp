/// \file Finding and replacing.
#include "replace.hpp"

namespace baleen::text {
namespace {

/// What a text may grow to by replacing.
constexpr std::size_t kMostBytes = std::size_t{1} << 28;

}  // namespace

Result<Pattern> Pattern::read(JsonObject& object) {
  const Json* found = object.find("pattern");
  const std::string where = object.where("pattern");
  if (found && found->kind == Json::Kind::string && !found->text.empty()) return Pattern(found->text);
  if (!found) return invalid("is missing; it must be {\"String\": …} or {\"Regex\": …}", where);
  BALEEN_TRY_ASSIGN(JsonObject pattern, JsonObject::of(*found, where));
  if (pattern.find("Regex")) {
    BALEEN_TRY_ASSIGN(const std::string text, pattern.text("Regex"));
    BALEEN_TRY(pattern.finish());
    BALEEN_TRY_ASSIGN(Regex regex, Regex::compile(text, where));
    return Pattern(std::move(regex));
  }
  BALEEN_TRY_ASSIGN(std::string text, pattern.text("String"));
  BALEEN_TRY(pattern.finish());
  if (text.empty()) return invalid("is an empty text", where);
  return Pattern(std::move(text));
}

Status Pattern::find(std::string_view text, std::vector<Span>& matches) const {
  if (regex_) return regex_->find(text, matches);
  for (std::size_t at = text.find(literal_); at != text.npos; at = text.find(literal_, at + literal_.size()))
    matches.push_back({at, at + literal_.size()});
  return {};
}

Result<Replacement> Replacement::read(JsonObject& object) {
  BALEEN_TRY_ASSIGN(Pattern pattern, Pattern::read(object));
  BALEEN_TRY_ASSIGN(std::string content, object.text("content"));
  return Replacement(std::move(pattern), std::move(content));
}

Status Replacement::apply(std::string& text) const {
  std::vector<Span> matches;
  BALEEN_TRY(pattern_.find(text, matches));
  if (matches.empty()) return {};
  if (matches.size() * content_.size() > kMostBytes)
    return invalid("replacing by `" + content_.substr(0, 40) + "…` makes more than 256 MiB of this text");
  std::string out;
  std::size_t at = 0;
  for (const Span& match : matches) {
    out.append(text, at, match.first - at);
    out += content_;
    at = match.last;
  }
  out.append(text, at);
  text = std::move(out);
  return {};
}

}  // namespace baleen::text
