#include "gpt_graph.hpp"

#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

#include "compiler/graph/graph.hpp"
#include "support/op_cases.hpp"

namespace baleen::test {
namespace {

template <class T>
T take(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  return *std::move(result);
}

Attribute one(std::int64_t value) { return Attributes::ints({value}); }

class Maker {
 public:
  Maker(GptGraph& gpt, const GptModel& model, std::uint64_t seed) : gpt_(gpt), g_(gpt.graph), m_(model), rng_(seed) {}

  void run() {
    forward();
    g_.context() = {Phase::backward, kNone, "loss.grad", {}};
    Expression e;
    const auto inverse = e.binary(BALEEN_X_DIV, e.constant(1), e.input(0));
    const ValueId seed = take(g_.pointwise({g_.output("weight")}, e, inverse));
    const auto gradients = take(differentiate(g_, g_.output("loss"), seed, parameters_));
    g_.context() = {Phase::update, kNone, "optimizer", {}};
    update(gradients);
  }

 private:
  using Axes = std::vector<std::string>;

  ValueId parameter(const std::string& name, const Shape& shape, Axes axes) {
    const std::string full = prefix_ + name;
    auto& numbers = gpt_.data[full];
    if (numbers.empty()) {
      const double spread = name == "gamma" ? 0.1 : 0.5, centre = name == "gamma" ? 1 : 0;
      for (std::int64_t i = 0; i < element_count(shape); ++i)
        numbers.push_back(std::normal_distribution<double>(centre, spread)(rng_));
      parameters_.push_back(take(g_.parameter(full, {BALEEN_F64, shape, axes})));
    }
    return take(g_.parameter(full, {BALEEN_F64, shape, std::move(axes)}));
  }
  ValueId input(const std::string& name, std::int64_t low) {
    auto& numbers = gpt_.data[name];
    for (std::int64_t i = 0; i < m_.batch * m_.sequence; ++i)
      numbers.push_back(static_cast<double>(std::uniform_int_distribution<std::int64_t>(low, m_.vocabulary - 1)(rng_)));
    gpt_.inputs.push_back(take(g_.input(name, {BALEEN_I32, {m_.batch, m_.sequence}, {"batch", "seq"}})));
    return gpt_.inputs.back();
  }
  ValueId op(const std::string& kind, std::vector<ValueId> inputs, Attributes attributes, std::size_t result = 0) {
    return take(g_.append(kind, std::move(inputs), std::move(attributes), prefix_ + kind))[result];
  }
  ValueId matmul(const std::string& spec, ValueId x, ValueId w) { return op("matmul", {x, w}, {{"spec", spec}}); }
  ValueId reshape(ValueId x, Shape shape) { return op("reshape", {x}, {{"shape", std::move(shape)}}); }
  ValueId biased(ValueId x, const std::string& name, const Axes& axes) {
    if (!m_.bias) return x;
    Shape shape = g_.value(x).shape, own(shape.end() - static_cast<std::ptrdiff_t>(axes.size()), shape.end()),
          wide = own;
    wide.insert(wide.begin(), shape.size() - axes.size(), 1);
    return take(g_.binary(BALEEN_X_ADD, x, reshape(parameter(name, own, axes), wide)));
  }
  ValueId norm(ValueId x, const std::string& name) {
    prefix_ += name + ".";
    std::vector<ValueId> inputs{x, parameter("gamma", {m_.hidden}, {"embed"})};
    if (!m_.rms) inputs.push_back(parameter("beta", {m_.hidden}, {"embed"}));
    const ValueId y =
        op("norm", inputs, {{"kind", std::string(m_.rms ? "rms" : "layer")}, {"epsilon", Attributes::floats({1e-5})}});
    prefix_.resize(prefix_.size() - name.size() - 1);
    return y;
  }
  ValueId dropout(ValueId x) {
    if (!m_.dropout) return x;
    Expression e;
    const auto kept = e.binary(BALEEN_X_LT, e.random(BALEEN_X_UNIFORM, ++site_), e.constant(0.8));
    const auto y = e.select(kept, e.binary(BALEEN_X_DIV, e.input(0), e.constant(0.8)), e.constant(0));
    return take(g_.pointwise({x}, e, y));
  }

  std::vector<ValueId> queries_keys_values(ValueId x) {
    const std::int64_t width = m_.hidden / m_.heads;
    auto part = [&](ValueId all, std::int64_t i, std::int64_t heads) {
      const ValueId cut = op("slice", {all}, {{"dim", one(2)}, {"start", one(i)}, {"length", one(1)}});
      return reshape(cut, {m_.batch, m_.sequence, heads, width});
    };
    if (m_.kv_heads == m_.heads) {
      const ValueId w = parameter("qkv", {m_.hidden, 3, m_.heads, width}, {"embed", "", "heads", "head_dim"});
      const ValueId all = biased(matmul("abc,cdef->abdef", x, w), "qkv_bias", {"", "heads", "head_dim"});
      return {part(all, 0, m_.heads), part(all, 1, m_.heads), part(all, 2, m_.heads)};
    }
    const ValueId wq = parameter("q", {m_.hidden, m_.heads, width}, {"embed", "heads", "head_dim"});
    const ValueId wkv = parameter("kv", {m_.hidden, 2, m_.kv_heads, width}, {"embed", "", "heads", "head_dim"});
    const ValueId shared = matmul("abc,cdef->abdef", x, wkv);
    return {matmul("abc,cde->abde", x, wq), part(shared, 0, m_.kv_heads), part(shared, 1, m_.kv_heads)};
  }
  ValueId attention(ValueId x) {
    const std::int64_t width = m_.hidden / m_.heads;
    const ValueId o =
        op("attention", queries_keys_values(x),
           {{"causal", one(1)}, {"scale", Attributes::floats({1 / std::sqrt(static_cast<double>(width))})}});
    const ValueId w = parameter("out", {m_.heads, width, m_.hidden}, {"heads", "head_dim", "embed"});
    return biased(matmul("abcd,cde->abe", o, w), "out_bias", {"embed"});
  }
  ValueId mlp(ValueId x) {
    ValueId y = matmul("abc,cd->abd", x, parameter("up", {m_.hidden, 4 * m_.hidden}, {"embed", "ff"}));
    y = take(g_.unary(BALEEN_X_GELU, biased(y, "up_bias", {"ff"})));
    return biased(matmul("abc,cd->abd", y, parameter("down", {4 * m_.hidden, m_.hidden}, {"ff", "embed"})), "down_bias",
                  {"embed"});
  }
  ValueId residual(ValueId h, ValueId y) {
    gpt_.residuals.push_back(take(g_.binary(BALEEN_X_ADD, h, y)));
    return gpt_.residuals.back();
  }

  void forward() {
    const ValueId tokens = input("tokens", 0), target = input("target", m_.masked ? -1 : 0);
    const ValueId table = parameter("embedding", {m_.vocabulary, m_.hidden}, {"vocab", "embed"});
    const ValueId places =
        reshape(parameter("positions", {m_.sequence, m_.hidden}, {"seq", "embed"}), {1, m_.sequence, m_.hidden});
    ValueId h = residual(op("embedding", {table, tokens}, {}), places);
    for (std::int64_t l = 0; l < m_.layers; ++l) {
      prefix_ = "layer" + std::to_string(l) + ".";
      h = residual(h, dropout(attention(norm(h, "norm1"))));
      h = residual(h, dropout(mlp(norm(h, "norm2"))));
    }
    prefix_.clear();
    const ValueId losses = loss_of(norm(h, "norm"), table, target);
    g_.set_output("loss", sum(losses));
    Expression e;
    const auto counted = e.binary(BALEEN_X_NE, e.input(0), e.constant(-1));
    g_.set_output("weight",
                  sum(op("pointwise", {target},
                         {{"expression", std::move(e)}, {"results", one(counted)}, {"dtype", one(BALEEN_F64)}})));
  }
  ValueId loss_of(ValueId h, ValueId table, ValueId target) {
    Attributes attributes;
    if (m_.masked) attributes.set("ignore_index", one(-1));
    const ValueId head = m_.tied ? table : parameter("head", {m_.hidden, m_.vocabulary}, {"embed", "vocab"});
    if (!m_.fused_loss)
      return op("cross_entropy", {matmul(m_.tied ? "abc,dc->abd" : "abc,cd->abd", h, head), target}, attributes);
    attributes.set("transposed", one(m_.tied));
    return op("linear_cross_entropy", {h, head, target}, attributes);
  }
  ValueId sum(ValueId x) {
    std::vector<std::int64_t> dims(g_.value(x).rank());
    std::iota(dims.begin(), dims.end(), 0);
    return op("reduce", {x}, {{"kind", std::string("sum")}, {"dims", dims}, {"keep", one(0)}});
  }

  /// Clipping by the global norm, then p' = p - 0.1 m' / (1 + |m'|), m' = 0.9 m + g: as nonlinear as any optimizer.
  void update(const std::vector<ValueId>& gradients) {
    std::vector<ValueId> squares;
    Expression e;
    std::uint32_t total = 0;
    for (ValueId g : gradients) {
      squares.push_back(sum(take(g_.binary(BALEEN_X_MUL, g, g))));
      const auto term = e.input(static_cast<std::uint32_t>(squares.size()) - 1);
      total = squares.size() == 1 ? term : e.binary(BALEEN_X_ADD, total, term);
    }
    const auto scale = e.binary(BALEEN_X_MIN, e.constant(1), e.unary(BALEEN_X_RSQRT, total));
    const ValueId clip = take(g_.pointwise(squares, e, scale));
    for (std::size_t i = 0; i < parameters_.size(); ++i) step(parameters_[i], gradients[i], clip);
  }
  void step(ValueId parameter, ValueId gradient, ValueId clip) {
    const Value value = g_.value(parameter);
    const ValueId slot = take(g_.state(value.name + ".m", {BALEEN_F64, value.shape, value.axes}));
    for (std::int64_t i = 0; i < element_count(value.shape); ++i)
      gpt_.data[value.name + ".m"].push_back(std::normal_distribution<double>(0, 0.1)(rng_));
    Expression e;
    const auto g = e.binary(BALEEN_X_MUL, e.input(2), e.input(3));
    const auto next = e.binary(BALEEN_X_ADD, e.binary(BALEEN_X_MUL, e.input(1), e.constant(0.9)), g);
    const auto size = e.binary(BALEEN_X_ADD, e.constant(1), e.unary(BALEEN_X_ABS, next));
    const auto change = e.binary(BALEEN_X_DIV, e.binary(BALEEN_X_MUL, next, e.constant(0.1)), size);
    const auto result = e.binary(BALEEN_X_SUB, e.input(0), change);
    const auto made = take(g_.append("pointwise", {parameter, slot, gradient, clip},
                                     {{"expression", std::move(e)}, {"results", Attributes::ints({result, next})}}));
    for (const auto& [target, now] : {std::pair{parameter, made[0]}, std::pair{slot, made[1]}})
      if (auto status = g_.assign(target, now); !status) throw std::runtime_error(status.error().text());
    gpt_.trained.push_back({parameter, gradient, {slot}});
  }

  GptGraph& gpt_;
  Graph& g_;
  const GptModel& m_;
  std::mt19937_64 rng_;
  std::string prefix_;
  std::vector<ValueId> parameters_;
  std::uint64_t site_ = 0;
};

}  // namespace

GptGraph::GptGraph(const GptModel& model, std::uint64_t seed) : graph(&builtin_ops()) {
  Maker(*this, model, seed).run();
}

}  // namespace baleen::test
