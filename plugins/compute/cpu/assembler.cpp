/// \file Encodes instructions of AVX2 and AVX-512. Only compiled for x86-64.
#include "assembler.hpp"

#include <xbyak/xbyak.h>

namespace baleen::cpu {
namespace {

constexpr int kNotEqual = 4;  // or unordered

}  // namespace

// The operands' addresses are in rdi, the uniforms' in rsi, the end in rdx (System V calling convention). The offset in
// rcx is counted in halves, so that it is right for operands of half the bytes.
class Assembler::Writer : public ExecutableCode, public Xbyak::CodeGenerator {
 public:
  Writer(LoopIsa isa, bool wide_numbers)
      : CodeGenerator(Xbyak::DEFAULT_MAX_CODE_SIZE, Xbyak::AutoGrow),
        is_512(isa == LoopIsa::kAvx512),
        wide(wide_numbers) {}

  Xbyak::Xmm vector(int number) const { return {is_512 ? Xbyak::Operand::ZMM : Xbyak::Operand::YMM, number}; }
  /// Where the operand's numbers are.
  Xbyak::Address whole(std::uint32_t operand) {
    find(operand);
    return ptr[rax + rcx * 2];
  }
  /// Of 16 bits.
  Xbyak::Address halves(std::uint32_t operand) {
    find(operand);
    return is_512 ? yword[rax + rcx] : xword[rax + rcx];
  }
  void find(std::uint32_t operand) { mov(rax, ptr[rdi + static_cast<int>(operand) * 8]); }
  const void* entry() const override { return getCode(); }

  const bool is_512, wide;
  Xbyak::Label loop;
};

Assembler::Assembler(LoopIsa isa, bool wide) : writer_(std::make_unique<Writer>(isa, wide)) {}
Assembler::~Assembler() = default;

int Assembler::registers() const { return writer_->is_512 ? 32 : 15; }

// One instruction for fp32 and another for fp64.
#define BALEEN_OF_WIDTH(name, ...) (writer_->wide ? writer_->name##pd(__VA_ARGS__) : writer_->name##ps(__VA_ARGS__))
#define BALEEN_THREE(name, to, a, b) BALEEN_OF_WIDTH(name, writer_->vector(to), writer_->vector(a), writer_->vector(b))

void Assembler::add(int to, int a, int b) { BALEEN_THREE(vadd, to, a, b); }
void Assembler::subtract(int to, int a, int b) { BALEEN_THREE(vsub, to, a, b); }
void Assembler::multiply(int to, int a, int b) { BALEEN_THREE(vmul, to, a, b); }
void Assembler::divide(int to, int a, int b) { BALEEN_THREE(vdiv, to, a, b); }
void Assembler::square_root(int to, int a) { BALEEN_OF_WIDTH(vsqrt, writer_->vector(to), writer_->vector(a)); }

void Assembler::select(int to, int condition, int zero, int a, int b) {
  Writer& w = *writer_;
  if (w.is_512) {
    BALEEN_OF_WIDTH(vcmp, w.k1, w.vector(condition), w.vector(zero), kNotEqual);
    const Xbyak::Zmm masked = Xbyak::Zmm(to) | w.k1;
    BALEEN_OF_WIDTH(vblendm, masked, w.vector(b), w.vector(a));
  } else {
    const Xbyak::Ymm mask(registers());
    BALEEN_OF_WIDTH(vcmp, mask, w.vector(condition), w.vector(zero), kNotEqual);
    BALEEN_OF_WIDTH(vblendv, w.vector(to), w.vector(b), w.vector(a), mask);
  }
}

void Assembler::exclusive_or(int to, int a, int b) {
  Writer& w = *writer_;
  w.is_512 ? w.vpxord(w.vector(to), w.vector(a), w.vector(b)) : w.vpxor(w.vector(to), w.vector(a), w.vector(b));
}

void Assembler::and_not(int to, int a, int b) {
  Writer& w = *writer_;
  w.is_512 ? w.vpandnd(w.vector(to), w.vector(a), w.vector(b)) : w.vpandn(w.vector(to), w.vector(a), w.vector(b));
}

void Assembler::broadcast(int to, std::uint32_t i) {
  Writer& w = *writer_;
  const int offset = static_cast<int>(i) * (w.wide ? 8 : 4);
  const Xbyak::Xmm vector = w.vector(to);
  if (!w.wide)
    w.vbroadcastss(vector, w.ptr[w.rsi + offset]);
  else if (w.is_512)
    w.vbroadcastsd(Xbyak::Zmm(to), w.ptr[w.rsi + offset]);
  else
    w.vbroadcastsd(Xbyak::Ymm(to), w.ptr[w.rsi + offset]);
}

void Assembler::load(int to, std::uint32_t i) { BALEEN_OF_WIDTH(vmovu, writer_->vector(to), writer_->whole(i)); }
void Assembler::store(std::uint32_t i, int from) { BALEEN_OF_WIDTH(vmovu, writer_->whole(i), writer_->vector(from)); }

// Zeros above each element, which then moves to the upper half.
void Assembler::load_bf16(int to, std::uint32_t i) {
  const Xbyak::Xmm vector = writer_->vector(to);
  writer_->vpmovzxwd(vector, writer_->halves(i));
  writer_->vpslld(vector, vector, 16);
}

void Assembler::load_fp16(int to, std::uint32_t i) { writer_->vcvtph2ps(writer_->vector(to), writer_->halves(i)); }

#undef BALEEN_THREE
#undef BALEEN_OF_WIDTH

void Assembler::begin_loop() {
  writer_->shr(writer_->rdx, 1);
  writer_->xor_(writer_->ecx, writer_->ecx);
  writer_->L(writer_->loop);
}

void Assembler::end_loop() {
  writer_->add(writer_->rcx, writer_->is_512 ? 32 : 16);
  writer_->cmp(writer_->rcx, writer_->rdx);
  writer_->jb(writer_->loop, Xbyak::CodeGenerator::T_NEAR);
  writer_->vzeroupper();
  writer_->ret();
}

std::unique_ptr<ExecutableCode> Assembler::finish() {
  try {
    writer_->readyRE();
  } catch (const Xbyak::Error&) {
    return nullptr;
  }
  return std::move(writer_);
}

}  // namespace baleen::cpu
