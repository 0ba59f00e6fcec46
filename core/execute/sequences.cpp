/// \file Cuts segments into stretches; keeps each at its second run.
#include "core/execute/sequences.hpp"

#include <map>
#include <set>

#include "core/execute/program.hpp"

namespace baleen {
namespace {

/// What may be in a stretch, an end of a call among it.
constexpr char kPlain = 1, kOfCall = 2;

/// Launches and calls; shorter stretches gain nothing.
constexpr std::size_t kLeast = 3;

bool is_enqueued(const Instruction& instruction) {
  return instruction.kind == Instruction::Kind::launch || instruction.kind == Instruction::Kind::zero;
}
bool is_of_call(const Instruction& instruction) {
  return instruction.kind == Instruction::Kind::begin || instruction.kind == Instruction::Kind::wait;
}

/// Clears the places of calls in [first, last) of which the other end is not there. Whether there were any.
bool clear_half_calls(std::span<const Instruction> instructions, std::vector<char>& is_kept, std::size_t first,
                      std::size_t last) {
  std::map<std::uint32_t, std::size_t> open;
  std::set<std::uint32_t> over;
  bool any = false;
  const auto clear = [&](std::size_t at) {
    is_kept[at] = 0;
    any = true;
  };
  for (std::size_t i = first; i < last; ++i) {
    if (is_kept[i] != kOfCall) continue;
    const std::uint32_t call = instructions[i].call;
    if (instructions[i].kind == Instruction::Kind::begin) {
      if (!open.emplace(call, i).second) clear(i);
      over.erase(call);
    } else if (open.erase(call) > 0) {
      over.insert(call);
    } else if (over.count(call) == 0) {
      clear(i);
    }
  }
  for (const auto& [call, at] : open) clear(at);
  return any;
}

}  // namespace

Sequences::Sequences(Device& device)
    : device_(device), extension_(device.extension<baleen_sequences_t>(BALEEN_SEQUENCES)) {}

void Sequences::clear() {
  each([this](KeptStretch& stretch) { refuse(stretch); });
  stretches_.clear();
}

std::vector<KeptStretch>& Sequences::at(std::size_t segment, std::size_t micro) {
  if (stretches_.size() <= segment) stretches_.resize(segment + 1);
  auto& by_micro = stretches_[segment];
  if (by_micro.size() <= micro) by_micro.resize(micro + 1);
  return by_micro[micro];
}

std::vector<KeptStretch> Sequences::cut(std::span<const Instruction> instructions, std::size_t gate,
                                        const std::function<bool(const Instruction&)>& due,
                                        const std::function<bool(const Instruction&)>& takes) {
  std::vector<char> is_kept(instructions.size());
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& one = instructions[i];
    is_kept[i] = !due(one) || is_enqueued(one) ? kPlain : is_of_call(one) && takes(one) ? kOfCall : char{0};
  }
  const auto end_of = [&](std::size_t first) {
    std::size_t last = first + 1;
    while (last < instructions.size() && last != gate && (is_kept[last] > 0) == (is_kept[first] > 0)) ++last;
    return last;
  };
  std::vector<KeptStretch> list;
  for (std::size_t first = 0; first < instructions.size();) {
    const std::size_t last = end_of(first);
    if (clear_half_calls(instructions, is_kept, first, last)) continue;
    KeptStretch stretch{first, last};
    std::size_t gains = 0;
    for (std::size_t i = first; i < last && is_kept[first] > 0; ++i) {
      const bool is_due = due(instructions[i]), begins = instructions[i].kind == Instruction::Kind::begin;
      if (is_due && begins) ++stretch.calls;
      if (is_due && (begins || is_enqueued(instructions[i]))) ++gains;
    }
    if (gains >= kLeast) stretch.state = KeptStretch::State::fresh;
    list.push_back(stretch);
    first = last;
  }
  return list;
}

bool Sequences::wants(KeptStretch& stretch, void* stream) {
  if (stretch.state == KeptStretch::State::fresh) {
    stretch.state = KeptStretch::State::known;
    return false;
  }
  if (!stream_) stream_ = stream;
  return stretch.state == KeptStretch::State::known && stream == stream_;
}

bool Sequences::begin(KeptStretch& stretch) {
  stretch.state = KeptStretch::State::refused;
  return static_cast<bool>(device_.check(extension_->begin(device_.handle(), stream_)));
}

void Sequences::end(KeptStretch& stretch, bool enqueued) {
  const bool ended{device_.check(extension_->end(device_.handle(), stream_, &stretch.sequence))};
  if (enqueued && ended) {
    stretch.state = stretch.calls > 0 ? KeptStretch::State::waits : KeptStretch::State::kept;
    return;
  }
  if (ended) extension_->release(device_.handle(), stretch.sequence);
  stretch.sequence = nullptr;
}

Status Sequences::replay(const KeptStretch& stretch, std::uint64_t seed, std::uint64_t step) {
  return device_.check(extension_->replay(device_.handle(), stream_, stretch.sequence, seed, step));
}

void Sequences::refuse(KeptStretch& stretch) {
  if (stretch.sequence) extension_->release(device_.handle(), stretch.sequence);
  stretch.sequence = nullptr;
  stretch.state = KeptStretch::State::refused;
}

}  // namespace baleen
