/// \file The words of `--path FILE` and others that plugins ask for. For command_line.cpp alone.
#pragma once
#include <CLI/CLI.hpp>
#include <deque>
#include <string>
#include <vector>

#include "core/plugin/option_value.hpp"
#include "frontend/cli/command_line.hpp"

namespace baleen::app {

class PluginFlagWords {
 public:
  /// Borrows the plugins.
  explicit PluginFlagWords(const std::vector<Descriptor>& plugins) : plugins_(plugins) {}

  /// A flag for each option of a plugin that asks for one, of monitors where there is something to record. A word that
  /// is taken stays with whoever had it first.
  void add_to(CLI::App& sub, bool is_recorded) {
    for (const Descriptor& plugin : plugins_)
      for (const Option& option : plugin.options) {
        const std::string word = "--" + option.cli;
        const bool records = plugin.kind != "monitor" || is_recorded;
        if (option.cli.empty() || !records || sub.get_option_no_throw(word)) continue;
        Slot& slot = slots_.emplace_back(Slot{&plugin, &option, nullptr, {}});
        const bool is_switch = option.type == BALEEN_OPTION_BOOL;
        slot.flag = is_switch ? sub.add_flag(word, option.help) : sub.add_option(word, slot.words, option.help);
        slot.flag->group(plugin.kind + " `" + plugin.name + "`");
        if (is_switch) continue;
        slot.flag->type_name(type_name(option))->allow_extra_args(false);
      }
  }

  /// Those that were given.
  Result<PluginFlags> used() const {
    PluginFlags flags;
    for (const Slot& slot : slots_) {
      if (slot.flag->count() == 0) continue;
      const std::string where = "--" + slot.option->cli;
      const std::vector<std::string> words = slot.words.empty() ? slot.flag->results() : slot.words;
      PluginFlag flag{slot.plugin->kind, slot.plugin->name, slot.option->name, {words, where}};
      if (slot.option->many()) {
        BALEEN_TRY(check_option(*slot.option, flag.value));
      } else if (words.size() == 1) {
        BALEEN_TRY_ASSIGN(flag.value, parse_option_text(*slot.option, words.front(), where));
      } else {
        return invalid("given " + std::to_string(words.size()) + " times; once is enough", where);
      }
      flags.push_back(std::move(flag));
    }
    return flags;
  }

 private:
  /// A plugin's flag while CLI11 fills it.
  struct Slot {
    const Descriptor* plugin;
    const Option* option;
    CLI::Option* flag = nullptr;
    std::vector<std::string> words;
  };

  static const char* type_name(const Option& option) {
    if (option.type != BALEEN_OPTION_STRING) return "N";
    return option.name == "path" ? "FILE" : "TEXT";
  }

  const std::vector<Descriptor>& plugins_;
  std::deque<Slot> slots_;  // a deque: CLI11 keeps addresses of its elements
};

}  // namespace baleen::app
