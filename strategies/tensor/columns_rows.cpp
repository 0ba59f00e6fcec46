/// \file Says which dimension of each parameter is cut; propagation does the rest: the first of a pair of products
/// makes a cut result, the second a partial one, which is summed.
#include "columns_rows.hpp"

#include <string>

#include "closed_forms.hpp"
#include "cut_check.hpp"
#include "product.hpp"

namespace baleen::tensor_parallel {

/// A loss fused with its projection needs whole rows of the weight.
Status ColumnsRows::rewrite(GraphView graph) {
  for (const Product& product : products(graph)) {
    const auto dim = inner_dimension(graph.value(product.parameter));
    if (!dim || product.inner.find(product.w()[static_cast<std::size_t>(*dim)]) == std::string::npos) continue;
    const baleen_value_info_t result = graph.value(graph.op(product.op)->outputs()[0]);
    for (const baleen_op_t user : std::vector<baleen_op_t>(result.users, result.users + result.user_count))
      if (graph.op(user)->kind() == "cross_entropy") graph.set_tag(user, "no_fuse", "");
  }
  return {};
}

Status ColumnsRows::place(GraphView graph, Placing placing) {
  const std::string name(placing.mesh().name(axis_));
  BALEEN_TRY(check_inner(graph, {placing.mesh().size(axis_), name, name}));
  for (const char* inner : {"heads", "ff", "vocab"}) placing.allow_sharding(axis_, inner);
  bool any = false;
  for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
    const baleen_value_info_t value = graph.value(id);
    if (value.role != BALEEN_ROLE_PARAMETER) continue;
    const auto dim = inner_dimension(value);
    if (!dim) continue;
    placing.set_compute_sharding(id, axis_, shard(*dim));
    any = true;
  }
  if (any) {
    expect_columns_rows(graph, placing, axis_);
    return {};
  }
  return invalid("no parameter has the logical axis `heads`, `ff` or `vocab`, so there is nothing to cut along `" +
                 name +
                 "`; name the inner dimension of each pair of linear layers, as in nn.linear { out = "
                 "64, axes = { \"ff\" } }, or take mode = \"2d\"");
}

}  // namespace baleen::tensor_parallel
