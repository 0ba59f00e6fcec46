/// \file Which messages are not sent: one of the two members reads, or writes, the other's memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "program.hpp"
#include "shared_arenas.hpp"

namespace baleen::ucx {

/// What of a program's messages can be reached, by the other member's place and the message's number. Both members of
/// a message know the same.
class DirectAccess {
 public:
  explicit DirectAccess(std::size_t members) : to_(members), from_(members) {}

  /// To a member: whether it can read the message where it lies; where the message goes to, in this process, or null.
  bool is_read(std::size_t to, std::uint32_t message) const { return at(to_[to].peer_reaches, message); }
  std::byte* lands_at(std::size_t to, std::uint32_t message) const { return at(to_[to].theirs, message); }
  /// From a member: where the message lies, in this process, or null; whether the member can write where it goes to.
  const std::byte* lies_at(std::size_t from, std::uint32_t message) const { return at(from_[from].theirs, message); }
  bool is_written(std::size_t from, std::uint32_t message) const { return at(from_[from].peer_reaches, message); }
  /// How many ends are reached, by this member or by others.
  std::size_t count() const;

 private:
  friend class AccessTalk;
  /// By message.
  struct Direction {
    std::vector<char> peer_reaches;  // this member's end
    std::vector<std::byte*> theirs;  // the other end, in this process
  };
  template <class T>
  static T at(const std::vector<T>& list, std::uint32_t message) {
    return message < list.size() ? list[message] : T{};
  }
  std::vector<Direction> to_, from_;
};

/// How two members come to know, in two letters each way: where their ends lie, and which of them can be reached.
/// Begins with the program that sends all.
class AccessTalk {
 public:
  AccessTalk(const Program& program, SharedArenas& arenas, std::size_t members);

  /// To a member: this rank's arenas, and which long messages begin or end in them.
  std::string offer(std::size_t place);
  /// A member's offer; the answer to it. Needs the turn to use UCX.
  Result<std::string> answer(std::size_t place, std::int32_t rank, const std::string& letter);
  /// A member's answer.
  Status learn(std::size_t place, const std::string& letter);

  DirectAccess result() && { return std::move(access_); }

 private:
  /// An end of a message at a member.
  struct End {
    bool sends = false;
    std::uint32_t message = 0;
    std::uint64_t bytes = 0;
    SharedArenas::Place place;
  };
  template <class Letter, class E>
  static void walk(Letter& letter, E& end);

  const Program& program_;
  SharedArenas& arenas_;
  std::vector<std::vector<End>> offered_;  // by member
  DirectAccess access_;
};

}  // namespace baleen::ucx
