/// \file Reads the manifest section by section; every section names its keys, and knows no others.
#include "frontend/toml/manifest.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "core/input/nearest.hpp"
#include "frontend/toml/choice.hpp"
#include "frontend/toml/cluster.hpp"
#include "frontend/toml/toml_document.hpp"
#include "frontend/toml/toml_entry.hpp"

namespace baleen {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMicroAxis = "micro";  // the virtual axis of micro-batches

class Reader {
 public:
  explicit Reader(const fs::path& file) { out_.file = file; }

  Result<Manifest> read(const toml::table& root) {
    static const std::vector<std::string> known = {"cluster",      "launcher",  "mesh",       "compute",
                                                   "host_compute", "transport", "monitors",   "plugins",
                                                   "memory",       "plan",      "checkpoint", "offload"};
    for (const TomlEntry& entry : entries(root)) {
      if (entry.key == "cluster")
        BALEEN_TRY(read_hosts(entry));
      else if (entry.key == "launcher")
        BALEEN_TRY(read_launcher(entry, out_));
      else if (entry.key == "mesh")
        BALEEN_TRY(read_mesh(entry));
      else if (entry.key == "compute")
        BALEEN_TRY(read_choice(entry, out_, out_.compute));
      else if (entry.key == "host_compute")
        BALEEN_TRY(read_choice(entry, out_, out_.host_compute));
      else if (entry.key == "offload")
        BALEEN_TRY(read_places(entry, out_));
      else if (entry.key == "transport")
        BALEEN_TRY(read_transport(entry, out_));
      else if (entry.key == "monitors")
        BALEEN_TRY(read_monitors(entry));
      else if (entry.key == "plugins")
        BALEEN_TRY(read_plugins(entry));
      else if (entry.key == "memory")
        BALEEN_TRY(read_memory(entry));
      else if (entry.key == "plan")
        BALEEN_TRY(read_plan(entry));
      else if (entry.key == "checkpoint")
        BALEEN_TRY(read_checkpoint(entry));
      else
        return unknown_key(entry, known);
    }
    BALEEN_TRY(reconcile());
    return std::move(out_);
  }

 private:
  Status read_hosts(const TomlEntry& cluster) {
    BALEEN_TRY_ASSIGN(out_.names_hosts, read_cluster(cluster, out_));
    return {};
  }

  Status read_mesh(const TomlEntry& mesh) {
    BALEEN_TRY_ASSIGN(const toml::table* table, as_table(mesh));
    mesh_where_ = mesh.where;
    has_mesh_ = true;
    std::optional<TomlEntry> order;
    for (const TomlEntry& entry : entries(*table)) {
      if (entry.key == "order")
        order = entry;
      else
        BALEEN_TRY(read_axis(entry, ""));
    }
    if (order) return apply_order(*order);
    if (out_.mesh.size() < 2) return {};
    std::string example;
    for (const ManifestAxis& axis : out_.mesh) example += (example.empty() ? "\"" : ", \"") + axis.name + '"';
    return invalid("a mesh of several axes needs `order`, outermost axis first, as in order = [" + example + "]",
                   mesh.where);
  }

  /// `tensor.row = 2` is a table in TOML and one axis here.
  Status read_axis(const TomlEntry& entry, const std::string& prefix) {
    const std::string name = prefix + entry.key;
    if (const auto* parts = entry.node->as_table()) {
      for (const TomlEntry& part : entries(*parts)) BALEEN_TRY(read_axis(part, name + "."));
      return {};
    }
    const auto is_word = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-' || c == '.'; };
    if (entry.key.empty() || !std::ranges::all_of(name, is_word))
      return invalid("the axis `" + name + "` needs a name of letters, digits, `_` and `-`", entry.key_where);
    if (name == kMicroAxis)
      return invalid("the axis `micro` is made by the plan; it cannot stand in a mesh", entry.key_where);
    BALEEN_TRY_ASSIGN(const std::int64_t size, as_count(entry));
    out_.mesh.push_back({name, size, entry.where});
    return {};
  }

  Status apply_order(const TomlEntry& order) {
    BALEEN_TRY_ASSIGN(const toml::array* names, as_array(order, "an array of axis names"));
    std::vector<std::string> known;
    for (const ManifestAxis& axis : out_.mesh) known.push_back(axis.name);
    std::vector<ManifestAxis> sorted;
    for (const toml::node& node : *names) {
      const TomlEntry item = item_of(order, node);
      BALEEN_TRY_ASSIGN(const std::string name, as_string(item));
      const auto axis = std::ranges::find(out_.mesh, name, &ManifestAxis::name);
      if (axis == out_.mesh.end()) return invalid(unknown_word("axis", name, known), item.where);
      if (std::ranges::count(sorted, name, &ManifestAxis::name))
        return invalid("axis `" + name + "` twice", item.where);
      sorted.push_back(*axis);
    }
    for (const ManifestAxis& axis : out_.mesh)
      if (!std::ranges::count(sorted, axis.name, &ManifestAxis::name))
        return invalid("`order` lacks the axis `" + axis.name + "`", order.where);
    out_.mesh = std::move(sorted);
    return {};
  }

  Status read_monitors(const TomlEntry& section) {
    BALEEN_TRY_ASSIGN(const toml::table* table, as_table(section));
    for (const TomlEntry& entry : entries(*table)) {
      ManifestMonitor monitor;
      monitor.plugin = entry.key;
      monitor.where = entry.key_where;
      if (const auto* flag = entry.node->as_boolean()) {
        monitor.on = flag->get();
      } else if (const auto* options = entry.node->as_table()) {
        for (const TomlEntry& option : entries(*options)) BALEEN_TRY(add_option(option, monitor.options));
      } else {
        return wrong_type(entry, "a table of options, true or false");
      }
      out_.monitors.push_back(std::move(monitor));
    }
    return {};
  }

  Status read_plugins(const TomlEntry& section) {
    BALEEN_TRY_ASSIGN(const toml::table* table, as_table(section));
    for (const TomlEntry& entry : entries(*table)) {
      if (entry.key != "paths") return unknown_key(entry, std::vector<std::string>{"paths"});
      BALEEN_TRY_ASSIGN(const toml::array* paths, as_array(entry, "an array of paths"));
      for (const toml::node& node : *paths) {
        const TomlEntry item = item_of(entry, node);
        BALEEN_TRY_ASSIGN(const std::string path, as_string(item));
        out_.plugin_paths.push_back({out_.resolved(path, item.where), item.where});
      }
    }
    return {};
  }

  Status read_memory(const TomlEntry& section) {
    BALEEN_TRY_ASSIGN(const toml::table* table, as_table(section));
    for (const TomlEntry& entry : entries(*table)) {
      const std::pair<const char*, std::optional<MemoryBudget>*> budgets[] = {{"device_mb", &out_.device},
                                                                              {"activations_mb", &out_.activations},
                                                                              {"pinned_mb", &out_.pinned},
                                                                              {"offload_mb", &out_.offloaded}};
      const auto named = std::ranges::find_if(budgets, [&](const auto& budget) { return entry.key == budget.first; });
      if (named == std::end(budgets))
        return unknown_key(entry, std::vector<std::string>{"device_mb", "activations_mb", "pinned_mb", "offload_mb"});
      BALEEN_TRY_ASSIGN(const std::uint64_t bytes, as_mebibytes(entry));
      *named->second = MemoryBudget{bytes, entry.where};
    }
    return {};
  }

  Status read_checkpoint(const TomlEntry& section) {
    BALEEN_TRY_ASSIGN(const toml::table* table, as_table(section));
    out_.checkpoint_where = section.where;
    UserValues& options = out_.checkpoint.emplace();
    for (const TomlEntry& entry : entries(*table)) {
      BALEEN_TRY(add_option(entry, options));
      UserValue& value = options.at(entry.key);
      if (auto* path = std::get_if<std::string>(&value.data); path && entry.key == "folder" && !path->empty())
        *path = out_.resolved(*path, entry.where).string();
    }
    return {};
  }

  Status read_plan(const TomlEntry& plan) {
    BALEEN_TRY_ASSIGN(const toml::array* steps, as_array(plan, "an array of tables, each [[plan]]"));
    out_.plan.emplace();
    for (const toml::node& node : *steps) {
      const TomlEntry item = item_of(plan, node);
      if (!node.is_table()) return wrong_type(item, "an array of tables, each [[plan]]");
      ManifestChoice step;
      step.where = item.where;
      for (const TomlEntry& entry : entries(*node.as_table())) {
        if (entry.key != "strategy") {
          BALEEN_TRY(add_option(entry, step.options));
          continue;
        }
        step.where = entry.where;
        BALEEN_TRY_ASSIGN(step.plugin, as_string(entry));
      }
      if (step.plugin.empty()) return invalid("a [[plan]] entry needs a `strategy`", item.where);
      out_.plan->push_back(std::move(step));
    }
    return {};
  }

  /// Hosts and mesh must speak of the same number of ranks; the one that is absent follows the other.
  Status reconcile() {
    std::int64_t product = 1;
    for (const ManifestAxis& axis : out_.mesh) {
      product *= axis.size;
      if (product > kMostRanks)
        return invalid("the mesh has more than " + std::to_string(kMostRanks) + " ranks", axis.where);
    }
    if (has_mesh_ && !out_.names_hosts) {
      out_.hosts.front().ranks = product;
      out_.hosts.front().where = mesh_where_;
    }
    if (product == out_.ranks()) return {};
    const std::string hosts = "the hosts have " + std::to_string(out_.ranks()) + " ranks";
    if (!has_mesh_)
      return invalid(hosts + ", but there is no [mesh]; name an axis of that size there", out_.hosts.front().where);
    return invalid("the mesh has " + std::to_string(product) + " ranks, but " + hosts + "; make them equal",
                   mesh_where_);
  }

  Manifest out_;
  bool has_mesh_ = false;
  std::string mesh_where_;
};

}  // namespace

std::int64_t Manifest::ranks() const {
  std::int64_t total = 0;
  for (const ManifestHost& host : hosts) total += host.ranks;
  return total;
}

Manifest Manifest::on_host(std::size_t host) const {
  Manifest own = *this;
  for (const auto& [name, value] : hosts[host].compute) own.compute.options.insert_or_assign(name, value);
  own.transport.host_options = hosts[host].transport;
  return own;
}

std::string Manifest::folder() const {
  std::error_code code;
  return file.empty() ? fs::current_path(code).string() : fs::absolute(file, code).parent_path().string();
}

fs::path Manifest::resolved(const std::string& path, const std::string& where) const {
  std::error_code code;
  const fs::path base = from_set(where) ? fs::current_path(code) : fs::path(folder());
  return (base / path).lexically_normal();
}

std::string_view manifest_library() {
  static const std::string name = "toml++ " + std::to_string(TOML_LIB_MAJOR) + "." + std::to_string(TOML_LIB_MINOR) +
                                  "." + std::to_string(TOML_LIB_PATCH);
  return name;
}

Result<Manifest> parse_manifest(std::string_view text, const fs::path& file, std::span<const std::string> sets) {
  BALEEN_TRY_ASSIGN(const toml::table root, read_document(text, file.string(), sets));
  BALEEN_TRY_ASSIGN(Manifest manifest, Reader(file).read(root));
  manifest.text = flat_text(root);
  return manifest;
}

Result<Manifest> read_manifest(const fs::path& file, std::span<const std::string> sets) {
  if (file.empty()) return parse_manifest("", file, sets);
  std::error_code code;
  if (!fs::exists(file, code)) return Error{BALEEN_NOT_FOUND, "no such manifest", file.string()};
  if (!fs::is_regular_file(file, code)) return invalid("not a file", file.string());
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) return Error{BALEEN_IO, "the manifest cannot be read", file.string()};
  return parse_manifest(text, file, sets);
}

}  // namespace baleen
