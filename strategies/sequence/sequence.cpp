/// \file The strategy `sequence`: the tokens of each sequence are cut over ranks.
#include <string>

#include "baleen/strategy_tools.hpp"
#include "megatron.hpp"
#include "ring.hpp"
#include "ulysses.hpp"

BALEEN_DESCRIPTOR("strategy", "sequence", "1.0.0", "Apache-2.0", "The tokens of each sequence cut over ranks", 0, "",
                  BALEEN_OPTION("axis", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "",
                                "the mesh axis to work along; default `sequence`, in mode megatron `tensor`"),
                  BALEEN_OPTION("mode", BALEEN_OPTION_STRING, 0, 1, 0, "ulysses", "ulysses|ring|megatron", "",
                                "how attention sees other ranks' tokens"),
                  BALEEN_OPTION("bucket_mb", BALEEN_OPTION_FLOAT, 0, 0, 1e6, "4", "", "",
                                "MiB of gradients summed together; 0: each alone"));

namespace baleen::sequence_parallel {

using namespace sdk;

namespace {

class Sequence : public Strategy {
 public:
  static Result<std::unique_ptr<Sequence>> create(const Host&, const Settings& settings, MeshView mesh) {
    const std::string_view mode = settings.text("mode");
    std::string name(settings.text("axis"));
    if (name.empty()) name = mode == "megatron" ? "tensor" : "sequence";
    const auto axis = mesh.find(name);
    if (!axis && is_split(name, mesh))
      return unsupported(
          "strategy `sequence` works along the whole mesh axis `" + name +
          "`, and another strategy has split it into parts; leave that one in a mode that keeps its axis "
          "whole, as mode = \"1d\", or take mode = \"ulysses\" or \"ring\" along an axis of its own");
    if (!axis && mesh.count() > 0)
      return invalid("strategy `sequence` works along the mesh axis `" + name +
                     "`, and the mesh has none; add it to [mesh], or name another with its option `axis`");
    auto made = std::make_unique<Sequence>();
    if (axis) made->axis_ = *axis;
    if (axis && mesh.size(*axis) > 1) made->mode_ = mode_of(mode, *axis, mesh);
    made->bucket_bytes_ = static_cast<std::uint64_t>(settings.number("bucket_mb") * 1048576.0);
    return made;
  }

  bool claims(std::uint32_t axis) const override { return axis == axis_ && (!mode_ || mode_->claims_axis()); }

  Status place(GraphView graph, Placing placing) override {
    if (!mode_) return {};
    mode_->expect(graph, placing);
    return mode_->place(graph, placing);
  }
  Status lower(GraphView graph) override { return mode_ ? mode_->lower(graph) : Status(); }

  /// Every rank has terms of all gradients, from its tokens.
  Status schedule(GraphView graph, Scheduling scheduling) override {
    if (mode_)
      coalesce_by_size(scheduling, list_collectives(graph, scheduling, "all_reduce", axis_, BALEEN_ROLE_GRADIENT),
                       bucket_bytes_);
    return {};
  }

 private:
  static bool is_split(const std::string& name, MeshView mesh) {
    for (std::uint32_t axis = 0; axis < mesh.count(); ++axis)
      if (mesh.name(axis).starts_with(name + ".")) return true;
    return false;
  }

  static std::unique_ptr<Mode> mode_of(std::string_view name, std::uint32_t axis, MeshView mesh) {
    if (name == "ring") return std::make_unique<Ring>(axis, mesh);
    if (name == "megatron") return std::make_unique<Megatron>(axis);
    return std::make_unique<Ulysses>(axis, mesh);
  }

  /// One rank has no mesh: there is nothing to do.
  static constexpr std::uint32_t kNoAxis = 0xffffffffu;

  std::uint32_t axis_ = kNoAxis;
  std::uint64_t bucket_bytes_ = 0;
  std::unique_ptr<Mode> mode_;  ///< none where one rank has all
};

}  // namespace
}  // namespace baleen::sequence_parallel

BALEEN_STRATEGY(baleen::sequence_parallel::Sequence);
