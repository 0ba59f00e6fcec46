/// \file How help looks where CLI11's own way misleads. For command_line.cpp alone.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace baleen::app {

/// "TEXT ..." stands only where one word takes several values; blank lines come one at a time.
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = Formatter::make_option_opts(option);
    const std::size_t dots = text.find(kDots);
    if (dots != text.npos && option->nonpositional() && !option->get_allow_extra_args()) text.erase(dots, kDots.size());
    return text;
  }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string text = Formatter::make_help(app, std::move(name), mode);
    for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != text.npos;) text.erase(at, 1);
    return text;
  }

 private:
  static constexpr std::string_view kDots = " ...";
};

}  // namespace baleen::app
