/// \file A strategy that breaks its promise to do the same on every rank: the odd one runs two gradient sums as one.
#include <vector>

#include "baleen/strategy.hpp"
#include "mark.hpp"

BALEEN_DESCRIPTOR("strategy", "uneven", "1.0.0", "Apache-2.0", "Collectives that one rank orders otherwise", 0, "",
                  BALEEN_OPTION("mark", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED, 1, 0, "", "", "",
                                "a file; who makes it is the odd one"));

namespace baleen::test {

using namespace sdk;

namespace {

class Uneven : public Strategy {
 public:
  static Result<std::unique_ptr<Uneven>> create(const Host&, const Settings& settings, MeshView) {
    return std::make_unique<Uneven>(first_to_make(settings.text("mark")));
  }
  explicit Uneven(bool odd) : odd_(odd) {}

  bool claims(std::uint32_t axis) const override { return axis == 0; }

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
  const bool odd_;
};

}  // namespace
}  // namespace baleen::test

BALEEN_STRATEGY(baleen::test::Uneven);
