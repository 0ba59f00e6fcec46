/// \file A strategy that breaks its promise to do the same on every rank: the odd one runs two gradient sums as one, or
/// learns twice as fast.
#include <vector>

#include "baleen/op_builder.hpp"
#include "baleen/strategy.hpp"
#include "mark.hpp"

BALEEN_DESCRIPTOR("strategy", "uneven", "1.0.0", "Apache-2.0", "What one rank plans otherwise", 0, "",
                  BALEEN_OPTION("mark", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED, 1, 0, "", "", "",
                                "a file; who makes it is the odd one"),
                  BALEEN_OPTION("what", BALEEN_OPTION_STRING, 0, 1, 0, "sums", "sums|gradients", "",
                                "what is otherwise"));

namespace baleen::test {

using namespace sdk;

namespace {

class Uneven : public Strategy {
 public:
  static Result<std::unique_ptr<Uneven>> create(const Host&, const Settings& settings, MeshView) {
    return std::make_unique<Uneven>(first_to_make(settings.text("mark")), settings.text("what") == "gradients");
  }
  Uneven(bool odd, bool of_gradients) : odd_(odd && !of_gradients), doubles_(odd && of_gradients) {}

  bool claims(std::uint32_t axis) const override { return axis == 0; }

  Status gradients(GraphView graph, Gradients gradients) override {
    const std::vector<baleen_gradient_t> all = gradients.all();
    for (std::size_t i = 0; doubles_ && i < all.size(); ++i) {
      const Value twice = Value(graph.table(), all[i].value) * 2.0;
      gradients.replace(i, all[i].gradient, twice.id());
    }
    return {};
  }

  Status place(GraphView graph, Placing placing) override {
    placing.allow_sharding(0, "batch");
    for (baleen_value_t id = 0; id < graph.value_count(); ++id)
      if (graph.value(id).role == BALEEN_ROLE_INPUT && graph.value(id).rank > 0) placing.constrain(id, 0, shard(0));
    return {};
  }

  Status schedule(GraphView graph, Scheduling scheduling) override {
    std::vector<baleen_op_t> sums;
    for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
      const auto op = graph.op(id);
      if (!op || op->kind() != "all_reduce") continue;
      if (graph.value(op->inputs()[0]).role == BALEEN_ROLE_GRADIENT) sums.push_back(id);
    }
    if (odd_ && sums.size() >= 2) scheduling.coalesce(std::vector(sums.begin(), sums.begin() + 2));
    return {};
  }

 private:
  const bool odd_, doubles_;
};

}  // namespace
}  // namespace baleen::test

BALEEN_STRATEGY(baleen::test::Uneven);
