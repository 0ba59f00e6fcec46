/// \file Buffers with guards around them.
#include "exchange.hpp"

#include <algorithm>
#include <cstring>

#include "baleen/collective.hpp"

namespace baleen::conformance {
namespace {

constexpr std::uint64_t kGuard = 64;
constexpr std::byte kRubbish{0xa5};

std::uint64_t padded(std::uint64_t bytes) { return (bytes + 63) / 64 * 64 + 2 * kGuard; }

}  // namespace

Exchange::Exchange(test::Rank& rank, void* group, std::size_t place, const Case& c, Memory memory, bool in_place,
                   std::byte* arena, std::shared_ptr<const Answer> answer)
    : case_(c),
      place_(place),
      answer_(answer ? std::move(answer) : std::make_shared<const Answer>(c, place)),
      arena_(arena) {
  place_buffers(memory, in_place && c.op != BALEEN_ALL_TO_ALL);
  fill();
  prepare(rank, group);
}

std::uint64_t Exchange::arena_bytes(const Case& c) {
  std::uint64_t bytes = 0;
  for (std::size_t b = 0; b < c.buffers.size(); ++b) {
    std::uint64_t most = 0;
    for (std::size_t m = 0; m < c.members; ++m) most = std::max({most, c.given(b, m), c.got(b, m)});
    bytes += 2 * padded(most * c.width());
  }
  return bytes;
}

std::byte* Exchange::take(std::uint64_t bytes, bool shared) {
  std::byte* base = arena_;
  if (shared) {
    arena_ += padded(bytes);
  } else {
    private_.emplace_back(padded(bytes) + 64);
    base = private_.back().data();
    base += (64 - reinterpret_cast<std::uintptr_t>(base) % 64) % 64;
  }
  std::fill_n(base, padded(bytes), kRubbish);
  taken_.emplace_back(base, bytes);
  return base + kGuard;
}

void Exchange::place_buffers(Memory memory, bool in_place) {
  const std::size_t width = case_.width();
  for (std::size_t b = 0; b < case_.buffers.size(); ++b) {
    // Mixed: some buffers of some members.
    const bool shared = memory == Memory::kArena || (memory == Memory::kMixed && (b + place_) % 3 != 0);
    const std::uint64_t in = case_.given(b, place_) * width, out = case_.got(b, place_) * width;
    Side input{nullptr, in}, output{nullptr, out};
    const bool both = in > 0 && out > 0;
    if (in_place && both) {
      const std::uint64_t skipped = std::min(case_.buffers[b].count, place_ * case_.buffers[b].block) * width;
      std::byte* whole = take(std::max(in, out), shared);
      input.data = whole + (case_.op == BALEEN_ALL_GATHER ? skipped : 0);
      output.data = whole + (case_.op == BALEEN_REDUCE_SCATTER ? skipped : 0);
    } else {
      if (in > 0) input.data = take(in, shared);
      if (out > 0) output.data = take(out, shared);
    }
    inputs_.push_back(input);
    outputs_.push_back(output);
  }
}

void Exchange::prepare(test::Rank& rank, void* group) {
  std::vector<baleen_collective_entry_t> entries;
  std::vector<std::vector<std::uint64_t>> receives(case_.buffers.size());
  for (std::size_t b = 0; b < case_.buffers.size(); ++b) {
    const Buffer& buffer = case_.buffers[b];
    baleen_collective_entry_t entry{inputs_[b].data, outputs_[b].data, buffer.count, buffer.block, nullptr, nullptr};
    if (case_.op == BALEEN_ALL_TO_ALL && buffer.block == 0) {
      for (const auto& row : buffer.pieces) receives[b].push_back(row[place_]);
      entry.sends = buffer.pieces[place_].data();
      entry.receives = receives[b].data();
    }
    entries.push_back(entry);
  }
  const bool reduces = is_reducing(case_.op), rooted = case_.op == BALEEN_BROADCAST || case_.op == BALEEN_REDUCE;
  const baleen_collective_spec_t spec{sizeof spec,
                                      case_.op,
                                      reduces ? case_.reduction : 0,
                                      case_.dtype,
                                      rooted ? static_cast<std::int32_t>(case_.root) : 0,
                                      entries.data(),
                                      entries.size(),
                                      case_.op == BALEEN_PERMUTE ? case_.destinations.data() : nullptr,
                                      case_.deterministic ? 1u : 0u,
                                      0,
                                      abi("case.lua:1")};
  slot_ = rank.prepare(group, spec);
}

void Exchange::fill() {
  for (const Side& output : outputs_) std::fill_n(output.data, output.bytes, kRubbish);
  for (std::size_t b = 0; b < inputs_.size(); ++b)
    if (inputs_[b].bytes > 0) std::memcpy(inputs_[b].data, answer_->inputs[b].data(), inputs_[b].bytes);
}

Bytes Exchange::output(std::size_t buffer) const {
  return {outputs_[buffer].data, outputs_[buffer].data + outputs_[buffer].bytes};
}

void Exchange::verify() const {
  for (std::size_t b = 0; b < outputs_.size(); ++b) {
    const std::string name = name_of(case_) + ": buffer " + std::to_string(b);
    const Bytes &expected = answer_->outputs[b], actual = output(b);
    const auto wrong = std::mismatch(actual.begin(), actual.end(), expected.begin(), expected.end());
    test::expect(wrong.first == actual.end(), name + " is wrong from byte " +
                                                  std::to_string(wrong.first - actual.begin()) + " of " +
                                                  std::to_string(actual.size()));
    const bool apart = inputs_[b].data + inputs_[b].bytes <= outputs_[b].data ||
                       outputs_[b].data + outputs_[b].bytes <= inputs_[b].data;
    if (inputs_[b].bytes > 0 && apart)
      test::expect(std::memcmp(inputs_[b].data, answer_->inputs[b].data(), inputs_[b].bytes) == 0,
                   name + ": its input has changed");
  }
  for (const auto& [base, bytes] : taken_) {
    const auto rubbish = [](std::byte x) { return x == kRubbish; };
    test::expect(std::all_of(base, base + kGuard, rubbish), name_of(case_) + ": memory before a buffer has changed");
    test::expect(std::all_of(base + kGuard + bytes, base + padded(bytes), rubbish),
                 name_of(case_) + ": memory after a buffer has changed");
  }
}

void run_case(test::Rank& rank, void* group, std::size_t place, const Case& c, Memory memory, bool in_place,
              std::byte* arena, int times, std::shared_ptr<const Answer> answer) {
  Exchange exchange(rank, group, place, c, memory, in_place, arena, std::move(answer));
  for (int i = 0; i < times; ++i) {
    if (i > 0) exchange.fill();
    rank.run(exchange.slot());
    exchange.verify();
  }
}

std::string name_of(const Case& c) {
  std::string text = std::string(collective_name(c.op)) + " " + std::string(dtype_name(c.dtype)) + " among " +
                     std::to_string(c.members) + ", seed " + std::to_string(c.seed) + ", counts";
  for (const Buffer& b : c.buffers) text += " " + std::to_string(b.count);
  return text;
}

}  // namespace baleen::conformance
