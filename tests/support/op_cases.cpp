/// \file Building of random sources and ops for tests.
#include "support/op_cases.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "compiler/graph/graph.hpp"
#include "compiler/graph/op_plugin.hpp"
#include "compiler/ops/ops.hpp"
#include "support/places.hpp"
#include "support/reference_expression.hpp"

namespace baleen::test {

Status register_all_ops(OpRegistry& registry) {
  BALEEN_TRY(register_builtin_ops(registry));
  const PluginPlace place{built("lib/baleen/plugins/baleen_op_standard.so"), "test"};
  BALEEN_TRY_ASSIGN(const auto plugins, Registry::discover({&place, 1}, Log()));
  return register_op_plugins(registry, plugins);
}

const OpRegistry& builtin_ops() {
  static const OpRegistry registry = [] {
    OpRegistry all;
    if (auto status = register_all_ops(all); !status) throw std::runtime_error(status.error().text());
    return all;
  }();
  return registry;
}

std::int64_t CaseBuilder::integer(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(rng_);
}

std::int64_t CaseBuilder::extent() { return manner_.even ? 2 * integer(1, 2) : integer(1, 4); }

Shape CaseBuilder::shape(std::size_t rank) {
  Shape result;
  for (std::size_t d = 0; d < rank; ++d) result.push_back(extent());
  return result;
}

ValueId CaseBuilder::source(const Shape& shape, baleen_dtype_t dtype, std::vector<double> numbers) {
  const std::string name = "x" + std::to_string(data_.size());
  data_[name] = std::move(numbers);
  auto made = graph_.parameter(name, {dtype, shape, {}});
  if (!made) throw std::runtime_error(made.error().text());
  return *made;
}

ValueId CaseBuilder::floats(const Shape& shape, std::vector<double> numbers) {
  if (!manner_.mixed) return source(shape, BALEEN_F64, std::move(numbers));
  constexpr baleen_dtype_t kDtypes[] = {BALEEN_F32, BALEEN_BF16, BALEEN_F16};
  const baleen_dtype_t dtype = kDtypes[std::uniform_int_distribution<int>(0, 2)(dtypes_)];
  for (double& x : numbers) x = rounded(x, dtype);
  return source(shape, dtype, std::move(numbers));
}

ValueId CaseBuilder::normal(const Shape& shape) {
  std::vector<double> numbers(static_cast<std::size_t>(element_count(shape)));
  for (double& x : numbers) x = std::normal_distribution<double>()(rng_);
  return floats(shape, std::move(numbers));
}

ValueId CaseBuilder::positive(const Shape& shape) {
  std::vector<double> numbers(static_cast<std::size_t>(element_count(shape)));
  for (double& x : numbers) x = std::uniform_real_distribution<double>(0.5, 2)(rng_);
  return floats(shape, std::move(numbers));
}

ValueId CaseBuilder::distinct(const Shape& shape) {
  std::vector<double> numbers(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.5 * static_cast<double>(i) - 2;
  std::shuffle(numbers.begin(), numbers.end(), rng_);
  return floats(shape, std::move(numbers));
}

ValueId CaseBuilder::ids(const Shape& shape, std::int64_t low, std::int64_t high, baleen_dtype_t dtype) {
  std::vector<double> numbers(static_cast<std::size_t>(element_count(shape)));
  for (double& x : numbers) x = static_cast<double>(integer(low, high));
  return source(shape, dtype, std::move(numbers));
}

std::vector<ValueId> CaseBuilder::append(const std::string& kind, std::vector<ValueId> inputs, Attributes attributes) {
  auto made = graph_.append(kind, std::move(inputs), std::move(attributes));
  if (!made) throw std::runtime_error(made.error().text());
  return *made;
}

OpId CaseBuilder::op(const std::string& kind, std::vector<ValueId> inputs, Attributes attributes) {
  return graph_.value(append(kind, std::move(inputs), std::move(attributes))[0]).producer;
}

const OpKind& kind_of(const OpCase& op_case) {
  const OpKind* const kind = builtin_ops().find(op_case.name.substr(0, op_case.name.find(' ')));
  if (!kind) throw std::runtime_error("the case `" + op_case.name + "` does not begin with a kind's name");
  return *kind;
}

BuiltCase::BuiltCase(const OpCase& op_case, std::uint64_t seed, CaseManner manner) {
  CaseBuilder builder(graph, seed, manner);
  op = graph.op(op_case.build(builder));
  if (op.kind != &kind_of(op_case)) throw std::runtime_error("the case `" + op_case.name + "` is of " + op.kind->name);
  data = builder.data();
  ReferenceInterpreter interpreter(graph);
  for (const auto& [name, numbers] : data) interpreter.set(name, numbers);
  interpreter.run();
  for (const auto* list : {&op.inputs, &op.outputs})
    for (ValueId id : *list) values[id] = interpreter.value(id);
}

double difference(const Tensor& a, const Tensor& b) {
  if (a.shape != b.shape) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const double error = std::fabs(a[i] - b[i]) / (1 + std::fabs(b[i]));
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

std::vector<ValueId> floating_sources(const BuiltCase& built) {
  std::vector<ValueId> found;
  for (ValueId id = 0; id < built.graph.value_count(); ++id) {
    const Value& value = built.graph.value(id);
    if (value.role == Role::parameter && is_floating(value.dtype)) found.push_back(id);
  }
  return found;
}

std::vector<ValueId> add_gradients(Graph& graph, ValueId loss, const std::vector<ValueId>& targets) {
  const auto one = graph.constant(1, graph.value(loss).dtype);
  if (!one) throw std::runtime_error(one.error().text());
  auto gradients = differentiate(graph, loss, *one, targets);
  if (!gradients) throw std::runtime_error(gradients.error().text());
  if (const Status sound = verify(graph); !sound) throw std::runtime_error(sound.error().text());
  return *std::move(gradients);
}

}  // namespace baleen::test
