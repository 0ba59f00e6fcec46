/// \file Which headers of messages, notes and beats a rank sends.
#include "tls_frame.hpp"

#include <gtest/gtest.h>

#include "wire.hpp"

namespace baleen::ucx {
namespace {

constexpr auto kLetter = static_cast<std::uint64_t>(NoteKind::kLetter);

TEST(TlsFrame, SaysWhatFollows) {
  const FrameHeader header = FrameHeader::of(FrameKind::kMessage, 77, (std::uint64_t{1} << 56) - 1);
  EXPECT_EQ(header.kind(), FrameKind::kMessage);
  EXPECT_EQ(header.bytes(), (std::uint64_t{1} << 56) - 1);
  EXPECT_EQ(header.tag, 77u);
  EXPECT_EQ(header.objection(), "");
  EXPECT_EQ(FrameHeader::of(FrameKind::kNote, kLetter, 256 << 20).objection(), "");
  EXPECT_EQ(FrameHeader::of(FrameKind::kBeat, 0, 0).objection(), "");
}

TEST(TlsFrame, IsOneThatARankSends) {
  const std::string nonsense = "it sends what makes no sense; do all ranks run the same version?";
  EXPECT_EQ(FrameHeader{}.objection(), nonsense);
  EXPECT_EQ((FrameHeader{0, ~std::uint64_t{0}}.objection()), nonsense);
  EXPECT_EQ(FrameHeader::of(static_cast<FrameKind>(4), 0, 0).objection(), nonsense);
  EXPECT_EQ(FrameHeader::of(FrameKind::kBeat, 0, 1).objection(), nonsense) << "a beat has no body";
  for (const std::uint64_t kind : {0, 4}) EXPECT_EQ(FrameHeader::of(FrameKind::kNote, kind, 8).objection(), nonsense);
  EXPECT_EQ(FrameHeader::of(FrameKind::kNote, kLetter, (256 << 20) + 1).objection(),
            "it says that it sends a note of 268435457 bytes");
}

}  // namespace
}  // namespace baleen::ucx
