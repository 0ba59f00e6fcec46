/// \file Reads the manifest section by section; every section names its keys, and knows no others.
#include "core/manifest/manifest.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "core/input/nearest.hpp"
#include "core/manifest/toml_document.hpp"
#include "core/manifest/toml_value.hpp"

namespace baleen {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostRanks = 1 << 20;
constexpr double kMostMebibytes = 1e9;
constexpr std::string_view kMicroAxis = "micro";  // the virtual axis of micro-batches

/// A key with its value, and the places of both.
struct Entry {
  std::string key;
  const toml::node* node;
  std::string key_where;
  std::string where;
};

std::vector<Entry> entries(const toml::table& table) {
  std::vector<Entry> out;
  for (auto&& [key, node] : table) {
    const std::string key_where = where_of(key.source());
    const std::string where = where_of(node.source());
    out.push_back({std::string(key.str()), &node, key_where, where.empty() ? key_where : where});
  }
  return out;
}

Error wrong_type(const Entry& entry, std::string_view wanted) {
  return invalid("`" + entry.key + "` must be " + std::string(wanted) + ", not " + std::string(type_of(*entry.node)),
                 entry.where);
}

Error unknown_key(const Entry& entry, std::span<const std::string> known) {
  return invalid(unknown_word("key", entry.key, known), entry.key_where);
}

Result<const toml::table*> as_table(const Entry& entry) {
  if (const auto* table = entry.node->as_table()) return table;
  return wrong_type(entry, "a table");
}

Result<const toml::array*> as_array(const Entry& entry, std::string_view wanted) {
  if (const auto* array = entry.node->as_array()) return array;
  return wrong_type(entry, wanted);
}

Result<std::string> as_string(const Entry& entry) {
  if (!entry.node->is_string()) return wrong_type(entry, "a string");
  const std::string text = *entry.node->value<std::string>();
  if (text.empty()) return invalid("`" + entry.key + "` is empty", entry.where);
  return text;
}

Result<std::int64_t> as_count(const Entry& entry) {
  if (!entry.node->is_integer()) return wrong_type(entry, "a whole number");
  const std::int64_t count = *entry.node->value<std::int64_t>();
  if (count >= 1 && count <= kMostRanks) return count;
  return invalid(
      "`" + entry.key + "` must be from 1 to " + std::to_string(kMostRanks) + ", not " + std::to_string(count),
      entry.where);
}

/// A number of MiB, fractions too, as whole bytes.
Result<std::uint64_t> as_mebibytes(const Entry& entry) {
  if (!entry.node->is_number()) return wrong_type(entry, "a number of MiB");
  const double mebibytes = *entry.node->value<double>(), bytes = mebibytes * 1048576.0;
  if (bytes >= 1 && mebibytes <= kMostMebibytes) return static_cast<std::uint64_t>(bytes);
  return invalid("`" + entry.key + "` must be a number of MiB above 0 and up to " + number_text(kMostMebibytes) +
                     ", not " + number_text(mebibytes),
                 entry.where);
}

/// An item of an array, as an entry of the array's name.
Entry item_of(const Entry& array, const toml::node& item) {
  const std::string where = where_of(item.source());
  return {array.key, &item, array.key_where, where.empty() ? array.where : where};
}

class Reader {
 public:
  explicit Reader(const fs::path& file) { out_.file = file; }

  Result<Manifest> read(const toml::table& root) {
    static const std::vector<std::string> kKnown = {"cluster",  "mesh",    "compute", "transport",
                                                    "monitors", "plugins", "memory",  "plan"};
    for (const Entry& entry : entries(root)) {
      if (entry.key == "cluster")
        BALEEN_TRY(read_cluster(entry));
      else if (entry.key == "mesh")
        BALEEN_TRY(read_mesh(entry));
      else if (entry.key == "compute")
        BALEEN_TRY(read_member(entry, out_.compute));
      else if (entry.key == "transport")
        BALEEN_TRY(read_transport(entry));
      else if (entry.key == "monitors")
        BALEEN_TRY(read_monitors(entry));
      else if (entry.key == "plugins")
        BALEEN_TRY(read_plugins(entry));
      else if (entry.key == "memory")
        BALEEN_TRY(read_memory(entry));
      else if (entry.key == "plan")
        BALEEN_TRY(read_plan(entry));
      else
        return unknown_key(entry, kKnown);
    }
    BALEEN_TRY(reconcile());
    return std::move(out_);
  }

 private:
  Status read_cluster(const Entry& cluster) {
    BALEEN_TRY_ASSIGN(const toml::table* table, as_table(cluster));
    for (const Entry& entry : entries(*table)) {
      if (entry.key != "hosts") return unknown_key(entry, std::vector<std::string>{"hosts"});
      BALEEN_TRY_ASSIGN(const toml::array* hosts, as_array(entry, "an array of hosts"));
      if (hosts->empty()) return invalid("`hosts` names no host", entry.where);
      out_.hosts.clear();
      for (const toml::node& item : *hosts) BALEEN_TRY(read_host(item_of(entry, item)));
      has_hosts_ = true;
    }
    return {};
  }

  Status read_host(const Entry& item) {
    if (!item.node->is_table()) return wrong_type(item, "an array of tables like { name = \"a\", ranks = 2 }");
    ManifestHost host;
    host.name.clear();
    host.where = item.where;
    for (const Entry& entry : entries(*item.node->as_table())) {
      if (entry.key == "name") {
        BALEEN_TRY_ASSIGN(host.name, as_string(entry));
      } else if (entry.key == "ranks") {
        BALEEN_TRY_ASSIGN(host.ranks, as_count(entry));
      } else {
        return unknown_key(entry, std::vector<std::string>{"name", "ranks"});
      }
    }
    if (host.name.empty()) return invalid("a host needs a `name`", item.where);
    for (const ManifestHost& other : out_.hosts)
      if (other.name == host.name)
        return invalid("host `" + host.name + "` stands here twice; give it more `ranks` instead", item.where);
    out_.hosts.push_back(std::move(host));
    return {};
  }

  Status read_mesh(const Entry& mesh) {
    BALEEN_TRY_ASSIGN(const toml::table* table, as_table(mesh));
    mesh_where_ = mesh.where;
    has_mesh_ = true;
    std::optional<Entry> order;
    for (const Entry& entry : entries(*table)) {
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
  Status read_axis(const Entry& entry, const std::string& prefix) {
    const std::string name = prefix + entry.key;
    if (const auto* parts = entry.node->as_table()) {
      for (const Entry& part : entries(*parts)) BALEEN_TRY(read_axis(part, name + "."));
      return {};
    }
    if (name == kMicroAxis)
      return invalid("the axis `micro` is made by the plan; it cannot stand in a mesh", entry.key_where);
    BALEEN_TRY_ASSIGN(const std::int64_t size, as_count(entry));
    out_.mesh.push_back({name, size, entry.where});
    return {};
  }

  Status apply_order(const Entry& order) {
    BALEEN_TRY_ASSIGN(const toml::array* names, as_array(order, "an array of axis names"));
    std::vector<std::string> known;
    for (const ManifestAxis& axis : out_.mesh) known.push_back(axis.name);
    std::vector<ManifestAxis> sorted;
    for (const toml::node& node : *names) {
      const Entry item = item_of(order, node);
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

  Status read_member(const Entry& section, ManifestChoice& choice) {
    BALEEN_TRY_ASSIGN(const toml::table* table, as_table(section));
    choice.where = section.where;
    for (const Entry& entry : entries(*table)) {
      if (entry.key != "plugin") {
        BALEEN_TRY(add_option(entry, choice.options));
        continue;
      }
      BALEEN_TRY(read_name(entry, choice));
    }
    return {};
  }

  Status read_name(const Entry& entry, ManifestChoice& choice) {
    choice.where = entry.where;
    BALEEN_TRY_ASSIGN(choice.plugin, as_string(entry));
    if (choice.plugin.find('/') != std::string::npos) choice.plugin = resolved(choice.plugin, entry.where).string();
    return {};
  }

  /// One member for all ranks; or one inside hosts and one between them.
  Status read_transport(const Entry& section) {
    BALEEN_TRY_ASSIGN(const toml::table* table, as_table(section));
    if (!table->contains("inside") && !table->contains("between") && !table->contains("ranks_per_host"))
      return read_member(section, out_.transport);
    ManifestHierarchy& two = out_.hierarchy.emplace();
    for (const Entry& entry : entries(*table)) {
      if (entry.key == "inside") {
        BALEEN_TRY(read_side(entry, two.inside));
      } else if (entry.key == "between") {
        BALEEN_TRY(read_side(entry, two.between));
      } else if (entry.key == "ranks_per_host") {
        BALEEN_TRY_ASSIGN(two.ranks_per_host, as_count(entry));
        per_host_where_ = entry.where;
      } else if (entry.key == "plugin") {
        return invalid("`plugin` names one transport for all ranks, `inside` and `between` name two; leave out either",
                       entry.key_where);
      } else {
        return invalid("`" + entry.key + "` belongs to one of two transports; write it into that one's table, as in " +
                           "between = { plugin = \"NAME\", " + entry.key + " = ... }",
                       entry.key_where);
      }
    }
    const bool inside = !two.inside.plugin.empty(), between = !two.between.plugin.empty();
    if (inside && between) return {};
    if (!inside && !between)
      return invalid("`ranks_per_host` cuts hosts for two transports; name them by `inside` and `between`",
                     per_host_where_);
    return invalid(inside ? "`inside` joins the ranks of a host; name the transport that joins hosts by `between`, or "
                            "write `plugin` for one that does both"
                          : "`between` joins hosts; name the transport that joins the ranks of a host by `inside`, or "
                            "write `plugin` for one that does both",
                   inside ? two.inside.where : two.between.where);
  }

  /// A name, or a table of it and options.
  Status read_side(const Entry& entry, ManifestChoice& choice) {
    if (entry.node->is_string()) return read_name(entry, choice);
    if (!entry.node->is_table()) return wrong_type(entry, "a transport's name, or a table of its `plugin` and options");
    BALEEN_TRY(read_member(entry, choice));
    if (choice.plugin.empty()) return invalid("`" + entry.key + "` needs a `plugin`", entry.where);
    return {};
  }

  static Status add_option(const Entry& entry, UserValues& options) {
    BALEEN_TRY_ASSIGN(UserValue value, to_user_value(*entry.node, entry.key, entry.where));
    options.insert_or_assign(entry.key, std::move(value));
    return {};
  }

  Status read_monitors(const Entry& section) {
    BALEEN_TRY_ASSIGN(const toml::table* table, as_table(section));
    for (const Entry& entry : entries(*table)) {
      ManifestMonitor monitor;
      monitor.plugin = entry.key;
      monitor.where = entry.key_where;
      if (const auto* flag = entry.node->as_boolean()) {
        monitor.on = flag->get();
      } else if (const auto* options = entry.node->as_table()) {
        for (const Entry& option : entries(*options)) BALEEN_TRY(add_option(option, monitor.options));
      } else {
        return wrong_type(entry, "a table of options, true or false");
      }
      out_.monitors.push_back(std::move(monitor));
    }
    return {};
  }

  Status read_plugins(const Entry& section) {
    BALEEN_TRY_ASSIGN(const toml::table* table, as_table(section));
    for (const Entry& entry : entries(*table)) {
      if (entry.key != "paths") return unknown_key(entry, std::vector<std::string>{"paths"});
      BALEEN_TRY_ASSIGN(const toml::array* paths, as_array(entry, "an array of paths"));
      for (const toml::node& node : *paths) {
        const Entry item = item_of(entry, node);
        BALEEN_TRY_ASSIGN(const std::string path, as_string(item));
        out_.plugin_paths.push_back({resolved(path, item.where), item.where});
      }
    }
    return {};
  }

  Status read_memory(const Entry& section) {
    BALEEN_TRY_ASSIGN(const toml::table* table, as_table(section));
    for (const Entry& entry : entries(*table)) {
      if (entry.key != "activations_mb") return unknown_key(entry, std::vector<std::string>{"activations_mb"});
      BALEEN_TRY_ASSIGN(const std::uint64_t bytes, as_mebibytes(entry));
      out_.activations = ManifestBudget{bytes, entry.where};
    }
    return {};
  }

  Status read_plan(const Entry& plan) {
    BALEEN_TRY_ASSIGN(const toml::array* steps, as_array(plan, "an array of tables, each [[plan]]"));
    out_.plan.emplace();
    for (const toml::node& node : *steps) {
      const Entry item = item_of(plan, node);
      if (!node.is_table()) return wrong_type(item, "an array of tables, each [[plan]]");
      ManifestChoice step;
      step.where = item.where;
      for (const Entry& entry : entries(*node.as_table())) {
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
    if (has_mesh_ && !has_hosts_) out_.hosts.front().ranks = product;
    const auto most = std::ranges::max_element(out_.hosts, {}, &ManifestHost::ranks);
    if (out_.hierarchy && out_.hierarchy->ranks_per_host > most->ranks)
      return invalid("`ranks_per_host` is " + std::to_string(out_.hierarchy->ranks_per_host) + ", but host `" +
                         most->name + "`, the largest, has " + std::to_string(most->ranks) + "; take at most so many",
                     per_host_where_);
    if (product == out_.ranks()) return {};
    const std::string hosts = "the hosts have " + std::to_string(out_.ranks()) + " ranks";
    if (!has_mesh_)
      return invalid(hosts + ", but there is no [mesh]; name an axis of that size there", out_.hosts.front().where);
    return invalid("the mesh has " + std::to_string(product) + " ranks, but " + hosts + "; make them equal",
                   mesh_where_);
  }

  fs::path resolved(const std::string& path, const std::string& where) const {
    std::error_code code;
    const fs::path base = from_set(where) ? fs::current_path(code) : fs::path(out_.folder());
    return (base / path).lexically_normal();
  }

  Manifest out_;
  bool has_hosts_ = false;
  bool has_mesh_ = false;
  std::string mesh_where_, per_host_where_;
};

}  // namespace

std::int64_t Manifest::ranks() const {
  std::int64_t total = 0;
  for (const ManifestHost& host : hosts) total += host.ranks;
  return total;
}

std::string Manifest::folder() const {
  std::error_code code;
  return file.empty() ? fs::current_path(code).string() : fs::absolute(file, code).parent_path().string();
}

std::string_view manifest_library() {
  static const std::string name = "toml++ " + std::to_string(TOML_LIB_MAJOR) + "." + std::to_string(TOML_LIB_MINOR) +
                                  "." + std::to_string(TOML_LIB_PATCH);
  return name;
}

Result<Manifest> parse_manifest(std::string_view text, const fs::path& file, std::span<const std::string> sets) {
  BALEEN_TRY_ASSIGN(const toml::table root, read_document(text, file.string(), sets));
  return Reader(file).read(root);
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
