/// \file A ring of two segments, or only the news that the sender's own buffers are ready.
#include "channel_end.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace baleen::shm {

ChannelEnd::ChannelEnd(bool sends, bool staged, SharedMemory memory, std::vector<Piece> pieces,
                       std::vector<Piece> peer_pieces, RankBoard& peer)
    : sends_(sends),
      staged_(staged),
      memory_(std::move(memory)),
      pieces_(std::move(pieces)),
      peer_pieces_(std::move(peer_pieces)),
      peer_(peer) {
  for (const Piece& piece : pieces_) bytes_ += piece.bytes;
  if (staged_) segments_ = std::max<std::uint64_t>((bytes_ + kChannelBytes - 1) / kChannelBytes, 1);
}

bool ChannelEnd::poll(std::uint64_t ticket) {
  if (ticket != finished_ || !(sends_ ? poll_send() : poll_receive())) return false;
  segment_ = 0;
  ++finished_;
  return true;
}

bool ChannelEnd::poll_send() {
  const std::uint64_t ahead = staged_ ? 2 : 1;  // segments that may be shown and not yet taken
  while (segment_ < segments_ && moved_ - board().taken.value.load(std::memory_order_seq_cst) < ahead) {
    if (staged_) copy_segment(board().halves[moved_ % 2].data());
    ++segment_;
    board().shown.value.store(++moved_, std::memory_order_seq_cst);
    ring(peer_.bell);
  }
  // What was staged is out of the sender's hands; its own buffers are in use until they were read.
  return segment_ == segments_ && (staged_ || board().taken.value.load(std::memory_order_seq_cst) == moved_);
}

bool ChannelEnd::poll_receive() {
  while (segment_ < segments_ && board().shown.value.load(std::memory_order_seq_cst) > moved_) {
    if (staged_)
      copy_segment(board().halves[moved_ % 2].data());
    else
      copy_direct();
    ++segment_;
    board().taken.value.store(++moved_, std::memory_order_seq_cst);
    ring(peer_.bell);
  }
  return segment_ == segments_;
}

void ChannelEnd::copy_segment(std::byte* half) {
  const std::uint64_t begin = segment_ * kChannelBytes, end = begin + kChannelBytes;
  std::uint64_t offset = 0;  // of the piece, in all of them
  for (const Piece& piece : pieces_) {
    const std::uint64_t low = std::max(begin, offset), high = std::min(end, offset + piece.bytes);
    if (low < high) {
      std::byte *mine = piece.data + (low - offset), *shared = half + (low - begin);
      std::memcpy(sends_ ? shared : mine, sends_ ? mine : shared, high - low);
    }
    offset += piece.bytes;
  }
}

void ChannelEnd::copy_direct() {
  for (std::size_t i = 0; i < pieces_.size(); ++i)
    if (pieces_[i].bytes > 0) std::memcpy(pieces_[i].data, peer_pieces_[i].data, pieces_[i].bytes);
}

}  // namespace baleen::shm
