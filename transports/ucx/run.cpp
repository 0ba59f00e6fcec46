/// \file Counts what each node of a program still waits for.
#include "run.hpp"

#include <algorithm>

#include "group.hpp"

namespace baleen::ucx {

const Node& Run::node(Program::Id id) const { return program_->nodes()[id]; }

void Run::attach(Slot& slot, std::size_t members) {
  slot_ = &slot;
  program_ = &slot.program;
  const std::size_t nodes = program_->nodes().size();
  needs_.resize(nodes);
  left_.resize(program_->piece_count());
  receives_.resize(members);
  flights_.resize(nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    flights_[i].run = this;
    flights_[i].node = static_cast<Program::Id>(i);
  }
  sends_.nodes.resize(nodes);
  others_.nodes.resize(nodes);
  work_.nodes.resize(nodes);
}

void Run::begin() {
  active_ = true;
  for (std::size_t i = 0; i < needs_.size(); ++i) needs_[i] = program_->nodes()[i].needs;
  for (std::size_t k = 0; k < left_.size(); ++k) left_[k] = program_->pieces()[k + 1] - program_->pieces()[k];
  sends_.reset();
  others_.reset();
  work_.reset();
  opened_ = 0;
  nodes_left_ = needs_.size();
  under_way_ = 0;
  while (opened_ < std::min(Scratch::kLanes, left_.size())) open_piece();
}

void Run::open_piece() {
  const std::size_t k = opened_++;
  for (Program::Id id = program_->pieces()[k]; id < program_->pieces()[k + 1]; ++id)
    if (needs_[id] == 0) make_ready(id);
}

void Run::make_ready(Program::Id id) {
  switch (node(id).kind) {
    case Node::Kind::kSend: return sends_.push(id);
    case Node::Kind::kCopy:
    case Node::Kind::kReduce: return work_.push(id);
    case Node::Kind::kReceive:
    case Node::Kind::kJoin: return others_.push(id);
  }
}

std::optional<Program::Id> Run::next() {
  for (Queue* queue : {&sends_, &others_, &work_})
    if (const auto id = queue->pop()) return id;
  return std::nullopt;
}

void Run::complete(Program::Id id) {
  const Node& finished = node(id);
  --nodes_left_;
  for (std::uint32_t i = finished.next_begin; i < finished.next_end; ++i)
    if (const Program::Id waiting = program_->next()[i]; --needs_[waiting] == 0) make_ready(waiting);
  // The lane of a finished piece is free for the one that follows in it; pieces may finish in any order.
  if (--left_[finished.piece] > 0) return;
  while (opened_ < left_.size() && left_[opened_ - Scratch::kLanes] == 0) open_piece();
}

void Run::depart(Program::Id id, void* request) {
  flights_[id].under_way = true;
  flights_[id].request = request;
  ++under_way_;
  if (node(id).kind == Node::Kind::kReceive) ++receives_[node(id).place];
}

void Run::arrive(Program::Id id) {
  flights_[id].under_way = false;
  flights_[id].request = nullptr;
  --under_way_;
  if (node(id).kind == Node::Kind::kReceive) --receives_[node(id).place];
}

}  // namespace baleen::ucx
