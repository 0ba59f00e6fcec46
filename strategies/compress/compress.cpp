/// \file The strategy `compress`: gradients travel in 16 bits along a mesh axis and are added up in fp32 before and
/// after. It changes collectives that others have asked for.
#include <string>
#include <utility>
#include <vector>

#include "baleen/dtype.hpp"
#include "baleen/strategy_tools.hpp"

BALEEN_DESCRIPTOR("strategy", "compress", "1.0.0", "Apache-2.0", "Gradients in fewer bits on the wire", 0, "",
                  BALEEN_OPTION("method", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED, 1, 0, "", "bf16|fp16", "",
                                "in what gradients travel"),
                  BALEEN_OPTION("axis", BALEEN_OPTION_STRING, 0, 1, 0, "data", "", "", "the mesh axis to work along"),
                  BALEEN_OPTION("min_elements", BALEEN_OPTION_INT, 0, 0, 1e15, "1024", "", "",
                                "gradients of fewer elements travel as they are"),
                  BALEEN_OPTION("bucket_mb", BALEEN_OPTION_FLOAT, 0, 0, 1e6, "4", "", "",
                                "MiB of compressed gradients reduced together; 0: each alone"));

namespace baleen::compress {

using namespace sdk;

namespace {

constexpr const char* kTag = "compressed";

struct Options {
  baleen_dtype_t dtype = BALEEN_BF16;
  std::uint32_t axis = kNoAxis;
  std::int64_t least = 0;
  std::uint64_t bucket_bytes = 0;
};

std::int64_t elements_of(const baleen_value_info_t& value) {
  std::int64_t count = 1;
  for (std::uint32_t d = 0; d < value.rank; ++d) count *= value.shape[d];
  return count;
}

class Compress : public Strategy {
 public:
  static Result<std::unique_ptr<Compress>> create(const Host&, const Settings& settings, MeshView mesh) {
    Options options;
    options.dtype = settings.text("method") == "fp16" ? BALEEN_F16 : BALEEN_BF16;
    BALEEN_TRY_ASSIGN(options.axis, axis_named(settings.text("axis"), mesh, "compress"));
    options.least = settings.integer("min_elements");
    options.bucket_bytes = static_cast<std::uint64_t>(settings.number("bucket_mb") * 1048576.0);
    if (options.axis == kNoAxis) return std::make_unique<Compress>(options, "", false);
    return std::make_unique<Compress>(options, std::string(mesh.name(options.axis)), mesh.size(options.axis) > 1);
  }
  Compress(const Options& options, std::string axis_name, bool divides)
      : options_(options), axis_name_(std::move(axis_name)), divides_(divides) {}

  /// It helps whoever divides the batch along the axis.
  bool claims(std::uint32_t) const override { return false; }

  Status place(GraphView, Placing placing) override {
    micro_batches_ = placing.micro_batches();
    return {};
  }

  Status lower(GraphView graph) override {
    found_ = compressed_ = 0;
    dtype_ = BALEEN_F32;
    bool learns = false;
    const std::uint32_t count = graph.op_count();
    for (baleen_op_t id = 0; id < count; ++id) {
      const auto op = graph.op(id);
      if (!op) continue;
      learns = learns || graph.info(id).phase == BALEEN_PHASE_BACKWARD;
      if (!is_gradient_reduction(graph, *op)) continue;
      ++found_;
      const baleen_value_info_t value = graph.value(op->inputs()[0]);
      if (value.dtype != BALEEN_F32) dtype_ = value.dtype;
      if (value.dtype != BALEEN_F32 || elements_of(value) < options_.least) continue;
      compress(graph, id);
      ++compressed_;
    }
    if (found_ > 0 || !learns || !divides_) return {};
    return invalid("no gradient is summed along the mesh axis `" + axis_name_ +
                   "` alone, so nothing travels there in fewer bits; name the axis of `data` or `zero` with the option "
                   "`axis`, or leave the strategy out");
  }

  Status schedule(GraphView graph, Scheduling scheduling) override {
    if (found_ > 0) scheduling.note(told());
    for (const char* kind : {"all_reduce", "reduce_scatter"})
      bound_in_flight(scheduling,
                      coalesce_by_size(scheduling, compressed(graph, scheduling, kind), options_.bucket_bytes));
    return {};
  }

 private:
  std::string told() const {
    if (dtype_ == BALEEN_F64) return "fp64 checks the plan: gradients travel as they are";
    if (dtype_ != BALEEN_F32 && compressed_ == 0) return "gradients have 16 bits already and travel as they are";
    return std::to_string(compressed_) + " of " + std::to_string(found_) + " gradients travel in " +
           std::string(dtype_name(options_.dtype)) + " along `" + axis_name_ + "`";
  }

  /// A sum of a gradient over the axis alone.
  bool is_gradient_reduction(GraphView& graph, const Op& op) const {
    if ((op.kind() != "all_reduce" && op.kind() != "reduce_scatter") || !op.has("from")) return false;
    const auto axes = op.integers("axes");
    return axes.size() == 1 && axes[0] == options_.axis && graph.value(op.inputs()[0]).role == BALEEN_ROLE_GRADIENT;
  }

  /// In the order of execution.
  std::vector<ListedCollective> compressed(GraphView& graph, const Scheduling& scheduling,
                                           std::string_view kind) const {
    std::vector<ListedCollective> all;
    for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
      const auto op = graph.op(id);
      if (!op || op->kind() != kind || graph.tag(id, kTag).empty() || !graph.tag(id, "bucket").empty()) continue;
      const baleen_value_t input = op->inputs()[0], output = op->outputs()[0];
      all.push_back({id, input, output, scheduling.position(id),
                     std::max(scheduling.local_bytes(input), scheduling.local_bytes(output)), options_.dtype});
    }
    std::ranges::sort(all, {}, &ListedCollective::position);
    return all;
  }

  /// A cast on either side of the collective. Where it runs once per step it reads the sum over micro-batches, which is
  /// fp32: the cast belongs to the update, whose ops micro-batches do not pass through (docs/design.md, section 3).
  void compress(GraphView& graph, baleen_op_t id) const {
    const auto old = graph.op(id);
    const baleen_value_t input = old->inputs()[0], output = old->outputs()[0];
    const bool every = old->has("every_micro_batch") && old->integer("every_micro_batch") != 0;
    const std::vector<baleen_placement_t> before = layout_of(graph, input), after = layout_of(graph, output);
    graph.follow(micro_batches_ > 1 && !every ? reader_in_update(graph, output, id) : id);
    const baleen_value_t narrow = graph.cast(input, options_.dtype);
    graph.set_layout(narrow, before);
    baleen_op_view_t spec{};
    spec.size = sizeof(spec);
    if (const auto status = graph.table()->read_op(graph.table()->self, id, &spec)) throw Failed(status);
    spec.inputs = &narrow;
    spec.input_count = 1;
    baleen_value_t reduced = BALEEN_NONE;
    if (const auto status = graph.table()->append(graph.table()->self, &spec, &reduced, 1)) throw Failed(status);
    graph.set_layout(reduced, after);
    graph.set_tag(graph.value(reduced).producer, kTag, dtype_name(options_.dtype));
    const baleen_value_t wide = graph.cast(reduced, BALEEN_F32);
    graph.set_layout(wide, after);
    graph.redirect(output, wide);
  }

  static std::vector<baleen_placement_t> layout_of(GraphView& graph, baleen_value_t id) {
    const baleen_value_info_t value = graph.value(id);
    return {value.layout, value.layout + value.layout_count};
  }

  static baleen_op_t reader_in_update(GraphView& graph, baleen_value_t id, baleen_op_t otherwise) {
    const baleen_value_info_t value = graph.value(id);
    for (std::uint64_t i = 0; i < value.user_count; ++i)
      if (graph.info(value.users[i]).phase == BALEEN_PHASE_UPDATE) return value.users[i];
    return otherwise;
  }

  const Options options_;
  const std::string axis_name_;
  const bool divides_;  ///< the axis has several ranks
  std::int64_t micro_batches_ = 1;
  std::size_t found_ = 0,
              compressed_ = 0;         ///< gradients that are summed along the axis, of the graph that was lowered last
  baleen_dtype_t dtype_ = BALEEN_F32;  ///< of those that are not fp32
};

}  // namespace
}  // namespace baleen::compress

BALEEN_STRATEGY(baleen::compress::Compress);
