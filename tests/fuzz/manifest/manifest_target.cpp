/// \file A fuzz target: any bytes as a cluster manifest; behind a zero byte, line by line, what `--set` says. What is
/// taken must be what a manifest promises, and is checked as far as that goes without a plugin.
#include <set>
#include <string>
#include <vector>

#include "frontend/checkpoint/settings.hpp"
#include "frontend/engine/cpu_sets.hpp"
#include "frontend/toml/manifest.hpp"
#include "fuzz/require.hpp"

namespace {

using namespace baleen;
using fuzz::require;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void use_hosts(const Manifest& manifest) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < manifest.hosts.size(); ++i) {
    const ManifestHost& host = manifest.hosts[i];
    require(host.ranks >= 1 && !host.name.empty() && names.insert(host.name).second);
    const Manifest own = manifest.on_host(i);
    require(own.compute.options.size() >= manifest.compute.options.size());
    if (const auto cores = cpu_numbers(host.cores)) require(!cores->empty() && *cores->begin() >= 0);
  }
}

void use(const Manifest& manifest) {
  std::set<std::string> axes;
  std::int64_t product = 1;
  for (const ManifestAxis& axis : manifest.mesh) {
    require(axis.size >= 1 && axes.insert(axis.name).second);
    product *= axis.size;
  }
  require(!manifest.hosts.empty() && product == manifest.ranks());
  use_hosts(manifest);
  for (const ManifestPath& path : manifest.plugin_paths) require(path.path.is_absolute());
  for (const auto& budget : {manifest.device, manifest.activations, manifest.pinned, manifest.offloaded})
    require(!budget || budget->bytes > 0);
  if (manifest.plan)
    for (const ManifestChoice& step : *manifest.plan) require(!step.plugin.empty());
  if (!manifest.checkpoint) return;
  const auto settings = read_checkpoint_settings(*manifest.checkpoint, manifest.checkpoint_where);
  if (settings) require(!settings->folder.empty() && settings->every >= 0 && settings->keep >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all = fuzz::text_of(data, size);
  const std::size_t zero = std::min(all.find('\0'), all.size());
  const std::vector<std::string> sets = lines_of(all.substr(std::min(zero + 1, all.size())));
  const auto manifest = parse_manifest(all.substr(0, zero), "/folder/cluster.toml", sets);
  if (manifest)
    use(*manifest);
  else
    require(!manifest.error().message.empty());
  return 0;
}
