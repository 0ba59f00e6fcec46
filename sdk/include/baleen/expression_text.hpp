/// \file Expressions as text, for messages and listings.
#pragma once
#include <array>
#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "baleen/expression.hpp"

namespace baleen {
namespace expression_printing {

/// A text and how tightly its outermost operator binds (larger: tighter).
struct Text {
  std::string text;
  int strength;
};
inline constexpr int kCompare = 1, kSum = 2, kProduct = 3, kAtom = 9;

inline std::string number(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

inline const char* infix(std::uint32_t opcode, int& strength) {
  switch (opcode) {
    case BALEEN_X_ADD: strength = kSum; return " + ";
    case BALEEN_X_SUB: strength = kSum; return " - ";
    case BALEEN_X_MUL: strength = kProduct; return " * ";
    case BALEEN_X_DIV: strength = kProduct; return " / ";
    case BALEEN_X_LT: strength = kCompare; return " < ";
    case BALEEN_X_LE: strength = kCompare; return " <= ";
    case BALEEN_X_EQ: strength = kCompare; return " == ";
    case BALEEN_X_NE: strength = kCompare; return " != ";
    default: return nullptr;
  }
}

inline std::string enclosed(const Text& text, int at_least) {
  return text.strength >= at_least ? text.text : "(" + text.text + ")";
}

class Printer {
 public:
  explicit Printer(std::span<const baleen_instruction_t> code) : code_(code) {}

  /// Instructions that are used more than once are named first ("t3 = exp(x0); "), or the text could be exponentially
  /// long.
  std::string print(std::uint32_t result) {
    std::vector<int> uses(code_.size(), 0);
    uses[result] = 1;
    for (std::uint32_t n = result + 1; n-- > 0;) {
      if (!uses[n]) continue;
      const std::uint32_t operand[] = {code_[n].a, code_[n].b, code_[n].c};
      for (int k = 0; k < operand_count(code_[n].opcode); ++k) ++uses[operand[k]];
    }
    std::string names;
    texts_.assign(code_.size(), {});
    for (std::uint32_t n = 0; n <= result; ++n) {
      if (!uses[n]) continue;
      texts_[n] = one(code_[n]);
      if (uses[n] > 1 && n != result && operand_count(code_[n].opcode) > 0) {
        const std::string name = "t" + std::to_string(n);
        names += name + " = " + texts_[n].text + "; ";
        texts_[n] = {name, kAtom};
      }
    }
    return names + texts_[result].text;
  }

 private:
  Text one(const baleen_instruction_t& i) const {
    const std::string name = opcode_name(i.opcode);
    const std::uint64_t site = (std::uint64_t{i.b} << 32) | i.a;
    int strength = kAtom;
    switch (i.opcode) {
      case BALEEN_X_INPUT: return {"x" + std::to_string(i.a), kAtom};
      case BALEEN_X_CONSTANT: return {number(i.constant), i.constant < 0 ? kSum : kAtom};
      case BALEEN_X_INDEX: return {"index(" + std::to_string(i.a) + ")", kAtom};
      case BALEEN_X_UNIFORM:
      case BALEEN_X_NORMAL: return {name + "(" + std::to_string(site) + ")", kAtom};
      case BALEEN_X_STEP: return {"step", kAtom};
      case BALEEN_X_NEG: return {"-" + enclosed(texts_[i.a], kAtom), kProduct};
      case BALEEN_X_ROUND:
        return {"round(" + texts_[i.a].text + ", " + std::string(dtype_name(static_cast<baleen_dtype_t>(i.b))) + ")",
                kAtom};
      default: break;
    }
    if (const char* sign = infix(i.opcode, strength))
      return {enclosed(texts_[i.a], strength) + sign + enclosed(texts_[i.b], strength + 1), strength};
    const std::uint32_t operand[] = {i.a, i.b, i.c};
    std::string text = name + "(";
    for (int k = 0; k < operand_count(i.opcode); ++k) text += (k ? ", " : "") + texts_[operand[k]].text;
    return {text + ")", kAtom};
  }

  std::span<const baleen_instruction_t> code_;
  std::vector<Text> texts_;
};

}  // namespace expression_printing

/// "gelu_tanh(x0 + x1) * 0.5": what instruction `result` is. The expression is whole (`check_expression`).
inline std::string expression_text(std::span<const baleen_instruction_t> code, std::int64_t result) {
  return expression_printing::Printer(code).print(static_cast<std::uint32_t>(result));
}

}  // namespace baleen
