/// \file Kinds of ops whose rules do not agree, each in its own way; and one, `twice`, that is right.
#include <cmath>

#include "baleen/op_kind.hpp"

BALEEN_DESCRIPTOR("op", "rules", "1.0.0", "Apache-2.0", "kinds for tests", 0, "", BALEEN_NO_OPTIONS);
BALEEN_OPS();

namespace {

using namespace baleen;
using namespace baleen::sdk;
using Values = Result<std::vector<baleen_value_t>>;
using Numbers = std::span<const baleen_value_t>;
using Flags = std::span<const std::uint8_t>;

/// y = 2 x, with an optional addend and attributes of every type.
class Twice : public sdk::OpKind {
 public:
  explicit Twice(const char* name = "twice") : OpKind(name, "2 x, plus the addend") {
    operand("x", "any shape");
    operand("addend", "the shape of x", BALEEN_OPERAND_FLOATING | BALEEN_OPERAND_OPTIONAL);
    result("y", "the shape of x");
    attribute(BALEEN_RULE_INTEGER, "times", "2", "how often", 1, 4);
    attribute(BALEEN_RULE_NUMBER, "factor", "0.5", "scales");
    attribute(BALEEN_RULE_DIMENSIONS, "dims", "0", "some dimensions");
    choice("mode", "up", "up|down", "where to");
  }
  Result<std::vector<sdk::ValueType>> infer(const sdk::InferInput& input) override {
    return std::vector{input.type(0)};
  }
  Values gradient(GraphView& graph, baleen_op_t op, Numbers cotangents, Flags) override {
    std::vector<baleen_value_t> made(graph.op(op)->inputs().size(), BALEEN_NONE);
    made[0] = (2.0 * Value(graph.table(), cotangents[0])).id();
    return made;
  }
  sdk::Iteration iteration(GraphView& graph, baleen_op_t op) override {
    const std::string letters = all(graph, op);
    return {std::vector(graph.op(op)->inputs().size(), letters), {letters}, {{0}}};
  }
  Values expand(GraphView& graph, baleen_op_t op) override {
    return std::vector{(2.0 * Value(graph.table(), graph.op(op)->inputs()[0])).id()};
  }

 protected:
  static std::string all(GraphView& graph, baleen_op_t op) {
    return std::string("abcdefgh").substr(0, graph.value(graph.op(op)->inputs()[0]).rank);
  }
};
BALEEN_OP_KIND(Twice);

class TwoResults : public Twice {
 public:
  TwoResults() : Twice("two_results") {}
  Result<std::vector<sdk::ValueType>> infer(const sdk::InferInput& input) override {
    return std::vector{input.type(0), input.type(0)};
  }
};
BALEEN_OP_KIND(TwoResults);

class NegativeShape : public Twice {
 public:
  NegativeShape() : Twice("negative_shape") {}
  Result<std::vector<sdk::ValueType>> infer(const sdk::InferInput&) override {
    return std::vector{sdk::ValueType{BALEEN_F32, {-1}}};
  }
};
BALEEN_OP_KIND(NegativeShape);

class ShortLetters : public Twice {
 public:
  ShortLetters() : Twice("short_letters") {}
  sdk::Iteration iteration(GraphView&, baleen_op_t) override { return {{"a"}, {"ab"}}; }
};
BALEEN_OP_KIND(ShortLetters);

/// The result is one column narrower, and the letters say that they run together.
class Narrow : public Twice {
 public:
  Narrow() : Twice("narrow") {}
  Result<std::vector<sdk::ValueType>> infer(const sdk::InferInput& input) override {
    sdk::ValueType type = input.type(0);
    --type.shape.back();
    return std::vector{type};
  }
};
BALEEN_OP_KIND(Narrow);

class LinearInNothing : public Twice {
 public:
  LinearInNothing() : Twice("linear_in_nothing") {}
  sdk::Iteration iteration(GraphView& graph, baleen_op_t op) override {
    return {{all(graph, op)}, {all(graph, op)}, {{3}}};
  }
};
BALEEN_OP_KIND(LinearInNothing);

class Edits : public Twice {
 public:
  Edits() : Twice("edits") {}
  sdk::Iteration iteration(GraphView& graph, baleen_op_t op) override {
    if (const Values made = expand(graph, op); !made) throw std::runtime_error("it cannot be expanded");
    return Twice::iteration(graph, op);
  }
};
BALEEN_OP_KIND(Edits);

class WrongGradient : public Twice {
 public:
  WrongGradient() : Twice("wrong_gradient") {}
  Values gradient(GraphView& graph, baleen_op_t, Numbers cotangents, Flags) override {
    return std::vector{sum(Value(graph.table(), cotangents[0])).id()};
  }
};
BALEEN_OP_KIND(WrongGradient);

class NoGradient : public Twice {
 public:
  NoGradient() : Twice("throws") {}
  Values gradient(GraphView&, baleen_op_t, Numbers, Flags) override { throw std::runtime_error("the tide is out"); }
};
BALEEN_OP_KIND(NoGradient);

/// 2 x of `twice`, where nobody else needs what made x.
class Fuses : public Twice {
 public:
  explicit Fuses(const char* name = "fuses") : Twice(name) {}
  Result<std::optional<std::vector<baleen_value_t>>> fuse(sdk::FuseView& graph, baleen_op_t op) override {
    const baleen_value_t x = graph.op(op)->inputs()[0];
    if (!graph.is_read_once(x)) return std::optional<std::vector<baleen_value_t>>();
    const baleen_value_t behind = graph.op(graph.value(x).producer)->inputs()[0];
    return std::optional(std::vector{(4.0 * Value(graph.table(), behind)).id()});
  }
};
BALEEN_OP_KIND(Fuses);

class WrongFusion : public Twice {
 public:
  WrongFusion() : Twice("wrong_fusion") {}
  Result<std::optional<std::vector<baleen_value_t>>> fuse(sdk::FuseView& graph, baleen_op_t op) override {
    return std::optional(std::vector{sum(Value(graph.table(), graph.op(op)->inputs()[0])).id()});
  }
};
BALEEN_OP_KIND(WrongFusion);

/// Joins with what made x, and writes values that are not there where `times` is 4.
class Joins : public Twice {
 public:
  Joins() : Twice("joins") {}
  std::optional<sdk::Join> join(GraphView& graph, baleen_op_t op) override {
    const bool wrong = graph.op(op)->integer("times") == 4;
    const sdk::OpNode node = sdk::OpNode::of(graph, op);
    const baleen_op_t with = graph.value(node.inputs[0]).producer;
    const baleen_value_t x = graph.op(with)->inputs()[0];
    return sdk::Join{with, "twice", {wrong ? 1000 : x}, {node.outputs[0]}, AttributeList().integer("times", 3)};
  }
};
BALEEN_OP_KIND(Joins);

/// y, and with `times` 2 its half.
class HalfToo : public Twice {
 public:
  HalfToo() : Twice("half_too") { result("half", "where `times` is 2", BALEEN_OPERAND_OPTIONAL); }
  Result<std::vector<sdk::ValueType>> infer(const sdk::InferInput& input) override {
    return std::vector(input.op().integer("times") == 2 ? 2 : 1, input.type(0));
  }
  sdk::Iteration iteration(GraphView& graph, baleen_op_t op) override {
    const std::string letters = all(graph, op);
    return {{letters}, std::vector(graph.op(op)->outputs().size(), letters)};
  }
};
BALEEN_OP_KIND(HalfToo);

class WrongExpansion : public Twice {
 public:
  WrongExpansion() : Twice("wrong_expansion") {}
  Values expand(GraphView& graph, baleen_op_t op) override {
    return std::vector{sum(Value(graph.table(), graph.op(op)->inputs()[0])).id()};
  }
};
BALEEN_OP_KIND(WrongExpansion);

}  // namespace
