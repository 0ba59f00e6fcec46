/// \file An expression as one loop of machine code that keeps all intermediates in registers.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "assembler.hpp"
#include "baleen/expression.h"
#include "isa/routines.hpp"

namespace baleen::cpu {

/// Computes with the same IEEE operations as the interpreter, so the bits are the same.
template <class T>
class FusedLoop {
 public:
  static constexpr Index kLanes = 64 / static_cast<Index>(sizeof(T));

  /// A number that is the same for all elements of a call.
  struct Uniform {
    enum class Source { kConstant, kStep, kInput } source;
    double number;
    std::uint32_t input;
  };

  /// How a call's numbers of an input lie.
  struct Input {
    bool is_uniform;  ///< one for all elements
    Storage storage = Storage::kOwn;
  };

  /// Null where `isa` is kNone, an instruction is not one of addition, subtraction, multiplication, division, root,
  /// negation, absolute value and choice, or the registers do not suffice, or inputs of 16 bits stand beside fp64, or
  /// the system refuses executable memory. The expression has been checked. While one lives that was made of the same,
  /// this is that one: the updates of all parameters have one loop.
  static std::shared_ptr<const FusedLoop> compile(LoopIsa isa, std::span<const baleen_instruction_t> code,
                                                  std::span<const std::int64_t> results,
                                                  const std::vector<Input>& inputs);

  const std::vector<Uniform>& uniforms() const { return uniforms_; }
  /// `operands` are addresses of the inputs (of uniform ones anything), then of the outputs, which may be those of
  /// inputs; `uniforms` a number for each of uniforms(); `count` a multiple of kLanes.
  void run(void* const* operands, const T* uniforms, Index count) const {
    if (count > 0) function_(operands, uniforms, static_cast<std::uint64_t>(count) * sizeof(T));
  }

 private:
  using Function = void (*)(void* const* operands, const T* uniforms, std::uint64_t bytes);
  FusedLoop(std::vector<Uniform> uniforms, std::unique_ptr<ExecutableCode> code);

  std::vector<Uniform> uniforms_;
  std::unique_ptr<ExecutableCode> code_;
  Function function_;
};

}  // namespace baleen::cpu
