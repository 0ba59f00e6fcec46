#include "type_definitions.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <regex>

namespace baleen::structure {
namespace {

/// The same lines with comments, literals and directives blank: braces and words that are left mean what they say.
std::string bare(std::string_view code) {
  static const std::regex noise(
      R"re(//[^\n]*|/\*[^]*?\*/|R"([^(\s]*)\([^]*?\)\1"|"(?:\\.|[^"\\\n])*"|\b\d[\w']*|'(?:\\.|[^'\\\n])*')re"
      R"re(|(?:^|\n)[ \t]*#(?:\\\n|[^\n])*)re");
  std::string text(code), out;
  auto at = text.cbegin();
  for (std::sregex_iterator match(text.begin(), text.end(), noise), end; match != end; ++match) {
    out.append(at, (*match)[0].first);
    out.append(static_cast<std::size_t>(std::count((*match)[0].first, (*match)[0].second, '\n')), '\n');
    at = (*match)[0].second;
  }
  return out.append(at, text.cend());
}

/// What stands between two of `{ } ;` says what a brace opens.
class Reader {
 public:
  std::vector<TypeDefinition> run(const std::string& code) {
    for (const char c : code) {
      if (c == '{') open();
      if (c == '}' && !scopes_.empty()) scopes_.pop_back();
      if (c == '{' || c == '}' || c == ';')
        head_.clear();
      else
        head_ += c;
      if (c == '\n') ++line_;
    }
    return std::move(found_);
  }

 private:
  /// A named namespace, or nothing that types are shared in.
  using Scope = std::optional<std::string>;

  void open() {
    static const std::regex space(R"(^\s*(?:inline\s+)?namespace\s+([\w:]+)\s*$)");
    static const std::regex alignment(R"(\balignas\s*\([^()]*\))");
    static const std::regex type(
        R"((?:^|[\s>])(?:struct|class|union|enum(?:\s+(?:struct|class))?)\s+(\w+)\s*(?:final\s*)?(?::(?!:)[^]*)?$)");
    std::smatch match;
    const bool shared = std::all_of(scopes_.begin(), scopes_.end(), [](const Scope& s) { return s.has_value(); });
    if (std::regex_search(head_, match, space)) return scopes_.push_back(match[1].str());
    head_ = std::regex_replace(head_, alignment, "");
    if (shared && head_.find('(') == std::string::npos && std::regex_search(head_, match, type)) {
      std::string name;
      for (const Scope& scope : scopes_) name += *scope + "::";
      found_.push_back({name + match[1].str(), line_});
    }
    scopes_.push_back(std::nullopt);
  }

  std::vector<Scope> scopes_;
  std::string head_;
  int line_ = 1;
  std::vector<TypeDefinition> found_;
};

}  // namespace

std::vector<TypeDefinition> type_definitions(std::string_view code) { return Reader().run(bare(code)); }

}  // namespace baleen::structure
