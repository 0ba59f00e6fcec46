#include "sketch_plans.hpp"

#include <functional>
#include <set>
#include <stdexcept>

namespace baleen::test {
namespace {

constexpr auto kForward = Phase::forward, kBackward = Phase::backward, kUpdate = Phase::update;
constexpr std::int64_t kLayers = 2, kAny = -1;
constexpr double kActivation = 8 * 16 * 32;  ///< elements of [batch, sequence, hidden]

double share(std::int64_t n) { return static_cast<double>(n - 1) / static_cast<double>(n); }

using Dims = std::map<std::string, int>;  ///< a parameter's kind → the dimension that an axis cuts

/// Megatron's columns, then rows.
const Dims& tensor_1d() {
  static const Dims dims{{"embed", 0}, {"head", 1}, {"wqkv", 2}, {"bqkv", 1}, {"wq", 1}, {"wk", 1}, {"wv", 1},
                         {"bq", 0},    {"bk", 0},   {"bv", 0},   {"wo", 0},   {"w1", 1}, {"b1", 0}, {"w2", 0}};
  return dims;
}

/// Builds one plan.
class Maker {
 public:
  Maker(const std::string& name, std::vector<MeshAxis> axes, const SketchModel& model) {
    plan_.name = name;
    plan_.sketch = std::make_unique<SketchGraph>(model);
    graph().set_mesh({std::move(axes)});
    const std::map<std::string, std::vector<std::string>> homes{
        {"data", {"b"}},        {"tensor", {"a", "f", "v"}}, {"sequence", {"s", "a"}},
        {"expert", {"b", "e"}}, {"row", {"b", "v"}},         {"col", {"h", "a", "f", "v"}}};
    for (const MeshAxis& axis : mesh().axes) plan_.request.cuts.push_back(homes.at(axis.name));
    for (const SketchParameter& p : parameters()) plan_.request.trained.push_back({p.value, p.gradient, p.states});
  }

  const Mesh& mesh() { return graph().mesh(); }
  std::vector<SketchParameter>& parameters() { return plan_.sketch->parameters; }
  int axis(const std::string& name) { return mesh().find(name); }
  std::int64_t size(const std::string& name) { return mesh().size(axis(name)); }

  void use(const std::string& axis_name, const Dims& dims) {
    for (const SketchParameter& p : parameters())
      if (auto it = dims.find(p.kind()); it != dims.end())
        used(p) = with_placement(used(p), axis(axis_name), Placement::shard(it->second));
  }
  void cut_inputs(const std::string& axis_name, int dim) {
    for (ValueId v : {plan_.sketch->ids, plan_.sketch->labels}) pin(v, axis_name, dim);
  }
  void cut_activations(const std::string& axis_name, int dim) {
    for (const auto& [name, value] : plan_.sketch->activations) pin(value, axis_name, dim);
  }
  void allow(const std::string& axis_name, const std::string& letter) {
    plan_.request.cuts[static_cast<std::size_t>(axis(axis_name))].push_back(letter);
  }

  /// The optimizer's states, and at stage 3 the parameters, are cut along `axis_name`.
  void zero(const std::string& axis_name, int stage) {
    for (const SketchParameter& p : parameters()) {
      const int dim = zero_dim(p, size(axis_name));
      if (dim < 0) continue;
      const Layout layout = with_placement(used(p), axis(axis_name), Placement::shard(dim));
      for (ValueId state : p.states) plan_.request.stored[state] = layout;
      if (stage == 3) plan_.request.stored[p.value] = layout;
    }
  }

  void expect(Phase phase, const std::string& axis_name, const std::string& kind, std::int64_t count, double elements) {
    plan_.expected.push_back({phase, axis_name, kind, count, elements});
  }
  /// All-reduces of activations, and of the loss' statistics.
  void expect_tensor_1d(double activation, std::int64_t n, double statistics) {
    const std::int64_t count = 2 * kLayers + 1;
    for (Phase phase : {kForward, kBackward})
      expect(phase, "tensor", "all_reduce", count, static_cast<double>(count) * 2 * share(n) * activation);
    expect(kForward, "tensor", "internal", 1, statistics);
  }

  /// Elements of the parameters on a rank, of those that `counts`.
  double parameter_elements(const std::function<bool(const SketchParameter&)>& counts = {}) {
    double sum = 0;
    for (const SketchParameter& p : parameters())
      if (!counts || counts(p)) sum += mean_elements(graph().value(p.value).shape, used(p), mesh(), -1);
    return sum;
  }
  /// Of the parameters that some op of the backward pass reads.
  double read_in_backward() {
    return parameter_elements([&](const SketchParameter& p) {
      for (OpId user : graph().value(p.value).users)
        if (graph().op(user).phase == kBackward) return true;
      return false;
    });
  }

  Layout& used(const SketchParameter& p) {
    return plan_.request.used.try_emplace(p.value, Layout(mesh().axes.size())).first->second;
  }
  Graph& graph() { return plan_.sketch->graph; }
  PlacementRequest& request() { return plan_.request; }
  SketchPlan take() { return std::move(plan_); }

  /// SUMMA on `row` and `col`: each matmul's operands are cut along both, and broadcast block by block.
  void offer_summa() {
    for (const SketchMatmul& m : plan_.sketch->matmuls)
      for (const char* name : {"row", "col"}) {
        const auto letters = summa_letters(m, name);
        for (OpId op : m.ops) plan_.request.offers.push_back(summa(m, letters, op, name));
      }
  }

 private:
  void pin(ValueId value, const std::string& axis_name, int dim) {
    Pin& pin = plan_.request.pins[value];
    pin.placements.resize(mesh().axes.size());
    pin.placements[static_cast<std::size_t>(axis(axis_name))] = Placement::shard(dim);
  }

  /// The first dimension that no other axis cuts, else one to nest in.
  int zero_dim(const SketchParameter& p, std::int64_t n) {
    const Shape& shape = graph().value(p.value).shape;
    const Layout layout = used(p);
    for (int d = 0; d < static_cast<int>(shape.size()); ++d)
      if (split_order(layout, d).empty() && shape[static_cast<std::size_t>(d)] % n == 0) return d;
    for (int d = 0; d < static_cast<int>(shape.size()); ++d)
      if (shape[static_cast<std::size_t>(d)] % (4 * n) == 0) return d;
    return -1;
  }

  static char common(const std::string& a, const std::string& b, char except = 0) {
    for (char c : a)
      if (c != except && b.find(c) != std::string::npos) return c;
    throw std::logic_error("no letter in common");
  }
  /// What the axis cuts of x, w and y.
  static std::map<std::string, char> summa_letters(const SketchMatmul& m, const std::string& name) {
    const char rows = common(m.x, m.y), inner = common(m.x, m.w), columns = common(m.y, m.w, 'c');
    if (name == "row") return {{m.x, rows}, {m.w, inner}, {m.y, rows}};
    return {{m.x, inner}, {m.w, columns}, {m.y, columns}};
  }
  Offer summa(const SketchMatmul& m, const std::map<std::string, char>& letters, OpId id, const std::string& name) {
    const Op& op = graph().op(id);
    auto placements = [&](const char* side) {
      std::vector<Placement> list;
      std::string text = op.attributes.text(side);
      for (std::size_t begin = 0, end; (end = text.find(',', begin)) != std::string::npos; begin = end + 1) {
        const std::string operand = text.substr(begin, end - begin);
        list.push_back(Placement::shard(static_cast<int>(operand.find(letters.at(operand)))));
      }
      return list;
    };
    const auto q = static_cast<double>(size(name));
    double moved = 1;  // the blocks of x go along `col`, those of w along `row`
    const std::string& travels = name == "col" ? m.x : m.w;
    for (const auto& [side, ids] : {std::pair{"in", &op.inputs}, std::pair{"out", &op.outputs}}) {
      std::size_t i = 0;
      std::string text = op.attributes.text(side);
      for (std::size_t begin = 0, end; (end = text.find(',', begin)) != std::string::npos; begin = end + 1, ++i)
        if (text.substr(begin, end - begin) == travels)
          moved = static_cast<double>(element_count(graph().value((*ids)[i]).shape));
    }
    return {id,  "summa", "tensor", {axis(name)}, {placements("in")}, {placements("out")}, 4 * (q - 1) * moved / q / q,
            true};
  }

  SketchPlan plan_;
};

SketchModel model_of(const std::function<void(SketchModel&)>& change = {}) {
  SketchModel model;
  if (change) change(model);
  return model;
}

SketchPlan data_parallel(const std::string& name) {
  const bool tied = name == "dp_tied_sgd";
  Maker m(name, {{"data", 4}}, model_of([&](auto& model) { model.tied = tied, model.adam = !tied; }));
  m.cut_inputs("data", 0);
  m.expect(kBackward, "data", "all_reduce", tied ? static_cast<std::int64_t>(m.parameters().size()) : kAny,
           2 * share(4) * m.parameter_elements());
  return m.take();
}

/// Stage 3 gathers the parameters that forward and backward read; the prototype charges backward with all of them.
void expect_zero(Maker& m, std::int64_t n, int stage) {
  const double all = share(n) * m.parameter_elements();
  m.expect(kBackward, "data", "reduce_scatter", kAny, all);
  if (stage < 3) {
    m.expect(kUpdate, "data", "all_gather", kAny, all);
    return;
  }
  m.expect(kForward, "data", "all_gather", kAny, all);
  m.expect(kBackward, "data", "all_gather", kAny, share(n) * m.read_in_backward());
}

SketchPlan zero(const std::string& name) {
  const int stage = name.back() - '0';
  Maker m(name, {{"data", 4}}, model_of());
  m.cut_inputs("data", 0);
  m.zero("data", stage);
  expect_zero(m, 4, stage);
  return m.take();
}

SketchPlan tensor(const std::string& name) {
  const SketchModel model = model_of([&](auto& m) {
    if (name == "tp_sep") m.separate_qkv = true;
    if (name == "tp_tied") m.tied = true;
    if (name == "tp_bigB") m.batch = 64;
    if (name == "tp_bigH") m.hidden = 256, m.batch = 2;
    if (name == "tp_nodrop_nobias") m.dropout = m.bias = false;
  });
  Maker m(name, {{"tensor", 4}}, model);
  m.use("tensor", tensor_1d());
  const auto tokens = static_cast<double>(model.batch * model.sequence);
  m.expect_tensor_1d(tokens * static_cast<double>(model.hidden), 4, 2 * share(4) * 3 * tokens);
  return m.take();
}

SketchPlan parallel_block(const std::string& name) {
  Maker m(name, {{"tensor", 4}}, model_of([](auto& model) { model.parallel_block = true; }));
  m.use("tensor", tensor_1d());
  for (Phase phase : {kForward, kBackward})
    m.expect(phase, "tensor", "all_reduce", kLayers + 1, (kLayers + 1) * 1.5 * kActivation);
  m.expect(kForward, "tensor", "internal", 1, 576);
  return m.take();
}

SketchPlan megatron_sequence(const std::string& name) {
  Maker m(name, {{"tensor", 4}}, model_of());
  m.allow("tensor", "s");
  m.use("tensor", tensor_1d());
  m.cut_activations("tensor", 1);
  const double f = share(4) * kActivation, positions = share(4) * 16 * 32;
  m.expect(kForward, "tensor", "all_gather", 2 * kLayers + 1, (2 * kLayers + 1) * f);
  m.expect(kForward, "tensor", "reduce_scatter", 2 * kLayers + 1, (2 * kLayers + 1) * f);
  m.expect(kForward, "tensor", "internal", 1, 576);
  m.expect(kBackward, "tensor", "all_gather", 4 * kLayers + 3, (4 * kLayers + 2) * f + positions);
  m.expect(kBackward, "tensor", "reduce_scatter", 2 * kLayers + 1, (2 * kLayers + 1) * f);
  const double replicated =
      m.parameter_elements([&](const SketchParameter& p) { return is_whole(m.used(p)) && p.name != "pos"; });
  m.expect(kBackward, "tensor", "all_reduce", kAny, 1.5 * replicated);
  return m.take();
}

SketchPlan ulysses(const std::string& name) {
  Maker m(name, {{"sequence", 4}}, model_of());
  m.cut_inputs("sequence", 1);
  const double moved = share(4) * kActivation / 4;
  for (Phase phase : {kForward, kBackward}) m.expect(phase, "sequence", "all_to_all", 4 * kLayers, 4 * kLayers * moved);
  m.expect(kBackward, "sequence", "all_reduce", kAny, 2 * share(4) * (m.parameter_elements() - 16 * 32));
  m.expect(kBackward, "sequence", "all_gather", 1, share(4) * 16 * 32);
  return m.take();
}

SketchPlan data_tensor(const std::string& name) {
  Maker m(name, {{"data", 2}, {"tensor", 4}}, model_of());
  m.cut_inputs("data", 0);
  m.use("tensor", tensor_1d());
  m.expect_tensor_1d(kActivation / 2, 4, 288);
  if (name == "dp_tp") {
    m.expect(kBackward, "data", "all_reduce", static_cast<std::int64_t>(m.parameters().size()),
             2 * share(2) * m.parameter_elements());
    return m.take();
  }
  const int stage = name.back() - '0';
  m.zero("data", stage);
  expect_zero(m, 2, stage);
  return m.take();
}

SketchPlan data_ulysses_tensor(const std::string& name) {
  Maker m(name, {{"data", 2}, {"sequence", 2}, {"tensor", 2}}, model_of());
  m.cut_inputs("data", 0);
  m.cut_inputs("sequence", 1);
  m.use("tensor", tensor_1d());
  m.expect_tensor_1d(kActivation / 4, 2, 2 * 0.5 * 3 * 32);
  for (Phase phase : {kForward, kBackward})
    m.expect(phase, "sequence", "all_to_all", 4 * kLayers, 4 * kLayers * 0.5 * kActivation / 2 / 2 / 2);
  const double all = m.parameter_elements(), positions = 16 * 32;
  m.expect(kBackward, "data", "all_reduce", kAny, 2 * 0.5 * all - 0.5 * positions);
  m.expect(kBackward, "sequence", "all_reduce", kAny, all - positions);
  m.expect(kBackward, "sequence", "all_gather", 1, 0.5 * positions);
  return m.take();
}

SketchPlan experts(const std::string& name) {
  const bool many = name == "moe_manytok", tensor = name == "moe_dense_attnTP";
  const SketchModel model = model_of([&](auto& m) {
    m.experts = 4, m.hidden = 64;
    if (many) m.top_k = 4, m.capacity = 2;
  });
  const std::int64_t n = tensor ? 2 : 4;
  Maker m(name, tensor ? std::vector<MeshAxis>{{"expert", 2}, {"tensor", 2}} : std::vector<MeshAxis>{{"expert", 4}},
          model);
  m.cut_inputs("expert", 0);
  m.use("expert", {{"ew1", 0}, {"ew2", 0}});
  if (tensor) m.use("tensor", tensor_1d());
  const double capacity = many ? 32 : 8, moved = share(n) * 4 * 8 * capacity * 64 / static_cast<double>(n);
  for (Phase phase : {kForward, kBackward}) m.expect(phase, "expert", "all_to_all", 2 * kLayers, 2 * kLayers * moved);
  const int axis = m.axis("expert");
  m.expect(kBackward, "expert", "all_reduce", kAny, 2 * share(n) * m.parameter_elements([&](const SketchParameter& p) {
    return m.used(p)[static_cast<std::size_t>(axis)].is_replicate();
  }));
  if (!tensor) return m.take();
  const double activation = 8.0 * 16 * 64 / 2;
  for (Phase phase : {kForward, kBackward})
    m.expect(phase, "tensor", "all_reduce", kLayers + 1, (kLayers + 1) * 2 * 0.5 * activation);
  m.expect(kForward, "tensor", "internal", 1, 3 * 16 * 4);
  return m.take();
}

/// SUMMA on q x q ranks: in q steps the ranks of a line along `col` broadcast their blocks of x, 1 / q^2 of it each, of
/// which a rank sends (q - 1) / q on average, so (q - 1) / q^2 of x in all; those along `row` as much of w. Each of a
/// matmul's two gradients moves blocks of the same two. Beside them go the statistics of what `col` cuts, what a
/// vocabulary needs that `row` cuts, and the gradients of what `row` does not cut.
void expect_summa(Maker& m) {
  constexpr double kHidden = 32, kVocabulary = 64, kTokens = 8 * 16, kSide = 2;
  constexpr std::int64_t kMatmuls = 4 * kLayers + 1, kNorms = 2 * kLayers + 1;  // and the head, and the last norm
  // Of a layer three x have `hidden` columns (wqkv, wo, w1), and that of w2 four times as many.
  const double x = share(2) / kSide * (kLayers * (3 + 4) + 1) * kActivation;
  const double w = share(2) / kSide * kHidden * (kLayers * (3 + 1 + 4 + 4) * kHidden + kVocabulary);
  m.expect(kForward, "col", "summa", kMatmuls, x);
  m.expect(kForward, "row", "summa", kMatmuls, w);
  m.expect(kBackward, "col", "summa", 2 * kMatmuls, 2 * x);
  m.expect(kBackward, "row", "summa", 2 * kMatmuls, 2 * w);
  // All-reduces of two numbers of a norm and three of the loss for each token of a line.
  const double number = 2 * share(2) * kTokens / kSide;
  m.expect(kForward, "col", "internal", kNorms + 1, (2 * kNorms + 3) * number);
  m.expect(kBackward, "col", "internal", kNorms, 2 * kNorms * number);
  // All ids are looked up in a rank's rows and columns of the table; their gradients are added there.
  const double ids = share(2) * kTokens, looked_up = share(2) * kActivation / kSide;
  m.expect(kForward, "row", "all_gather", 1, ids);
  m.expect(kForward, "row", "reduce_scatter", 1, looked_up);
  m.expect(kBackward, "row", "all_gather", 2, ids + looked_up);
  // Positions, two vectors of a norm, four biases of a layer.
  const double whole = m.parameter_elements(
      [&](const SketchParameter& p) { return m.used(p)[static_cast<std::size_t>(m.axis("row"))].is_replicate(); });
  m.expect(kBackward, "row", "all_reduce", 1 + 2 * kNorms + 4 * kLayers, 2 * share(2) * whole);
}

SketchPlan summa(const std::string& name) {
  Maker m(name, {{"row", 2}, {"col", 2}}, model_of());
  m.cut_inputs("row", 0);
  m.use("row", {{"embed", 0}, {"head", 0}, {"wqkv", 0}, {"wo", 0}, {"w1", 0}, {"w2", 0}});
  m.use("col", {{"embed", 1}, {"head", 1}, {"wqkv", 2}, {"wo", 2}, {"w1", 1}, {"w2", 1}, {"bqkv", 1}, {"pos", 1}});
  const std::set<std::string> placed{"embed", "head", "wqkv", "wo", "w1", "w2", "bqkv", "pos"};
  for (const SketchParameter& p : m.parameters())
    if (!placed.contains(p.kind())) m.used(p) = with_placement(m.used(p), m.axis("col"), Placement::shard(0));
  m.cut_activations("row", 0);
  m.cut_activations("col", 2);
  m.offer_summa();
  expect_summa(m);
  return m.take();
}

using Make = SketchPlan (*)(const std::string& name);
const std::vector<std::pair<std::string, Make>>& makers() {
  static const std::vector<std::pair<std::string, Make>> list{{"dp", data_parallel},
                                                              {"dp_tied_sgd", data_parallel},
                                                              {"zero1", zero},
                                                              {"zero3", zero},
                                                              {"tp", tensor},
                                                              {"tp_sep", tensor},
                                                              {"tp_tied", tensor},
                                                              {"tp_bigB", tensor},
                                                              {"tp_bigH", tensor},
                                                              {"tp_nodrop_nobias", tensor},
                                                              {"tp_parallel_block", parallel_block},
                                                              {"megatron_sp", megatron_sequence},
                                                              {"ulysses", ulysses},
                                                              {"dp_tp", data_tensor},
                                                              {"dp_tp_zero1", data_tensor},
                                                              {"dp_tp_zero3", data_tensor},
                                                              {"dp_uly_tp", data_ulysses_tensor},
                                                              {"moe", experts},
                                                              {"moe_manytok", experts},
                                                              {"moe_dense_attnTP", experts},
                                                              {"summa2d", summa}};
  return list;
}

}  // namespace

std::vector<std::string> plan_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : makers()) names.push_back(name);
  return names;
}

SketchPlan make_plan(const std::string& name) {
  for (const auto& [known, make] : makers())
    if (known == name) return make(name);
  throw std::runtime_error("no plan " + name);
}

}  // namespace baleen::test
