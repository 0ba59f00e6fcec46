#include "unit/compiler/codegen/graphs.hpp"

#include <numeric>
#include <stdexcept>

#include "compiler/graph/graph.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

template <class T>
T take(Result<T> result) {
  if (!result) throw std::logic_error(result.error().text());
  return *std::move(result);
}

}  // namespace

GraphMaker::GraphMaker(baleen_dtype_t dtype) : graph(&test::ops()), floats(dtype) {}

ValueId GraphMaker::parameter(const std::string& name, Shape shape) {
  return take(graph.parameter(name, {floats, std::move(shape), {}}));
}
ValueId GraphMaker::state(const std::string& name, Shape shape) {
  return take(graph.state(name, {floats, std::move(shape), {}}));
}
ValueId GraphMaker::batch(const std::string& name, Shape shape, std::optional<baleen_dtype_t> dtype) {
  std::vector<std::string> axes(shape.size());
  if (!axes.empty()) axes[0] = "batch";
  return take(graph.input(name, {dtype.value_or(floats), std::move(shape), std::move(axes)}));
}
ValueId GraphMaker::op(const std::string& kind, std::vector<ValueId> inputs, Attributes attributes,
                       const std::string& name) {
  return take(graph.append1(kind, std::move(inputs), std::move(attributes), name));
}
std::vector<ValueId> GraphMaker::ops(const std::string& kind, std::vector<ValueId> inputs, Attributes attributes) {
  return take(graph.append(kind, std::move(inputs), std::move(attributes)));
}
ValueId GraphMaker::unary(std::uint32_t opcode, ValueId x) { return take(graph.unary(opcode, x)); }
ValueId GraphMaker::binary(std::uint32_t opcode, ValueId a, ValueId b) { return take(graph.binary(opcode, a, b)); }
ValueId GraphMaker::scale(ValueId x, double factor) {
  Expression e;
  const auto result = e.binary(BALEEN_X_MUL, e.input(0), e.constant(factor));
  return take(graph.pointwise({x}, e, result));
}
ValueId GraphMaker::matmul(const std::string& spec, ValueId a, ValueId b) {
  return op("matmul", {a, b}, {{"spec", spec}}, spec);
}
ValueId GraphMaker::sum(ValueId x, std::vector<std::int64_t> dims) {
  return op("reduce", {x}, {{"kind", std::string("sum")}, {"dims", dims}, {"keep", Attributes::ints({0})}});
}
ValueId GraphMaker::concat(std::vector<ValueId> parts, std::int64_t dim) {
  return op("concat", std::move(parts), {{"dim", Attributes::ints({dim})}});
}
ValueId GraphMaker::slice(ValueId x, std::int64_t dim, std::int64_t start, std::int64_t length) {
  return op(
      "slice", {x},
      {{"dim", Attributes::ints({dim})}, {"start", Attributes::ints({start})}, {"length", Attributes::ints({length})}});
}
ValueId GraphMaker::reshape(ValueId x, Shape shape) { return op("reshape", {x}, {{"shape", shape}}); }
ValueId GraphMaker::transpose(ValueId x, std::vector<std::int64_t> permutation) {
  return op("transpose", {x}, {{"permutation", permutation}});
}
void GraphMaker::assign(ValueId target, ValueId value) {
  if (Status ok = graph.assign(target, value); !ok) throw std::logic_error(ok.error().text());
}

namespace {

/// p' = p - 0.1 m', m' = 0.9 m + g, for every parameter.
void append_momentum(GraphMaker& m, const std::vector<ValueId>& parameters, const std::vector<ValueId>& gradients,
                     ValueId scale) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Value parameter = m.graph.value(parameters[i]);
    const ValueId slot = m.state(parameter.name + ".m", parameter.shape);
    Expression e;
    const auto g = e.binary(BALEEN_X_MUL, e.input(2), e.input(3));
    const auto next = e.binary(BALEEN_X_ADD, e.binary(BALEEN_X_MUL, e.input(1), e.constant(0.9)), g);
    const auto result = e.binary(BALEEN_X_SUB, e.input(0), e.binary(BALEEN_X_MUL, next, e.constant(0.1)));
    const auto made = m.ops("pointwise", {parameters[i], slot, gradients[i], scale},
                            {{"expression", std::move(e)}, {"results", Attributes::ints({result, next})}});
    m.assign(parameters[i], made[0]);
    m.assign(slot, made[1]);
  }
}

ValueId dropout(GraphMaker& m, ValueId x) {
  Expression e;
  const auto keep = e.binary(BALEEN_X_LT, e.random(BALEEN_X_UNIFORM, 77), e.constant(0.75));
  const auto result = e.binary(BALEEN_X_MUL, e.input(0), keep);
  return take(m.graph.pointwise({x}, e, result));
}

}  // namespace

Graph training_graph(std::int64_t batch) {
  GraphMaker m;
  const ValueId x = m.batch("x", {batch, 4, 5}), target = m.batch("target", {batch, 4}, BALEEN_I32);
  const ValueId w1 = m.parameter("w1", {5, 6}), b1 = m.parameter("b1", {6}), gain = m.parameter("gain", {6}),
                w2 = m.parameter("w2", {2, 3, 3});
  ValueId h = m.matmul("bsd,de->bse", x, w1);
  h = m.unary(BALEEN_X_GELU, m.binary(BALEEN_X_ADD, h, m.reshape(b1, {1, 1, 6})));
  h = m.ops("norm", {dropout(m, h), gain}, {{"kind", std::string("rms")}, {"epsilon", Attributes::floats({1e-5})}})[0];
  const ValueId heads = m.reshape(h, {batch, 4, 2, 3});
  const ValueId swapped = m.concat({m.slice(heads, 2, 1, 1), m.slice(heads, 2, 0, 1)}, 2);
  const ValueId logits = m.matmul("bshe,hev->bsv", m.binary(BALEEN_X_ADD, heads, swapped), w2);
  const ValueId losses = m.ops("cross_entropy", {logits, target},
                               {{"ignore_index", Attributes::ints({2})}, {"smoothing", Attributes::floats({0.1})}})[0];
  const ValueId loss = m.sum(losses, {0, 1});
  Expression counted;
  const auto one = counted.binary(BALEEN_X_NE, counted.input(0), counted.constant(2));
  const ValueId mask = m.op("pointwise", {target},
                            {{"expression", std::move(counted)},
                             {"results", Attributes::ints({one})},
                             {"dtype", Attributes::ints({BALEEN_F64})}});
  const ValueId weight = m.sum(mask, {0, 1});
  m.output("loss", loss);
  m.output("weight", weight);
  m.graph.context().phase = Phase::backward;
  Expression inverse;
  const auto seed = inverse.binary(BALEEN_X_DIV, inverse.constant(1),
                                   inverse.binary(BALEEN_X_MAX, inverse.input(0), inverse.constant(1)));
  const ValueId cotangent = take(m.graph.pointwise({weight}, inverse, seed));
  const std::vector<ValueId> parameters{w1, b1, gain, w2};
  const auto gradients = take(differentiate(m.graph, loss, cotangent, parameters));
  m.graph.context() = {Phase::update, kNone, "update", {}};
  ValueId total = kNone;
  for (ValueId g : gradients) {
    std::vector<std::int64_t> dims(m.shape(g).size());
    std::iota(dims.begin(), dims.end(), 0);
    const ValueId square = m.sum(m.binary(BALEEN_X_MUL, g, g), dims);
    total = total == kNone ? square : m.binary(BALEEN_X_ADD, total, square);
  }
  m.output("gradient_norm", m.unary(BALEEN_X_SQRT, total));
  append_momentum(m, parameters, gradients, m.unary(BALEEN_X_RSQRT, total));
  return std::move(m.graph);
}

namespace {

/// Grows a random graph op by op.
class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed) : random_(seed) {
    const std::vector<Shape> shapes{{2, 3, 4}, {4, 3}, {12}, {3, 4}};
    for (std::size_t i = 0; i < 4; ++i) {
      pool_.push_back(m_.parameter("p" + std::to_string(i), shapes[i]));
      pool_.push_back(m_.state("s" + std::to_string(i), shapes[i]));
      pool_.push_back(m_.batch("x" + std::to_string(i), shapes[i]));
    }
    targets_ = {pool_[0], pool_[1], pool_[3], pool_[4], pool_[6], pool_[7], pool_[9], pool_[10]};
  }

  Graph grow(int size) {
    for (int i = 0; i < size; ++i) pool_.push_back(grow_one());
    for (ValueId target : targets_)
      if (below(3)) m_.assign(target, value_for(target));
    for (int i = 0; i < 3; ++i) m_.output("o" + std::to_string(i), any());
    m_.graph.remove_dead();
    return std::move(m_.graph);
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  ValueId any() { return pool_[below(pool_.size())]; }
  /// Prefers what was made last, so that chains grow.
  ValueId recent() {
    return below(3) ? pool_[pool_.size() - 1 - below(std::min<std::size_t>(pool_.size(), 4))] : any();
  }
  std::size_t dim_of(ValueId x) { return below(m_.shape(x).size()); }

  ValueId like(ValueId x) {
    std::vector<ValueId> same{x};
    for (ValueId v : pool_)
      if (m_.shape(v) == m_.shape(x)) same.push_back(v);
    return same[below(same.size())];
  }

  ValueId value_for(ValueId target) {
    switch (below(4)) {
      case 0: return like(target);
      case 1: return m_.binary(BALEEN_X_ADD, target, like(target));
      case 2: return m_.unary(BALEEN_X_TANH, like(target));
      default: return m_.reshape(m_.reshape(like(target), {element_count(m_.shape(target))}), m_.shape(target));
    }
  }

  ValueId grow_one() {
    ValueId x = recent();
    if (element_count(m_.shape(x)) > 200) x = m_.slice(x, 0, 0, 1);
    if (m_.shape(x).empty()) x = m_.reshape(x, {1});
    switch (below(10)) {
      case 0: return m_.unary(BALEEN_X_SIGMOID, x);
      case 1: return m_.binary(BALEEN_X_MUL, x, like(x));
      case 2: return m_.binary(BALEEN_X_SUB, like(x), x);
      case 3: return reshaped(x);
      case 4: return transposed(x);
      case 5: return sliced(x);
      case 6: return joined(x);
      case 7: return m_.sum(x, {static_cast<std::int64_t>(dim_of(x))});
      case 8: return m_.op("softmax", {x});
      default: return product(x);
    }
  }

  ValueId reshaped(ValueId x) {
    const std::int64_t count = element_count(m_.shape(x));
    for (std::int64_t factor : {2, 3, 4})
      if (below(2) && count % factor == 0) return m_.reshape(x, {factor, count / factor});
    return m_.reshape(x, {1, count});
  }
  ValueId transposed(ValueId x) {
    std::vector<std::int64_t> permutation(m_.shape(x).size());
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), random_);
    return m_.transpose(x, permutation);
  }
  ValueId sliced(ValueId x) {
    const std::size_t dim = dim_of(x);
    const auto extent = static_cast<std::size_t>(m_.shape(x)[dim]);
    const std::size_t start = below(extent);
    return m_.slice(x, static_cast<std::int64_t>(dim), static_cast<std::int64_t>(start),
                    static_cast<std::int64_t>(1 + below(extent - start)));
  }
  ValueId joined(ValueId x) {
    std::vector<ValueId> parts{x, like(x)};
    if (below(2)) parts.push_back(m_.unary(BALEEN_X_SIN, x));
    if (below(2)) parts.push_back(m_.unary(BALEEN_X_COS, like(x)));
    std::shuffle(parts.begin(), parts.end(), random_);
    return m_.concat(parts, static_cast<std::int64_t>(dim_of(x)));
  }
  ValueId product(ValueId x) {
    const ValueId flat = m_.reshape(x, {m_.shape(x)[0], element_count(m_.shape(x)) / m_.shape(x)[0]});
    return m_.matmul("ab,cb->ac", flat, flat);
  }

  GraphMaker m_;
  std::mt19937_64 random_;
  std::vector<ValueId> pool_, targets_;
};

}  // namespace

Graph random_graph(std::uint64_t seed, int size) { return RandomGraph(seed).grow(size); }

}  // namespace baleen::test
