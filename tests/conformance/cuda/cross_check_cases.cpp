/// \file Shapes are awkward and small enough for an emulated device.
#include "conformance/cuda/cross_check_cases.hpp"

#include "baleen/expression.h"

namespace baleen::conformance {
namespace {

/// Adds cases; inputs are drawn anew.
class Maker {
 public:
  Maker(std::mt19937_64& random, const Compute& reference) : random_(random), reference_(reference) {}

  std::vector<CrossCase> run() {
    matmul();
    pointwise();
    rows();
    attention();
    embedding();
    cross_entropy();
    moves();
    return std::move(cases_);
  }

 private:
  Tensor draw(Shape shape) { return random_tensor(random_, std::move(shape)); }
  Tensor ids(Shape shape, int low, int high) { return random_ids(random_, std::move(shape), low, high); }
  void add(const std::string& name, const OpSpec& op, std::vector<Tensor> inputs, std::vector<Tensor> outputs) {
    cases_.push_back({name, op, std::move(inputs), std::move(outputs)});
  }

  void matmul() {
    const auto one = [&](const char* spec, const Shape& a, const Shape& b, const Shape& y) {
      add(std::string("matmul ") + spec, OpSpec("matmul").text("spec", spec), {draw(a), draw(b)}, {zeros(y)});
      add(std::string("matmul added ") + spec, OpSpec("matmul").text("spec", spec), {draw(a), draw(b), draw(y)},
          {zeros(y)});
    };
    one("bsd,dche->bsche", {2, 37, 48}, {48, 3, 2, 16}, {2, 37, 3, 2, 16});
    one("bsd,bsche->dche", {2, 37, 48}, {2, 37, 3, 2, 16}, {48, 3, 2, 16});
    one("bshe,bthe->bhst", {2, 33, 2, 16}, {2, 29, 2, 16}, {2, 2, 33, 29});
    one("bsf,df->bsd", {2, 37, 65}, {40, 65}, {2, 37, 40});
    one("akb,kbn->an", {24, 4, 8}, {4, 8, 16}, {24, 16});
    one("abk,bak->ab", {8, 16, 8}, {16, 8, 8}, {8, 16});
  }

  void pointwise() {
    const Shape shape{6, 7, 32};
    add("cast", OpSpec("pointwise").expression({{BALEEN_X_INPUT, 0, 0, 0, 0}}, {0}), {draw(shape)}, {zeros(shape)});
    add("round",
        OpSpec("pointwise")
            .expression({{BALEEN_X_INPUT, 0, 0, 0, 0},
                         {BALEEN_X_ROUND, 0, BALEEN_BF16, 0, 0},
                         {BALEEN_X_ROUND, 0, BALEEN_F16, 0, 0},
                         {BALEEN_X_SUB, 0, 1, 0, 0},
                         {BALEEN_X_SUB, 0, 2, 0, 0}},
                        {1, 2, 3, 4}),
        {draw(shape)}, std::vector<Tensor>(4, zeros(shape)));
    std::vector<baleen_instruction_t> code{{BALEEN_X_INPUT, 0, 0, 0, 0}};
    std::vector<std::int64_t> results;
    for (const std::uint32_t opcode :
         {BALEEN_X_EXP, BALEEN_X_SIN, BALEEN_X_TANH, BALEEN_X_ERF, BALEEN_X_SIGMOID, BALEEN_X_GELU, BALEEN_X_GELU_TANH,
          BALEEN_X_SILU, BALEEN_X_GELU_GRAD, BALEEN_X_GELU_TANH_GRAD, BALEEN_X_SILU_GRAD}) {
      code.push_back({opcode, 0, 0, 0, 0});
      results.push_back(static_cast<std::int64_t>(code.size()) - 1);
    }
    add("functions", OpSpec("pointwise").expression(code, results), {draw(shape)},
        std::vector<Tensor>(results.size(), zeros(shape)));
    add("bias and gelu",
        OpSpec("pointwise")
            .expression({{BALEEN_X_INPUT, 0, 0, 0, 0},
                         {BALEEN_X_INPUT, 1, 0, 0, 0},
                         {BALEEN_X_ADD, 0, 1, 0, 0},
                         {BALEEN_X_GELU_TANH, 2, 0, 0, 0}},
                        {2, 3}),
        {draw(shape), draw({1, 1, 32})}, {zeros(shape), zeros(shape)});
    add("random",
        OpSpec("pointwise").expression({{BALEEN_X_UNIFORM, 11, 12, 0, 0}, {BALEEN_X_NORMAL, 13, 14, 0, 0}}, {0, 1}), {},
        {zeros(shape), zeros(shape)});
    add("accumulate", OpSpec("accumulate"), {draw(shape), draw(shape)}, {zeros(shape)});
  }

  void rows() {
    for (const bool is_max : {false, true})  // so many positions that columns are taken in packs
      add("reduce", OpSpec("reduce").integers("dims", {0}).text("kind", is_max ? "max" : "sum"), {draw({8200, 8})},
          {zeros({8})});
    for (const std::int64_t width : {130, 136}) rows(width);  // the second one in packs
    // Wider rows that the plugin cuda holds in registers, by warps and by blocks of two sizes.
    for (const std::int64_t width : {520, 776, 1032, 1600, 1800, 3000}) norms({5, 9}, width);
    norms({1, 2}, 264);  // fewer rows than a block has warps
  }
  void rows(std::int64_t elements) {
    const Shape shape{5, 9, elements}, leading{5, 9}, width{elements};
    for (const bool is_max : {false, true})
      for (const std::int64_t dim : {0, 1, 2}) {
        Shape y = shape;
        y.erase(y.begin() + dim);
        add("reduce", OpSpec("reduce").integers("dims", {dim}).text("kind", is_max ? "max" : "sum"), {draw(shape)},
            {zeros(y)});
      }
    add("softmax", OpSpec("softmax"), {draw(shape)}, {zeros(shape)});
    const Tensor y = reference_(OpSpec("softmax"), {draw(shape)}, {zeros(shape)})[0];
    add("softmax_grad", OpSpec("softmax_grad"), {y, draw(shape)}, {zeros(shape)});
    norms(leading, elements);
    Tensor chosen = zeros({5, 9, 4});
    chosen.integer = true;
    add("top_k", OpSpec("top_k").integer("k", 4), {draw(shape)}, {zeros({5, 9, 4}), chosen});
  }

  /// norm and its gradient.
  void norms(const Shape& leading, std::int64_t elements) {
    const Shape width{elements};
    Shape shape = leading;
    shape.push_back(elements);
    for (const bool layer : {true, false}) {
      const auto spec = [&](const char* kind) {
        return OpSpec(kind).text("kind", layer ? "layer" : "rms").number("epsilon", 1e-5);
      };
      std::vector<Tensor> forward{draw(shape), draw(width)}, outputs{zeros(shape), zeros(leading)};
      if (layer) forward.push_back(draw(width)), outputs.push_back(zeros(leading));
      add("norm", spec("norm"), forward, outputs);
      const auto given = reference_(spec("norm"), forward, outputs);
      std::vector<Tensor> backward{forward[0], forward[1], draw(shape), given[1]};
      std::vector<Tensor> gradients{zeros(shape), zeros(width)};
      if (layer) backward.push_back(given[2]), gradients.push_back(zeros(width));
      add("norm_grad", spec("norm_grad").integer("bias", layer), backward, gradients);
    }
  }

  void attention() {
    for (const bool causal : {false, true})
      for (const bool masked : {false, true}) {
        const Shape q{2, 70, 4, 24}, k{2, 90, 2, 24}, lse{2, 4, 70};
        const auto spec = [&](const char* kind) { return OpSpec(kind).integer("causal", causal).number("scale", 0.2); };
        std::vector<Tensor> inputs{draw(q), draw(k), draw(k)};
        if (masked) inputs.push_back(ids({2, 70}, -1, 2)), inputs.push_back(ids({2, 90}, -1, 2));
        add("attention", spec("attention"), inputs, {zeros(q), zeros(lse)});
        const auto given = reference_(spec("attention"), inputs, {zeros(q), zeros(lse)});
        inputs.insert(inputs.end(), {given[0], given[1], draw(q)});
        add("attention_grad", spec("attention_grad"), inputs, {zeros(q), zeros(k), zeros(k)});
      }
  }

  void embedding() {
    for (const std::int64_t width : {12, 16}) {  // the second one in packs
      const Shape table{50, 3, width}, positions{4, 33}, y{4, 33, 3, width};
      const Tensor numbers = ids(positions, 0, 49);
      add("embedding", OpSpec("embedding"), {draw(table), numbers}, {zeros(y)});
      add("embedding_grad", OpSpec("embedding_grad").integer("rows", 50), {numbers, draw(y)}, {zeros(table)});
    }
  }

  void cross_entropy() {
    const Shape rows{3, 11}, logits{3, 11, 65}, x{3, 11, 24};
    Tensor targets = ids(rows, 0, 64);
    targets[4] = -100;
    const auto spec = [&](const char* kind) {
      return OpSpec(kind).integer("ignore_index", -100).number("smoothing", 0.1);
    };
    const std::vector<Tensor> forward{draw(logits), targets}, outputs{zeros(rows), zeros(rows)};
    add("cross_entropy", spec("cross_entropy"), forward, outputs);
    const auto given = reference_(spec("cross_entropy"), forward, outputs);
    add("cross_entropy_grad", spec("cross_entropy_grad"), {forward[0], targets, given[1], draw(rows)}, {zeros(logits)});
    for (const bool transposed : {false, true}) {
      const Shape w = transposed ? Shape{65, 24} : Shape{24, 65};
      const auto fused = [&](const char* kind) { return spec(kind).integer("transposed", transposed); };
      const std::vector<Tensor> inputs{draw(x), draw(w), targets};
      add("linear_cross_entropy", fused("linear_cross_entropy"), inputs, outputs);
      const auto both = reference_(fused("linear_cross_entropy"), inputs, outputs);
      add("linear_cross_entropy_grad", fused("linear_cross_entropy_grad"),
          {inputs[0], inputs[1], targets, both[1], draw(rows)}, {zeros(x), zeros(w)});
      add("linear_cross_entropy_and_grad", fused("linear_cross_entropy_and_grad"),
          {inputs[0], inputs[1], targets, draw(rows)}, {zeros(rows), zeros(rows), zeros(x), zeros(w)});
    }
  }

  void moves() {
    add("transpose", OpSpec("transpose").integers("permutation", {2, 0, 1}), {draw({5, 6, 7})}, {zeros({7, 5, 6})});
    add("reshape", OpSpec("reshape").integers("shape", {10, 21}), {draw({5, 6, 7})}, {zeros({10, 21})});
    add("slice", OpSpec("slice").integer("dim", 1).integer("start", 2).integer("length", 3), {draw({5, 6, 7})},
        {zeros({5, 3, 7})});
    add("concat", OpSpec("concat").integer("dim", 1), {draw({5, 2, 7}), draw({5, 4, 7})}, {zeros({5, 6, 7})});
    add("pad", OpSpec("pad").integer("dim", 2).integer("before", 1).integer("after", 2), {draw({5, 6, 7})},
        {zeros({5, 6, 10})});
    add("copy", OpSpec("copy"), {draw({5, 6, 7})}, {zeros({5, 6, 7})});
  }

  std::mt19937_64& random_;
  const Compute& reference_;
  std::vector<CrossCase> cases_;
};

}  // namespace

std::vector<CrossCase> cross_cases(std::mt19937_64& random, const Compute& reference) {
  return Maker(random, reference).run();
}

}  // namespace baleen::conformance
