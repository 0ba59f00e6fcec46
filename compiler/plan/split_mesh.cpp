/// \file Asks the strategies of a plan how they split axes of the mesh.
#include "baleen/plugin.hpp"
#include "baleen/strategy.h"
#include "compiler/plan/strategies.hpp"
#include "core/plugin/settings.hpp"

namespace baleen {
namespace {

/// Puts the parts in the axis's place.
Status apply(const baleen_axis_split_t& split, const std::string& strategy, Mesh& mesh) {
  if (split.axis >= mesh.axes.size() || split.count > BALEEN_MAX_SPLIT)
    return internal("strategy `" + strategy + "` splits an axis that the mesh does not have, or into too many parts");
  const MeshAxis whole = mesh.axes[split.axis];
  std::vector<MeshAxis> parts;
  std::int64_t product = 1;
  for (std::uint32_t i = 0; i < split.count; ++i) {
    product *= split.parts[i].size;
    parts.push_back({whole.name + "." + std::string(view(split.parts[i].name)), split.parts[i].size});
  }
  if (product != whole.size)
    return internal("strategy `" + strategy + "` splits `" + whole.name + "` of " + std::to_string(whole.size) +
                    " ranks into parts for " + std::to_string(product));
  const auto at = mesh.axes.begin() + static_cast<std::ptrdiff_t>(split.axis);
  mesh.axes.insert(mesh.axes.erase(at), parts.begin(), parts.end());
  return {};
}

}  // namespace

Result<Mesh> split_mesh(const Job& job, Mesh mesh, const Registry& plugins) {
  for (const MemberSpec& spec : job.strategies) {
    BALEEN_TRY_ASSIGN(const Descriptor descriptor, plugins.find("strategy", spec.name, spec.where));
    BALEEN_TRY_ASSIGN(const SettingsStorage settings,
                      SettingsStorage::build(descriptor, spec.options, {job.seed, "", spec.where}));
    BALEEN_TRY_ASSIGN(const Plugin plugin, plugins.open(descriptor));
    BALEEN_TRY_ASSIGN(const baleen_strategy_t* table, plugin.table<baleen_strategy_t>("strategy"));
    if (!table->split) continue;
    std::vector<baleen_axis_t> axes;
    for (const MeshAxis& axis : mesh.axes) axes.push_back({abi(axis.name), axis.size});
    const baleen_mesh_t view{sizeof(view), axes.data(), axes.size()};
    baleen_axis_split_t split{};
    split.size = sizeof(split);
    Status asked = plugin.check(table->split(plugin.host(), settings.get(), &view, &split));
    if (!asked) return Error{asked.error().code, asked.error().message, spec.where};
    if (split.count > 0) BALEEN_TRY(apply(split, descriptor.name, mesh));
  }
  return mesh;
}

}  // namespace baleen
