/// \file Registers and instructions of a loop over an expression.
#include "fused_loop.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <numeric>
#include <string>
#include <unordered_map>

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

  Translator(LoopIsa isa, std::span<const baleen_instruction_t> code, std::span<const std::int64_t> results,
             const std::vector<Input>& inputs)
      : code_(code), results_(results), inputs_(inputs), assembler_(isa, sizeof(T) == 8) {}

  bool run() {
    for (const baleen_instruction_t& i : code_)
      if (!is_translated(i.opcode)) return false;
    find_last_uses();
    register_.assign(code_.size(), kNone);
    find_uniforms();
    if (!share_registers()) return false;
    assembler_.begin_loop();
    for (std::size_t i = 0; i < code_.size(); ++i)
      if (last_use_[i] >= 0 && uniform_[i] == kNone && !translate(i)) return false;
    for (std::size_t k = 0; k < results_.size(); ++k) {
      assembler_.store(static_cast<std::uint32_t>(inputs_.size() + k), read(static_cast<std::size_t>(results_[k])));
      give_back();
    }
    assembler_.end_loop();
    return true;
  }

  std::vector<Uniform> uniforms;
  std::unique_ptr<ExecutableCode> finish() { return assembler_.finish(); }

 private:
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

  void find_uniforms() {
    uniform_.assign(code_.size(), kNone);
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
      uniform_[i] = add_uniform({source, in.constant, in.a});
    }
    if (signs) sign_ = add_uniform({Uniform::Source::kConstant, -0.0, 0});
    if (choices) zero_ = add_uniform({Uniform::Source::kConstant, 0.0, 0});
  }

  int add_uniform(const Uniform& uniform) {
    uniforms.push_back(uniform);
    return static_cast<int>(uniforms.size()) - 1;
  }

  /// How many registers the values that differ from element to element need at a time.
  int most_alive() const {
    int alive = 0, most = 0;
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (last_use_[i] < 0 || uniform_[i] != kNone) continue;
      alive -= ending_at(i);
      most = std::max(most, ++alive);
    }
    return most;
  }

  /// Operands of `i` whose register its result may have: an instruction reads all of them before it writes.
  int ending_at(std::size_t i) const {
    int ending = 0;
    for (int k = 0; k < operand_count(code_[i].opcode); ++k) {
      const std::size_t value = operand(code_[i], k);
      bool counted = false;
      for (int before = 0; before < k; ++before) counted = counted || operand(code_[i], before) == value;
      ending += !counted && ends(value, i);
    }
    return ending;
  }
  bool ends(std::size_t value, std::size_t at) const {
    return uniform_[value] == kNone && last_use_[value] == static_cast<std::int64_t>(at);
  }

  /// Uniforms stay in registers as far as there are some to spare; the others are read again in each round, into the
  /// few registers that are left for an instruction's operands.
  bool share_registers() {
    constexpr int kOperands = 4;  // a choice and the zero that it is held against
    const int all = assembler_.registers(), alive = most_alive(), count = static_cast<int>(uniforms.size());
    const int kept = alive + count <= all ? count : all - alive - kOperands;
    if (kept < 0) return false;
    for (int i = all; i-- > 0;) free_.push_back(i);
    kept_.assign(uniforms.size(), kNone);
    for (const int uniform : most_read_first()) {
      if (static_cast<int>(free_.size()) <= all - kept) break;
      assembler_.broadcast(kept_[static_cast<std::size_t>(uniform)] = take(), static_cast<std::uint32_t>(uniform));
    }
    return true;
  }

  std::vector<int> most_read_first() const {
    std::vector<int> reads(uniforms.size()), order(uniforms.size());
    const auto count = [&](int uniform) {
      if (uniform != kNone) ++reads[static_cast<std::size_t>(uniform)];
    };
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (last_use_[i] < 0) continue;
      for (int k = 0; k < operand_count(code_[i].opcode); ++k) count(uniform_[operand(code_[i], k)]);
      if (code_[i].opcode == BALEEN_X_SELECT) count(zero_);
      if (code_[i].opcode == BALEEN_X_NEG || code_[i].opcode == BALEEN_X_ABS) count(sign_);
    }
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return reads[static_cast<std::size_t>(a)] > reads[static_cast<std::size_t>(b)];
    });
    return order;
  }

  int take() {
    if (free_.empty()) return kNone;
    const int taken = free_.back();
    free_.pop_back();
    return taken;
  }

  int read_uniform(int uniform) {
    if (const int kept = kept_[static_cast<std::size_t>(uniform)]; kept != kNone) return kept;
    const int borrowed = take();
    assembler_.broadcast(borrowed, static_cast<std::uint32_t>(uniform));
    borrowed_.push_back(borrowed);
    return borrowed;
  }
  int read(std::size_t value) { return uniform_[value] == kNone ? register_[value] : read_uniform(uniform_[value]); }
  void give_back() {
    free_.insert(free_.end(), borrowed_.begin(), borrowed_.end());
    borrowed_.clear();
  }

  bool translate(std::size_t i) {
    const baleen_instruction_t& in = code_[i];
    if (in.opcode == BALEEN_X_INPUT) return load(register_[i] = take(), in.a);
    int from[3] = {kNone, kNone, kNone};
    for (int k = 0; k < operand_count(in.opcode); ++k) from[k] = read(operand(in, k));
    const int other = in.opcode == BALEEN_X_SELECT                             ? read_uniform(zero_)
                      : in.opcode == BALEEN_X_NEG || in.opcode == BALEEN_X_ABS ? read_uniform(sign_)
                                                                               : kNone;
    for (int k = 0; k < operand_count(in.opcode); ++k) release(operand(in, k), i);
    const int to = register_[i] = take();
    emit(in.opcode, to, from, other);
    give_back();
    return true;
  }

  void emit(std::uint32_t opcode, int to, const int* from, int other) {
    switch (opcode) {
      case BALEEN_X_NEG: assembler_.exclusive_or(to, from[0], other); break;
      case BALEEN_X_ABS: assembler_.and_not(to, other, from[0]); break;
      case BALEEN_X_SQRT: assembler_.square_root(to, from[0]); break;
      case BALEEN_X_ADD: assembler_.add(to, from[0], from[1]); break;
      case BALEEN_X_SUB: assembler_.subtract(to, from[0], from[1]); break;
      case BALEEN_X_SELECT: assembler_.select(to, from[0], other, from[1], from[2]); break;
      case BALEEN_X_MUL: assembler_.multiply(to, from[0], from[1]); break;
      default: assembler_.divide(to, from[0], from[1]); break;
    }
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

  void release(std::size_t value, std::size_t at) {
    if (!ends(value, at)) return;
    if (std::find(free_.begin(), free_.end(), register_[value]) == free_.end()) free_.push_back(register_[value]);
  }

  static constexpr std::int64_t kForever = std::int64_t{1} << 30;
  std::span<const baleen_instruction_t> code_;
  std::span<const std::int64_t> results_;
  const std::vector<Input>& inputs_;
  Assembler assembler_;
  std::vector<std::int64_t> last_use_;
  std::vector<int> register_, free_, borrowed_;
  std::vector<int> uniform_;  // number of the uniform that a value is
  std::vector<int> kept_;     // register of a uniform that keeps one
  int sign_ = kNone, zero_ = kNone;
};

}  // namespace

template <class T>
FusedLoop<T>::FusedLoop(std::vector<Uniform> uniforms, std::unique_ptr<ExecutableCode> code)
    : uniforms_(std::move(uniforms)), code_(std::move(code)), function_(std::bit_cast<Function>(code_->entry())) {}

#if defined(__x86_64__)
namespace {

/// What a loop is made of, as bytes.
template <class T>
std::string made_of(LoopIsa isa, std::span<const baleen_instruction_t> code, std::span<const std::int64_t> results,
                    const std::vector<typename FusedLoop<T>::Input>& inputs) {
  std::string all;
  const auto add = [&](auto number) { all.append(reinterpret_cast<const char*>(&number), sizeof number); };
  add(isa);
  add(code.size());
  for (const baleen_instruction_t& i : code) {
    for (const std::uint32_t field : {i.opcode, i.a, i.b, i.c}) add(field);
    add(std::bit_cast<std::uint64_t>(i.constant));
  }
  add(results.size());
  for (const std::int64_t result : results) add(result);
  for (const auto& input : inputs) {
    add(input.is_uniform);
    add(input.storage);
  }
  return all;
}

/// The loops that live, by what they are made of.
template <class T>
class Loops {
 public:
  using Loop = std::shared_ptr<const FusedLoop<T>>;

  /// That of `made_of`, or what `make` gives; null where it gives none.
  template <class Make>
  Loop get(const std::string& made_of, Make&& make) {
    const std::lock_guard lock(mutex_);
    if (const auto found = loops_.find(made_of); found != loops_.end())
      if (Loop loop = found->second.lock()) return loop;
    Loop loop = make();
    if (!loop) return nullptr;
    if (loops_.size() >= most_) {
      std::erase_if(loops_, [](const auto& one) { return one.second.expired(); });
      most_ = std::max(kFew, 2 * loops_.size());
    }
    loops_[made_of] = loop;
    return loop;
  }

 private:
  static constexpr std::size_t kFew = 64;

  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const FusedLoop<T>>> loops_;
  std::size_t most_ = kFew;
};

}  // namespace

template <class T>
std::shared_ptr<const FusedLoop<T>> FusedLoop<T>::compile(LoopIsa isa, std::span<const baleen_instruction_t> code,
                                                          std::span<const std::int64_t> results,
                                                          const std::vector<Input>& inputs) {
  if (isa == LoopIsa::kNone) return nullptr;
  static Loops<T> loops;
  return loops.get(made_of<T>(isa, code, results, inputs), [&]() -> std::shared_ptr<const FusedLoop> {
    Translator<T> translator(isa, code, results, inputs);
    if (!translator.run()) return nullptr;
    auto finished = translator.finish();
    if (!finished) return nullptr;
    return std::shared_ptr<const FusedLoop>(new FusedLoop(std::move(translator.uniforms), std::move(finished)));
  });
}
#else
template <class T>
std::shared_ptr<const FusedLoop<T>> FusedLoop<T>::compile(LoopIsa, std::span<const baleen_instruction_t>,
                                                          std::span<const std::int64_t>, const std::vector<Input>&) {
  return nullptr;
}
#endif

template class FusedLoop<float>;
template class FusedLoop<double>;

}  // namespace baleen::cpu
