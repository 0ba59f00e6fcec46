/// \file The backward pass of a job's train graph, and the norm of what comes out.
#include "compiler/plan/passes.hpp"

#include <algorithm>
#include <numeric>

#include "compiler/graph/graph.hpp"

namespace baleen {
namespace {

/// In pieces of sixteen, so that no expression grows with the model; still strictly left to right.
Result<ValueId> add_in_order(Graph& graph, const std::vector<ValueId>& terms) {
  ValueId total = terms[0];
  for (std::size_t i = 1; i < terms.size(); i += 15) {
    Expression e;
    auto sum = e.input(0);
    std::vector<ValueId> inputs{total};
    for (std::size_t k = i; k < std::min(i + 15, terms.size()); ++k) {
      inputs.push_back(terms[k]);
      sum = e.binary(BALEEN_X_ADD, sum, e.input(static_cast<std::uint32_t>(inputs.size() - 1)));
    }
    BALEEN_TRY_ASSIGN(total, graph.pointwise(inputs, e, sum, "optimizer.norm"));
  }
  return total;
}

}  // namespace

Result<LossGradients> differentiate_loss(Graph& graph, const Job& job) {
  const ValueId loss = graph.output("loss"), weight = graph.output("weight");
  if (loss == kNone || weight == kNone) return internal("the train graph lacks the output `loss` or `weight`");
  std::vector<ValueId> targets;
  for (const ParameterSpec& p : job.parameters) {
    const int group = group_of(job, p.name);
    BALEEN_TRY_ASSIGN(const ValueId value, graph.parameter(p.name, p.type));
    targets.push_back(group >= 0 && job.groups[static_cast<std::size_t>(group)].frozen ? kNone : value);
  }
  graph.context() = {Phase::backward, kNone, "loss.grad", {}};
  Expression e;  // 1 / weight, and 0 for a batch without any target
  const auto w = e.input(0);
  const auto empty = e.binary(BALEEN_X_EQ, w, e.constant(0));
  const auto inverse = e.binary(BALEEN_X_DIV, e.constant(1), w);
  const auto scale = e.select(empty, e.constant(0), inverse);
  LossGradients gradients;
  BALEEN_TRY_ASSIGN(gradients.seed, graph.pointwise({weight}, e, scale));

  std::vector<ValueId> wanted;
  for (ValueId t : targets)
    if (t != kNone) wanted.push_back(t);
  BALEEN_TRY_ASSIGN(const auto found, differentiate(graph, loss, gradients.seed, wanted));
  gradients.all.resize(targets.size());
  for (std::size_t i = 0, next = 0; i < targets.size(); ++i)
    if (targets[i] != kNone) gradients.all[i].gradient = gradients.all[i].value = found[next++];
  return gradients;
}

Result<ValueId> append_norm(Graph& graph, const Job& job, LossGradients& gradients) {
  if (gradients.norm != kNone) return gradients.norm;
  graph.context() = {Phase::update, kNone, "optimizer", {}};
  std::vector<ValueId> sums;
  for (std::size_t i = 0; i < gradients.all.size(); ++i) {
    const ValueId g = gradients.all[i].value;
    if (g == kNone) continue;
    BALEEN_TRY_ASSIGN(const ValueId square, graph.binary(BALEEN_X_MUL, g, g));
    std::vector<std::int64_t> dims(graph.value(g).rank());
    std::iota(dims.begin(), dims.end(), 0);
    BALEEN_TRY_ASSIGN(const ValueId sum,
                      graph.append1("reduce", {square},
                                    {{"kind", std::string("sum")}, {"dims", dims}, {"keep", Attributes::ints({0})}},
                                    job.parameters[i].name + ".norm"));
    sums.push_back(sum);
  }
  if (sums.empty()) return invalid("no parameter is trained: all are frozen, or the loss depends on none", job.where);
  BALEEN_TRY_ASSIGN(const ValueId total, add_in_order(graph, sums));
  BALEEN_TRY_ASSIGN(gradients.norm, graph.unary(BALEEN_X_SQRT, total));
  graph.set_output("gradient_norm", gradients.norm);
  return gradients.norm;
}

}  // namespace baleen
