/// \file The strategy `tensor`: each layer's weights and products are cut over ranks.
#include <string>

#include "columns_rows.hpp"

BALEEN_DESCRIPTOR("strategy", "tensor", "1.0.0", "Apache-2.0", "Weights and products of each layer cut over ranks", 0,
                  "",
                  BALEEN_OPTION("axis", BALEEN_OPTION_STRING, 0, 1, 0, "tensor", "", "", "the mesh axis to work along"),
                  BALEEN_OPTION("mode", BALEEN_OPTION_STRING, 0, 1, 0, "1d", "1d", "", "how weights are cut"));

namespace baleen::tensor_parallel {
namespace {

class Tensor : public Strategy {
 public:
  static Result<std::unique_ptr<Tensor>> create(const Host&, const Settings& settings, MeshView mesh) {
    const std::string name(settings.text("axis"));
    const auto axis = mesh.find(name);
    if (!axis && mesh.count() > 0)
      return invalid("strategy `tensor` works along the mesh axis `" + name +
                     "`, and the mesh has none; add it to [mesh], "
                     "or name another with its option `axis`");
    auto made = std::make_unique<Tensor>();
    if (axis) made->axis_ = *axis;
    if (axis && mesh.size(*axis) > 1) made->mode_ = std::make_unique<ColumnsRows>(*axis);
    return made;
  }

  bool claims(std::uint32_t axis) const override { return axis == axis_; }

  Status place(GraphView graph, Placing placing) override { return mode_ ? mode_->place(graph, placing) : Status(); }
  Status lower(GraphView graph) override { return mode_ ? mode_->lower(graph) : Status(); }

 private:
  /// One rank has no mesh: there is nothing to do.
  static constexpr std::uint32_t kNoAxis = 0xffffffffu;

  std::uint32_t axis_ = kNoAxis;
  std::unique_ptr<Mode> mode_;  ///< none where one rank has all
};

}  // namespace
}  // namespace baleen::tensor_parallel

BALEEN_STRATEGY(baleen::tensor_parallel::Tensor);
