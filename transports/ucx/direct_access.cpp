/// \file Members tell each other where their buffers lie and which they reach.
#include "direct_access.hpp"

#include <algorithm>

namespace baleen::ucx {
namespace {

// A shorter message is copied twice in the time that two tokens take.
constexpr std::uint64_t kLeast = 8 << 10;

Error senseless(const std::string& what) {
  return internal("ucx: " + what + " of a neighbour makes no sense; do all ranks run the same version?");
}

template <class T>
void put_at(std::vector<T>& list, std::size_t at, T value) {
  if (list.size() <= at) list.resize(at + 1);
  list[at] = value;
}

}  // namespace

std::size_t DirectAccess::count() const {
  std::size_t all = 0;
  for (const std::vector<Direction>* list : {&to_, &from_})
    for (const Direction& one : *list) {
      const auto unreached = std::count(one.theirs.begin(), one.theirs.end(), nullptr) +
                             std::count(one.peer_reaches.begin(), one.peer_reaches.end(), 0);
      all += one.theirs.size() + one.peer_reaches.size() - static_cast<std::size_t>(unreached);
    }
  return all;
}

AccessTalk::AccessTalk(const Program& program, SharedArenas& arenas, std::size_t members)
    : program_(program), arenas_(arenas), offered_(members), access_(members) {}

template <class Letter, class E>
void AccessTalk::walk(Letter& letter, E& end) {
  letter.number(end.sends);
  letter.number(end.message);
  letter.number(end.bytes);
  letter.number(end.place.arena);
  letter.number(end.place.offset);
}

std::string AccessTalk::offer(std::size_t place) {
  std::vector<End>& mine = offered_[place];
  for (const Node& node : program_.nodes()) {
    const bool sends = node.kind == Node::Kind::kSend;
    if ((!sends && node.kind != Node::Kind::kReceive) || node.place != place || node.bytes < kLeast) continue;
    if (const auto lies = arenas_.locate(node.data, node.bytes))
      mine.push_back({sends, node.message, node.bytes, *lies});
  }
  ProposalWriter letter;
  arenas_.tell(letter);
  letter.list(mine, [&](const End& end) { walk(letter, end); });
  return std::move(letter.bytes);
}

Result<std::string> AccessTalk::answer(std::size_t place, std::int32_t rank, const std::string& letter) {
  ProposalReader reader{letter};
  arenas_.hear(rank, reader);
  std::vector<End> theirs;
  reader.list(theirs, [&](End& end) { walk(reader, end); });
  if (!reader.complete()) return senseless("an offer");
  std::vector<std::uint64_t> sent, received;  // bytes of this member's ends, by message
  for (const Node& node : program_.nodes()) {
    if (node.place != place) continue;
    if (node.kind == Node::Kind::kSend) put_at(sent, node.message, node.bytes);
    if (node.kind == Node::Kind::kReceive) put_at(received, node.message, node.bytes);
  }
  ProposalWriter answer;
  for (const End& end : theirs) {
    const std::vector<std::uint64_t>& mine = end.sends ? received : sent;
    if (end.message >= mine.size() || mine[end.message] != end.bytes) return senseless("an offer");
    std::byte* const data = arenas_.reach(rank, end.place, end.bytes);
    auto& direction = end.sends ? access_.from_[place] : access_.to_[place];
    if (data) put_at(direction.theirs, end.message, data);
    answer.number(data != nullptr);
  }
  return std::move(answer.bytes);
}

Status AccessTalk::learn(std::size_t place, const std::string& letter) {
  ProposalReader reader{letter};
  for (const End& end : offered_[place]) {
    bool reached = false;
    reader.number(reached);
    auto& direction = end.sends ? access_.to_[place] : access_.from_[place];
    if (reached) put_at(direction.peer_reaches, end.message, char{1});
  }
  if (!reader.complete()) return senseless("an answer");
  return {};
}

}  // namespace baleen::ucx
