#include "core/layout/layout.hpp"

#include <functional>
#include <numeric>

namespace baleen {

std::int64_t element_count(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

int Mesh::find(const std::string& name) const {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name) return static_cast<int>(i);
  return -1;
}

namespace {
std::string to_string(const Placement& placement) {
  switch (placement.kind) {
    case Placement::Kind::replicate: return "R";
    case Placement::Kind::shard: return "S" + std::to_string(placement.argument);
    case Placement::Kind::shard_balanced: return "B" + std::to_string(placement.argument);
    case Placement::Kind::shard_flat: return "F";
    case Placement::Kind::partial_sum: return "P";
    case Placement::Kind::partial_max: return "Pmax";
    case Placement::Kind::at: return "@" + std::to_string(placement.argument);
  }
  return "?";
}
}  // namespace

std::string to_string(const Layout& layout) {
  std::string text;
  for (std::size_t i = 0; i < layout.size(); ++i) text += (i ? "," : "") + to_string(layout[i]);
  return text;
}

Shape local_shape(const Shape& global, const Layout& layout, const Mesh& mesh) {
  Shape local = global;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    const Placement& p = layout[i];
    if (p.kind != Placement::Kind::shard && p.kind != Placement::Kind::shard_balanced) continue;
    auto& extent = local[static_cast<std::size_t>(p.argument)];
    extent = (extent + mesh.axes[i].size - 1) / mesh.axes[i].size;
  }
  return local;
}

}  // namespace baleen
