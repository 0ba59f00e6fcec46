/// \file What ranks tell each other survives the way, however it is cut; what others say is refused before it takes
/// memory.
#include "frames.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace baleen::nccl {
namespace {

const std::vector<Frame>& samples() {
  static const std::vector<Frame> all = {{FrameKind::kWelcome, 0, 1, ""},
                                         {FrameKind::kLetter, 2, 1, std::string(200'000, 'x')},
                                         {FrameKind::kGone, 3, -1, std::string("a\0b", 3)}};
  return all;
}

std::vector<Frame> taken(Frames& frames) {
  std::vector<Frame> all;
  while (auto frame = frames.next()) all.push_back(*std::move(frame));
  return all;
}

/// The head of a frame of so many bytes, which do not follow.
std::string head_of(std::uint64_t bytes) {
  std::string head = to_bytes({FrameKind::kHello, 1, 0, ""});
  std::memcpy(head.data() + head.size() - sizeof bytes, &bytes, sizeof bytes);
  return head;
}

TEST(NcclFrames, ComeInAnyPieces) {
  std::string bytes;
  for (const Frame& frame : samples()) bytes += to_bytes(frame);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{65536}, bytes.size()}) {
    Frames frames;
    frames.trust();
    for (std::size_t at = 0; at < bytes.size(); at += piece)
      EXPECT_TRUE(frames.add(std::string_view(bytes).substr(at, piece)));
    EXPECT_EQ(taken(frames), samples()) << "pieces of " << piece;
  }
}

TEST(NcclFrames, CanStillBeTakenThatCameBeforeNonsense) {
  std::string wrong_kind = to_bytes(samples()[0]);
  wrong_kind[0] = 8;
  for (const std::string& nonsense : {std::string("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), wrong_kind,
                                      head_of(Frames::kMost + 1), head_of(~std::uint64_t{0})}) {
    Frames frames;
    frames.trust();
    EXPECT_FALSE(frames.add(to_bytes(samples()[2]) + nonsense));
    EXPECT_EQ(taken(frames), std::vector<Frame>{samples()[2]});
    EXPECT_FALSE(frames.add(to_bytes(samples()[0]))) << "it is another program";
    EXPECT_TRUE(taken(frames).empty());
  }
}

/// Whoever finds the port could have had rank 0 keep a gigabyte, without an end.
TEST(NcclFrames, OfAStrangerAreOneAndShort) {
  Frames longer;
  EXPECT_FALSE(longer.add(head_of(Frames::kMostOfStranger + 1)));
  Frames rank;
  rank.trust();
  EXPECT_TRUE(rank.add(head_of(Frames::kMostOfStranger + 1)));
  Frames more;
  EXPECT_FALSE(more.add(to_bytes(samples()[0]) + to_bytes(samples()[2])));
  EXPECT_EQ(taken(more), std::vector<Frame>{samples()[0]});
  Frames one;
  EXPECT_TRUE(one.add(to_bytes(samples()[2])));
  EXPECT_EQ(taken(one), std::vector<Frame>{samples()[2]});
}

TEST(NcclFrames, SayWhereRankZeroListens) {
  const MeetingPlace place{4711, "0123abcd", "10.0.0.1,fe80::1"};
  EXPECT_EQ(*place_from(to_text(place)), place);
  EXPECT_EQ(*place_from("1 s "), (MeetingPlace{1, "s", ""}));
  for (const char* bad : {"", "4711", "4711 ", "4711 secret", "4711  10.0.0.1", "x secret 10.0.0.1", "70000 s a",
                          "0 s a", "4711secret a b", "-1 s a"})
    EXPECT_FALSE(place_from(bad)) << bad;
}

}  // namespace
}  // namespace baleen::nccl
