#include "sketch_graph.hpp"

#include <numeric>
#include <stdexcept>

#include "sketch_backward.hpp"

namespace baleen::test {
namespace {

using Letters = std::vector<std::string>;

/// Builds the forward graph.
class Forward {
 public:
  Forward(SketchGraph& sketch, const SketchModel& model) : s_(sketch), m_(model) {}

  ValueId run() {
    s_.ids = source("ids", {m_.batch, m_.sequence}, "bs", BALEEN_I32);
    s_.labels = source("labels", {m_.batch, m_.sequence}, "bs", BALEEN_I32);
    const ValueId table = parameter("embed", {m_.vocabulary, m_.hidden}, "vh");
    ValueId h = named("embed_out", one({"embedding", {table, s_.ids}, {"vh", "bs"}, {"bsh"}, {{0}}}));
    const ValueId positions = parameter("pos", {m_.sequence, m_.hidden}, "sh");
    h = named("h", one({"add", {h, positions}, {"bsh", "sh"}, {"bsh"}, {{0, 1}}}));
    if (m_.dropout) h = named("h", dropout(h));
    for (std::int64_t l = 0; l < m_.layers; ++l) h = block(h, "l" + std::to_string(l));
    h = norm(h, "nf");
    const ValueId logits = m_.tied ? matmul(h, table, "bsh", "vh", "bsv")
                                   : matmul(h, parameter("head", {m_.hidden, m_.vocabulary}, "hv"), "bsh", "hv", "bsv");
    return all({"ce", {logits, s_.labels}, {"bsv", "bs"}, {"", "bs"}, {}, "", "v:bs:3"})[0];
  }

 private:
  std::vector<ValueId> all(const SketchOp& op) { return append(s_.graph, op); }
  ValueId one(const SketchOp& op) { return all(op)[0]; }

  static std::vector<std::string> axes(const std::string& letters) {
    std::vector<std::string> names;
    for (char c : letters) names.emplace_back(1, c);
    return names;
  }
  ValueId source(const std::string& name, const Shape& shape, const std::string& letters, baleen_dtype_t dtype) {
    return *s_.graph.input(name, {dtype, shape, axes(letters)});
  }
  ValueId parameter(const std::string& name, const Shape& shape, const std::string& letters) {
    s_.parameters.push_back({name, *s_.graph.parameter(name, {BALEEN_F32, shape, axes(letters)}), kNone, {}});
    return s_.parameters.back().value;
  }
  ValueId named(const std::string& name, ValueId value) {
    s_.activations.emplace_back(name, value);
    return value;
  }

  ValueId matmul(ValueId x, ValueId w, const std::string& lx, const std::string& lw, const std::string& ly) {
    const ValueId y = one({"mm", {x, w}, {lx, lw}, {ly}, {{0}, {1}}});
    s_.matmuls.push_back({lx, lw, ly, {s_.graph.value(y).producer}});
    return y;
  }
  ValueId biased(ValueId y, const std::string& ly, const std::string& name, const Shape& shape, const std::string& lb) {
    if (!m_.bias) return y;
    return one({"add", {y, parameter(name, shape, lb)}, {ly, lb}, {ly}, {{0, 1}}});
  }
  ValueId dropout(ValueId x) { return one({"dropout", {x}, {"bsh"}, {"bsh"}, {{0}}}); }
  ValueId add(ValueId a, ValueId b) { return one({"add", {a, b}, {"bsh", "bsh"}, {"bsh"}, {{0, 1}}}); }
  ValueId norm(ValueId x, const std::string& name) {
    const ValueId gamma = parameter(name + ".g", {m_.hidden}, "h"), beta = parameter(name + ".b", {m_.hidden}, "h");
    return one({"norm", {x, gamma, beta}, {"bsh", "h", "h"}, {"bsh"}, {}, "", "h:bs:2"});
  }

  std::vector<ValueId> projections(ValueId x, const std::string& l) {
    const std::int64_t width = m_.hidden / m_.heads;
    if (!m_.separate_qkv) {
      ValueId y = matmul(x, parameter(l + ".wqkv", {m_.hidden, 3, m_.heads, width}, "hcad"), "bsh", "hcad", "bscad");
      y = biased(y, "bscad", l + ".bqkv", {3, m_.heads, width}, "cad");
      return all({"split3", {y}, {"bscad"}, {"bsad", "bsad", "bsad"}, {{0}}, "c"});
    }
    std::vector<ValueId> result;
    for (const char* part : {"q", "k", "v"}) {
      const ValueId y =
          matmul(x, parameter(l + ".w" + part, {m_.hidden, m_.heads, width}, "had"), "bsh", "had", "bsad");
      result.push_back(biased(y, "bsad", l + ".b" + part, {m_.heads, width}, "ad"));
    }
    return result;
  }

  /// Its output bias, if any, is added by `leave`, after the reduction.
  ValueId attention(ValueId x, const std::string& l) {
    const auto qkv = projections(x, l);
    const ValueId o = one({"attn", qkv, {"bsad", "btad", "btad"}, {"bsad"}, {}, "td"});
    return matmul(o, parameter(l + ".wo", {m_.heads, m_.hidden / m_.heads, m_.hidden}, "adh"), "bsad", "adh", "bsh");
  }
  ValueId mlp(ValueId x, const std::string& l) {
    if (m_.experts > 0) return experts(x, l);
    const std::int64_t ff = 4 * m_.hidden;
    ValueId y = matmul(x, parameter(l + ".w1", {m_.hidden, ff}, "hf"), "bsh", "hf", "bsf");
    y = biased(y, "bsf", l + ".b1", {ff}, "f");
    y = one({"gelu", {y}, {"bsf"}, {"bsf"}});
    return matmul(y, parameter(l + ".w2", {ff, m_.hidden}, "fh"), "bsf", "fh", "bsh");
  }
  ValueId experts(ValueId x, const std::string& l) {
    const std::int64_t e = m_.experts, ff = 4 * m_.hidden;
    const auto share = static_cast<double>(m_.sequence * m_.top_k) / static_cast<double>(e) * m_.capacity;
    const std::int64_t capacity = std::max<std::int64_t>(1, static_cast<std::int64_t>(share));
    const ValueId scores = matmul(x, parameter(l + ".router", {m_.hidden, e}, "he"), "bsh", "he", "bse");
    const ValueId gates = one({"gate", {scores}, {"bse"}, {"bsec"}, {}, "sec", "", "c", {capacity}});
    const ValueId tokens = one({"dispatch", {x, gates}, {"bsh", "bsec"}, {"ebch"}, {{0}}, "c"});
    const ValueId w1 = parameter(l + ".ew1", {e, m_.hidden, ff}, "ehf"),
                  w2 = parameter(l + ".ew2", {e, ff, m_.hidden}, "efh");
    ValueId y = matmul(tokens, w1, "ebch", "ehf", "ebcf");
    y = matmul(one({"gelu", {y}, {"ebcf"}, {"ebcf"}}), w2, "ebcf", "efh", "ebch");
    return one({"combine", {y, gates}, {"ebch", "bsec"}, {"bsh"}, {{0}}, "c"});
  }

  ValueId leave(ValueId y, const std::string& bias) {
    y = bias.empty() ? y : biased(y, "bsh", bias, {m_.hidden}, "h");
    return m_.dropout ? dropout(y) : y;
  }
  ValueId block(ValueId h, const std::string& l) {
    const std::string after_mlp = m_.experts > 0 ? "" : l + ".b2";
    if (m_.parallel_block) {
      const ValueId n = norm(h, l + ".n1"), y = attention(n, l), z = mlp(n, l);
      return named("h", add(h, leave(leave(add(y, z), l + ".bo"), after_mlp)));
    }
    h = named("h", add(h, leave(attention(norm(h, l + ".n1"), l), l + ".bo")));
    return named("h", add(h, leave(mlp(norm(h, l + ".n2"), l), after_mlp)));
  }

  SketchGraph& s_;
  const SketchModel& m_;
};

/// Clipping by the global norm, then Adam or momentum.
class Update {
 public:
  Update(SketchGraph& sketch, const SketchModel& model) : s_(sketch), g_(sketch.graph), m_(model) {
    g_.context() = {Phase::update, kNone, "", ""};
  }

  void run() {
    const ValueId scale = m_.clip ? clipping() : kNone;
    for (SketchParameter& p : s_.parameters) {
      const Value value = g_.value(p.value);
      const std::string l = letters(value.rank());
      auto state = [&](const std::string& name) {
        p.states.push_back(*g_.state(name + "." + p.name, {BALEEN_F32, value.shape, {}}));
        return p.states.back();
      };
      const ValueId gradient = m_.clip ? one({"mul", {p.gradient, scale}, {l, ""}, {l}, {{0}, {1}}}) : p.gradient;
      const ValueId master = state("master"), m = state("m");
      if (m_.adam) {
        const ValueId v = state("v");
        const auto made = append(g_, {"adam", {gradient, m, v, master}, {l, l, l, l}, {l, l, l}});
        assign({{m, made[0]}, {v, made[1]}, {p.value, made[2]}});
      } else {
        const ValueId m1 = one({"sgd_m", {m, gradient}, {l, l}, {l}, {{0, 1}}});
        assign({{m, m1}, {p.value, one({"sgd_w", {master, m1}, {l, l}, {l}, {{0, 1}}})}});
      }
    }
  }

 private:
  ValueId one(const SketchOp& op) { return append(g_, op)[0]; }
  static std::string letters(std::size_t rank) { return std::string("zyxwutrqp").substr(0, rank); }

  ValueId clipping() {
    std::vector<ValueId> squares;
    std::vector<std::uint32_t> every;
    for (const SketchParameter& p : s_.parameters) {
      every.push_back(static_cast<std::uint32_t>(squares.size()));
      squares.push_back(one({"sumsq", {p.gradient}, {letters(g_.value(p.gradient).rank())}, {""}}));
    }
    const ValueId sum = one({"acc", squares, std::vector<std::string>(squares.size()), {""}, {every}});
    return one({"pw", {sum}, {""}, {""}});
  }
  void assign(const std::vector<std::pair<ValueId, ValueId>>& list) {
    for (const auto& [target, value] : list)
      if (auto status = g_.assign(target, value); !status) throw std::runtime_error(status.error().text());
  }

  SketchGraph& s_;
  Graph& g_;
  const SketchModel& m_;
};

}  // namespace

SketchGraph::SketchGraph(const SketchModel& model) {
  const ValueId loss = Forward(*this, model).run();
  sketch_backward(*this, loss);
  Update(*this, model).run();
}

}  // namespace baleen::test
