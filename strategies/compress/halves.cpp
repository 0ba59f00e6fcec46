/// \file Puts the casts in.
#include "halves.hpp"

#include "baleen/dtype.hpp"

namespace baleen::compress {

void lower_halves(GraphView graph, const Reduction& reduction, baleen_dtype_t dtype) {
  graph.follow(reduction.place);
  const baleen_value_t narrow = graph.cast(reduction.input, dtype);
  graph.set_layout(narrow, reduction.before);
  baleen_op_view_t spec{};
  spec.size = sizeof(spec);
  if (const auto status = graph.table()->read_op(graph.table()->self, reduction.op, &spec)) throw Failed(status);
  spec.inputs = &narrow;
  spec.input_count = 1;
  baleen_value_t reduced = BALEEN_NONE;
  if (const auto status = graph.table()->append(graph.table()->self, &spec, &reduced, 1)) throw Failed(status);
  graph.set_layout(reduced, reduction.after);
  graph.set_tag(graph.value(reduced).producer, kTag, dtype_name(dtype));
  graph.follow(reduction.reader);  // else the backward pass would wait for it at once
  const baleen_value_t wide = graph.cast(reduced, BALEEN_F32);
  graph.set_layout(wide, reduction.after);
  graph.redirect(reduction.output, wide);
}

}  // namespace baleen::compress
