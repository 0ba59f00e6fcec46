/// \file Regex: ICU's engine holds the state of a search, so each search takes a copy from a pool.
#include "regex.hpp"

#include <unicode/uregex.h>
#include <unicode/ustring.h>
#include <unicode/utext.h>

#include <mutex>

#include "unicode.hpp"

namespace baleen::text {
namespace {

constexpr std::int32_t kMilliseconds = 500, kStackBytes = 8 << 20;
constexpr std::size_t kLongestPattern = 1 << 14;

struct CloseRegex {
  void operator()(URegularExpression* regex) const { uregex_close(regex); }
};
using Engine = std::unique_ptr<URegularExpression, CloseRegex>;

struct TextOverUtf8 {
  explicit TextOverUtf8(std::string_view text, UErrorCode& code) {
    utext_openUTF8(&text_, text.data(), static_cast<std::int64_t>(text.size()), &code);
  }
  ~TextOverUtf8() { utext_close(&text_); }
  TextOverUtf8(const TextOverUtf8&) = delete;
  UText text_ = UTEXT_INITIALIZER;
};

/// What Ruby's engine takes otherwise than ICU's: escapes, and the flag m. Null where there is none.
const char* foreign_syntax(std::string_view pattern) {
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      switch (pattern[i + 1]) {
        case 'h': return "\\h";
        case 'H': return "\\H";
        case 'K': return "\\K";
        case 'y': return "\\y";
        case 'Y': return "\\Y";
        default: break;
      }
      ++i;
    } else if (pattern[i] == '(' && pattern[i + 1] == '?') {
      for (std::size_t j = i + 2; j < pattern.size() && (pattern[j] == '-' || (pattern[j] >= 'a' && pattern[j] <= 'z'));
           ++j)
        if (pattern[j] == 'm') return "the flag m";
    }
  }
  return nullptr;
}

Error failed(UErrorCode code, const std::string& where) {
  if (code == U_REGEX_TIME_OUT || code == U_REGEX_STACK_OVERFLOW)
    return invalid("its pattern takes too long or too much memory on this text (" + std::string(u_errorName(code)) +
                       "); it may try exponentially many ways to match",
                   where);
  return internal("ICU cannot search: " + std::string(u_errorName(code)), where);
}

}  // namespace

struct Regex::State {
  Engine first;
  std::string where;
  std::mutex mutex;
  std::vector<Engine> idle;

  /// An engine that nobody else uses; null after `code` says why.
  Engine take(UErrorCode& code) {
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) {
        Engine engine = std::move(idle.back());
        idle.pop_back();
        return engine;
      }
    }
    Engine engine(uregex_clone(first.get(), &code));
    uregex_setTimeLimit(engine.get(), kMilliseconds, &code);
    uregex_setStackLimit(engine.get(), kStackBytes, &code);
    return engine;
  }
  void give(Engine engine) {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(engine));
  }
};

Regex::Regex(std::unique_ptr<State> state) : state_(std::move(state)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::compile(std::string_view pattern, const std::string& where) {
  if (pattern.empty() || pattern.size() > kLongestPattern)
    return invalid("its pattern has " + std::to_string(pattern.size()) + " bytes; 1 to " +
                       std::to_string(kLongestPattern) + " are allowed",
                   where);
  if (const char* foreign = foreign_syntax(pattern))
    return unsupported(
        "its pattern uses " + std::string(foreign) + ", which is not supported: `" + std::string(pattern) + "`", where);
  UErrorCode code = U_ZERO_ERROR;
  UParseError place{};
  TextOverUtf8 text(pattern, code);
  auto state = std::make_unique<State>();
  state->where = where;
  if (U_SUCCESS(code))
    state->first.reset(uregex_openUText(&text.text_, UREGEX_MULTILINE | UREGEX_UNIX_LINES, &place, &code));
  if (U_FAILURE(code))
    return invalid("its pattern `" + std::string(pattern) + "` is no regular expression: " + u_errorName(code) +
                       " at character " + std::to_string(place.offset),
                   where);
  return Regex(std::move(state));
}

Status Regex::find(std::string_view text, std::vector<Span>& matches) const {
  UErrorCode code = U_ZERO_ERROR;
  Engine engine = state_->take(code);
  TextOverUtf8 over(text, code);
  if (U_SUCCESS(code)) uregex_setUText(engine.get(), &over.text_, &code);
  while (U_SUCCESS(code) && uregex_findNext(engine.get(), &code)) {
    const auto first = static_cast<std::size_t>(uregex_start64(engine.get(), 0, &code));
    const auto last = static_cast<std::size_t>(uregex_end64(engine.get(), 0, &code));
    if (last > first) matches.push_back({first, last});
  }
  if (U_FAILURE(code)) return failed(code, state_->where);
  TextOverUtf8 nothing("", code);
  uregex_setUText(engine.get(), &nothing.text_, &code);  // the engine outlives this text
  state_->give(std::move(engine));
  return {};
}

}  // namespace baleen::text
