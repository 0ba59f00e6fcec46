/// \file The steps, and reading them.
#include "normalizer.hpp"

#include <optional>

#include "regex.hpp"
#include "replace.hpp"
#include "unicode.hpp"

namespace baleen::text {
namespace {

/// Keeps the characters for which `keep` holds.
template <class Keep>
std::string filtered(const std::string& text, Keep keep) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t first = at;
    if (keep(take_character(text, at))) out.append(text, first, at - first);
  }
  return out;
}

struct UnicodeForm : Normalizer {
  explicit UnicodeForm(Form form) : form(form) {}
  Status apply(std::string& text) const override {
    text = form.of(text);
    return {};
  }
  NormalForm form;
};

struct Lowercase : Normalizer {
  Status apply(std::string& text) const override {
    text = lower_case(text);
    return {};
  }
};

struct StripAccents : Normalizer {
  Status apply(std::string& text) const override {
    text = filtered(text, [](char32_t code) { return !is_combining(code); });
    return {};
  }
};

struct Strip : Normalizer {
  Strip(bool left, bool right) : left(left), right(right) {}
  Status apply(std::string& text) const override {
    std::size_t last = text.size(), first = 0;
    while (right && last > 0 && is_white_space(character_before(text, last))) {
      do --last;
      while ((static_cast<unsigned char>(text[last]) & 0xc0) == 0x80);
    }
    for (std::size_t at = 0; left && at < last && is_white_space(take_character(text, at));) first = at;
    text = text.substr(first, last - first);
    return {};
  }
  bool left, right;
};

struct Prepend : Normalizer {
  explicit Prepend(std::string what) : what(std::move(what)) {}
  Status apply(std::string& text) const override {
    if (!text.empty()) text.insert(0, what);
    return {};
  }
  std::string what;
};

struct ReplaceAll : Normalizer {
  explicit ReplaceAll(Replacement replacement) : replacement(std::move(replacement)) {}
  Status apply(std::string& text) const override { return replacement.apply(text); }
  Replacement replacement;
};

struct BertNormalizer : Normalizer {
  explicit BertNormalizer(const BertCleaning& cleaning) : cleaning(cleaning) {}
  Status apply(std::string& text) const override {
    if (cleaning.clean_text) text = clean(text);
    if (cleaning.sets_ideographs_apart) text = set_apart(text);
    if (cleaning.strips_accents)
      text = filtered(decomposed.of(text), [](char32_t code) { return !is_old_nonspacing(code); });
    if (cleaning.lower_case) text = lower_case(text);
    return {};
  }
  static std::string clean(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const char32_t code = take_character(text, at);
      const bool is_break = code == '\t' || code == '\n' || code == '\r';
      if (code == 0 || code == 0xfffd || (!is_break && is_old_control(code))) continue;
      append_utf8(out, is_break || is_white_space(code) ? U' ' : code);
    }
    return out;
  }
  static std::string set_apart(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t first = at;
      const bool apart = is_ideograph(take_character(text, at));
      if (apart) out += ' ';
      out.append(text, first, at - first);
      if (apart) out += ' ';
    }
    return out;
  }
  BertCleaning cleaning;
  NormalForm decomposed{Form::nfd};
};

Result<std::unique_ptr<Normalizer>> read_bert(JsonObject& object) {
  BertCleaning cleaning;
  BALEEN_TRY_ASSIGN(cleaning.clean_text, object.boolean_or("clean_text", true));
  BALEEN_TRY_ASSIGN(cleaning.sets_ideographs_apart, object.boolean_or("handle_chinese_chars", true));
  BALEEN_TRY_ASSIGN(cleaning.lower_case, object.boolean_or("lowercase", true));
  BALEEN_TRY_ASSIGN(cleaning.strips_accents, object.boolean_or("strip_accents", cleaning.lower_case));
  return make_bert_normalizer(cleaning);
}

Result<std::unique_ptr<Normalizer>> read_step(const std::string& type, JsonObject& object) {
  const auto made = [](auto step) -> std::unique_ptr<Normalizer> {
    return std::make_unique<decltype(step)>(std::move(step));
  };
  if (type == "NFC") return made(UnicodeForm(Form::nfc));
  if (type == "NFD") return made(UnicodeForm(Form::nfd));
  if (type == "NFKC") return made(UnicodeForm(Form::nfkc));
  if (type == "NFKD") return made(UnicodeForm(Form::nfkd));
  if (type == "Lowercase") return made(Lowercase());
  if (type == "StripAccents") return made(StripAccents());
  if (type == "BertNormalizer") return read_bert(object);
  if (type == "Strip") {
    BALEEN_TRY_ASSIGN(const bool left, object.boolean_or("strip_left", true));
    BALEEN_TRY_ASSIGN(const bool right, object.boolean_or("strip_right", true));
    return made(Strip(left, right));
  }
  if (type == "Prepend") {
    BALEEN_TRY_ASSIGN(std::string what, object.text("prepend"));
    return made(Prepend(std::move(what)));
  }
  if (type == "Replace") {
    BALEEN_TRY_ASSIGN(Replacement replacement, Replacement::read(object));
    return std::unique_ptr<Normalizer>(std::make_unique<ReplaceAll>(std::move(replacement)));
  }
  return unsupported("the normalizer `" + type.substr(0, 80) +
                         "` is not supported; known are BertNormalizer, Lowercase, " +
                         "NFC, NFD, NFKC, NFKD, Prepend, Replace, Sequence, Strip and StripAccents",
                     object.where());
}

Status read_into(const Json& json, const std::string& where, Normalizers& steps) {
  BALEEN_TRY_ASSIGN(JsonObject object, JsonObject::of(json, where));
  BALEEN_TRY_ASSIGN(const std::string type, object.text("type"));
  if (type == "Sequence") {
    BALEEN_TRY_ASSIGN(const Json* list, object.at("normalizers", Json::Kind::array));
    for (const Json& item : list->items) BALEEN_TRY(read_into(item, where, steps));
  } else {
    BALEEN_TRY_ASSIGN(auto step, read_step(type, object));
    steps.push_back(std::move(step));
  }
  return object.finish();
}

}  // namespace

std::unique_ptr<Normalizer> make_bert_normalizer(const BertCleaning& cleaning) {
  return std::make_unique<BertNormalizer>(cleaning);
}

Result<Normalizers> read_normalizer(const Json& json, const std::string& where) {
  Normalizers steps;
  if (json.kind != Json::Kind::null) BALEEN_TRY(read_into(json, where, steps));
  return steps;
}

Status normalize(const Normalizers& steps, std::string& text) {
  for (const auto& step : steps) BALEEN_TRY(step->apply(text));
  return {};
}

}  // namespace baleen::text
