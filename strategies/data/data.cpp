/// \file The strategy `data`: every rank has the whole model and a part of the batch; gradients are summed in buckets, each as
/// soon as its last gradient is ready, while the rest of the backward pass goes on (Li et al., arXiv 2006.15704, section 3).
#include <algorithm>
#include <string>

#include "baleen/strategy.hpp"

BALEEN_DESCRIPTOR("strategy", "data", "1.0.0", "Apache-2.0", "The batch cut over ranks, gradients summed in buckets", 0, "",
                  BALEEN_OPTION("axis", BALEEN_OPTION_STRING, 0, 1, 0, "data", "", "", "the mesh axis to work along"),
                  BALEEN_OPTION("bucket_mb", BALEEN_OPTION_FLOAT, 0, 0, 1e6, "4", "", "",
                                "MiB of gradients summed together; 0: each alone"));

namespace baleen::data_parallel {
namespace {

class Data : public Strategy {
 public:
  static Result<std::unique_ptr<Data>> create(const Host&, const Settings& settings, MeshView mesh) {
    const std::string name(settings.text("axis"));
    const auto axis = mesh.find(name);
    if (!axis && mesh.count() > 0)
      return invalid("strategy `data` works along the mesh axis `" + name + "`, and the mesh has none; " + fix(mesh));
    const double bytes = settings.number("bucket_mb") * 1048576.0;
    return std::make_unique<Data>(axis.value_or(kNoAxis), static_cast<std::uint64_t>(bytes));
  }

  Data(std::uint32_t axis, std::uint64_t bucket_bytes) : axis_(axis), bucket_bytes_(bucket_bytes) {}

  bool claims(std::uint32_t axis) const override { return axis == axis_; }

  Status place(GraphView graph, Placing placing) override {
    if (placing.mesh().size(axis_) == 1) return {};
    placing.cut(axis_, "batch");
    for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
      const baleen_value_info_t value = graph.value(id);
      if (value.role != BALEEN_ROLE_INPUT || value.rank == 0 || view(value.axes[0]) != "batch") continue;
      if (value.shape[0] < placing.mesh().size(axis_)) return too_few(value.shape[0], placing.mesh());
      placing.pin(id, axis_, shard(0));
    }
    return {};
  }

  Status schedule(GraphView graph, Scheduling scheduling) override {
    std::vector<Reduction> reductions = gradient_reductions(graph, scheduling);
    std::sort(reductions.begin(), reductions.end(),
              [](const Reduction& a, const Reduction& b) { return a.position < b.position; });
    std::vector<baleen_op_t> bucket;
    std::uint64_t filled = 0;
    baleen_dtype_t dtype = 0;
    for (const Reduction& reduction : reductions) {
      if (!bucket.empty() && (filled + reduction.bytes > bucket_bytes_ || reduction.dtype != dtype)) {
        scheduling.coalesce(bucket);
        bucket.clear();
        filled = 0;
      }
      bucket.push_back(reduction.op);
      filled += reduction.bytes;
      dtype = reduction.dtype;
    }
    if (!bucket.empty()) scheduling.coalesce(bucket);
    return {};
  }

 private:
  /// One rank has no mesh: there is nothing to do.
  static constexpr std::uint32_t kNoAxis = 0xffffffffu;

  struct Reduction {
    baleen_op_t op;
    std::uint32_t position;
    std::uint64_t bytes;
    baleen_dtype_t dtype;
  };

  Error too_few(std::int64_t rows, MeshView mesh) const {
    const std::string ranks = std::to_string(mesh.size(axis_));
    return invalid("a batch of " + std::to_string(rows) + " rows cannot feed the " + ranks + " ranks along `" +
                   std::string(mesh.name(axis_)) + "`; take a batch of " + ranks + " or more, or fewer ranks");
  }

  static std::string fix(MeshView mesh) {
    std::string names;
    for (std::uint32_t axis = 0; axis < mesh.count(); ++axis)
      names += (axis ? ", `" : "`") + std::string(mesh.name(axis)) + "`";
    return names.empty() ? "add it to [mesh]" : "name one of " + names + " with its option `axis`";
  }

  /// All-reduces of gradients along this axis alone.
  std::vector<Reduction> gradient_reductions(GraphView graph, const Scheduling& scheduling) const {
    std::vector<Reduction> found;
    for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
      const auto op = graph.op(id);
      if (!op || op->kind() != "all_reduce") continue;
      const auto axes = op->integers("axes");
      if (axes.size() != 1 || axes[0] != axis_) continue;
      const baleen_value_t input = op->inputs()[0];
      const baleen_value_info_t value = graph.value(input);
      if (value.role != BALEEN_ROLE_GRADIENT) continue;
      found.push_back({id, scheduling.position(id), scheduling.local_bytes(input), value.dtype});
    }
    return found;
  }

  std::uint32_t axis_;
  std::uint64_t bucket_bytes_;
};

}  // namespace
}  // namespace baleen::data_parallel

BALEEN_STRATEGY(baleen::data_parallel::Data);
