/// \file A head of fixed size, then the bytes.
#include "frames.hpp"

#include <charconv>
#include <cstring>

namespace baleen::nccl {
namespace {

struct Head {
  std::uint32_t kind;
  std::int32_t from, to;
  std::uint32_t mark;
  std::uint64_t bytes;
};
constexpr std::uint32_t kMark = 0x4c43434e;

bool is_kind(std::uint32_t number) {
  return number >= static_cast<std::uint32_t>(FrameKind::kHello) &&
         number <= static_cast<std::uint32_t>(FrameKind::kGone);
}

}  // namespace

std::string to_bytes(const Frame& frame) {
  const Head head{static_cast<std::uint32_t>(frame.kind), frame.from, frame.to, kMark, frame.bytes.size()};
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + frame.bytes;
}

bool Frames::add(std::string_view bytes) {
  if (broken_) return false;
  rest_ += bytes;
  std::size_t at = 0;
  while ((trusted_ || whole_.empty()) && cut(at)) continue;
  broken_ = broken_ || (at < rest_.size() && !trusted_ && !whole_.empty());
  rest_.erase(0, broken_ ? rest_.size() : at);
  return !broken_;
}

/// Whether a whole frame lies at `at`, which then is its end.
bool Frames::cut(std::size_t& at) {
  Head head{};
  if (rest_.size() - at < sizeof head) return false;
  std::memcpy(&head, rest_.data() + at, sizeof head);
  broken_ = head.mark != kMark || !is_kind(head.kind) || head.bytes > (trusted_ ? kMost : kMostOfStranger);
  if (broken_ || rest_.size() - at - sizeof head < head.bytes) return false;
  whole_.push_back({static_cast<FrameKind>(head.kind), head.from, head.to, rest_.substr(at + sizeof head, head.bytes)});
  at += sizeof head + head.bytes;
  return true;
}

std::optional<Frame> Frames::next() {
  if (whole_.empty()) return std::nullopt;
  std::optional<Frame> frame(std::move(whole_.front()));
  whole_.pop_front();
  return frame;
}

std::string to_text(const MeetingPlace& place) {
  return std::to_string(place.port) + " " + place.secret + " " + place.addresses;
}

Result<MeetingPlace> place_from(std::string_view text) {
  MeetingPlace place;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, place.port);
  const std::string_view rest = text.substr(static_cast<std::size_t>(stop - text.data()));
  const std::size_t blank = rest.find(' ', 1);
  if (code != std::errc() || place.port == 0 || !rest.starts_with(' ') || blank == rest.npos || blank == 1)
    return internal(
        "nccl: rank 0 says nothing that makes sense of where it listens; do all ranks run the same version?");
  place.secret = rest.substr(1, blank - 1);
  place.addresses = rest.substr(blank + 1);
  return place;
}

}  // namespace baleen::nccl
