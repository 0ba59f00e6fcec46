/// \file ZeRO-3 (Rajbhandari et al., arXiv 1910.02054) as a strategy, to try the interface: parameters and optimizer
/// states are stored in flat shards; parameters are gathered for use in forward and again in backward, gradients
/// reduce-scattered.
#include "baleen/strategy.hpp"

BALEEN_DESCRIPTOR("strategy", "zero_spike", "1.0.0", "Apache-2.0", "Parameters, gradients and states in flat shards", 0,
                  "",
                  BALEEN_OPTION("axis", BALEEN_OPTION_STRING, 0, 1, 0, "data", "", "", "the mesh axis to work along"));

namespace baleen::zero_spike {
namespace {

class Zero : public Strategy {
 public:
  static Result<std::unique_ptr<Zero>> create(const Host&, const Settings& settings, MeshView mesh) {
    return std::make_unique<Zero>(mesh.find(settings.text("axis")).value_or(kNoAxis));
  }

  explicit Zero(std::uint32_t axis) : axis_(axis) {}

  bool claims(std::uint32_t axis) const override { return axis == axis_; }

  Status place(GraphView graph, Placing placing) override {
    if (axis_ == kNoAxis) return {};
    placing.cut(axis_, "batch");
    for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
      const baleen_value_info_t value = graph.value(id);
      if (value.role == BALEEN_ROLE_INPUT && value.rank > 0 && view(value.axes[0]) == "batch")
        placing.pin(id, axis_, shard(0));
      if (value.role != BALEEN_ROLE_PARAMETER) continue;
      placing.use(id, axis_, replicate());
      placing.store(id, axis_, shard_flat());
    }
    for (const baleen_trained_t& trained : placing.trained())
      for (std::uint64_t s = 0; s < trained.state_count; ++s)
        if (graph.value(trained.states[s]).rank > 0) placing.store(trained.states[s], axis_, shard_flat());
    return {};
  }

 private:
  /// One rank has no mesh: there is nothing to do.
  static constexpr std::uint32_t kNoAxis = 0xffffffffu;

  std::uint32_t axis_;
};

}  // namespace
}  // namespace baleen::zero_spike

BALEEN_STRATEGY(baleen::zero_spike::Zero);
