/// \file Which headers make sense.
#include "tls_frame.hpp"

#include "wire.hpp"

namespace baleen::ucx {
namespace {

constexpr std::uint64_t kMostNote = 256 << 20;

bool is_note(std::uint64_t tag) {
  return tag >= static_cast<std::uint64_t>(NoteKind::kHello) && tag <= static_cast<std::uint64_t>(NoteKind::kGoodbye);
}

}  // namespace

std::string FrameHeader::objection() const {
  const bool is_known = kind() == FrameKind::kMessage || kind() == FrameKind::kNote || kind() == FrameKind::kBeat;
  if (!is_known || (kind() == FrameKind::kBeat && bytes() > 0) || (kind() == FrameKind::kNote && !is_note(tag)))
    return "it sends what makes no sense; do all ranks run the same version?";
  if (kind() == FrameKind::kNote && bytes() > kMostNote)
    return "it says that it sends a note of " + std::to_string(bytes()) + " bytes";
  return {};
}

}  // namespace baleen::ucx
