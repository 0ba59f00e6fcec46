/// \file Cuts segments into stretches; keeps each at its second run.
#include "core/execute/sequences.hpp"

#include "core/execute/program.hpp"

namespace baleen {
namespace {

/// Launches; shorter stretches gain nothing.
constexpr std::size_t kLeast = 3;

bool is_enqueued(const Instruction& instruction) {
  return instruction.kind == Instruction::Kind::launch || instruction.kind == Instruction::Kind::zero;
}

}  // namespace

Sequences::Sequences(Device& device)
    : device_(device), extension_(device.extension<baleen_sequences_t>(BALEEN_SEQUENCES)) {}

void Sequences::clear() {
  for (auto& by_micro : stretches_)
    for (auto& list : by_micro)
      for (KeptStretch& stretch : list)
        if (stretch.sequence) extension_->release(device_.handle(), stretch.sequence);
  stretches_.clear();
}

std::vector<KeptStretch>& Sequences::at(std::size_t segment, std::size_t micro) {
  if (stretches_.size() <= segment) stretches_.resize(segment + 1);
  auto& by_micro = stretches_[segment];
  if (by_micro.size() <= micro) by_micro.resize(micro + 1);
  return by_micro[micro];
}

std::vector<KeptStretch> Sequences::cut(std::span<const Instruction> instructions, std::size_t gate,
                                        const std::function<bool(const Instruction&)>& due) {
  std::vector<KeptStretch> list;
  bool keeps = false;
  std::size_t launches = 0;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const bool is_due = due(instructions[i]), may_be_kept = !is_due || is_enqueued(instructions[i]);
    if (list.empty() || keeps != may_be_kept || i == gate) {
      list.push_back({i, i});
      keeps = may_be_kept;
      launches = 0;
    }
    launches += is_due ? 1u : 0u;
    list.back().last = i + 1;
    if (keeps && launches >= kLeast) list.back().state = KeptStretch::State::fresh;
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
    stretch.state = KeptStretch::State::kept;
    return;
  }
  if (ended) extension_->release(device_.handle(), stretch.sequence);
  stretch.sequence = nullptr;
}

Status Sequences::replay(const KeptStretch& stretch, std::uint64_t seed, std::uint64_t step) {
  return device_.check(extension_->replay(device_.handle(), stream_, stretch.sequence, seed, step));
}

}  // namespace baleen
