/// \file A parallel strategy: every rank along a mesh axis has the whole model and a part of the batch. Nothing here
/// sums gradients: the compiler sees that each rank's gradient is a part of the sum, and inserts an `all_reduce`.
#include <cstdint>
#include <memory>

#include "baleen/strategy_tools.hpp"

BALEEN_DESCRIPTOR("strategy", "replicas", "1.0.0", "Apache-2.0", "The batch cut over ranks, an example", 0, "",
                  BALEEN_OPTION("axis", BALEEN_OPTION_STRING, 0, 1, 0, "replicas", "", "",
                                "the mesh axis to work along"),
                  BALEEN_OPTION("bucket_mb", BALEEN_OPTION_FLOAT, 0, 0, 1e6, "4", "", "",
                                "MiB of gradients summed together; 0: each alone"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

constexpr double kMebibyte = 1 << 20;

class Replicas : public Strategy {
 public:
  /// One rank has no mesh: then the axis is kNoAxis, which no axis of a mesh is.
  static Result<std::unique_ptr<Replicas>> create(const Host&, const Settings& settings, MeshView mesh) {
    BALEEN_TRY_ASSIGN(const std::uint32_t axis, axis_named(settings.text("axis"), mesh, "replicas"));
    const double bytes = settings.number("bucket_mb") * kMebibyte;
    return std::make_unique<Replicas>(axis, static_cast<std::uint64_t>(bytes));
  }
  Replicas(std::uint32_t axis, std::uint64_t bucket_bytes) : axis_(axis), bucket_bytes_(bucket_bytes) {}

  bool claims(std::uint32_t axis) const override { return axis == axis_; }

  /// Inputs are cut where they have the logical axis `batch`, and so is what is computed of them. What nobody asks for,
  /// as the parameters, is whole on each rank.
  Status place(GraphView graph, Placing placing) override { return cut_batch(graph, placing, axis_); }

  /// Many small sums cost more than few large ones, so gradients that come one after another travel together.
  Status schedule(GraphView graph, Scheduling scheduling) override {
    coalesce_by_size(scheduling, list_collectives(graph, scheduling, "all_reduce", axis_, BALEEN_ROLE_GRADIENT),
                     bucket_bytes_);
    return {};
  }

 private:
  std::uint32_t axis_;
  std::uint64_t bucket_bytes_;
};

}  // namespace

BALEEN_STRATEGY(Replicas);
