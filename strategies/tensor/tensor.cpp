/// \file The strategy `tensor`: each layer's weights and products are cut over ranks.
#include <algorithm>
#include <string>

#include "axis_split.hpp"
#include "columns_rows.hpp"
#include "cube.hpp"
#include "grid.hpp"
#include "product.hpp"

BALEEN_DESCRIPTOR("strategy", "tensor", "1.0.0", "Apache-2.0", "Weights and products of each layer cut over ranks", 0,
                  "",
                  BALEEN_OPTION("axis", BALEEN_OPTION_STRING, 0, 1, 0, "tensor", "", "", "the mesh axis to work along"),
                  BALEEN_OPTION("mode", BALEEN_OPTION_STRING, 0, 1, 0, "1d", "1d|2d|2.5d|3d", "",
                                "on a line of ranks, a square, several squares, a cube"),
                  BALEEN_OPTION("depth", BALEEN_OPTION_INT, 0, 0, 1e6, "0", "", "", "2.5d: how many squares"));

namespace baleen::tensor_parallel {
namespace {

class Tensor : public Strategy {
 public:
  static Result<std::optional<AxisSplit>> split(const Host&, const Settings& settings, MeshView mesh) {
    BALEEN_TRY_ASSIGN(const Shape shape, Shape::of(settings));
    return tensor_parallel::split(shape, mesh);
  }

  static Result<std::unique_ptr<Tensor>> create(const Host&, const Settings& settings, MeshView mesh) {
    BALEEN_TRY_ASSIGN(const Shape shape, Shape::of(settings));
    auto made = std::make_unique<Tensor>();
    if (mesh.count() == 0) return made;
    for (std::uint32_t axis = 0; axis < mesh.count(); ++axis)
      if (mesh.name(axis) == shape.axis || mesh.name(axis).starts_with(shape.axis + ".")) made->axes_.push_back(axis);
    if (made->axes_.empty())
      return invalid("strategy `tensor` works along the mesh axis `" + shape.axis +
                     "`, and the mesh has none; add it to [mesh], or name another with its option `axis`");
    const auto part = [&](const char* name) { return mesh.find(shape.axis + "." + name); };
    if (const auto axis = mesh.find(shape.axis)) {
      if (mesh.size(*axis) > 1) made->mode_ = std::make_unique<ColumnsRows>(*axis);
    } else if (shape.mode == "3d") {
      made->mode_ = std::make_unique<Cube>(mesh, *part("depth"), *part("row"), *part("col"));
    } else {
      made->mode_ = std::make_unique<Grid>(mesh, *part("row"), *part("col"), part("depth"));
    }
    return made;
  }

  bool claims(std::uint32_t axis) const override { return std::find(axes_.begin(), axes_.end(), axis) != axes_.end(); }

  Status rewrite(GraphView graph) override {
    if (!mode_) return {};
    set_addends_apart(graph);
    return mode_->rewrite(graph);
  }
  Status place(GraphView graph, Placing placing) override { return mode_ ? mode_->place(graph, placing) : Status(); }
  Status lower(GraphView graph) override { return mode_ ? mode_->lower(graph) : Status(); }
  Status schedule(GraphView graph, Scheduling scheduling) override {
    return mode_ ? mode_->schedule(graph, scheduling) : Status();
  }

 private:
  std::vector<std::uint32_t> axes_;  ///< none where there is no mesh
  std::unique_ptr<Mode> mode_;       ///< none where one rank has all
};

}  // namespace
}  // namespace baleen::tensor_parallel

BALEEN_STRATEGY(baleen::tensor_parallel::Tensor);
