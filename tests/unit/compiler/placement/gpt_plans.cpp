#include "gpt_plans.hpp"

#include <stdexcept>

#include "placed_traffic.hpp"

namespace baleen::test {
namespace {

class Request {
 public:
  Request(const GptPlan& plan, const GptGraph& gpt) : plan_(plan), gpt_(gpt) {}

  PlacementRequest make() {
    request_.trained = gpt_.trained;
    request_.cuts.resize(plan_.axes.size());
    for (int axis = 0; axis < static_cast<int>(plan_.axes.size()); ++axis) {
      const std::string& name = plan_.axes[static_cast<std::size_t>(axis)].name;
      auto& cuts = request_.cuts[static_cast<std::size_t>(axis)];
      if (name == "data") cuts = {"batch"}, pin_all(gpt_.inputs, axis, Placement::shard(0));
      if (name == "sequence")
        cuts = {"seq", "heads"},
        pin_all(gpt_.inputs, axis, plan_.balanced ? Placement::balanced(1) : Placement::shard(1));
      if (name == "tensor") tensor(axis, cuts);
    }
    if (plan_.zero > 0) zero(gpt_.graph.mesh().find("data"));
    return std::move(request_);
  }

 private:
  void pin_all(const std::vector<ValueId>& values, int axis, Placement placement) {
    for (ValueId v : values) {
      Pin& pin = request_.pins[v];
      pin.placements.resize(plan_.axes.size());
      pin.placements[static_cast<std::size_t>(axis)] = placement;
    }
  }

  void tensor(int axis, std::vector<std::string>& cuts) {
    if (plan_.cut_width) {
      cuts = {"embed"};
      pin_all(gpt_.residuals, axis, Placement::shard(2));
      return;
    }
    cuts = {"heads", "ff", "vocab"};
    static const std::map<std::string, int> dims{{"embedding", 0}, {"head", 1},     {"qkv", 2}, {"q", 1},
                                                 {"kv", 2},        {"qkv_bias", 1}, {"out", 0}, {"up", 1},
                                                 {"up_bias", 0},   {"down", 0}};
    for (const TrainedParameter& p : gpt_.trained)
      if (auto it = dims.find(GptGraph::kind(gpt_.graph.value(p.parameter).name)); it != dims.end())
        request_.used[p.parameter] = with_placement(Layout(plan_.axes.size()), axis, Placement::shard(it->second));
    if (!plan_.cut_residuals) return;
    cuts.push_back("seq");
    pin_all(gpt_.residuals, axis, Placement::shard(1));
  }

  void zero(int axis) {
    for (const TrainedParameter& p : gpt_.trained) {
      const Layout used = request_.used.try_emplace(p.parameter, Layout(plan_.axes.size())).first->second;
      const Layout layout = with_placement(used, axis, plan_.flat ? Placement::flat() : Placement::shard(0));
      request_.stored[p.states[0]] = layout;
      if (plan_.zero == 3) request_.stored[p.parameter] = layout;
      if (plan_.zero < 2) continue;
      request_.pins[p.gradient] = pin_to(layout);
      request_.pins[p.gradient].every_micro_batch = plan_.every_micro_batch;
    }
  }

  const GptPlan& plan_;
  const GptGraph& gpt_;
  PlacementRequest request_;
};

std::vector<GptPlan> make_plans() {
  const MeshAxis d2{"data", 2}, d3{"data", 3}, t2{"tensor", 2}, t4{"tensor", 4}, s2{"sequence", 2};
  GptModel tied, fused, uneven, grouped, plain;
  tied.tied = fused.fused_loss = fused.tied = true;
  uneven.batch = 5, uneven.sequence = 3, uneven.heads = 3, uneven.kv_heads = 3, uneven.hidden = 6,
  uneven.vocabulary = 7;
  grouped.kv_heads = 2, grouped.rms = true, grouped.bias = false;
  plain.masked = plain.dropout = false;
  return {{"data2", {d2}, {}},
          {"data3_uneven", {d3}, uneven},
          {"data4_of_three_rows",
           {{"data", 4}},
           [] {
             GptModel m;
             m.batch = 3;
             return m;
           }()},
          {"data2_fused", {d2}, fused},
          {"data2_grouped", {d2}, grouped},
          {"data2_plain", {d2}, plain},
          {"zero1", {d2}, {}, 1},
          {"zero2", {d2}, {}, 2, false, false, false, true},
          {"zero3", {{"data", 4}}, {}, 3},
          {"zero3_uneven", {d3}, uneven, 3},
          {"zero1_flat", {d3}, {}, 1, true},
          {"zero3_flat_tensor", {d2, t2}, {}, 3, true},
          {"tensor2", {t2}, {}},
          {"tensor4_tied", {t4}, tied},
          {"tensor2_fused", {t2}, fused},
          {"tensor2_uneven", {t2}, uneven},
          {"tensor2_grouped", {t2}, grouped},
          {"megatron_sequence", {t2}, {}, 0, false, true},
          {"sequence2", {s2}, {}},
          {"sequence2_uneven", {s2}, uneven},
          {"sequence2_balanced", {s2}, {}, 0, false, false, true},
          {"data_tensor", {d2, t2}, tied},
          {"tensor_data", {t2, d2}, {}},
          {"data_tensor_zero1", {d2, t2}, {}, 1},
          {"data_tensor_zero3", {d2, t2}, {}, 3},
          {"data_sequence_tensor", {d2, s2, t2}, {}},
          {"data_sequence_tensor_zero3", {d2, s2, t2}, fused, 3},
          {"width_cut", {t4}, {}, 0, false, false, false, false, true},
          {"width_cut_rms", {d2, t2}, grouped, 0, false, false, false, false, true},
          {"an_axis_of_one", {{"data", 1}, t2, {"sequence", 1}}, {}, 3}};
}

}  // namespace

PlacementRequest request_of(const GptPlan& plan, const GptGraph& gpt) { return Request(plan, gpt).make(); }

const std::vector<GptPlan>& gpt_plans() {
  static const std::vector<GptPlan> list = make_plans();
  return list;
}

const GptPlan& gpt_plan(const std::string& name) {
  for (const GptPlan& plan : gpt_plans())
    if (plan.name == name) return plan;
  throw std::runtime_error("no plan " + name);
}

}  // namespace baleen::test
