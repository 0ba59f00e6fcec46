/// \file Names and options.
#include "frontend/toml/choice.hpp"

#include <memory>
#include <utility>

namespace baleen {
namespace {

Status read_name(const TomlEntry& entry, const Manifest& manifest, ManifestChoice& choice) {
  choice.where = entry.where;
  choice.key_where = entry.key_where;
  BALEEN_TRY_ASSIGN(choice.plugin, as_string(entry));
  if (choice.plugin.find('/') != std::string::npos)
    choice.plugin = manifest.resolved(choice.plugin, entry.where).string();
  return {};
}

/// An option, which may be a table of a plugin and its options.
Status add_member_or_option(const TomlEntry& entry, const Manifest& manifest, UserValues& options) {
  if (!entry.node->is_table()) return add_option(entry, options);
  ManifestChoice choice;
  choice.where = entry.where;
  for (const TomlEntry& inner : entries(*entry.node->as_table())) {
    if (inner.key == "plugin")
      BALEEN_TRY(read_name(inner, manifest, choice));
    else
      BALEEN_TRY(add_member_or_option(inner, manifest, choice.options));
  }
  if (choice.plugin.empty()) return invalid("`" + entry.key + "` needs a `plugin`", entry.where);
  UserMember member{std::move(choice.plugin), std::make_shared<const UserValues>(std::move(choice.options))};
  options.insert_or_assign(entry.key, UserValue{std::move(member), choice.where, entry.key_where});
  return {};
}

}  // namespace

Status read_choice(const TomlEntry& section, const Manifest& manifest, ManifestChoice& choice) {
  BALEEN_TRY_ASSIGN(const toml::table* table, as_table(section));
  choice.where = section.where;
  for (const TomlEntry& entry : entries(*table)) {
    if (entry.key == "plugin")
      BALEEN_TRY(read_name(entry, manifest, choice));
    else
      BALEEN_TRY(add_option(entry, choice.options));
  }
  return {};
}

Status add_launcher_option(const std::string& name, UserValue value, Manifest& out) {
  const auto [first, added] = out.launcher.options.emplace(name, value);
  if (added) return {};
  return invalid("`" + name + "` stands in [cluster] and in [launcher]; leave out either", value.where);
}

Status read_launcher(const TomlEntry& section, Manifest& out) {
  ManifestChoice choice;
  BALEEN_TRY(read_choice(section, out, choice));
  UserValues options = std::exchange(choice.options, std::move(out.launcher.options));
  out.launcher = std::move(choice);
  for (auto& [name, value] : options) BALEEN_TRY(add_launcher_option(name, std::move(value), out));
  return {};
}

Status read_transport(const TomlEntry& section, Manifest& out) {
  BALEEN_TRY_ASSIGN(const toml::table* table, as_table(section));
  ManifestChoice& choice = out.transport;
  choice.where = section.where;
  for (const TomlEntry& entry : entries(*table)) {
    if (entry.key == "plugin") {
      BALEEN_TRY(read_name(entry, out, choice));
    } else if (entry.key == "deterministic") {
      BALEEN_TRY_ASSIGN(out.deterministic, as_boolean(entry));
      out.deterministic_where = entry.where;
    } else {
      BALEEN_TRY(add_member_or_option(entry, out, choice.options));
    }
  }
  return {};
}

}  // namespace baleen
