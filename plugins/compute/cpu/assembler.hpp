/// \file The few AVX-512 instructions from which loops over expressions are made, and memory that may run them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace baleen::cpu {

/// Writes instructions (Intel's manual, volume 2: EVEX prefix, ModRM, SIB). Vector registers are 64 bytes wide,
/// numbered 0 to 31, of fp32 or, where `wide`, fp64. The code is a function of (operands, uniforms, bytes): an array of
/// addresses, an array of numbers, and where its loop's offset ends.
class Assembler {
 public:
  static constexpr int kRegisters = 32;

  explicit Assembler(bool wide) : wide_(wide) {}

  /// to = a op b
  void add(int to, int a, int b) { arithmetic(0x58, to, a, b); }
  void subtract(int to, int a, int b) { arithmetic(0x5c, to, a, b); }
  void multiply(int to, int a, int b) { arithmetic(0x59, to, a, b); }
  void divide(int to, int a, int b) { arithmetic(0x5e, to, a, b); }
  void square_root(int to, int a) { arithmetic(0x51, to, 0, a); }
  /// to = condition != 0 ? a : b, where NaN is not 0 either.
  void select(int to, int condition, int zero, int a, int b);
  /// Bit by bit: to = a ^ b; to = ~a & b.
  void exclusive_or(int to, int a, int b) { registers(kMap0F, kPrefix66, 0xef, to, a, b); }
  void and_not(int to, int a, int b) { registers(kMap0F, kPrefix66, 0xdf, to, a, b); }

  /// All lanes of `to` become number `i` of the uniforms.
  void broadcast(int to, std::uint32_t i);
  /// Between a register and operand `i` at the loop's offset.
  void load(int to, std::uint32_t i) { move(kMap0F, wide_ ? kPrefix66 : kPrefixNone, 0x10, to, i, 1); }
  void store(std::uint32_t i, int from) { move(kMap0F, wide_ ? kPrefix66 : kPrefixNone, 0x11, from, i, 1); }
  /// The same from operands of 16 bits, widened. Not where `wide`.
  void load_bf16(int to, std::uint32_t i);
  void load_fp16(int to, std::uint32_t i) { move(kMap0F38, kPrefix66, 0x13, to, i, 0); }

  /// Everything between the two is repeated with the offset growing by 64 bytes until it is not below `bytes`. Operands
  /// of 16 bits are at half of it.
  void begin_loop();
  /// Also returns from the function.
  void end_loop();

  const std::vector<std::uint8_t>& code() const { return code_; }

 private:
  static constexpr std::uint8_t kMap0F = 1, kMap0F38 = 2, kPrefixNone = 0, kPrefix66 = 1;

  void bytes(std::initializer_list<int> values) {
    for (const int value : values) code_.push_back(static_cast<std::uint8_t>(value));
  }
  void number(std::uint32_t value);
  void arithmetic(int opcode, int to, int a, int b) {
    registers(kMap0F, wide_ ? kPrefix66 : kPrefixNone, opcode, to, a, b);
  }
  void prefix(int map, int pp, int reg, int first, int rm, int mask = 0);
  void registers(int map, int pp, int opcode, int to, int a, int b, int mask = 0);
  void move(int map, int pp, int opcode, int reg, std::uint32_t operand, int scale);

  bool wide_;
  std::size_t loop_ = 0;
  std::vector<std::uint8_t> code_;
};

/// A copy of the code in pages that may be executed. Empty where the system refuses that.
class ExecutableCode {
 public:
  explicit ExecutableCode(const std::vector<std::uint8_t>& code);
  ~ExecutableCode();
  ExecutableCode(const ExecutableCode&) = delete;
  ExecutableCode& operator=(const ExecutableCode&) = delete;

  void* entry() const { return pages_; }

 private:
  void* pages_ = nullptr;
  std::size_t size_;
};

}  // namespace baleen::cpu
