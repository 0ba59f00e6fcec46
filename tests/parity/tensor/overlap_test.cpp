/// \file What travels beside products: in the order of a traced step.
#include "parity/trace_run.hpp"

namespace baleen::test {
namespace {

std::string manifest(int ranks, const std::string& mode) {
  return manifest_of({{"tensor", ranks}}, "[[plan]]\nstrategy = \"tensor\"\nmode = \"" + mode + "\"\n");
}

/// SUMMA on two times two ranks: the second blocks leave before the product of the first, and nothing sooner.
TEST(TensorOverlap, BlocksTravelBesideTheProductBefore) {
  const auto spans = trace_of("gpt", manifest(4, "2d"), {"heads=4", "layers=1"});
  const std::vector<int> broadcasts = calls_of(spans, "broadcast");
  ASSERT_GE(broadcasts.size(), 8u);
  std::map<std::string, std::size_t> hidden;
  for (const int call : broadcasts)
    hidden[spans[place_of(spans, "begin", call)].op] += hidden_behind(spans, call, "matmul") > 0;
  for (const char* product :
       {"blocks.0.attention.qkv", "blocks.0.attention.out", "blocks.0.mlp.up", "blocks.0.mlp.down"})
    EXPECT_GE(hidden[product], 2u) << product;  // of both operands
}

/// In 1d the sum of an input's gradient travels beside the product that gives the weight's; sums of the forward pass
/// are read at once.
TEST(TensorOverlap, GradientsOfInputsTravelBesideThoseOfWeights) {
  const auto spans = trace_of("gpt", manifest(2, "1d"), {"heads=4"});
  std::map<std::string, std::size_t> hidden;
  for (const int call : calls_of(spans, "all_reduce"))
    hidden[spans[place_of(spans, "begin", call)].op] = hidden_behind(spans, call, "matmul");
  for (const char* layer : {"blocks.0.", "blocks.1."})
    for (const char* product : {"attention.qkv.grad", "mlp.up.grad"})
      EXPECT_EQ(hidden.at(std::string(layer) + product), 1u) << layer << product;
  EXPECT_EQ(hidden.at("blocks.0.mlp.down"), 0u);
}

}  // namespace
}  // namespace baleen::test
