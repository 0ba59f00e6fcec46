/// \file Shapes, dtypes and axes that the rules infer, and the messages for operands that do not fit.
#include <gtest/gtest.h>

#include <random>

#include "support/op_cases.hpp"

namespace baleen {
namespace {

class Infer : public testing::Test {
 protected:
  ValueId f32(const Shape& shape, std::vector<std::string> axes = {}) {
    return source(BALEEN_F32, shape, std::move(axes));
  }
  ValueId i32(const Shape& shape, std::vector<std::string> axes = {}) {
    return source(BALEEN_I32, shape, std::move(axes));
  }

  ValueId source(baleen_dtype_t dtype, const Shape& shape, std::vector<std::string> axes) {
    return *graph_.input("x" + std::to_string(count_++), {dtype, shape, std::move(axes)});
  }

  std::vector<ValueId> append(const std::string& kind, std::vector<ValueId> inputs, Attributes attributes = {}) {
    auto made = graph_.append(kind, std::move(inputs), std::move(attributes));
    EXPECT_TRUE(made) << made.error().text();
    return made ? *made : std::vector<ValueId>(3, kNone);
  }
  std::string refusal(const std::string& kind, std::vector<ValueId> inputs, Attributes attributes = {}) {
    auto made = graph_.append(kind, std::move(inputs), std::move(attributes));
    return made ? "accepted" : made.error().message;
  }
  std::string pointwise_refusal(std::vector<ValueId> inputs, Attributes more = {}) {
    Expression e;
    auto sum = e.input(0);
    for (std::uint32_t i = 1; i < inputs.size(); ++i) sum = e.binary(BALEEN_X_ADD, sum, e.input(i));
    more.set("expression", e);
    more.set("results", Attributes::ints({sum}));
    return refusal("pointwise", std::move(inputs), more);
  }
  Shape shape(ValueId id) const { return graph_.value(id).shape; }
  std::vector<std::string> axes(ValueId id) const { return graph_.value(id).axes; }

  static Attribute one(std::int64_t value) { return Attributes::ints({value}); }

  Graph graph_{&test::builtin_ops()};
  int count_ = 0;
};

using Names = std::vector<std::string>;

TEST_F(Infer, MatmulNamesTheLetterAndBothShapes) {
  EXPECT_EQ(refusal("matmul", {f32({16, 128, 128}), f32({64, 3, 4, 32})}, {{"spec", "bsd,dthe->bsthe"}}),
            "matmul \"bsd,dthe->bsthe\": letter d is 128 in the first input [16, 128, 128] and 64 in the second "
            "[64, 3, 4, 32]");
  EXPECT_EQ(refusal("matmul", {f32({2, 3}), f32({3, 4}), f32({2, 5})}, {{"spec", "ab,bc->ac"}}),
            "matmul \"ab,bc->ac\": letter c is 4 in the second input [3, 4] and 5 in the third [2, 5]");
}

TEST_F(Infer, MatmulRefusesSpecsThatAreNoContraction) {
  const ValueId a = f32({2, 3}), b = f32({3, 4});
  auto message = [&](const char* spec) { return refusal("matmul", {a, b}, {{"spec", spec}}); };
  EXPECT_EQ(message("ab,bc->a"),
            "matmul \"ab,bc->a\": letter c is in one input only and not in the result; sum over it with reduce first");
  EXPECT_EQ(message("ab,bc->ad"), "matmul \"ab,bc->ad\": letter d of the result is in no input");
  EXPECT_EQ(message("aa,bc->ab"), "matmul \"aa,bc->ab\": letter a stands twice in \"aa\"");
  EXPECT_EQ(message("a1,bc->ab"), "matmul \"a1,bc->ab\": '1' is no letter (a to z, A to Z)");
  EXPECT_EQ(message("abc,bc->ab"),
            "matmul \"abc,bc->ab\": the first input [2, 3] has 2 dimensions, but \"abc\" has 3 letters");
  EXPECT_NE(message("abbc").find("as in \"bsd,dhe->bshe\""), std::string::npos);
  EXPECT_EQ(refusal("matmul", {a, i32({3, 4})}, {{"spec", "ab,bc->ac"}}),
            "matmul: b is int32 [3, 4]; it must be floating");
}

/// Operands of products, in any mixture of both; what is made of them is fp32 where nothing else is said.
TEST_F(Infer, EightBitsAreForProductsAndExpressions) {
  const ValueId a = source(BALEEN_E4M3, {2, 3}, {}), b = source(BALEEN_E5M2, {3, 4}, {});
  const Attribute spec = std::string("ab,bc->ac");
  EXPECT_EQ(graph_.value(append("matmul", {a, b}, {{"spec", spec}})[0]).dtype, BALEEN_F32);
  EXPECT_EQ(graph_.value(append("matmul", {a, b}, {{"spec", spec}, {"dtype", one(BALEEN_BF16)}})[0]).dtype,
            BALEEN_BF16);
  EXPECT_EQ(refusal("matmul", {a, b}, {{"spec", spec}, {"dtype", one(BALEEN_E4M3)}}),
            "matmul \"ab,bc->ac\": `dtype` is fp8_e4m3; 8 bits are made by a cast alone");
  EXPECT_EQ(refusal("matmul", {a, source(BALEEN_F64, {3, 4}, {})}, {{"spec", spec}}),
            "matmul: a is fp8_e4m3 [2, 3] and b is fp64 [3, 4]; fp64 meets fp64 only");
  EXPECT_EQ(refusal("softmax", {a}),
            "softmax: x is fp8_e4m3 [2, 3]; 8 bits are for the operands of matmul, so cast it first");
  EXPECT_EQ(refusal("to_integer", {b}), "to_integer: x is fp8_e5m2 [3, 4]; cast it to 16 bits or more first");
  EXPECT_EQ(graph_.value(append("transpose", {a}, {{"permutation", Attributes::ints({1, 0})}})[0]).dtype, BALEEN_E4M3);
  Expression e;
  const auto twice = e.binary(BALEEN_X_ADD, e.input(0), e.input(0));
  const Attributes sum{{"expression", e}, {"results", one(twice)}};
  EXPECT_EQ(graph_.value(append("pointwise", {a}, sum)[0]).dtype, BALEEN_F32);
  EXPECT_EQ(refusal("all_reduce", {a}, {{"axes", one(0)}, {"from", std::string("P")}, {"to", std::string("R")}}),
            "all_reduce of fp8_e4m3 [2, 3]: 8 bits are moved between ranks and not reduced; cast them first");
}

/// A cast of a term is not a term of the cast sum: too large terms are cut off.
TEST_F(Infer, CastsToEightBitsPassNoPartialSum) {
  const ValueId x = f32({2, 3});
  Expression e;
  const auto same = e.input(0);
  for (const auto& [dtype, passes] : {std::pair{BALEEN_BF16, true}, std::pair{BALEEN_E4M3, false}}) {
    const ValueId y = append("pointwise", {x}, {{"expression", e}, {"results", one(same)}, {"dtype", one(dtype)}})[0];
    EXPECT_EQ(!iteration_of(graph_, *graph_.producer(y)).linear.empty(), passes) << dtype_name(dtype);
  }
}

TEST_F(Infer, MatmulPassesTheAxesOn) {
  const ValueId x = f32({2, 5, 8}, {"batch", "seq", ""}), w = f32({8, 3, 4, 2}, {"", "", "heads", ""});
  const ValueId y = append("matmul", {x, w}, {{"spec", "bsd,dche->bsche"}})[0];
  EXPECT_EQ(shape(y), (Shape{2, 5, 3, 4, 2}));
  EXPECT_EQ(axes(y), (Names{"batch", "seq", "", "heads", ""}));
}

TEST_F(Infer, PointwiseNamesTheDimensionAndBothShapes) {
  EXPECT_EQ(
      pointwise_refusal({f32({16, 64}), f32({16, 32})}),
      "pointwise x0 + x1: dimension 1 is 32 in x1 [16, 32] and 64 before it, in [16, 64]; extents must be equal or 1");
  EXPECT_EQ(
      pointwise_refusal({f32({16, 64}), f32({64})}),
      "pointwise x0 + x1: x0 [16, 64] has 2 dimensions and x1 [64] has 1; reshape to equal ranks (extents of 1 are "
      "broadcast)");
  EXPECT_EQ(pointwise_refusal({i32({4})}),
            "pointwise x0: without floating inputs the attribute `dtype` must say the result's");
  EXPECT_EQ(pointwise_refusal({f32({4})}, {{"shape", Attributes::ints({5})}}),
            "pointwise x0: dimension 0 is 4 in x0 [4] and 5 in `shape` [5]; extents must be equal or 1");
}

TEST_F(Infer, PointwiseBroadcastsAndPassesTheAxesOn) {
  const ValueId x = f32({4, 1, 3}, {"batch", "", ""}), y = f32({1, 5, 3}, {"", "seq", "ff"}), s = f32({});
  Expression e;
  const auto xy = e.binary(BALEEN_X_ADD, e.input(0), e.input(1));
  const auto xys = e.binary(BALEEN_X_MUL, xy, e.input(2));
  const ValueId z = *graph_.pointwise({x, y, s}, e, xys);
  EXPECT_EQ(shape(z), (Shape{4, 5, 3}));
  EXPECT_EQ(axes(z), (Names{"batch", "seq", "ff"}));
}

TEST_F(Infer, PointwiseTakesTheWidestFloatingDtype) {
  auto dtype = [&](baleen_dtype_t a, baleen_dtype_t b) {
    return graph_.value(*graph_.binary(BALEEN_X_ADD, source(a, {2}, {}), source(b, {2}, {}))).dtype;
  };
  EXPECT_EQ(dtype(BALEEN_F32, BALEEN_F64), BALEEN_F64);
  EXPECT_EQ(dtype(BALEEN_I32, BALEEN_F32), BALEEN_F32);
  EXPECT_EQ(dtype(BALEEN_BF16, BALEEN_F16), BALEEN_F32);
  EXPECT_EQ(dtype(BALEEN_BF16, BALEEN_BF16), BALEEN_BF16);
}

TEST_F(Infer, ReduceChecksItsDimensions) {
  const ValueId x = f32({2, 3}, {"batch", "ff"});
  EXPECT_EQ(refusal("reduce", {x}, {{"kind", "mean"}, {"dims", one(0)}}),
            "reduce: `kind` is \"mean\"; it must be one of sum, max");
  EXPECT_EQ(refusal("reduce", {x}, {{"kind", "sum"}, {"dims", one(2)}}),
            "reduce: `dims` is 2, but x [2, 3] has 2 dimensions, counted from 0");
  EXPECT_EQ(refusal("reduce", {x}, {{"kind", "sum"}, {"dims", Attributes::ints({1, 1})}}),
            "reduce: dimension 1 stands twice in `dims`");
  EXPECT_EQ(axes(append("reduce", {x}, {{"kind", std::string("sum")}, {"dims", one(0)}})[0]), Names{"ff"});
  EXPECT_EQ(axes(append("reduce", {x}, {{"kind", "sum"}, {"dims", one(0)}, {"keep", one(1)}})[0]), (Names{"", "ff"}));
}

TEST_F(Infer, NormChecksTheLengthOfItsWeights) {
  const Attributes layer{{"kind", "layer"}, {"epsilon", Attributes::floats({1e-5})}};
  EXPECT_EQ(refusal("norm", {f32({2, 8}), f32({4})}, layer), "norm: gamma is [4]; with x [2, 8] it must be [8]");
  EXPECT_EQ(
      refusal("norm", {f32({2, 8}), f32({8}), f32({8})}, {{"kind", "rms"}, {"epsilon", Attributes::floats({1e-5})}}),
      "norm (rms) takes x, gamma; it was given 3 operands");
  EXPECT_EQ(refusal("norm", {f32({2, 8}), f32({8})}, {{"kind", "group"}}),
            "norm: `kind` is \"group\"; it must be one of layer, rms");
  EXPECT_EQ(refusal("norm", {f32({2, 8}), f32({8})}, {{"epsilon", Attributes::floats({-1})}}),
            "norm: `epsilon` is -1; it must be a number of 0 to inf");
  const auto made = append("norm", {f32({2, 5, 8}, {"batch", "seq", ""}), f32({8})}, layer);
  ASSERT_EQ(made.size(), 3u);
  EXPECT_EQ(axes(made[1]), (Names{"batch", "seq"}));
}

TEST_F(Infer, AttentionNamesWhatDoesNotFit) {
  const Attributes scale{{"scale", Attributes::floats({1})}};
  const ValueId q = f32({2, 5, 6, 8});
  EXPECT_EQ(refusal("attention", {q, f32({2, 5, 4, 8}), f32({2, 5, 4, 8})}, scale),
            "attention: the heads of q [2, 5, 6, 8], 6, are no multiple of those of k [2, 5, 4, 8], 4");
  EXPECT_EQ(refusal("attention", {q, f32({2, 5, 6, 4}), f32({2, 5, 6, 4})}, scale),
            "attention: the width (dimension 3) is 8 in q [2, 5, 6, 8] and 4 in k [2, 5, 6, 4]");
  EXPECT_EQ(refusal("attention", {q, f32({2, 7, 3, 8}), f32({2, 6, 3, 8})}, scale),
            "attention: v is [2, 6, 3, 8]; with k [2, 7, 3, 8] it must be [2, 7, 3, 8]");
  EXPECT_EQ(refusal("attention", {q, f32({2, 7, 3, 8}), f32({2, 7, 3, 8}), i32({2, 5}), i32({2, 5})}, scale),
            "attention: ids_k is [2, 5]; with k [2, 7, 3, 8] it must be [2, 7]");
  EXPECT_EQ(refusal("attention", {q, f32({2, 7, 3, 8}), f32({2, 7, 3, 8}), i32({2, 5})}, scale),
            "attention takes q, k, v [, ids_q, ids_k]; it was given 4 operands");
  EXPECT_EQ(refusal("attention_grad", {q, q, q, q, i32({2, 5}), q, q}, scale),
            "attention_grad takes q, k, v [, ids_q, ids_k], o, lse, do; it was given 7 operands");
  const auto made = append("attention", {q, f32({2, 7, 3, 8}), f32({2, 7, 3, 8})}, scale);
  EXPECT_EQ(shape(made[1]), (Shape{2, 6, 5}));
}

TEST_F(Infer, EmbeddingJoinsTheShapes) {
  const ValueId table = f32({50, 8}, {"vocab", "width"}), ids = i32({2, 5}, {"batch", "seq"});
  const ValueId y = append("embedding", {table, ids})[0];
  EXPECT_EQ(shape(y), (Shape{2, 5, 8}));
  EXPECT_EQ(axes(y), (Names{"batch", "seq", "width"}));
  EXPECT_EQ(refusal("embedding", {table, f32({2})}), "embedding: ids is fp32 [2]; it must be int32");
}

TEST_F(Infer, WideIdsAreForHashBucketAndWhatMovesThem) {
  const ValueId ids = source(BALEEN_I64, {6, 4}, {"batch", ""}), table = f32({50, 8});
  const std::string remedy = " (int64 values are ids: `hash_bucket` makes rows of them, int32)";
  EXPECT_EQ(refusal("embedding", {table, ids}), "embedding: ids is int64 [6, 4]; it must be int32" + remedy);
  EXPECT_EQ(refusal("softmax", {ids}), "softmax: x is int64 [6, 4]; it must be floating" + remedy);
  EXPECT_EQ(refusal("reduce", {ids}, {{"kind", std::string("sum")}, {"dims", one(0)}}),
            "reduce: x is int64 [6, 4]; it must be floating" + remedy);
  Expression e;
  const auto more = e.binary(BALEEN_X_ADD, e.input(0), e.constant(1));
  EXPECT_EQ(refusal("pointwise", {ids}, {{"expression", e}, {"results", one(more)}, {"dtype", one(BALEEN_F32)}}),
            "pointwise x0 + 1: x0 is int64 [6, 4], whose 64 bits no float holds" + remedy);
  EXPECT_EQ(refusal("hash_bucket", {table}, {{"buckets", one(9)}}),
            "hash_bucket: ids is fp32 [50, 8]; it must be int64 or int32");
  EXPECT_EQ(refusal("hash_bucket", {ids}, {{"buckets", one(0)}}),
            "hash_bucket: `buckets` is 0; it must be an integer of 1 to 2147483647");
  const ValueId rows = append("hash_bucket", {ids}, {{"buckets", one(9)}})[0];
  EXPECT_EQ(shape(rows), (Shape{6, 4}));
  EXPECT_EQ(axes(rows), (Names{"batch", ""}));
  EXPECT_EQ(refusal("embedding", {table, rows}), "accepted");
  EXPECT_EQ(refusal("slice", {ids}, {{"dim", one(1)}, {"start", one(1)}, {"length", one(2)}}), "accepted");
}

TEST_F(Infer, NumbersBecomeIds) {
  const ValueId x = f32({6, 4});
  const ValueId rows = append("to_integer", {x})[0];
  EXPECT_EQ(shape(rows), (Shape{6, 4}));
  EXPECT_EQ(refusal("embedding", {f32({50, 8}), rows}), "accepted");
  const ValueId wide = append("to_integer", {rows}, {{"dtype", std::string("int64")}})[0];
  EXPECT_EQ(refusal("hash_bucket", {wide}, {{"buckets", one(9)}}), "accepted");
  EXPECT_EQ(refusal("softmax", {rows}), "softmax: x is int32 [6, 4]; it must be floating");
  EXPECT_NE(refusal("to_integer", {x}, {{"dtype", std::string("int16")}}).find("int32"), std::string::npos);
}

TEST_F(Infer, TheLossesCheckTheirTargets) {
  EXPECT_EQ(refusal("cross_entropy", {f32({2, 5, 50}), i32({2, 4})}),
            "cross_entropy: target is [2, 4]; with x [2, 5, 50] it must be [2, 5]");
  EXPECT_EQ(refusal("cross_entropy", {f32({2, 50}), i32({2})}, {{"smoothing", Attributes::floats({1.5})}}),
            "cross_entropy: `smoothing` is 1.5; it must be a number of 0 to 1");
  EXPECT_EQ(refusal("cross_entropy", {f32({2, 50}), i32({2})}, {{"smoothing", Attributes::floats({1})}}), "accepted");
  EXPECT_EQ(refusal("linear_cross_entropy", {f32({2, 8}), f32({50, 8}), i32({2})}),
            "linear_cross_entropy: the last dimension of x [2, 8] is 8, but w [50, 8] takes 50");
  EXPECT_EQ(shape(append("linear_cross_entropy", {f32({2, 8}), f32({50, 8}), i32({2})}, {{"transposed", one(1)}})[0]),
            Shape{2});
}

TEST_F(Infer, ShapeOpsCheckTheirAttributes) {
  const ValueId x = f32({2, 3, 4}, {"batch", "seq", "ff"});
  EXPECT_EQ(refusal("reshape", {x}, {{"shape", Attributes::ints({5, 5})}}),
            "reshape: [2, 3, 4] has 24 elements and [5, 5] has 25");
  EXPECT_EQ(refusal("transpose", {x}, {{"permutation", Attributes::ints({0, 1})}}),
            "transpose: `permutation` [0, 1] has 2 entries, but the input [2, 3, 4] has 3 dimensions");
  EXPECT_EQ(refusal("transpose", {x}, {{"permutation", Attributes::ints({0, 0, 1})}}),
            "transpose: dimension 0 stands twice in `permutation` [0, 0, 1]");
  EXPECT_EQ(refusal("slice", {x}, {{"dim", one(1)}, {"start", one(2)}, {"length", one(2)}}),
            "slice: 2 from 2 of dimension 1 reaches outside [2, 3, 4]");
  EXPECT_EQ(refusal("concat", {x, f32({2, 3, 5})}, {{"dim", one(0)}}),
            "concat along dimension 0: dimension 2 is 4 in the first input [2, 3, 4] and 5 in input 1 [2, 3, 5]");
  EXPECT_EQ(refusal("pad", {x}, {{"dim", one(0)}, {"before", one(-1)}, {"after", one(0)}}),
            "pad: `before` is -1 and `after` is 0; neither may be negative");
  EXPECT_EQ(refusal("top_k", {x}, {{"k", one(5)}}), "top_k: `k` is 5; the last dimension of [2, 3, 4] allows 1 to 4");
  EXPECT_EQ(axes(append("reshape", {x}, {{"shape", Attributes::ints({6, 1, 4})}})[0]), (Names{"batch", "", "ff"}));
  EXPECT_EQ(axes(append("transpose", {x}, {{"permutation", Attributes::ints({2, 0, 1})}})[0]),
            (Names{"ff", "batch", "seq"}));
}

TEST_F(Infer, ShapesThatNoMachineHoldsAreRefused) {
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(pointwise_refusal({f32({1, 1})}, {{"shape", Attributes::ints({huge, 4})}}),
            "pointwise x0: [4611686018427387904, 4] has more elements than can be counted");
  const std::int64_t most = std::int64_t{1} << 56;
  EXPECT_EQ(pointwise_refusal({f32({1, 1})}, {{"shape", Attributes::ints({most, 1})}}), "accepted");
  EXPECT_EQ(pointwise_refusal({f32({1, 1})}, {{"shape", Attributes::ints({most, 2})}}),
            "pointwise x0: [72057594037927936, 2] has more elements than can be counted");
  EXPECT_TRUE(graph_.input("most", {BALEEN_F32, {most}, {}}));
  const auto more = graph_.input("more", {BALEEN_F32, {most, 2}, {}});
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().message, "input `more`: [72057594037927936, 2] has more elements than can be counted");
  EXPECT_EQ(refusal("reshape", {f32({4})}, {{"shape", Attributes::ints({-2, -2})}}),
            "reshape: [-2, -2] has a negative extent");
  EXPECT_NE(refusal("pad", {f32({4})}, {{"dim", one(0)}, {"before", one(huge)}, {"after", one(huge)}}), "accepted");
  EXPECT_NE(refusal("slice", {f32({4})}, {{"dim", one(0)}, {"start", one(huge)}, {"length", one(huge)}}), "accepted");
}

TEST_F(Infer, UnknownAndMistypedAttributesAreRefused) {
  const ValueId x = f32({2, 3});
  EXPECT_EQ(refusal("softmax", {x}, {{"dim", one(1)}}), "softmax: unknown attribute `dim`; there are none");
  EXPECT_EQ(refusal("pad", {x}, {{"dims", one(1)}}), "pad: unknown attribute `dims`; did you mean `dim`?");
  EXPECT_EQ(refusal("reduce", {x}, {{"kind", one(1)}, {"dims", one(0)}}),
            "reduce: attribute `kind` must be one of sum, max");
  EXPECT_EQ(refusal("permute", {x}, {{"axis", one(0)}}), "permute: unknown attribute `axis`; it has axes, shift");
  EXPECT_EQ(refusal("from_local", {x}, {{"shape", one(1)}, {"layout", one(0)}}),
            "from_local: attribute `layout` must be a text");
  EXPECT_EQ(refusal("permute", {x}, {{"axes", one(0)}}), "permute: attribute `shift` is missing; it is an integer");
}

TEST_F(Infer, SourcesCannotBeAppended) {
  EXPECT_EQ(refusal("parameter", {}), "parameter: a source is declared with its name and type, not appended");
}

TEST_F(Infer, TheLayerIsNamedInTheMessage) {
  graph_.context().name = "blocks.3.attention.qkv";
  graph_.context().where = "train.lua:12";
  const auto made = graph_.append("softmax", {f32({})});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().text(), "train.lua:12: blocks.3.attention.qkv: softmax: x [] must have at least 1 dimension");
}

/// An attribute of a random type and a small random content.
Attribute random_attribute(std::mt19937_64& rng) {
  auto number = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng); };
  switch (number(0, 3)) {
    case 0: {
      std::vector<std::int64_t> list(static_cast<std::size_t>(number(0, 4)));
      for (auto& x : list) x = number(-2, 5);
      return list;
    }
    case 1: return std::vector<double>(static_cast<std::size_t>(number(0, 2)), number(-2, 2) * 0.5);
    case 2: {
      const char* texts[] = {"sum", "max", "layer", "rms", "ab,bc->ac", "a,b->", ",->", "abcd,cdef->abef"};
      return std::string(texts[number(0, 7)]);
    }
    default: {
      Expression e;
      for (int i = number(0, 4); i > 0; --i)
        e.code.push_back({static_cast<std::uint32_t>(number(0, 100)), static_cast<std::uint32_t>(number(0, 3)),
                          static_cast<std::uint32_t>(number(0, 3)), static_cast<std::uint32_t>(number(0, 3)), 1});
      return e;
    }
  }
}

/// Changes one thing about operands or attributes that fit.
void spoil(std::vector<ValueType>& inputs, Attributes& attributes, std::mt19937_64& rng) {
  auto number = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng); };
  ValueType* one =
      inputs.empty() ? nullptr : &inputs[static_cast<std::size_t>(number(0, static_cast<int>(inputs.size()) - 1))];
  std::vector<std::string> names{"extra"};
  for (const auto& [name, attribute] : attributes) names.push_back(name);
  const std::string name = names[static_cast<std::size_t>(number(0, static_cast<int>(names.size()) - 1))];
  switch (number(0, 7)) {
    case 0: return attributes.erase(name);
    case 1:
    case 2: return attributes.set(name, random_attribute(rng));
    case 3: return inputs.push_back({BALEEN_F64, {2, 2}, {}});
    default: break;
  }
  if (!one) return;
  switch (number(0, 3)) {
    case 0: one->dtype = BALEEN_I32; break;
    case 1: one->shape.push_back(2); break;
    case 2:
      if (!one->shape.empty()) one->shape.pop_back();
      break;
    default:
      if (!one->shape.empty())
        one->shape[static_cast<std::size_t>(number(0, static_cast<int>(one->shape.size()) - 1))] = number(0, 5);
  }
}

TEST(InferFuzz, WhatNearlyFitsNeverMakesARuleThrow) {
  std::mt19937_64 rng(20);
  std::size_t accepted = 0, refused = 0;
  for (const test::OpCase& example : test::op_cases()) {
    const test::BuiltCase built(example, 5);
    SCOPED_TRACE(example.name);
    for (int round = 0; round < 300; ++round) {
      Attributes attributes = built.op.attributes;
      std::vector<ValueType> inputs;
      for (ValueId id : built.op.inputs) inputs.push_back(built.graph.type(id));
      for (int i = 0; i <= round % 3; ++i) spoil(inputs, attributes, rng);
      ASSERT_NO_THROW({
        auto types = built.op.kind->infer({attributes, inputs});
        ++(types ? accepted : refused);
        EXPECT_TRUE(types || types.error().message.find(built.op.kind->name) == 0) << types.error().message;
      });
    }
  }
  EXPECT_GT(accepted, 500u);
  EXPECT_GT(refused, 5000u);
}

TEST(OpCost, CountsTheProductsOfAMatmulAndOfCausalAttention) {
  Graph graph(&test::builtin_ops());
  const ValueId a = *graph.input("a", {BALEEN_F32, {2, 3, 5}, {}}), b = *graph.input("b", {BALEEN_F32, {5, 7}, {}});
  const Op& matmul = *graph.producer(*graph.append1("matmul", {a, b}, {{"spec", "bsd,df->bsf"}}));
  EXPECT_EQ(matmul.kind->cost(graph, matmul).flops, 2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(matmul.kind->cost(graph, matmul).bytes, 4 * (30 + 35 + 42));
  const ValueId q = *graph.input("q", {BALEEN_F32, {1, 4, 2, 8}, {}});
  for (const auto& [causal, pairs] : {std::pair<std::int64_t, int>{0, 16}, {1, 10}}) {
    const auto made = *graph.append("attention", {q, q, q},
                                    {{"causal", Attributes::ints({causal})}, {"scale", Attributes::floats({1})}});
    const Op& attention = *graph.producer(made[0]);
    EXPECT_EQ(attention.kind->cost(graph, attention).flops, 4 * pairs * 2 * 8);
  }
}

}  // namespace
}  // namespace baleen
