/// \file Cutting files into tasks, and tasks into documents.
#include "documents.hpp"

#include <algorithm>

#include "tokenizer/json_tree.hpp"
#include "tokenizer/text_parts.hpp"
#include "tokenizer/unicode.hpp"

namespace baleen::text {
namespace {

Error at_line(const Error& error, std::string_view whole, const char* at, const std::string& path) {
  const auto line = 1 + std::count(whole.data(), at, '\n');
  return {error.code, error.message, path + ":" + std::to_string(line)};
}

/// A document of any length.
Status encode_text(std::string_view text, const TrainedTokenizer& tokenizer, std::vector<std::uint32_t>& ids) {
  for (const std::string_view part : parts_of_text(text)) BALEEN_TRY(tokenizer.encode(part, ids));
  return {};
}

Result<std::string> text_of_line(std::string_view line, const std::string& field) {
  BALEEN_TRY_ASSIGN(const Json json, parse_json(line, ""));
  if (json.kind != Json::Kind::object)
    return invalid(std::string("the line is ") + kind_name(json.kind) +
                   "; with documents = \"jsonl\" it must be an object");
  for (const auto& [name, value] : json.members) {
    if (name != field) continue;
    if (value.kind == Json::Kind::string) return value.text;
    return invalid("`" + field + "` is " + kind_name(value.kind) + "; it must be a string");
  }
  return invalid("the object has no `" + field + "`; name the one with the text by `json_field`");
}

Status encode_line(std::string_view line, const TrainedTokenizer& tokenizer, const DocumentRules& rules,
                   std::vector<std::uint32_t>& ids) {
  if (rules.documents == Documents::lines) return encode_text(line, tokenizer, ids);
  BALEEN_TRY_ASSIGN(const std::string text, text_of_line(line, rules.field));
  return encode_text(text, tokenizer, ids);
}

}  // namespace

void add_tasks(std::size_t file, std::string_view text, Documents documents, std::vector<TextTask>& tasks) {
  const bool by_line = documents == Documents::lines || documents == Documents::jsonl;
  for (const std::string_view part : by_line ? parts_of_lines(text) : parts_of_text(text))
    tasks.push_back({file, part, false});
  if (!text.empty()) tasks.back().ends = documents == Documents::files;
}

Status encode_task(const TextTask& task, std::string_view whole, const std::string& path,
                   const TrainedTokenizer& tokenizer, const DocumentRules& rules, std::vector<std::uint32_t>& ids) {
  const auto end_document = [&] { ids.insert(ids.end(), rules.separator.begin(), rules.separator.end()); };
  if (rules.documents == Documents::none || rules.documents == Documents::files) {
    if (const std::size_t end = end_of_utf8(task.text); end < task.text.size())
      return invalid("not UTF-8 at byte " +
                         std::to_string(task.text.data() - whole.data() + static_cast<std::ptrdiff_t>(end)) +
                         "; use tokenizer = \"bytes\", or convert the file",
                     path);
    if (const Status status = tokenizer.encode(task.text, ids); !status)
      return at_line(status.error(), whole, task.text.data(), path);
    if (task.ends) end_document();
    return {};
  }
  for (std::string_view rest = task.text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (const Status status = encode_line(line, tokenizer, rules, ids); !status)
      return at_line(status.error(), whole, line.data(), path);
    end_document();
  }
  return {};
}

}  // namespace baleen::text
