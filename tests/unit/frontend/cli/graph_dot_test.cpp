/// \file Graphs as Graphviz.
#include "frontend/cli/graph_dot.hpp"

#include <gtest/gtest.h>

#include "support/op_cases.hpp"

namespace baleen::app {
namespace {

TEST(GraphDot, DrawsNodesAndEdges) {
  Graph graph(&test::builtin_ops());
  const ValueId x = *graph.input("x", {BALEEN_F32, {16, 128, 128}, {}});
  const ValueId w = *graph.parameter("w", {BALEEN_F32, {128, 4, 32}, {}});
  graph.context().name = "blocks.0.attention.\"q\"";
  const ValueId q = *graph.append1("matmul", {x, w}, {{"spec", "bsd,dhe->bshe"}});
  graph.context() = {Phase::backward, kNone, "", ""};
  Expression e;
  const auto y = e.binary(BALEEN_X_MUL, e.unary(BALEEN_X_GELU, e.input(0)), e.constant(0.5));
  graph.set_output("z", *graph.pointwise({q}, e, y));
  const std::string dot = print_dot(graph);
  EXPECT_EQ(dot.rfind("digraph {", 0), 0u);
  EXPECT_NE(dot.find(R"(op2 [label="matmul)"
                     "\n"
                     R"(blocks.0.attention.\"q\"", fillcolor=lightblue];)"),
            std::string::npos)
      << dot;
  EXPECT_NE(dot.find("op1 -> op2 [label=\"%1 fp32 [128, 4, 32]\"];"), std::string::npos) << dot;
  EXPECT_NE(dot.find("op3 [label=\"pointwise\", fillcolor=lightsalmon];"), std::string::npos) << dot;
  EXPECT_NE(dot.find("op3 -> \"output z\";"), std::string::npos) << dot;
}

}  // namespace
}  // namespace baleen::app
