/// \file The op `attention` and its gradient as a backend reads them from a region: operands by role, and sizes.
#pragma once
#include "baleen/region.hpp"

namespace baleen::sdk {

/// q [batch, queries, heads, width], k and v [batch, keys, groups, width], optional ids of documents, o as q, lse
/// [batch, heads, queries]; of the gradient also do, dq, dk and dv.
struct AttentionOperands {
  explicit AttentionOperands(const RegionOp& source)
      : backward(source.op().kind() == "attention_grad"),
        masked(source.inputs() > (backward ? 6u : 3u)),
        q(source.in(0)),
        k(source.in(1)),
        v(source.in(2)),
        o(backward ? source.in(source.inputs() - 3) : source.out(0)),
        lse(backward ? source.in(source.inputs() - 2) : source.out(1)),
        batch(q.extent(0)),
        queries(q.extent(1)),
        keys(k.extent(1)),
        heads(q.extent(2)),
        groups(k.extent(2)),
        width(q.extent(3)),
        reach(source.op().integer("causal", 0) != 0 ? keys - queries + 1 : keys),
        scale(source.op().number("scale")) {
    if (masked) {
      ids_q = source.in(3);
      ids_k = source.in(4);
    }
    if (!backward) return;
    d_o = source.in(source.inputs() - 1);
    dq = source.out(0);
    dk = source.out(1);
    dv = source.out(2);
  }

  /// Of all heads: pairs of a query and a key that it sees, without regard to documents.
  double pairs() const {
    const auto s = static_cast<double>(queries), t = static_cast<double>(keys);
    const double seen = reach < keys ? s * t - s * (s - 1) / 2 : s * t;
    return seen * static_cast<double>(batch * heads);
  }

  bool backward, masked;
  RegionOperand q, k, v, o, lse, ids_q, ids_k, d_o, dq, dk, dv;
  std::int64_t batch, queries, keys, heads, groups, width;
  std::int64_t reach;  ///< query s sees keys below s + reach; without a causal mask the first one sees all
  double scale;
};

/// Whether the operands can be read so.
inline Status check_attention(const RegionOp& source) {
  const RegionOperand q = source.in(0), k = source.in(1);
  if (q.rank() == 4 && k.rank() == 4 && k.extent(2) > 0 && q.extent(2) % k.extent(2) == 0) return {};
  return invalid("attention of q " + shape_text(q.tensor) + " and k " + shape_text(k.tensor) +
                     ": the heads must be a multiple of the groups",
                 source.name());
}

}  // namespace baleen::sdk
