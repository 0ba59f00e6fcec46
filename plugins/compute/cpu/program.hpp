/// \file An expression made ready for tiles: steps over numbered slots of memory.
#pragma once
#include <vector>

#include "kernel.hpp"

namespace baleen::cpu {

/// How an operand reaches a tile.
enum class Access {
  kUniform,  ///< one value for the whole call
  kDirect,   ///< the tensor's own memory is the tile
  kGather    ///< copied, converted or spread into a slot first
};

/// What one instruction does to a tile.
struct Step {
  enum class Kind { kFunction, kRound, kGather, kIndex, kUniform, kNormal };
  Kind kind = Kind::kFunction;
  std::uint32_t opcode = 0;
  std::uint32_t value = 0;  ///< number of the instruction, whose result this is
  std::uint32_t a = 0, b = 0,
                c = 0;  ///< values; kGather: a is the input, kIndex: the dimension, kRound: b is the dtype
  std::uint64_t site = 0;
};

/// Where each value lives while a tile is computed.
struct Program {
  static constexpr std::int32_t kNowhere = -1;

  std::vector<Step> steps;
  std::vector<std::int32_t> slot;  ///< per value: its slot, or kNowhere where it is an operand's own memory
  std::int32_t slots = 0;
  struct Constant {
    std::uint32_t value;
    bool is_step;
    double number;
  };
  std::vector<Constant> constants;
  struct InputValue {
    std::uint32_t value, input;
  };
  std::vector<InputValue> uniform_inputs, direct_inputs;
  struct Output {
    std::uint32_t value;
    bool direct;  ///< computed in the tensor's own memory
  };
  std::vector<Output> outputs;
};

/// `inputs` and `outputs` say how each operand can be reached (outputs: kDirect or kGather).
Result<Program> compile_expression(std::span<const baleen_instruction_t> code, std::span<const std::int64_t> results,
                                   std::span<const Access> inputs, std::span<const Access> outputs, std::uint32_t rank);

}  // namespace baleen::cpu
