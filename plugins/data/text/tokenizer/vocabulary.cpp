/// \file Reading vocabularies.
#include <algorithm>

#include "model.hpp"
#include "unicode.hpp"

namespace baleen::text {
namespace {

/// The most that ids may lie apart: a small file must not claim a large table.
std::int64_t most_ids(std::size_t tokens) { return static_cast<std::int64_t>(2 * tokens + 4096); }

}  // namespace

void Vocabulary::reserve(std::size_t ids) {
  tokens_.resize(ids);
  is_used_.resize(ids);
  ids_.reserve(ids);
}

Status Vocabulary::add(std::string token, std::uint32_t id, const std::string& where) {
  if (is_used_[id])
    return invalid("the id " + std::to_string(id) + " belongs to `" + tokens_[id].substr(0, 80) + "` and to `" +
                       token.substr(0, 80) + "`",
                   where);
  tokens_[id] = std::move(token);
  is_used_[id] = true;
  if (!ids_.emplace(tokens_[id], id).second)
    return invalid("the token `" + tokens_[id].substr(0, 80) + "` stands twice", where);
  return {};
}

Result<Vocabulary> Vocabulary::read(const Json& object, const std::string& where) {
  const auto& members = object.members;
  if (members.empty()) return invalid("is empty; a vocabulary has at least one token", where);
  std::int64_t end = 0;
  for (const auto& [token, id] : members) {
    if (!id.is_integer || id.integer < 0 || id.integer >= most_ids(members.size()))
      return invalid("the id of `" + token.substr(0, 80) + "` is " +
                         (id.is_integer ? std::to_string(id.integer) : kind_name(id.kind)) + "; for " +
                         std::to_string(members.size()) + " tokens it must be a number from 0 to " +
                         std::to_string(most_ids(members.size()) - 1),
                     where);
    end = std::max(end, id.integer + 1);
  }
  Vocabulary made;
  made.reserve(static_cast<std::size_t>(end));
  for (const auto& [token, id] : members) BALEEN_TRY(made.add(token, static_cast<std::uint32_t>(id.integer), where));
  return made;
}

Result<Vocabulary> Vocabulary::read_lines(std::string_view text, const std::string& where) {
  if (const std::size_t end = end_of_utf8(text); end < text.size())
    return invalid("not UTF-8 at byte " + std::to_string(end), where);
  std::vector<std::string> tokens;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    tokens.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return of(std::move(tokens), where);
}

Result<Vocabulary> Vocabulary::of(std::vector<std::string> tokens, const std::string& where) {
  if (tokens.empty()) return invalid("is empty; a vocabulary has at least one token", where);
  if (tokens.size() > std::size_t{1} << 26)
    return invalid("has " + std::to_string(tokens.size()) + " tokens; 2^26 are allowed", where);
  Vocabulary made;
  made.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i)
    BALEEN_TRY(made.add(std::move(tokens[i]), static_cast<std::uint32_t>(i), where));
  return made;
}

}  // namespace baleen::text
