#include "source_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <regex>

namespace baleen::structure {
namespace {

/// A cursor over code that skips comments and collects what SourceText holds.
class Scanner {
 public:
  explicit Scanner(std::string_view code) : code_(code) {}

  SourceText run() {
    bool line_begins = true;
    while (at_ < code_.size()) {
      const char c = code_[at_];
      if (c == '\n') {
        line_begins = true;
        advance(1);
      } else if (starts("//")) {
        advance(until("\n"));
      } else if (starts("/*")) {
        advance(until("*/") + 2);
      } else if (c == '#' && line_begins) {
        directive();
      } else if (starts("R\"") && !continues_word()) {
        raw_literal();
      } else if (c == '"') {
        literal();
      } else if (c == '\'' && !continues_word()) {  // 1'000 holds no character
        character();
      } else {
        line_begins = line_begins && (c == ' ' || c == '\t');
        advance(1);
      }
    }
    return std::move(found_);
  }

 private:
  bool starts(std::string_view text) const { return code_.substr(at_).starts_with(text); }

  bool continues_word() const {
    return at_ > 0 && (std::isalnum(static_cast<unsigned char>(code_[at_ - 1])) || code_[at_ - 1] == '_');
  }

  /// Characters from here to the next `text`, or to the end.
  std::size_t until(std::string_view text) const {
    const std::size_t end = code_.find(text, at_);
    return (end == std::string_view::npos ? code_.size() : end) - at_;
  }

  void advance(std::size_t count) {
    count = std::min(count, code_.size() - at_);
    const std::string_view passed = code_.substr(at_, count);
    line_ += static_cast<int>(std::count(passed.begin(), passed.end(), '\n'));
    at_ += count;
  }

  /// Only an include's path is consumed, so that literals in macros are seen.
  void directive() {
    static const std::regex include(R"(#\s*include\s*([<"])([^>"]+)[>"])");
    const std::string line(code_.substr(at_, until("\n")));
    std::smatch match;
    if (!std::regex_search(line, match, include)) return advance(1);
    found_.includes.push_back({match[2], match[1] == "<", line_});
    advance(static_cast<std::size_t>(match.position(0) + match.length(0)));
  }

  void raw_literal() {
    const std::size_t open = code_.find('(', at_);
    if (open == std::string_view::npos) return advance(code_.size() - at_);
    const std::string close = ")" + std::string(code_.substr(at_ + 2, open - at_ - 2)) + "\"";
    const std::size_t end = std::min(code_.find(close, open), code_.size());
    found_.literals.push_back({std::string(code_.substr(open + 1, end - open - 1)), line_});
    advance(end + close.size() - at_);
  }

  /// Characters from after an opening quote to its closing one.
  std::size_t quoted(char quote) const {
    std::size_t end = at_ + 1;
    while (end < code_.size() && code_[end] != quote && code_[end] != '\n') end += code_[end] == '\\' ? 2 : 1;
    return std::min(end, code_.size()) - at_ - 1;
  }

  void literal() {
    const std::size_t size = quoted('"');
    found_.literals.push_back({std::string(code_.substr(at_ + 1, size)), line_});
    advance(size + 2);
  }

  void character() { advance(quoted('\'') + 2); }

  std::string_view code_;
  std::size_t at_ = 0;
  int line_ = 1;
  SourceText found_;
};

}  // namespace

SourceText read_text(std::string_view code) { return Scanner(code).run(); }

SourceText read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return read_text(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::vector<std::filesystem::path> sources_below(const std::filesystem::path& folder) {
  static constexpr std::array kEndings = {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh"};
  std::vector<std::filesystem::path> found;
  if (!std::filesystem::is_directory(folder)) return found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (std::find(kEndings.begin(), kEndings.end(), entry.path().extension()) != kEndings.end())
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace baleen::structure
