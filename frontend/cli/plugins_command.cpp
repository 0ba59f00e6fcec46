/// \file `baleen plugins`: the descriptors that were found. No library is opened, unless its ops are asked for.
#include <algorithm>
#include <string>
#include <vector>

#include "compiler/graph/op_plugin.hpp"
#include "compiler/ops/ops.hpp"
#include "core/input/nearest.hpp"
#include "core/input/user_value.hpp"
#include "core/log/printed.hpp"
#include "core/plugin/kinds.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/engine/installation.hpp"
#include "frontend/engine/json.hpp"
#include "frontend/lua/kind_stub.hpp"

namespace baleen::app {
namespace {

std::string range_text(const Option& option) {
  // Of a text it is how long it may be, which tells nobody anything.
  if (!option.has_range() || option.type == BALEEN_OPTION_STRING || option.type == BALEEN_OPTION_BOOL) return "";
  return number_text(option.minimum) + " to " + number_text(option.maximum);
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

Json json_of(const Option& option) {
  Json json = {{"name", option.name},
               {"type", option.type_name()},
               {"required", option.required()},
               {"per_group", option.per_group()},
               {"many", option.many()}};
  if (option.has_range()) {
    json["minimum"] = json_number(option.minimum);
    json["maximum"] = json_number(option.maximum);
  }
  if (!option.required()) json["default"] = option.default_value;
  json["choices"] = option.choices;
  json["flag"] = option.cli.empty() ? "" : "--" + option.cli;
  json["help"] = option.help;
  return json;
}

Json json_of(const Descriptor& one) {
  Json json = {{"kind", one.kind},
               {"name", one.name},
               {"version", one.version},
               {"license", one.license},
               {"summary", one.summary},
               {"extension", one.extension},
               {"score", one.score},
               {"file", one.file.string()},
               {"abi", std::to_string(one.abi_major) + "." + std::to_string(one.abi_minor)},
               {"revision", one.kind_revision},
               {"options", Json::array()}};
  for (const Option& option : one.options) json["options"].push_back(json_of(option));
  return json;
}

std::string to_json(const Registry& registry, const std::vector<const Descriptor*>& shown) {
  Json json = {{"plugins", Json::array()}, {"rejected", Json::array()}};
  for (const Descriptor* one : shown) json["plugins"].push_back(json_of(*one));
  for (const Registry::Rejected& one : registry.rejected())
    json["rejected"].push_back({{"file", one.file.string()}, {"reason", one.error.message}});
  return json_text(json) + "\n";
}

void print_option(const Option& option) {
  std::string facts(option.type_name());
  if (option.required()) facts += ", required";
  if (!option.default_value.empty()) facts += ", default " + option.default_value;
  if (!option.choices.empty())
    facts += (option.type == BALEEN_OPTION_STRING ? ", one of " : ", or one of ") + joined(option.choices, " ") +
             (option.path() ? " or a path" : "");
  if (option.has_range()) facts += ", " + range_text(option);
  if (option.many()) facts += ", may be a list";
  if (option.per_group()) facts += ", per group";
  if (!option.cli.empty()) facts += ", flag --" + option.cli;
  print_out("      %-18s %s (%s)\n", option.name.c_str(), option.help.c_str(), facts.c_str());
}

void print(const Registry& registry, const std::vector<const Descriptor*>& shown, bool with_options) {
  std::string_view kind;
  for (const Descriptor* one : shown) {
    if (one->kind != kind) print_out("%s\n", one->kind.c_str());
    kind = one->kind;
    print_out("  %-14s %-8s %s\n", one->name.c_str(), one->version.c_str(), one->summary.c_str());
    if (!with_options) continue;
    print_out("      %s, licence %s\n", one->file.c_str(), one->license.c_str());
    for (const Option& option : one->options) print_option(option);
  }
  if (shown.empty())
    print_out("no plugins found in %s; name a folder with --plugin-path\n", installed_plugins().c_str());
  if (with_options) return;
  for (const Registry::Rejected& one : registry.rejected()) print_out("not used: %s\n", one.error.text().c_str());
}

/// The ops of plugins, for editors.
int print_stub(const Setup& setup) {
  OpRegistry ops;
  Status made = register_builtin_ops(ops);
  if (made) made = register_op_plugins(ops, setup.registry);
  if (!made) return report(setup.log, made.error());
  const Status printed = print_output(editor_stub(ops));
  return printed ? kSuccess : report(setup.log, printed.error());
}

}  // namespace

int plugins_command(const PluginsOptions& options, const Setup& setup) {
  if (options.stub) return print_stub(setup);
  const std::vector<Descriptor>& all = setup.registry.descriptors();
  std::vector<std::string> known;
  for (const Descriptor& one : all) known.push_back(one.name);
  for (const std::string& name : options.names)
    if (!std::ranges::count(known, name)) return report(setup.log, invalid(unknown_word("plugin", name, known)));
  std::vector<const Descriptor*> shown;
  for (const Descriptor& one : all)
    if (options.names.empty() || std::ranges::count(options.names, one.name)) shown.push_back(&one);
  if (options.json) {
    if (const Status printed = print_output(to_json(setup.registry, shown)); !printed)
      return report(setup.log, printed.error());
  } else {
    print(setup.registry, shown, !options.names.empty());
  }
  return kSuccess;
}

}  // namespace baleen::app
