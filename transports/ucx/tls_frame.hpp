/// \file What stands before each message, note and beat on a connection of ours.
#pragma once
#include <cstdint>
#include <string>

namespace baleen::ucx {

enum class FrameKind : std::uint8_t { kMessage = 1, kNote = 2, kBeat = 3 };

struct FrameHeader {
  std::uint64_t tag = 0;   // of a note: its NoteKind
  std::uint64_t word = 0;  // bytes that follow, and the kind in the highest 8 bits

  static FrameHeader of(FrameKind kind, std::uint64_t tag, std::uint64_t bytes) {
    return {tag, bytes | std::uint64_t{static_cast<std::uint8_t>(kind)} << 56};
  }
  FrameKind kind() const { return static_cast<FrameKind>(word >> 56); }
  std::uint64_t bytes() const { return word & ((std::uint64_t{1} << 56) - 1); }
  /// Why no rank of this version sends it: "it says that it sends a note of 300000000 bytes". Empty where one may.
  std::string objection() const;
};
static_assert(sizeof(FrameHeader) == 16);

}  // namespace baleen::ucx
