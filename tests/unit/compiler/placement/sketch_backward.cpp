#include "sketch_backward.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace baleen::test {
namespace {

using Letters = std::vector<std::string>;

Letters letters(const Op& op, const char* side) {
  Letters list;
  std::istringstream stream(op.attributes.text(side));
  for (std::string part; std::getline(stream, part, ',');) list.push_back(part);
  return list;
}

class Backward {
 public:
  explicit Backward(SketchGraph& sketch) : s_(sketch), g_(sketch.graph) {}

  void run(ValueId loss) {
    const std::vector<OpId> forward = g_.ops();
    need(forward);
    s_.seed = *g_.input("dloss", {BALEEN_F32, {}, {}});
    terms_[loss] = {s_.seed};
    for (auto it = forward.rbegin(); it != forward.rend(); ++it) visit(*it);
    for (SketchParameter& p : s_.parameters) p.gradient = total(p.value);
  }

 private:
  void need(const std::vector<OpId>& forward) {
    needed_.assign(g_.value_count(), false);
    for (const SketchParameter& p : s_.parameters) needed_[p.value] = true;
    for (OpId id : forward)
      for (ValueId v : g_.op(id).inputs)
        if (needed_[v])
          for (ValueId y : g_.op(id).outputs) needed_[y] = true;
  }

  /// One n-ary sum of all contributions.
  ValueId total(ValueId v) {
    auto& terms = terms_[v];
    if (terms.size() < 2) return terms.empty() ? kNone : terms[0];
    const std::string l = std::string("zyxwutrqp").substr(0, g_.value(v).rank());
    std::vector<std::uint32_t> every;
    for (std::uint32_t i = 0; i < terms.size(); ++i) every.push_back(i);
    g_.context() = {Phase::backward, kNone, "", ""};
    const ValueId sum = append(g_, {"acc", terms, Letters(terms.size(), l), {l}, {every}})[0];
    terms = {sum};
    return sum;
  }

  std::vector<ValueId> all(const SketchOp& op) {
    g_.context() = {Phase::backward, forward_op_, "", ""};
    return append(g_, op);
  }
  ValueId one(const SketchOp& op) { return all(op)[0]; }

  void visit(OpId id) {
    const Op op = g_.op(id);
    if (op.inputs.empty()) return;
    std::vector<ValueId> d;
    bool flows = false;
    for (ValueId y : op.outputs) {
      d.push_back(total(y));
      flows |= d.back() != kNone;
    }
    if (!flows) return;
    forward_op_ = id;
    const auto gradients = gradient(op, d, letters(op, "in"), letters(op, "out"));
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (gradients[i] != kNone) terms_[op.inputs[i]].push_back(gradients[i]);
  }

  std::vector<ValueId> gradient(const Op& op, const std::vector<ValueId>& d, const Letters& in, const Letters& out) {
    const std::string kind = op.kind->name.substr(7);
    const auto& x = op.inputs;
    if (kind == "mm") return matmul(op, d[0], in, out[0]);
    if (kind == "add") return add(op, d[0], in, out[0]);
    if (kind == "gelu") return {one({"gelu_bwd", {x[0], d[0]}, {in[0], in[0]}, {in[0]}, {{1}}})};
    if (kind == "dropout") return {one({"dropout", {d[0]}, {in[0]}, {in[0]}, {{0}}})};
    if (kind == "norm")
      return all({"norm_bwd", {x[0], x[1], d[0]}, {in[0], in[1], in[0]}, {in[0], in[1], in[1]}, {{2}}, "", "h:bs:2"});
    if (kind == "attn")
      return all(
          {"attn_bwd", {x[0], x[1], x[2], op.outputs[0], d[0]}, {in[0], in[1], in[2], in[0], in[0]}, in, {}, "td"});
    if (kind == "split3") return {one({"stack3", d, out, {in[0]}, {{0, 1, 2}}, "c", "", "c", {3}})};
    if (kind == "embedding")
      return {one(
          {"embedding_bwd", {x[1], d[0]}, {in[1], out[0]}, {in[0]}, {{1}}, "", "", "v", {g_.value(x[0]).shape[0]}})};
    if (kind == "ce")
      return {one({"ce_bwd", {x[0], x[1], op.outputs[1], d[0]}, {in[0], in[1], out[1], ""}, {in[0]}, {{3}}})};
    return of_experts(kind, op, d[0], in, out[0]);
  }

  std::vector<ValueId> of_experts(const std::string& kind, const Op& op, ValueId d, const Letters& in,
                                  const std::string& out) {
    const auto& x = op.inputs;
    if (kind == "gate") return {one({"gate_bwd", {x[0], d}, {in[0], out}, {in[0]}, {{1}}, "sec"})};
    if (kind == "dispatch") return {one({"dispatch_bwd", {d, x[1]}, {out, in[1]}, {in[0]}, {{0}}, "c"})};
    if (kind == "combine")
      return {one({"dispatch", {d, x[1]}, {out, in[1]}, {in[0]}, {{0}}, "c"}),
              one({"combine_dg", {d, x[0]}, {out, in[0]}, {in[1]}, {{0}}, "c"})};
    throw std::logic_error("no gradient of " + kind);
  }

  std::vector<ValueId> matmul(const Op& op, ValueId d, const Letters& in, const std::string& out) {
    std::vector<ValueId> result{kNone, kNone};
    SketchMatmul& all_of =
        *std::find_if(s_.matmuls.begin(), s_.matmuls.end(), [&](const SketchMatmul& m) { return m.ops[0] == op.id; });
    if (needed_[op.inputs[0]]) result[0] = one({"mm", {d, op.inputs[1]}, {out, in[1]}, {in[0]}, {{0}, {1}}});
    if (needed_[op.inputs[1]]) result[1] = one({"mm", {op.inputs[0], d}, {in[0], out}, {in[1]}, {{0}, {1}}});
    for (ValueId v : result)
      if (v != kNone) all_of.ops.push_back(g_.value(v).producer);
    return result;
  }

  std::vector<ValueId> add(const Op& op, ValueId d, const Letters& in, const std::string& out) {
    std::vector<ValueId> result;
    for (std::size_t i = 0; i < 2; ++i) {
      if (!needed_[op.inputs[i]])
        result.push_back(kNone);
      else
        result.push_back(in[i] == out ? d : one({"reduce", {d}, {out}, {in[i]}, {{0}}}));
    }
    return result;
  }

  SketchGraph& s_;
  Graph& g_;
  std::map<ValueId, std::vector<ValueId>> terms_;
  std::vector<bool> needed_;
  OpId forward_op_ = kNone;
};

}  // namespace

void sketch_backward(SketchGraph& sketch, ValueId loss) { Backward(sketch).run(loss); }

}  // namespace baleen::test
