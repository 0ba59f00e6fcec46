/// \file A strategy that claims no axis and asks for one layout of every parameter, or its own form of every attention,
/// along the first.
#include "baleen/strategy.hpp"

BALEEN_DESCRIPTOR(
    "strategy", "wishes", "1.0.0", "Apache-2.0", "One layout for every parameter", 0, "",
    BALEEN_OPTION("verb", BALEEN_OPTION_STRING, 0, 1, 0, "store", "use|store|pin|only|offer|expect|rewrite|learn", "",
                  "how it asks; pin: gradients; only: attention runs whole, in no other way; offer: also; expect: of "
                  "costs; rewrite, learn: assigns parameters"),
    BALEEN_OPTION("dim", BALEEN_OPTION_INT, 0, -1, 3, "-1", "", "", "the dimension to cut; -1: none"));

namespace baleen::test {

using namespace sdk;

namespace {

class Wishes : public Strategy {
 public:
  static Result<std::unique_ptr<Wishes>> create(const Host&, const Settings& settings, MeshView) {
    return std::make_unique<Wishes>(settings.text("verb"), static_cast<int>(settings.integer("dim")));
  }
  Wishes(std::string_view verb, int dim) : verb_(verb), dim_(dim), wish_(dim < 0 ? replicate() : shard(dim)) {}

  bool claims(std::uint32_t) const override { return false; }

  Status rewrite(GraphView graph) override {
    if (verb_ == "rewrite") assign_parameters(graph);
    return {};
  }
  Status gradients(GraphView graph, Gradients) override {
    if (verb_ == "learn") assign_parameters(graph);
    return {};
  }

  Status place(GraphView graph, Placing placing) override {
    if (verb_ == "only" || verb_ == "offer") return offer_attention(graph, placing);
    for (const baleen_trained_t& trained : placing.trained()) {
      if (verb_ == "use") placing.set_compute_sharding(trained.parameter, 0, wish_);
      if (verb_ == "store") placing.set_storage_sharding(trained.parameter, 0, wish_);
      if (verb_ == "pin") placing.constrain(trained.gradient, 0, wish_);
      const std::uint32_t axes[] = {0, 0};
      if (verb_ == "expect" && dim_ < 0) placing.expect(BALEEN_FORM_HELD, trained.gradient, {axes, 1}, -1, "nonsense");
      if (verb_ == "expect" && dim_ == 0) placing.expect(BALEEN_FORM_HELD, trained.gradient, axes, 1, "of two axes");
    }
    return {};
  }

 private:
  static void assign_parameters(GraphView& graph) {
    const baleen_value_t count = graph.value_count();
    for (baleen_value_t id = 0; id < count; ++id)
      if (graph.value(id).role == BALEEN_ROLE_PARAMETER) graph.assign(id, id);
  }
  Status offer_attention(GraphView graph, Placing& placing) const {
    for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
      const auto op = graph.op(id);
      if (!op || (op->kind() != "attention" && op->kind() != "attention_grad")) continue;
      const std::vector<baleen_placement_t> inputs(op->inputs().size(), replicate());
      const std::vector<baleen_placement_t> outputs(op->outputs().size(), replicate());
      const std::uint32_t axis = 0;
      baleen_candidate_t offer{};
      offer.size = sizeof(offer);
      offer.op = id;
      offer.name = abi("whole");
      offer.axes = &axis;
      offer.axis_count = 1;
      offer.inputs = inputs.data();
      offer.outputs = outputs.data();
      offer.exclusive = verb_ == "only" ? 1 : 0;
      offer.run_unmodified = 1;
      placing.add_candidate(offer);
    }
    return {};
  }

  const std::string verb_;
  const int dim_;
  const baleen_placement_t wish_;
};

}  // namespace
}  // namespace baleen::test

BALEEN_STRATEGY(baleen::test::Wishes);
