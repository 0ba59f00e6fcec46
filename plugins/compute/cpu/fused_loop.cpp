/// \file Registers and instructions of a loop over an expression.
#include "fused_loop.hpp"

#include <algorithm>
#include <bit>

#include "baleen/expression.hpp"

namespace baleen::cpu {
namespace {

constexpr int kNone = -1;

bool is_translated(std::uint32_t opcode) {
  switch (opcode) {
    case BALEEN_X_INPUT:
    case BALEEN_X_CONSTANT:
    case BALEEN_X_STEP:
    case BALEEN_X_NEG:
    case BALEEN_X_ABS:
    case BALEEN_X_SQRT:
    case BALEEN_X_ADD:
    case BALEEN_X_SUB:
    case BALEEN_X_MUL:
    case BALEEN_X_DIV:
    case BALEEN_X_SELECT: return true;
    default: return false;
  }
}

// Translates instruction by instruction; a value's register is free again after its last reader.
template <class T>
class Translator {
 public:
  using Uniform = typename FusedLoop<T>::Uniform;
  using Input = typename FusedLoop<T>::Input;

  Translator(std::span<const baleen_instruction_t> code, std::span<const std::int64_t> results,
             const std::vector<Input>& inputs)
      : code_(code), results_(results), inputs_(inputs), assembler_(sizeof(T) == 8) {}

  bool run() {
    for (const baleen_instruction_t& i : code_)
      if (!is_translated(i.opcode)) return false;
    find_last_uses();
    for (int i = Assembler::kRegisters; i-- > 0;) free_.push_back(i);
    if (!place_uniforms()) return false;
    assembler_.begin_loop();
    for (std::size_t i = 0; i < code_.size(); ++i)
      if (last_use_[i] >= 0 && register_[i] == kNone && !translate(i)) return false;
    for (std::size_t k = 0; k < results_.size(); ++k)
      assembler_.store(static_cast<std::uint32_t>(inputs_.size() + k), of(static_cast<std::size_t>(results_[k])));
    assembler_.end_loop();
    return true;
  }

  std::vector<Uniform> uniforms;
  const std::vector<std::uint8_t>& code() const { return assembler_.code(); }

 private:
  int of(std::size_t value) const { return register_[value]; }

  void find_last_uses() {
    last_use_.assign(code_.size(), -1);
    for (const std::int64_t result : results_) last_use_[static_cast<std::size_t>(result)] = kForever;
    for (std::size_t i = code_.size(); i-- > 0;) {
      if (last_use_[i] < 0) continue;
      for (int k = 0; k < operand_count(code_[i].opcode); ++k) {
        std::int64_t& last = last_use_[operand(code_[i], k)];
        last = std::max(last, static_cast<std::int64_t>(i));
      }
    }
  }

  bool place_uniforms() {
    register_.assign(code_.size(), kNone);
    bool signs = false, choices = false;
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (last_use_[i] < 0) continue;
      const baleen_instruction_t& in = code_[i];
      signs = signs || in.opcode == BALEEN_X_NEG || in.opcode == BALEEN_X_ABS;
      choices = choices || in.opcode == BALEEN_X_SELECT;
      const bool input = in.opcode == BALEEN_X_INPUT && inputs_[in.a].is_uniform;
      if (!input && in.opcode != BALEEN_X_CONSTANT && in.opcode != BALEEN_X_STEP) continue;
      const auto source = input                            ? Uniform::Source::kInput
                          : in.opcode == BALEEN_X_CONSTANT ? Uniform::Source::kConstant
                                                           : Uniform::Source::kStep;
      if (!(register_[i] = add_uniform({source, in.constant, in.a}), register_[i] != kNone)) return false;
    }
    if (signs) sign_ = add_uniform({Uniform::Source::kConstant, -0.0, 0});
    if (choices) zero_ = add_uniform({Uniform::Source::kConstant, 0.0, 0});
    return (!signs || sign_ != kNone) && (!choices || zero_ != kNone);
  }

  int add_uniform(const Uniform& uniform) {
    const int taken = take();
    if (taken != kNone) assembler_.broadcast(taken, static_cast<std::uint32_t>(uniforms.size()));
    uniforms.push_back(uniform);
    return taken;
  }

  int take() {
    if (free_.empty()) return kNone;
    const int taken = free_.back();
    free_.pop_back();
    return taken;
  }

  bool translate(std::size_t i) {
    const baleen_instruction_t& in = code_[i];
    for (int k = 0; k < operand_count(in.opcode); ++k) release(operand(in, k), static_cast<std::int64_t>(i));
    const int to = register_[i] = take();
    if (to == kNone) return false;
    switch (in.opcode) {
      case BALEEN_X_INPUT: return load(to, in.a);
      case BALEEN_X_NEG: assembler_.exclusive_or(to, of(in.a), sign_); break;
      case BALEEN_X_ABS: assembler_.and_not(to, sign_, of(in.a)); break;
      case BALEEN_X_SQRT: assembler_.square_root(to, of(in.a)); break;
      case BALEEN_X_ADD: assembler_.add(to, of(in.a), of(in.b)); break;
      case BALEEN_X_SUB: assembler_.subtract(to, of(in.a), of(in.b)); break;
      case BALEEN_X_SELECT: assembler_.select(to, of(in.a), zero_, of(in.b), of(in.c)); break;
      case BALEEN_X_MUL: assembler_.multiply(to, of(in.a), of(in.b)); break;
      default: assembler_.divide(to, of(in.a), of(in.b)); break;
    }
    return true;
  }

  bool load(int to, std::uint32_t input) {
    const Storage storage = inputs_[input].storage;
    if (storage == Storage::kOwn)
      assembler_.load(to, input);
    else if (storage == Storage::kBf16)
      assembler_.load_bf16(to, input);
    else
      assembler_.load_fp16(to, input);
    return storage == Storage::kOwn || sizeof(T) == 4;
  }

  // An instruction reads all its operands before it writes: the result may have a register that ends here. Uniforms
  // keep theirs, for the next round.
  void release(std::size_t value, std::int64_t at) {
    const std::uint32_t opcode = code_[value].opcode;
    if (last_use_[value] != at || opcode == BALEEN_X_CONSTANT || opcode == BALEEN_X_STEP) return;
    if (opcode == BALEEN_X_INPUT && inputs_[code_[value].a].is_uniform) return;
    if (std::find(free_.begin(), free_.end(), of(value)) == free_.end()) free_.push_back(of(value));
  }

  static constexpr std::int64_t kForever = std::int64_t{1} << 30;
  std::span<const baleen_instruction_t> code_;
  std::span<const std::int64_t> results_;
  const std::vector<Input>& inputs_;
  Assembler assembler_;
  std::vector<std::int64_t> last_use_;
  std::vector<int> register_, free_;
  int sign_ = kNone, zero_ = kNone;
};

}  // namespace

template <class T>
FusedLoop<T>::FusedLoop(std::vector<Uniform> uniforms, const std::vector<std::uint8_t>& code)
    : uniforms_(std::move(uniforms)), code_(code), function_(std::bit_cast<Function>(code_.entry())) {}

template <class T>
std::unique_ptr<FusedLoop<T>> FusedLoop<T>::compile(std::span<const baleen_instruction_t> code,
                                                    std::span<const std::int64_t> results,
                                                    const std::vector<Input>& inputs) {
  Translator<T> translator(code, results, inputs);
  if (!translator.run()) return nullptr;
  std::unique_ptr<FusedLoop> loop(new FusedLoop(std::move(translator.uniforms), translator.code()));
  return loop->function_ ? std::move(loop) : nullptr;
}

template class FusedLoop<float>;
template class FusedLoop<double>;

}  // namespace baleen::cpu
