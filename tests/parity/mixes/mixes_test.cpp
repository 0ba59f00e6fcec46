/// \file Mixes of zero, sequence, tensor and data on 2, 4 and 8 ranks compute what one rank computes.
#include <gtest/gtest.h>

#include "mix.hpp"
#include "support/case_lists.hpp"

namespace baleen::test {
namespace {

struct Case {
  std::string name;
  Mix mix;
  std::string script;
  std::vector<std::string> arguments;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class MixParity : public ::testing::TestWithParam<Case> {};

TEST_P(MixParity, RanksComputeWhatOneRankComputes) {
  const Case& c = GetParam();
  verify_parity(c.script, manifest_of(c.mix), c.arguments);
}

std::vector<std::string> everything(const std::vector<std::string>& more) {
  std::vector<std::string> all{"tied", "accumulate=2", "clip=0.5", "dropout=0.2", "masked=101", "optimizer=lamb"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// Blocks that no number of ranks divides: 17 or 13 tokens, 33 inner columns, 3 or 5 heads, 9 or 5 rows.

const std::vector<std::string> kRows{"inner=ff", "batch=26", "accumulate=2", "clip=0.1"};

/// Shards over the sequence alone.
std::vector<Case> on_two_ranks() {
  return {
      {"TwoZero1Ulysses",
       {.sequence = 2, .stage = 1, .also = "sequence", .attention = "ulysses"},
       "gpt",
       everything({"context=13"})},
      {"TwoZero2Ring",
       {.sequence = 2, .stage = 2, .also = "sequence", .attention = "ring"},
       "gpt",
       everything({"context=16"})},
      {"TwoZero3Ulysses",
       {.sequence = 2, .stage = 3, .also = "sequence", .attention = "ulysses"},
       "gpt",
       {"heads=5", "dim=25", "context=17"}},
  };
}

std::vector<Case> on_four_ranks() {
  const std::vector<std::string> grouped{"heads=6",           "kv_heads=2", "dim=36",     "rotary",  "norm=rms",
                                         "activation=swiglu", "hidden=33",  "context=16", "clip=0.5"};
  return {
      {"FourZero2Tensor", {.data = 2, .tensor = 2, .stage = 2, .products = "1d"}, "mlp", kRows},
      {"FourZero2TensorGpt", {.data = 2, .tensor = 2, .stage = 2, .products = "1d"}, "gpt", everything({"hidden=33"})},
      {"FourZero3TensorInside",
       {.data = 2, .tensor = 2, .stage = 3, .products = "1d", .order = "tensor data"},
       "mlp",
       kRows},
      {"FourZero2Megatron",
       {.data = 2, .tensor = 2, .stage = 2, .products = "1d", .megatron = true},
       "gpt",
       everything({"context=13"})},
      {"FourZero3MegatronUlysses",
       {.sequence = 2,
        .tensor = 2,
        .stage = 3,
        .also = "sequence",
        .attention = "ulysses",
        .products = "1d",
        .megatron = true},
       "gpt",
       everything({"context=13", "heads=5", "dim=25"})},
      {"FourZero1RingTensor",
       {.sequence = 2, .tensor = 2, .stage = 1, .also = "sequence", .attention = "ring", .products = "1d"},
       "gpt",
       grouped},
      {"FourZero2Ulysses",
       {.data = 2, .sequence = 2, .stage = 2, .also = "sequence", .attention = "ulysses"},
       "gpt",
       everything({"context=13", "batch=10"})},
  };
}

/// With shards, with sequences, with both.
std::vector<Case> squares_on_eight_ranks() {
  return {
      {"EightZero2Square", {.data = 2, .tensor = 4, .stage = 2, .products = "2d"}, "mlp", {"batch=9"}},
      {"EightZero3SquareInside",
       {.data = 2, .tensor = 4, .stage = 3, .products = "2d", .order = "tensor data"},
       "gpt",
       everything({"batch=10", "hidden=33"})},
      {"EightUlyssesSquare",
       {.sequence = 2, .tensor = 4, .attention = "ulysses", .products = "2d"},
       "gpt",
       everything({"heads=4", "context=13"})},
      {"EightRingSquare",
       {.sequence = 2, .tensor = 4, .attention = "ring", .products = "2d"},
       "gpt",
       everything({"context=16", "hidden=33"})},
      {"EightZero3RingSquare",
       {.sequence = 2, .tensor = 4, .stage = 3, .also = "sequence", .attention = "ring", .products = "2d"},
       "gpt",
       {"context=16", "batch=5"}},
      {"EightZero3StackedSquares",
       {.tensor = 8, .stage = 3, .also = "tensor.depth", .products = "2.5d"},
       "gpt",
       everything({"hidden=33"})},
      {"EightZero2OneSquare", {.data = 2, .tensor = 4, .stage = 2, .products = "2.5d", .depth = 1}, "mlp", {"batch=9"}},
  };
}

std::vector<Case> lines_on_eight_ranks() {
  return {
      {"EightZero3UlyssesTensor",
       {.data = 2,
        .sequence = 2,
        .tensor = 2,
        .stage = 3,
        .also = "sequence",
        .attention = "ulysses",
        .products = "1d"},
       "gpt",
       everything({"heads=5", "dim=25", "context=17"})},
      {"EightZero1RingMegatron",
       {.data = 2,
        .sequence = 2,
        .tensor = 2,
        .stage = 1,
        .also = "sequence",
        .attention = "ring",
        .products = "1d",
        .megatron = true,
        .order = "tensor sequence data"},
       "gpt",
       everything({"context=16"})},
      {"EightZero2Tensor", {.data = 4, .tensor = 2, .stage = 2, .products = "1d"}, "mlp", kRows},
  };
}

INSTANTIATE_TEST_SUITE_P(Mixes, MixParity,
                         ::testing::ValuesIn(concatenated({on_two_ranks(), on_four_ranks(), squares_on_eight_ranks(),
                                                           lines_on_eight_ranks()})),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
