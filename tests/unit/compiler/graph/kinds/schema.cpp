/// \file A library whose one kind has a schema that is wrong in the way that FAULT says.
#include "baleen/op_kind.hpp"

BALEEN_DESCRIPTOR("op", FAULT, "1.0.0", "Apache-2.0", "a wrong schema for tests", 0, "", BALEEN_NO_OPTIONS);
BALEEN_OPS();

namespace {

using namespace baleen;
using namespace baleen::sdk;

bool is(std::string_view fault) { return std::string_view(FAULT) == fault; }

class Wrong : public sdk::OpKind {
 public:
  Wrong()
      : OpKind(is("taken")     ? "all_reduce"
               : is("capital") ? "Sum"
                               : "wrong",
               "a kind with a fault",
               is("untyped") ? BALEEN_KIND_TYPED
               : is("many")  ? BALEEN_KIND_DERIVED
                             : BALEEN_KIND_PURE) {
    if (is("many")) operand("some", "any number", BALEEN_OPERAND_MANY);
    if (is("late")) operand("maybe", "may be left out", BALEEN_OPERAND_OPTIONAL);
    operand("x", "any", is("alone") ? BALEEN_OPERAND_TOGETHER | BALEEN_OPERAND_OPTIONAL : BALEEN_OPERAND_FLOATING);
    if (is("late")) operand("again", "may be left out", BALEEN_OPERAND_OPTIONAL);
    if (is("called")) operand("some", "any number", BALEEN_OPERAND_MANY);
    if (is("results")) result("maybe", "not always", BALEEN_OPERAND_OPTIONAL);
    if (!is("empty")) result("y", "any");
    if (is("default")) attribute(BALEEN_RULE_INTEGER, "times", "9", "how often", 1, 4);
    if (is("same")) attribute(BALEEN_RULE_INTEGER, "x", "1", "has the operand's name");
  }
  Result<std::vector<sdk::ValueType>> infer(const sdk::InferInput& input) override {
    return std::vector{input.type(0)};
  }
};
BALEEN_OP_KIND(Wrong);

/// Another class of the same name.
class Again : public Wrong {};
[[maybe_unused]] const baleen::sdk::RegisteredKind* const kAgain =
    is("again") ? new baleen::sdk::RegisteredKind(&baleen::sdk::op_kind_table<Again>) : nullptr;

}  // namespace
