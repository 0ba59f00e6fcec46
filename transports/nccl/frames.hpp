/// \file What ranks tell each other beside NCCL, as bytes: no socket here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "baleen/result.hpp"

namespace baleen::nccl {

enum class FrameKind : std::uint32_t {
  kHello = 1,  ///< a rank to the hub: its secret and facts
  kWelcome,    ///< the hub to all: they are there; or text that says why the run cannot begin
  kLetter,     ///< plan time
  kBarrier,    ///< a barrier begins
  kFailure,    ///< a rank cannot go on, and says why
  kLeft,       ///< a rank has left in good order, and how far it had come
  kGone        ///< the hub: a rank's connection ended without a word
};

/// `to` -1: everybody but the sender.
struct Frame {
  FrameKind kind = FrameKind::kLetter;
  std::int32_t from = 0, to = -1;
  std::string bytes = {};

  bool operator==(const Frame&) const = default;
};

std::string to_bytes(const Frame& frame);

/// Cuts a stream of bytes into frames. Whoever sends them is a stranger at first, and may send one frame, a short one.
class Frames {
 public:
  /// Bytes that a frame may have: of a rank, and of a stranger.
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 30, kMostOfStranger = std::uint64_t{1} << 16;

  /// False, from then on, where they are no frames of this program. Frames that came before can still be taken.
  bool add(std::string_view bytes);
  std::optional<Frame> next();
  /// It has shown that it is a rank.
  void trust() { trusted_ = true; }

 private:
  bool cut(std::size_t& at);

  std::string rest_;  // the beginning of a frame
  std::deque<Frame> whole_;
  bool trusted_ = false, broken_ = false;
};

/// What rank 0 puts into the rendezvous: where it listens, and how ranks show that they are of this job.
struct MeetingPlace {
  std::uint16_t port = 0;
  std::string secret, addresses;  ///< addresses: "a,b"

  bool operator==(const MeetingPlace&) const = default;
};

/// "port secret addresses"; the secret has no blank.
std::string to_text(const MeetingPlace& place);
Result<MeetingPlace> place_from(std::string_view text);

}  // namespace baleen::nccl
