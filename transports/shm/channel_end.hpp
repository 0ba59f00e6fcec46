/// \file One end of a channel: a SEND or a RECEIVE that was prepared. Progress is made by polling; it never waits.
#pragma once
#include <cstdint>
#include <vector>

#include "board.hpp"
#include "memory.hpp"

namespace baleen::shm {

/// [the thread that runs operations]
class ChannelEnd {
 public:
  struct Piece {
    std::byte* data;
    std::uint64_t bytes;
  };

  /// `pieces`: this end's buffers. `peer_pieces`: the sender's, where the receiver reaches them; then nothing is
  /// staged.
  ChannelEnd(bool sends, bool staged, SharedMemory memory, std::vector<Piece> pieces, std::vector<Piece> peer_pieces,
             RankBoard& peer);

  /// A new operation's turn number; operations of one end go one after the other.
  std::uint64_t take_ticket() { return tickets_++; }
  /// Goes on with the operation whose turn it is. True when that one is finished.
  bool poll(std::uint64_t ticket);
  const RankBoard& peer() const { return peer_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  ChannelBoard& board() const { return *reinterpret_cast<ChannelBoard*>(memory_.base()); }
  bool poll_send();
  bool poll_receive();
  // Copies segment number `segment_` between the pieces and a half.
  void copy_segment(std::byte* half);
  void copy_direct();

  bool sends_, staged_;
  SharedMemory memory_;
  std::vector<Piece> pieces_, peer_pieces_;
  RankBoard& peer_;
  std::uint64_t bytes_ = 0, segments_ = 1;
  std::uint64_t tickets_ = 0, finished_ = 0;
  std::uint64_t segment_ = 0;  // of the present operation
  std::uint64_t moved_ = 0;    // segments shown or taken by this end, ever
};

}  // namespace baleen::shm
