/// \file Arguments and sizes of attention.
#pragma once
#include "layout.hpp"
#include "values.hpp"

namespace baleen::cuda {

/// A tensor [batch, sequence, heads, width], in elements.
struct HeadsView {
  int64_t batch, sequence, head, inner;
};
struct IdsView {
  int64_t batch, sequence;
};
/// [batch, heads, sequence].
struct StatisticsView {
  int64_t batch, head, sequence;
};

struct AttentionArgs {
  Values q, k, v, o, lse;        // o and lse are written forward, read backward
  const int32_t *ids_q, *ids_k;  // both or neither
  HeadsView q_view, k_view, v_view, o_view;
  StatisticsView lse_view;
  IdsView ids_q_view, ids_k_view;
  int64_t batch, queries, keys, heads, groups;
  int32_t width;
  int64_t reach;  // query s sees keys below s + reach
  double scale;
  int32_t query_tile, key_tile;
};

struct AttentionGradArgs {
  AttentionArgs forward;
  Values d_o, dq, dk, dv;
  void* delta;  // scratch: [batch, heads, queries]
  HeadsView do_view, dq_view, dk_view, dv_view;
};

/// Elements of shared memory that the kernels need for tiles of so many queries and keys.
BALEEN_BOTH int64_t attention_shared(int64_t query_tile, int64_t key_tile, int64_t width) {
  return (width + 1) * (2 * query_tile + 2 * key_tile) + query_tile * (key_tile + 1) + 3 * query_tile;
}
/// Tiles of the gradients: as many queries as keys.
BALEEN_BOTH int64_t attention_grad_shared(int64_t tile, int64_t width) {
  return (width + 1) * 6 * tile + 2 * tile * (tile + 1) + 2 * tile;
}

}  // namespace baleen::cuda
