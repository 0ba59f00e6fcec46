/// \file Every layout that a value may have on a mesh.
#pragma once
#include "compiler/layout/layout.hpp"

namespace baleen::test {

inline Mesh mesh_of(const std::vector<std::int64_t>& sizes) {
  Mesh mesh;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    mesh.axes.push_back({std::string(1, static_cast<char>('x' + i)), sizes[i]});
  return mesh;
}

/// All valid canonical layouts, each nesting of splits among them.
inline std::vector<Layout> all_layouts(const Mesh& mesh, const Shape& shape) {
  std::vector<Layout> layouts{{}};
  for (const MeshAxis& axis : mesh.axes) {
    std::vector<Placement> choices{Placement::replicate(), Placement::partial(), Placement::partial_max(),
                                   Placement::flat(), Placement::at(0)};
    if (axis.size > 1) choices.push_back(Placement::at(static_cast<int>(axis.size) - 1));
    for (int dim = 0; dim < static_cast<int>(shape.size()); ++dim)
      choices.insert(choices.end(), {Placement::shard(dim), Placement::balanced(dim)});
    std::vector<Layout> longer;
    for (const Layout& layout : layouts)
      for (Placement choice : choices)
        for (choice.depth = 0; choice.depth < static_cast<int>(mesh.axes.size()); ++choice.depth) {
          longer.push_back(layout);
          longer.back().push_back(choice);
        }
    layouts = std::move(longer);
  }
  std::erase_if(layouts, [&](const Layout& layout) { return !check(layout, shape, mesh); });
  return layouts;
}

}  // namespace baleen::test
