/// \file Liveness, slots and the order of reads and writes of an expression.
#include "program.hpp"

#include <algorithm>

#include "baleen/expression.hpp"

namespace baleen::cpu {
namespace {

class Compiler {
 public:
  Compiler(std::span<const baleen_instruction_t> code, std::span<const std::int64_t> results,
           std::span<const Access> inputs, std::span<const Access> outputs)
      : code_(code), results_(results), inputs_(inputs), outputs_(outputs), last_use_(code.size(), kUnused) {}

  Program run() {
    find_last_uses();
    choose_direct_outputs();
    program_.slot.assign(code_.size(), Program::kNowhere);
    place_constants();
    for (std::uint32_t i = 0; i < code_.size(); ++i)
      if (last_use_[i] != kUnused) place(i);
    return std::move(program_);
  }

 private:
  static constexpr std::int64_t kUnused = -1, kForever = 1 << 30;

  bool is_uniform(std::uint32_t i) const {
    return code_[i].opcode == BALEEN_X_CONSTANT || code_[i].opcode == BALEEN_X_STEP ||
           (code_[i].opcode == BALEEN_X_INPUT && inputs_[code_[i].a] == Access::kUniform);
  }
  // An input that is also a result is copied first: storing another result may overwrite it.
  bool is_direct_input(std::uint32_t i) const {
    return code_[i].opcode == BALEEN_X_INPUT && inputs_[code_[i].a] == Access::kDirect && last_use_[i] != kForever;
  }

  void find_last_uses() {
    for (const std::int64_t result : results_) last_use_[static_cast<std::size_t>(result)] = kForever;
    for (std::size_t i = code_.size(); i-- > 0;) {
      if (last_use_[i] == kUnused) continue;
      for (int k = 0; k < operand_count(code_[i].opcode); ++k) {
        std::int64_t& last = last_use_[operand(code_[i], k)];
        last = std::max(last, static_cast<std::int64_t>(i));
      }
    }
  }

  // An output may share its bytes with an input. So a value is computed straight into the output only from the
  // instruction on that reads an input for the last time; reading and writing the same element in one step is harmless.
  void choose_direct_outputs() {
    std::int64_t last_read = -1;
    for (std::uint32_t i = 0; i < code_.size(); ++i) {
      if (last_use_[i] == kUnused || code_[i].opcode != BALEEN_X_INPUT) continue;
      if (is_direct_input(i)) {
        for (std::uint32_t j = i + 1; j < code_.size(); ++j)
          for (int k = 0; last_use_[j] != kUnused && k < operand_count(code_[j].opcode); ++k)
            if (operand(code_[j], k) == i) last_read = std::max<std::int64_t>(last_read, j);
      } else {
        last_read = std::max<std::int64_t>(last_read, i);
      }
    }
    for (std::size_t k = 0; k < results_.size(); ++k) {
      const auto value = static_cast<std::uint32_t>(results_[k]);
      const bool taken = std::any_of(program_.outputs.begin(), program_.outputs.end(),
                                     [&](const Program::Output& o) { return o.direct && o.value == value; });
      const bool computed = operand_count(code_[value].opcode) > 0;
      program_.outputs.push_back({value, outputs_[k] == Access::kDirect && computed && !taken && value >= last_read});
    }
  }

  bool is_direct_output(std::uint32_t i) const {
    return std::any_of(program_.outputs.begin(), program_.outputs.end(),
                       [&](const Program::Output& o) { return o.direct && o.value == i; });
  }

  void place_constants() {
    for (std::uint32_t i = 0; i < code_.size(); ++i) {
      if (last_use_[i] == kUnused || !is_uniform(i)) continue;
      program_.slot[i] = program_.slots++;
      if (code_[i].opcode == BALEEN_X_INPUT)
        program_.uniform_inputs.push_back({i, code_[i].a});
      else
        program_.constants.push_back({i, code_[i].opcode == BALEEN_X_STEP, code_[i].constant});
    }
  }

  void place(std::uint32_t i) {
    if (is_uniform(i)) return;
    if (is_direct_input(i)) {
      program_.direct_inputs.push_back({i, code_[i].a});
      return;
    }
    // Operands that end here give their slots to the result: every loop may run in place.
    for (int k = 0; k < operand_count(code_[i].opcode); ++k) release(operand(code_[i], k), i);
    if (!is_direct_output(i)) program_.slot[i] = take();
    program_.steps.push_back(step(i));
  }

  void release(std::uint32_t value, std::int64_t at) {
    std::int32_t slot = program_.slot[value];
    if (slot == Program::kNowhere || last_use_[value] != at || is_uniform(value)) return;
    if (std::find(free_.begin(), free_.end(), slot) == free_.end()) free_.push_back(slot);
  }
  std::int32_t take() {
    if (free_.empty()) return program_.slots++;
    const std::int32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }

  Step step(std::uint32_t i) const {
    const baleen_instruction_t& in = code_[i];
    Step out{Step::Kind::kFunction, in.opcode, i, in.a, in.b, in.c, 0};
    switch (in.opcode) {
      case BALEEN_X_INPUT: out.kind = Step::Kind::kGather; break;
      case BALEEN_X_INDEX: out.kind = Step::Kind::kIndex; break;
      case BALEEN_X_UNIFORM: out.kind = Step::Kind::kUniform; break;
      case BALEEN_X_NORMAL: out.kind = Step::Kind::kNormal; break;
      case BALEEN_X_ROUND: out.kind = Step::Kind::kRound; break;
      default: break;
    }
    out.site = in.a | static_cast<std::uint64_t>(in.b) << 32;
    return out;
  }

  std::span<const baleen_instruction_t> code_;
  std::span<const std::int64_t> results_;
  std::span<const Access> inputs_, outputs_;
  std::vector<std::int64_t> last_use_;
  std::vector<std::int32_t> free_;
  Program program_;
};

}  // namespace

Result<Program> compile_expression(std::span<const baleen_instruction_t> code, std::span<const std::int64_t> results,
                                   std::span<const Access> inputs, std::span<const Access> outputs,
                                   std::uint32_t rank) {
  BALEEN_TRY(check_expression(code, results, inputs.size(), outputs.size(), rank));
  return Compiler(code, results, inputs, outputs).run();
}

}  // namespace baleen::cpu
