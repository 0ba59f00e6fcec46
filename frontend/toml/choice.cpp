/// \file Names, options, and which of them exclude each other.
#include "frontend/toml/choice.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "frontend/toml/toml_document.hpp"

namespace baleen {
namespace {

namespace fs = std::filesystem;

Status read_name(const TomlEntry& entry, const Manifest& manifest, ManifestChoice& choice) {
  choice.where = entry.where;
  BALEEN_TRY_ASSIGN(choice.plugin, as_string(entry));
  if (choice.plugin.find('/') != std::string::npos)
    choice.plugin = resolved_path(manifest, choice.plugin, entry.where).string();
  return {};
}

/// One of two: a name, or a table of it and options.
Status read_side(const TomlEntry& entry, const Manifest& manifest, ManifestChoice& choice) {
  if (entry.node->is_string()) return read_name(entry, manifest, choice);
  if (!entry.node->is_table()) return wrong_type(entry, "a transport's name, or a table of its `plugin` and options");
  BALEEN_TRY(read_choice(entry, manifest, choice));
  if (choice.plugin.empty()) return invalid("`" + entry.key + "` needs a `plugin`", entry.where);
  return {};
}

Status read_key_of_two(const TomlEntry& entry, const Manifest& manifest, ManifestHierarchy& two) {
  if (entry.key == "inside") return read_side(entry, manifest, two.inside);
  if (entry.key == "between") return read_side(entry, manifest, two.between);
  if (entry.key == "ranks_per_host") {
    two.ranks_where = entry.where;
    BALEEN_TRY_ASSIGN(two.ranks_per_host, as_count(entry));
    return {};
  }
  if (entry.key == "plugin")
    return invalid("`plugin` names one transport for all ranks, `inside` and `between` name two; leave out either",
                   entry.key_where);
  return invalid("`" + entry.key + "` is an option of one of two transports; write it into that one's table, as in " +
                     "between = { plugin = \"NAME\", " + entry.key + " = ... }",
                 entry.key_where);
}

}  // namespace

fs::path resolved_path(const Manifest& manifest, const std::string& path, const std::string& where) {
  std::error_code code;
  const fs::path base = from_set(where) ? fs::current_path(code) : fs::path(manifest.folder());
  return (base / path).lexically_normal();
}

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

Status read_transport(const TomlEntry& section, Manifest& out) {
  BALEEN_TRY_ASSIGN(const toml::table* table, as_table(section));
  if (!table->contains("inside") && !table->contains("between") && !table->contains("ranks_per_host"))
    return read_choice(section, out, out.transport);
  ManifestHierarchy two;
  for (const TomlEntry& entry : entries(*table)) BALEEN_TRY(read_key_of_two(entry, out, two));
  const bool inside = !two.inside.plugin.empty(), between = !two.between.plugin.empty();
  if (!inside && !between)
    return invalid("`ranks_per_host` cuts hosts for two transports; name them by `inside` and `between`",
                   two.ranks_where);
  if (!between)
    return invalid(
        "`inside` joins the ranks of each host; name what joins hosts by `between`, or write `plugin` for "
        "one transport that does both",
        two.inside.where);
  if (!inside)
    return invalid(
        "`between` joins hosts; name what joins the ranks of each host by `inside`, or write `plugin` for "
        "one transport that does both",
        two.between.where);
  out.hierarchy = std::move(two);
  return {};
}

Status check_cuts(const Manifest& manifest) {
  if (!manifest.hierarchy) return {};
  const ManifestHost& largest = *std::ranges::max_element(manifest.hosts, {}, &ManifestHost::ranks);
  if (manifest.hierarchy->ranks_per_host <= largest.ranks) return {};
  return invalid("`ranks_per_host` is " + std::to_string(manifest.hierarchy->ranks_per_host) +
                     ", but the largest host, `" + largest.name + "`, has " + std::to_string(largest.ranks) +
                     "; take at most that",
                 manifest.hierarchy->ranks_where);
}

}  // namespace baleen
