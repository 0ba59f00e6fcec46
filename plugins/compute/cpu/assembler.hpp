/// \file The few vector instructions from which loops over expressions are made, by Xbyak.
#pragma once
#include <cstdint>
#include <memory>

#include "isa/routines.hpp"

namespace baleen::cpu {

/// Machine code in pages that may be executed and not written; freed with it.
class ExecutableCode {
 public:
  virtual ~ExecutableCode() = default;
  virtual const void* entry() const = 0;
};

/// Writes a function of (operands, uniforms, bytes): an array of addresses, an array of numbers, and where its loop's
/// offset ends, a multiple of 64. Vector registers are numbered from 0 and hold fp32 or, where `wide`, fp64.
class Assembler {
 public:
  /// `isa` is not kNone.
  Assembler(LoopIsa isa, bool wide);
  ~Assembler();

  /// How many there are: one less than the processor's where `select` needs one for itself.
  int registers() const;

  /// to = a op b
  void add(int to, int a, int b);
  void subtract(int to, int a, int b);
  void multiply(int to, int a, int b);
  void divide(int to, int a, int b);
  void square_root(int to, int a);
  /// to = condition != 0 ? a : b, where NaN is not 0 either.
  void select(int to, int condition, int zero, int a, int b);
  /// Bit by bit: to = a ^ b; to = ~a & b.
  void exclusive_or(int to, int a, int b);
  void and_not(int to, int a, int b);

  /// All lanes of `to` become number `i` of the uniforms.
  void broadcast(int to, std::uint32_t i);
  /// Between a register and operand `i` at the loop's offset.
  void load(int to, std::uint32_t i);
  void store(std::uint32_t i, int from);
  /// The same from operands of 16 bits, widened. Not where `wide`.
  void load_bf16(int to, std::uint32_t i);
  void load_fp16(int to, std::uint32_t i);

  /// Everything between the two is repeated with the offset growing by a vector's bytes until it is not below `bytes`.
  /// Operands of 16 bits are at half of it.
  void begin_loop();
  /// Also returns from the function.
  void end_loop();

  /// The code; null where the system refuses executable memory. The assembler is empty after it.
  std::unique_ptr<ExecutableCode> finish();

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace baleen::cpu
