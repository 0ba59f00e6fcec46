/// \file A strategy whose phase `recompute` makes activations a second time for the backward pass, so that the first
/// need not be kept. It writes down which of its phases is called when, and what the graph has by then.
#include <fstream>
#include <string>
#include <vector>

#include "baleen/strategy.hpp"

BALEEN_DESCRIPTOR("strategy", "again", "1.0.0", "Apache-2.0", "Activations are computed again", 0, "",
                  BALEEN_OPTION("calls", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "", "a file that gets a line per call"),
                  BALEEN_OPTION("copies", BALEEN_OPTION_BOOL, 0, 0, 1, "true", "", "", "false: only write calls down"),
                  BALEEN_OPTION("fails", BALEEN_OPTION_BOOL, 0, 0, 1, "false", "", "", "refuse, after the first copy"));

namespace baleen::test {

using namespace sdk;

namespace {

class Again : public Strategy {
 public:
  static Result<std::unique_ptr<Again>> create(const Host&, const Settings& settings, MeshView) {
    return std::make_unique<Again>(std::string(settings.text("calls")), settings.boolean("copies"),
                                   settings.boolean("fails"));
  }
  Again(std::string calls, bool copies, bool fails) : calls_(std::move(calls)), copies_(copies), fails_(fails) {}

  bool claims(std::uint32_t) const override { return false; }
  Status tag(GraphView graph) override { return note("tag", graph); }
  Status rewrite(GraphView graph) override { return note("rewrite", graph); }
  Status gradients(GraphView graph, Gradients) override { return note("gradients", graph); }
  Status place(GraphView graph, Placing) override { return note("place", graph); }
  Status recompute(GraphView graph, Recomputing) override {
    BALEEN_TRY(note("recompute", graph));
    if (!copies_) return {};
    for (const baleen_op_t id : graph.ordered())
      if (is_cheap(graph, id)) {
        compute_again(graph, id);
        if (fails_) return unsupported("not today");
      }
    return {};
  }
  Status lower(GraphView graph) override { return note("lower", graph); }
  Status schedule(GraphView graph, Scheduling) override { return note("schedule", graph); }

 private:
  /// "PHASE", then what is there: layouts, collectives, a backward pass.
  Status note(const char* phase, GraphView& graph) const {
    bool layouts = false, collectives = false, backward = false;
    for (const baleen_op_t id : graph.ordered()) {
      const auto op = graph.op(id);
      collectives = collectives || op->kind() == "all_reduce";
      backward = backward || graph.info(id).phase == BALEEN_PHASE_BACKWARD;
      for (const baleen_value_t v : op->outputs()) layouts = layouts || graph.value(v).layout_count > 0;
    }
    if (!calls_.empty())
      std::ofstream(calls_, std::ios::app)
          << phase << (layouts ? " layouts" : "") << (collectives ? " collectives" : "")
          << (backward ? " backward" : "") << '\n';
    return {};
  }
  /// A function of one activation, element by element.
  static bool is_cheap(GraphView& graph, baleen_op_t id) {
    const auto op = graph.op(id);
    const baleen_op_info_t info = graph.info(id);
    if (info.phase != BALEEN_PHASE_FORWARD || !(info.traits & BALEEN_TRAIT_POINTWISE) || op->inputs().size() != 1)
      return false;
    const baleen_role_t role = graph.value(op->inputs()[0]).role;
    return role != BALEEN_ROLE_PARAMETER && role != BALEEN_ROLE_STATE && role != BALEEN_ROLE_INPUT;
  }
  /// Backward ops read a copy that is made right before the first of them.
  static void compute_again(GraphView& graph, baleen_op_t id) {
    baleen_op_view_t spec{};
    spec.size = sizeof(spec);
    graph.table()->read_op(graph.table()->self, id, &spec);
    const baleen_value_t first = spec.outputs[0];
    const baleen_value_info_t info = graph.value(first);
    const std::vector<baleen_placement_t> layout(info.layout, info.layout + info.layout_count);
    std::vector<baleen_op_t> readers;
    for (std::uint64_t i = 0; i < info.user_count; ++i)
      if (graph.info(info.users[i]).phase == BALEEN_PHASE_BACKWARD) readers.push_back(info.users[i]);
    if (readers.empty()) return;
    graph.follow(readers[0]);
    baleen_value_t copy = BALEEN_NONE;
    graph.table()->read_op(graph.table()->self, id, &spec);
    if (const auto status = graph.table()->append(graph.table()->self, &spec, &copy, 1)) throw Failed(status);
    graph.set_layout(copy, layout);
    for (const baleen_op_t reader : readers) {
      const auto operands = graph.op(reader)->inputs();
      std::vector<baleen_value_t> inputs(operands.begin(), operands.end());
      for (baleen_value_t& input : inputs)
        if (input == first) input = copy;
      graph.amend(reader, inputs);
    }
  }

  const std::string calls_;
  const bool copies_, fails_;
};

}  // namespace
}  // namespace baleen::test

BALEEN_STRATEGY(baleen::test::Again);
