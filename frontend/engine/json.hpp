/// \file Writes JSON, for the commands with `--json`.
#pragma once
#include <string>
#include <string_view>

namespace baleen::app {

/// Builds one JSON text: begin and end nest, commas come by themselves.
class JsonWriter {
 public:
  JsonWriter& begin(char bracket);  ///< '{' or '['
  JsonWriter& end(char bracket);    ///< '}' or ']'
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);  ///< infinities and nan become null
  JsonWriter& value(bool flag);
  const std::string& text() const { return text_; }

 private:
  void separate();
  void quote(std::string_view text);

  std::string text_;
};

}  // namespace baleen::app
