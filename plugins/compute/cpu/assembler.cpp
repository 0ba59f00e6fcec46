/// \file Encodes AVX-512 instructions.
#include "assembler.hpp"

#include <sys/mman.h>

#include <cstring>

namespace baleen::cpu {
namespace {

// General registers of the calling convention, by number: where addresses go, the offset, the three arguments.
constexpr int kRax = 0, kRcx = 1, kRsi = 6;
constexpr int kSib = 4;  // in place of a register: a second byte names base and index

}  // namespace

void Assembler::number(std::uint32_t value) {
  for (int i = 0; i < 4; ++i) code_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

// Bits that extend register numbers are kept inverted. Of `rm`, bit 4 goes where an index register's bit 3 would.
void Assembler::prefix(int map, int pp, int reg, int first, int rm, int mask) {
  const auto inverted = [](int value, int bit, int at) { return (~value >> bit & 1) << at; };
  bytes({0x62, inverted(reg, 3, 7) | inverted(rm, 4, 6) | inverted(rm, 3, 5) | inverted(reg, 4, 4) | map,
         (wide_ ? 0x80 : 0) | (~first & 15) << 3 | 4 | pp, 0x40 | inverted(first, 4, 3) | mask});
}

void Assembler::registers(int map, int pp, int opcode, int to, int a, int b, int mask) {
  prefix(map, pp, to, a, b, mask);
  bytes({opcode, 0xc0 | (to & 7) << 3 | (b & 7)});
}

void Assembler::select(int to, int condition, int zero, int a, int b) {
  constexpr int kMask = 1, kNotEqual = 4;  // not equal or unordered
  registers(kMap0F, wide_ ? kPrefix66 : kPrefixNone, 0xc2, kMask, condition, zero);
  bytes({kNotEqual});
  registers(kMap0F38, kPrefix66, 0x65, to, b, a, kMask);
}

// Zeros above each element, which then moves to the upper half.
void Assembler::load_bf16(int to, std::uint32_t i) {
  move(kMap0F38, kPrefix66, 0x33, to, i, 0);
  registers(kMap0F, kPrefix66, 0x72, 6, to, to);
  bytes({16});
}

void Assembler::broadcast(int to, std::uint32_t i) {
  prefix(kMap0F38, kPrefix66, to, 0, 0);
  bytes({wide_ ? 0x19 : 0x18, 0x80 | (to & 7) << 3 | kRsi});
  number(i * (wide_ ? 8 : 4));
}

// The offset is counted in halves, so that it is right for operands of half the bytes.
void Assembler::move(int map, int pp, int opcode, int reg, std::uint32_t operand, int scale) {
  bytes({0x48, 0x8b, 0x87});  // mov rax, [rdi + ...]
  number(operand * 8);
  prefix(map, pp, reg, 0, 0);
  bytes({opcode, (reg & 7) << 3 | kSib, scale << 6 | kRcx << 3 | kRax});
}

void Assembler::begin_loop() {
  bytes({0x48, 0xd1, 0xea});  // shr rdx, 1
  bytes({0x31, 0xc9});        // xor ecx, ecx
  loop_ = code_.size();
}

void Assembler::end_loop() {
  bytes({0x48, 0x83, 0xc1, 0x20});  // add rcx, 32
  bytes({0x48, 0x39, 0xd1});        // cmp rcx, rdx
  bytes({0x0f, 0x82});              // jb loop
  number(static_cast<std::uint32_t>(loop_ - (code_.size() + 4)));
  bytes({0xc5, 0xf8, 0x77, 0xc3});  // vzeroupper, ret
}

ExecutableCode::ExecutableCode(const std::vector<std::uint8_t>& code) : size_(code.size()) {
  void* pages = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return;
  std::memcpy(pages, code.data(), size_);
  if (mprotect(pages, size_, PROT_READ | PROT_EXEC) == 0)
    pages_ = pages;
  else
    munmap(pages, size_);
}

ExecutableCode::~ExecutableCode() {
  if (pages_) munmap(pages_, size_);
}

}  // namespace baleen::cpu
