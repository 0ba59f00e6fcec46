/// \file Kinds of ops, sound and each wrong in one way, which its name says.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <utility>

#include "baleen/op_kind.hpp"

BALEEN_DESCRIPTOR("op", "planted", "1.0.0", "Apache-2.0", "Kinds that are wrong", 0, "", BALEEN_NO_OPTIONS);
BALEEN_OPS();

namespace {

using namespace baleen;
using baleen::sdk::OpKind;
using Values = Result<std::vector<baleen_value_t>>;

sdk::Value operand_of(sdk::GraphView& graph, baleen_op_t op) {
  return {graph.table(), sdk::OpNode::of(graph, op).inputs[0]};
}

/// y = x^3 in other kinds' words; `factor` times its gradient.
class Cube : public OpKind {
 public:
  explicit Cube(const char* name = "cube_sound", double factor = 1) : OpKind(name, "y = x^3"), factor_(factor) {
    operand("x", "any shape");
    result("y", "the shape and dtype of x");
  }
  Result<std::vector<sdk::ValueType>> infer(const sdk::InferInput& input) override {
    return std::vector{input.type(0)};
  }
  Values gradient(sdk::GraphView& graph, baleen_op_t op, std::span<const baleen_value_t> cotangents,
                  std::span<const std::uint8_t>) override {
    const sdk::Value x = operand_of(graph, op), dy{graph.table(), cotangents[0]};
    return std::vector{(3 * factor_ * (x * x) * dy).id()};
  }
  sdk::Iteration iteration(sdk::GraphView& graph, baleen_op_t op) override {
    const std::string letters =
        std::string("abcdefgh").substr(0, graph.value(sdk::OpNode::of(graph, op).inputs[0]).rank);
    return {{letters}, {letters}, {}};
  }
  Values expand(sdk::GraphView& graph, baleen_op_t op) override {
    const sdk::Value x = operand_of(graph, op);
    return std::vector{(x * x * x).id()};
  }

 private:
  double factor_;
};

class Steep : public Cube {
 public:
  Steep() : Cube("cube_steep", 1.01) {}
};
class Turned : public Cube {
 public:
  Turned() : Cube("cube_turned", -1) {}
};

sdk::Value running_sum(sdk::GraphView& graph, sdk::Value x, bool reverse) {
  const auto attributes = sdk::AttributeList().integer("dim", 0).integer("reverse", reverse ? 1 : 0);
  return {graph.table(), graph.append("cumsum", {x.id()}, attributes)};
}

/// Where element `i` of a tensor of the result's shape lies in `tensor`.
std::int64_t place_of(std::int64_t i, const baleen_tensor_t& y, const baleen_tensor_t& tensor) {
  std::int64_t at = 0;
  for (std::uint32_t d = y.rank; d-- > 0; i /= y.shape[d]) at += i % y.shape[d] * tensor.stride[d];
  return at;
}

template <class Number>
void add_up(const sdk::CpuCall& call) {
  const baleen_tensor_t &x = call.input(0), &y = call.output(0);
  const auto* const from = static_cast<const Number*>(call.input_at(0));
  const std::int64_t count = sdk::elements(y), row = y.shape[0] > 0 ? count / y.shape[0] : 1;
  for (std::int64_t i = 0; i < count; ++i) {
    Number sum = from[place_of(i, y, x)];
    for (std::int64_t above = i; above >= 0; above -= row) sum += from[place_of(above, y, x)];
    static_cast<Number*>(call.output_at(0))[place_of(i, y, y)] = sum;
  }
}

/// Adds up along the whole batch, and says that ranks may cut it.
class Spread : public Cube {
 public:
  Spread() : Cube("cube_spread") {}
  Values expand(sdk::GraphView& graph, baleen_op_t op) override {
    const sdk::Value x = operand_of(graph, op);
    return std::vector{(x + running_sum(graph, x, false)).id()};
  }
  Values gradient(sdk::GraphView& graph, baleen_op_t, std::span<const baleen_value_t> cotangents,
                  std::span<const std::uint8_t>) override {
    const sdk::Value dy{graph.table(), cotangents[0]};
    return std::vector{(dy + running_sum(graph, dy, true)).id()};
  }
  Status compute(const sdk::CpuCall& call) override {
    call.output(0).dtype == BALEEN_F64 ? add_up<double>(call) : add_up<float>(call);
    return {};
  }
};

template <class Number>
void cube(const sdk::CpuCall& call, Number factor) {
  const baleen_tensor_t &x = call.input(0), &y = call.output(0);
  for (std::int64_t i = 0; i < sdk::elements(y); ++i) {
    const Number a = static_cast<const Number*>(call.input_at(0))[place_of(i, y, x)];
    static_cast<Number*>(call.output_at(0))[place_of(i, y, y)] = a * a * a * factor;
  }
}

/// Its kernel is right in fp64 alone.
class Rounded : public Cube {
 public:
  Rounded() : Cube("cube_rounded") {}
  Status compute(const sdk::CpuCall& call) override {
    call.output(0).dtype == BALEEN_F64 ? cube<double>(call, 1) : cube<float>(call, 1.01F);
    return {};
  }
};

class Breaks : public Cube {
 public:
  Breaks() : Cube("cube_breaks") {}
  Result<std::vector<sdk::ValueType>> infer(const sdk::InferInput& input) override {
    std::raise(SIGSEGV);
    return std::vector{input.type(0)};
  }
};

class Hangs : public Cube {
 public:
  Hangs() : Cube("cube_hangs") {}
  Values expand(sdk::GraphView& graph, baleen_op_t op) override {
    std::this_thread::sleep_for(std::chrono::hours(1));
    return Cube::expand(graph, op);
  }
};

/// y = x^3 times an attribute, which the gradient leaves out.
class Scaled : public Cube {
 public:
  Scaled() : Cube("cube_scaled") { attribute(BALEEN_RULE_NUMBER, "scale", "1", "of the cube", 0, 100); }
  Values expand(sdk::GraphView& graph, baleen_op_t op) override {
    const sdk::Value x = operand_of(graph, op);
    return std::vector{(x * x * x * graph.op(op)->number("scale")).id()};
  }
};

/// Its gradient holds above 0 alone.
class Leaky : public Cube {
 public:
  Leaky() : Cube("cube_leaky") {}
  Values expand(sdk::GraphView& graph, baleen_op_t op) override {
    const sdk::Value x = operand_of(graph, op);
    return std::vector{select(less(x, 0.0), 0.1 * x, x).id()};
  }
  Values gradient(sdk::GraphView&, baleen_op_t, std::span<const baleen_value_t> cotangents,
                  std::span<const std::uint8_t>) override {
    return std::vector{cotangents[0]};
  }
};

/// Its shape rule gives another type from rank 3 on.
class Flat : public Cube {
 public:
  Flat() : Cube("cube_flat") {}
  Result<std::vector<sdk::ValueType>> infer(const sdk::InferInput& input) override {
    sdk::ValueType type = input.type(0);
    if (type.shape.size() >= 3) type.shape[1] *= 2;
    return std::vector{type};
  }
};

class DiesOfVectors : public Cube {
 public:
  DiesOfVectors() : Cube("cube_dies_of_vectors") {}
  Result<std::vector<sdk::ValueType>> infer(const sdk::InferInput& input) override {
    if (input.type(0).shape.size() == 1) std::abort();
    return std::vector{input.type(0)};
  }
};

class DiesOfLetters : public Cube {
 public:
  DiesOfLetters() : Cube("cube_dies_of_letters") {}
  sdk::Iteration iteration(sdk::GraphView&, baleen_op_t) override { std::abort(); }
};

/// Has a letter less than dimensions.
class LacksLetters : public Cube {
 public:
  LacksLetters() : Cube("cube_lacks_letters") {}
  sdk::Iteration iteration(sdk::GraphView& graph, baleen_op_t op) override {
    sdk::Iteration made = Cube::iteration(graph, op);
    made.inputs[0].pop_back();
    return made;
  }
};

/// Its gradient is of another dtype than what it is the gradient of.
class Narrow : public Cube {
 public:
  Narrow() : Cube("cube_narrow") {}
  Values gradient(sdk::GraphView& graph, baleen_op_t op, std::span<const baleen_value_t> cotangents,
                  std::span<const std::uint8_t> wanted) override {
    BALEEN_TRY_ASSIGN(const std::vector<baleen_value_t> made, Cube::gradient(graph, op, cotangents, wanted));
    return std::vector{sdk::cast(sdk::Value{graph.table(), made[0]}, BALEEN_BF16).id()};
  }
};

/// y = a b. Its shape rule compares the last dimensions alone.
class Loose : public OpKind {
 public:
  explicit Loose(const char* name = "product_loose") : OpKind(name, "y = a b") {
    operand("a", "any shape");
    operand("b", "the same shape");
    result("y", "the shape and dtype of a");
  }
  Result<std::vector<sdk::ValueType>> infer(const sdk::InferInput& input) override {
    const auto &a = input.type(0).shape, &b = input.type(1).shape;
    if (a.size() != b.size() || a.back() != b.back()) return invalid("the operands differ");
    return std::vector{input.type(0)};
  }
  Values gradient(sdk::GraphView& graph, baleen_op_t op, std::span<const baleen_value_t> cotangents,
                  std::span<const std::uint8_t>) override {
    const auto [a, b] = operands(graph, op);
    const sdk::Value dy{graph.table(), cotangents[0]};
    return std::vector{(dy * b).id(), (dy * a).id()};
  }
  Values expand(sdk::GraphView& graph, baleen_op_t op) override {
    const auto [a, b] = operands(graph, op);
    return std::vector{(a * b).id()};
  }

 protected:
  static std::pair<sdk::Value, sdk::Value> operands(sdk::GraphView& graph, baleen_op_t op) {
    const auto inputs = sdk::OpNode::of(graph, op).inputs;
    return {{graph.table(), inputs[0]}, {graph.table(), inputs[1]}};
  }
};

/// Has no gradient of the second operand where the first one's is not wanted.
class Both : public Loose {
 public:
  Both() : Loose("product_both") {}
  Result<std::vector<sdk::ValueType>> infer(const sdk::InferInput& input) override {
    if (input.type(0).shape != input.type(1).shape) return invalid("the operands differ");
    return std::vector{input.type(0)};
  }
  Values gradient(sdk::GraphView& graph, baleen_op_t op, std::span<const baleen_value_t> cotangents,
                  std::span<const std::uint8_t> wanted) override {
    const auto [a, b] = operands(graph, op);
    const sdk::Value dy{graph.table(), cotangents[0]};
    return std::vector{(dy * b).id(), wanted[0] && wanted[1] ? (dy * a).id() : BALEEN_NONE};
  }
};

/// Sound, of numbers between -1 and 1: 2 artanh x.
class Bounded : public Cube {
 public:
  explicit Bounded(const char* name = "cube_bounded", double shift = 1) : Cube(name), shift_(shift) {}
  Values expand(sdk::GraphView& graph, baleen_op_t op) override {
    const sdk::Value x = operand_of(graph, op);
    return std::vector{log((shift_ + x) / (1 - x)).id()};
  }
  Values gradient(sdk::GraphView& graph, baleen_op_t op, std::span<const baleen_value_t> cotangents,
                  std::span<const std::uint8_t>) override {
    const sdk::Value x = operand_of(graph, op), dy{graph.table(), cotangents[0]};
    return std::vector{(dy * 2.0 / (1 - x * x)).id()};
  }

 private:
  double shift_;
};

/// Sound, and of numbers that no run here has.
class Elsewhere : public Bounded {
 public:
  Elsewhere() : Bounded("cube_elsewhere", -100) {}
};

BALEEN_OP_KIND(Scaled);
BALEEN_OP_KIND(Leaky);
BALEEN_OP_KIND(Flat);
BALEEN_OP_KIND(DiesOfVectors);
BALEEN_OP_KIND(DiesOfLetters);
BALEEN_OP_KIND(LacksLetters);
BALEEN_OP_KIND(Narrow);
BALEEN_OP_KIND(Loose);
BALEEN_OP_KIND(Both);
BALEEN_OP_KIND(Bounded);
BALEEN_OP_KIND(Elsewhere);
BALEEN_OP_KIND(Cube);
BALEEN_OP_KIND(Steep);
BALEEN_OP_KIND(Turned);
BALEEN_OP_KIND(Spread);
BALEEN_OP_KIND(Rounded);
BALEEN_OP_KIND(Breaks);
BALEEN_OP_KIND(Hangs);

}  // namespace
