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

Result<ManifestPlace> read_place(const TomlEntry& section, const Manifest& manifest) {
  ManifestPlace place;
  BALEEN_TRY(read_choice(section, manifest, place.member));
  const auto given = place.member.options.find("budget_mb");
  if (given == place.member.options.end()) return place;
  for (const TomlEntry& entry : entries(*section.node->as_table())) {
    if (entry.key != "budget_mb") continue;
    BALEEN_TRY_ASSIGN(const std::uint64_t bytes, as_mebibytes(entry));
    place.budget = MemoryBudget{bytes, entry.where};
  }
  place.member.options.erase(given);
  return place;
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

Status read_places(const TomlEntry& section, Manifest& out) {
  if (!section.node->is_array()) {
    BALEEN_TRY_ASSIGN(ManifestPlace place, read_place(section, out));
    out.offload.push_back(std::move(place));
    return {};
  }
  for (const toml::node& node : *section.node->as_array()) {
    const TomlEntry item = item_of(section, node);
    if (!node.is_table()) return wrong_type(item, "an array of tables, each [[offload]]");
    BALEEN_TRY_ASSIGN(ManifestPlace place, read_place(item, out));
    if (place.member.plugin.empty()) return invalid("an [[offload]] entry needs a `plugin`", item.where);
    if (!out.offload.empty() && !out.offload.back().budget)
      return invalid("[[offload]] of `" + out.offload.back().member.plugin +
                         "` needs `budget_mb`, the MiB that a rank may have there: without it nothing would lie in "
                         "those behind it",
                     out.offload.back().member.where);
    out.offload.push_back(std::move(place));
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
