/// \file Definitions of attention and its gradient, one query and one head at a time.
#include <cmath>

#include "support/reference_kernels.hpp"

namespace baleen::test {
namespace {

struct Problem {
  const Tensor &q, &k, &v;
  const Tensor *ids_q = nullptr, *ids_k = nullptr;
  bool causal;
  double scale;
  std::int64_t batch, queries, heads, width, keys, per_group;

  Problem(const Call& call, bool ids)
      : q(call.in(0)),
        k(call.in(1)),
        v(call.in(2)),
        causal(call.op.attributes.integer_or("causal", 0) != 0),
        scale(call.op.attributes.number("scale")),
        batch(q.shape[0]),
        queries(q.shape[1]),
        heads(q.shape[2]),
        width(q.shape[3]),
        keys(k.shape[1]),
        per_group(heads / k.shape[2]) {
    if (ids) {
      ids_q = &call.in(3);
      ids_k = &call.in(4);
    }
  }

  bool sees(std::int64_t b, std::int64_t s, std::int64_t t) const {
    if (causal && t > s + keys - queries) return false;
    return !ids_q || (ids_q->at({b, s}) == ids_k->at({b, t}) && ids_q->at({b, s}) >= 0);
  }

  double score(std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t t) const {
    double dot = 0;
    for (std::int64_t e = 0; e < width; ++e) dot += q.at({b, s, h, e}) * k.at({b, t, h / per_group, e});
    return scale * dot;
  }

  /// The weights of a query's keys, and their log-sum-exp (-inf where it sees nothing).
  std::vector<double> weights(std::int64_t b, std::int64_t s, std::int64_t h, double& lse) const {
    std::vector<double> p(static_cast<std::size_t>(keys), 0);
    double largest = -INFINITY, sum = 0;
    for (std::int64_t t = 0; t < keys; ++t)
      if (sees(b, s, t)) largest = std::fmax(largest, score(b, s, h, t));
    for (std::int64_t t = 0; t < keys; ++t)
      if (sees(b, s, t)) sum += p[static_cast<std::size_t>(t)] = std::exp(score(b, s, h, t) - largest);
    lse = sum > 0 ? largest + std::log(sum) : -INFINITY;
    for (double& x : p) x = sum > 0 ? x / sum : 0;
    return p;
  }

  template <class Visit>
  void each(Visit visit) const {
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t s = 0; s < queries; ++s)
        for (std::int64_t h = 0; h < heads; ++h) visit(b, s, h);
  }
};

void attention(Call& call) {
  const Problem a(call, call.inputs.size() == 5);
  a.each([&](std::int64_t b, std::int64_t s, std::int64_t h) {
    const auto p = a.weights(b, s, h, call.out(1).at({b, h, s}));
    for (std::int64_t t = 0; t < a.keys; ++t)
      for (std::int64_t e = 0; e < a.width; ++e)
        call.out(0).at({b, s, h, e}) += p[static_cast<std::size_t>(t)] * a.v.at({b, t, h / a.per_group, e});
  });
}

/// By the softmax's Jacobian: dscore_t = sum_u dp_u p_u ([t = u] - p_t). `o` and `lse` are not needed.
void attention_grad(Call& call) {
  const Problem a(call, call.inputs.size() == 8);
  const Tensor& d = *call.inputs.back();
  Tensor &dq = call.out(0), &dk = call.out(1), &dv = call.out(2);
  a.each([&](std::int64_t b, std::int64_t s, std::int64_t h) {
    double lse = 0;
    const auto p = a.weights(b, s, h, lse);
    const std::int64_t g = h / a.per_group;
    std::vector<double> dp(p.size(), 0);
    for (std::int64_t t = 0; t < a.keys; ++t)
      for (std::int64_t e = 0; e < a.width; ++e) {
        dp[static_cast<std::size_t>(t)] += d.at({b, s, h, e}) * a.v.at({b, t, g, e});
        dv.at({b, t, g, e}) += p[static_cast<std::size_t>(t)] * d.at({b, s, h, e});
      }
    for (std::int64_t t = 0; t < a.keys; ++t) {
      double dscore = 0;
      for (std::size_t u = 0; u < p.size(); ++u)
        dscore += dp[u] * p[u] * ((static_cast<std::size_t>(t) == u) - p[static_cast<std::size_t>(t)]);
      for (std::int64_t e = 0; e < a.width; ++e) {
        dq.at({b, s, h, e}) += a.scale * dscore * a.k.at({b, t, g, e});
        dk.at({b, t, g, e}) += a.scale * dscore * a.q.at({b, s, h, e});
      }
    }
  });
}

}  // namespace

void add_attention_kernels(std::map<std::string, Kernel>& kernels) {
  kernels.insert({{"attention", attention}, {"attention_grad", attention_grad}});
}

}  // namespace baleen::test
