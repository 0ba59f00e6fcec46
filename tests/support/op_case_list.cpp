/// \file The examples of every kind.
#include <cmath>

#include "support/op_cases.hpp"

namespace baleen::test {
namespace {

using Values = std::vector<ValueId>;

Attribute one(std::int64_t value) { return Attributes::ints({value}); }

/// Operands and attributes of attention; S and T may differ, and -1 hides.
struct AttentionCase {
  bool causal = false, ids = false;
  std::int64_t groups = 2, per_group = 1, more_keys = 0;

  Values inputs(CaseBuilder& b) const {
    const std::int64_t batch = b.extent(), queries = 4, keys = queries + more_keys, width = b.extent();
    Values list{b.normal({batch, queries, groups * per_group, width}), b.normal({batch, keys, groups, width}),
                b.normal({batch, keys, groups, width})};
    if (ids) {
      list.push_back(b.ids({batch, queries}, -1, 1));
      list.push_back(b.ids({batch, keys}, -1, 1));
    }
    return list;
  }
  Attributes attributes() const { return {{"causal", one(causal)}, {"scale", Attributes::floats({0.7})}}; }

  OpId forward(CaseBuilder& b) const { return b.op("attention", inputs(b), attributes()); }
  OpId backward(CaseBuilder& b) const {
    Values list = inputs(b);
    const Values made = b.append("attention", list, attributes());
    list.insert(list.end(), {made[0], made[1], b.normal(b.graph().value(made[0]).shape)});
    return b.op("attention_grad", list, attributes());
  }
};

struct NormCase {
  std::string kind;
  bool beta;

  Values inputs(CaseBuilder& b) const {
    const Shape shape{b.extent(), b.extent(), b.extent() + 2};
    Values list{b.normal(shape), b.normal({shape.back()})};
    if (beta) list.push_back(b.normal({shape.back()}));
    return list;
  }
  Attributes attributes() const { return {{"kind", kind}, {"epsilon", Attributes::floats({1e-3})}}; }

  OpId forward(CaseBuilder& b) const { return b.op("norm", inputs(b), attributes()); }
  OpId backward(CaseBuilder& b) const {
    const Values list = inputs(b), made = b.append("norm", list, attributes());
    Values operands{list[0], list[1], b.normal(b.graph().value(list[0]).shape), made[1]};
    if (kind == "layer") operands.push_back(made[2]);
    return b.op("norm_grad", operands, {{"kind", kind}, {"bias", one(beta)}});
  }
};

/// cross_entropy, or with `depth` linear_cross_entropy.
struct LossCase {
  bool linear = false, transposed = false, ignore = false;
  double smoothing = 0;

  Values inputs(CaseBuilder& b) const {
    const Shape rows = b.shape(2);
    const std::int64_t depth = b.extent(), vocabulary = b.extent() + 2;
    const Shape x{rows[0], rows[1], linear ? depth : vocabulary};
    Values list{b.normal(x)};
    if (linear) list.push_back(b.normal(transposed ? Shape{vocabulary, depth} : Shape{depth, vocabulary}));
    list.push_back(b.ids(rows, ignore ? -1 : 0, vocabulary - 1));
    return list;
  }
  Attributes attributes() const {
    Attributes result;
    if (ignore) result.set("ignore_index", one(-1));
    if (smoothing > 0) result.set("smoothing", Attributes::floats({smoothing}));
    if (transposed) result.set("transposed", one(1));
    return result;
  }
  std::string kind() const { return linear ? "linear_cross_entropy" : "cross_entropy"; }

  OpId forward(CaseBuilder& b) const { return b.op(kind(), inputs(b), attributes()); }
  OpId backward(CaseBuilder& b) const {
    Values list = inputs(b);
    const Values made = b.append(kind(), list, attributes());
    list.insert(list.end(), {made[1], b.normal(b.graph().value(made[0]).shape)});
    return b.op(kind() + "_grad", list, attributes());
  }
  OpId both(CaseBuilder& b) const {
    Values list = inputs(b);
    list.push_back(b.normal(b.graph().value(list.back()).shape));
    return b.op(kind() + "_and_grad", list, attributes());
  }
};

OpId matmul(CaseBuilder& b, const std::string& spec, bool addend) {
  std::map<char, std::int64_t> extents;
  for (char c : spec)
    if (std::isalpha(static_cast<unsigned char>(c))) extents.try_emplace(c, b.extent());
  auto shape = [&](const std::string& part) {
    Shape result;
    for (char c : part) result.push_back(extents.at(c));
    return result;
  };
  const auto comma = spec.find(','), arrow = spec.find("->");
  Values inputs{b.normal(shape(spec.substr(0, comma))), b.normal(shape(spec.substr(comma + 1, arrow - comma - 1)))};
  if (addend) inputs.push_back(b.normal(shape(spec.substr(arrow + 2))));
  return b.op("matmul", inputs, {{"spec", spec}});
}

OpId reduce(CaseBuilder& b, const std::string& kind, std::vector<std::int64_t> dims, bool keep) {
  return b.op("reduce", {b.distinct(b.shape(3))},
              {{"kind", kind}, {"dims", Attributes::ints(std::move(dims))}, {"keep", one(keep)}});
}

OpId pointwise(CaseBuilder& b, Values inputs, Expression expression, std::vector<std::int64_t> results) {
  return b.op("pointwise", std::move(inputs),
              {{"expression", std::move(expression)}, {"results", Attributes::ints(std::move(results))}});
}

/// gelu(x + bias) * scale with a broadcast bias and a rank-0 scale.
OpId biased_gelu(CaseBuilder& b) {
  const Shape shape = b.shape(3);
  Expression e;
  const auto sum = e.binary(BALEEN_X_ADD, e.input(0), e.input(1));
  const auto y = e.binary(BALEEN_X_MUL, e.unary(BALEEN_X_GELU, sum), e.input(2));
  return pointwise(b, {b.normal(shape), b.normal({1, 1, shape[2]}), b.normal({})}, e, {y});
}

/// Two results that share inputs: x y + x and sin x.
OpId two_results(CaseBuilder& b) {
  const Shape shape = b.shape(2);
  Expression e;
  const auto x = e.input(0);
  const auto first = e.binary(BALEEN_X_ADD, e.binary(BALEEN_X_MUL, x, e.input(1)), x);
  const auto second = e.unary(BALEEN_X_SIN, x);
  return pointwise(b, {b.normal(shape), b.normal({shape[0], 1})}, e, {first, second});
}

OpId broadcast(CaseBuilder& b) {
  const Shape shape = b.shape(3);
  Expression e;
  const auto y = e.binary(BALEEN_X_MUL, e.input(0), e.constant(2));
  return b.op("pointwise", {b.normal({shape[0], 1, shape[2]})},
              {{"expression", e}, {"results", one(y)}, {"shape", Attributes::ints(shape)}});
}

OpId reshape(CaseBuilder& b, bool merge) {
  const Shape s = b.shape(3);
  const Shape split{s[0], 1, s[1], s[2]}, merged{s[0] * s[1], s[2]};
  return b.op("reshape", {b.normal(merge ? split : merged)}, {{"shape", Attributes::ints(merge ? merged : split)}});
}

OpId slice(CaseBuilder& b) {
  const Shape shape{b.extent(), b.extent() + 2, b.extent()};
  const std::int64_t start = b.integer(0, shape[1] - 1), length = b.integer(1, shape[1] - start);
  return b.op("slice", {b.normal(shape)}, {{"dim", one(1)}, {"start", one(start)}, {"length", one(length)}});
}

OpId slice_of_the_first(CaseBuilder& b) {
  return b.op("slice", {b.normal(b.shape(3))}, {{"dim", one(2)}, {"start", one(0)}, {"length", one(1)}});
}

OpId concat(CaseBuilder& b) {
  const std::int64_t rows = b.extent(), depth = b.extent();
  auto part = [&] { return b.normal({rows, b.extent(), depth}); };
  const Values inputs{part(), part(), part()};
  return b.op("concat", inputs, {{"dim", one(1)}});
}

OpId concat_of_equal_parts(CaseBuilder& b) {
  const Shape shape = b.shape(3);
  return b.op("concat", {b.normal(shape), b.normal(shape)}, {{"dim", one(0)}});
}

OpId accumulate(CaseBuilder& b) {
  const Shape shape = b.shape(2);
  const ValueId sum = b.normal(shape);
  return b.op("accumulate", {sum, b.normal(shape)});
}

OpId softmax_grad(CaseBuilder& b) {
  const Shape shape = b.shape(3);
  const Values y = b.append("softmax", {b.normal(shape)});
  return b.op("softmax_grad", {y[0], b.normal(shape)});
}

OpId embedding(CaseBuilder& b) {
  const std::int64_t rows = b.extent() + 1;
  const ValueId table = b.normal({rows, b.extent(), b.extent()});
  return b.op("embedding", {table, b.ids(b.shape(2), 0, rows - 1)});
}

OpId embedding_grad(CaseBuilder& b) {
  const std::int64_t rows = b.extent() + 1;
  const Shape ids = b.shape(2);
  const ValueId positions = b.ids(ids, 0, rows - 1);
  return b.op("embedding_grad", {positions, b.normal({ids[0], ids[1], b.extent()})}, {{"rows", one(rows)}});
}

OpId top_k(CaseBuilder& b) {
  const Shape shape{b.extent(), b.extent() + 2};
  return b.op("top_k", {b.distinct(shape)}, {{"k", one(b.integer(1, shape[1]))}});
}

template <class Case>
void add_pair(std::vector<OpCase>& list, const std::string& kind, const std::string& name, const Case& example) {
  list.push_back({kind + " " + name, [example](CaseBuilder& b) { return example.forward(b); }});
  list.push_back({kind + "_grad " + name, [example](CaseBuilder& b) { return example.backward(b); }});
}

void add_contractions(std::vector<OpCase>& list) {
  for (const char* spec : {"mk,kn->mn", "bsd,dhe->bshe", "bsgre,btge->bgrst", "ab,bc->ca", "k,k->", "m,n->nm"}) {
    const std::string text = spec;
    list.push_back({"matmul " + text, [text](CaseBuilder& b) { return matmul(b, text, false); }});
  }
  list.push_back({"matmul with an addend", [](CaseBuilder& b) { return matmul(b, "bmk,bkn->bmn", true); }});
}

void add_pointwise_and_reductions(std::vector<OpCase>& list) {
  list.insert(list.end(), {{"pointwise bias and scale", biased_gelu},
                           {"pointwise of two results", two_results},
                           {"pointwise to a shape", broadcast},
                           {"reduce sum", [](CaseBuilder& b) { return reduce(b, "sum", {1}, false); }},
                           {"reduce sum to a scalar",
                            [](CaseBuilder& b) {
                              return reduce(b, "sum", {0, 1, 2}, false);
                            }},
                           {"reduce sum kept",
                            [](CaseBuilder& b) {
                              return reduce(b, "sum", {0, 2}, true);
                            }},
                           {"reduce max",
                            [](CaseBuilder& b) {
                              return reduce(b, "max", {0, 2}, false);
                            }},
                           {"reduce max kept", [](CaseBuilder& b) { return reduce(b, "max", {1}, true); }},
                           {"softmax", [](CaseBuilder& b) { return b.op("softmax", {b.normal(b.shape(3))}); }},
                           {"softmax_grad", softmax_grad}});
}

void add_lookups_and_scans(std::vector<OpCase>& list) {
  list.insert(list.end(),
              {{"embedding", embedding},
               {"embedding_grad", embedding_grad},
               {"top_k", top_k},
               {"cumsum",
                [](CaseBuilder& b) {
                  return b.op("cumsum", {b.normal(b.shape(3))}, {{"dim", one(1)}});
                }},
               {"cumsum from the end",
                [](CaseBuilder& b) {
                  return b.op("cumsum", {b.normal(b.shape(2))}, {{"dim", one(0)}, {"reverse", one(1)}});
                }},
               {"hash_bucket",
                [](CaseBuilder& b) {
                  // Doubles hold 53 bits; all 64 are in tests/parity/ids.
                  const std::int64_t most = std::int64_t{1} << 53;
                  return b.op("hash_bucket", {b.ids(b.shape(3), -most, most, BALEEN_I64)}, {{"buckets", one(1000)}});
                }},
               {"hash_bucket of int32",
                [](CaseBuilder& b) {
                  return b.op("hash_bucket", {b.ids(b.shape(2), -100, 100)}, {{"buckets", one(7)}, {"seed", one(-3)}});
                }},
               {"to_integer", [](CaseBuilder& b) { return b.op("to_integer", {b.distinct(b.shape(3))}); }},
               {"to_integer of ids", [](CaseBuilder& b) {
                  return b.op("to_integer", {b.ids(b.shape(2), -100, 100)}, {{"dtype", std::string("int64")}});
                }}});
}

void add_shapes(std::vector<OpCase>& list) {
  list.insert(list.end(),
              {{"reshape to fewer dimensions", [](CaseBuilder& b) { return reshape(b, true); }},
               {"reshape to more dimensions", [](CaseBuilder& b) { return reshape(b, false); }},
               {"reshape of blocks that one cut divides",
                [](CaseBuilder& b) {
                  return b.op("reshape", {b.normal({6, 4})}, {{"shape", Attributes::ints({4, 6})}});
                }},
               {"transpose",
                [](CaseBuilder& b) {
                  return b.op("transpose", {b.normal(b.shape(3))}, {{"permutation", Attributes::ints({2, 0, 1})}});
                }},
               {"slice", slice},
               {"slice of the first", slice_of_the_first},
               {"concat", concat},
               {"concat of equal parts", concat_of_equal_parts},
               {"pad", [](CaseBuilder& b) {
                  return b.op("pad", {b.normal(b.shape(3))}, {{"dim", one(1)}, {"before", one(2)}, {"after", one(1)}});
                }}});
}

void add_orders_and_copies(std::vector<OpCase>& list) {
  list.insert(list.end(),
              {{"axis_index",
                [](CaseBuilder& b) {
                  return b.op("axis_index", {}, {{"axes", one(0)}});
                }},
               {"after",
                [](CaseBuilder& b) {
                  return b.op("after", {b.normal({4, 3}), b.normal({4, 2, 5})});
                }},
               {"pick",
                [](CaseBuilder& b) {
                  const Shape shape = b.shape(2);
                  return b.op("pick", {b.normal(shape), b.normal(shape)}, {{"axes", one(0)}});
                }},
               {"copy", [](CaseBuilder& b) { return b.op("copy", {b.normal(b.shape(2))}); }},
               {"accumulate", accumulate},
               {"accumulate_micro", [](CaseBuilder& b) { return b.op("accumulate_micro", {b.normal(b.shape(2))}); }}});
}

std::vector<OpCase> make_cases() {
  std::vector<OpCase> list;
  add_contractions(list);
  add_pointwise_and_reductions(list);
  add_lookups_and_scans(list);
  add_shapes(list);
  add_orders_and_copies(list);
  add_pair(list, "norm", "layer with beta", NormCase{"layer", true});
  add_pair(list, "norm", "layer without beta", NormCase{"layer", false});
  add_pair(list, "norm", "rms", NormCase{"rms", false});
  add_pair(list, "attention", "full", AttentionCase{});
  add_pair(list, "attention", "causal", AttentionCase{.causal = true});
  add_pair(list, "attention", "of grouped heads", AttentionCase{.per_group = 2});
  add_pair(list, "attention", "of documents", AttentionCase{.causal = true, .ids = true, .per_group = 2});
  add_pair(list, "attention", "causal with more keys", AttentionCase{.causal = true, .more_keys = 2});
  add_pair(list, "attention", "causal with fewer keys", AttentionCase{.causal = true, .more_keys = -2});
  add_pair(list, "cross_entropy", "plain", LossCase{});
  add_pair(list, "cross_entropy", "ignoring", LossCase{.ignore = true});
  add_pair(list, "cross_entropy", "smoothed", LossCase{.ignore = true, .smoothing = 0.2});
  add_pair(list, "linear_cross_entropy", "plain", LossCase{.linear = true});
  add_pair(list, "linear_cross_entropy", "transposed",
           LossCase{.linear = true, .transposed = true, .ignore = true, .smoothing = 0.1});
  for (const bool turned : {false, true})
    list.push_back({std::string("linear_cross_entropy_and_grad ") + (turned ? "transposed" : "plain"),
                    [example = LossCase{.linear = true, .transposed = turned, .ignore = true, .smoothing = 0.1}](
                        CaseBuilder& b) { return example.both(b); }});
  return list;
}

}  // namespace

const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> cases = make_cases();
  return cases;
}

}  // namespace baleen::test
