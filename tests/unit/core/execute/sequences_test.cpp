/// \file Which instructions a stretch holds: launches, and calls that begin and end in it.
#include "core/execute/sequences.hpp"

#include <gtest/gtest.h>

#include "core/execute/program.hpp"

namespace baleen {
namespace {

constexpr std::size_t kNoGate = SIZE_MAX;

/// A letter per instruction: l a launch, A to Z the begin of a call, a to k its end, - what no stretch holds, x a
/// launch that is not due.
std::vector<Instruction> instructions_of(const std::string& text) {
  std::vector<Instruction> all;
  for (const char letter : text) {
    Instruction one;
    if (letter == '-') one.kind = Instruction::Kind::transfer;
    if (letter == 'x') one.guard = Guard::first;
    if (letter >= 'A' && letter <= 'K') {
      one.kind = Instruction::Kind::begin;
      one.call = static_cast<std::uint32_t>(letter - 'A');
    }
    if (letter >= 'a' && letter <= 'k') {
      one.kind = Instruction::Kind::wait;
      one.call = static_cast<std::uint32_t>(letter - 'a');
    }
    all.push_back(one);
  }
  return all;
}

/// Stretches that are to be kept in brackets, the others with a stroke between; the number of calls behind a bracket.
std::string cut_text(const std::string& text, std::size_t gate = kNoGate, bool takes = true) {
  std::string result;
  const std::vector<Instruction> all = instructions_of(text);
  const auto list = Sequences::cut(
      all, gate, [](const Instruction& i) { return i.guard == Guard::always; },
      [&](const Instruction& i) { return takes && i.call != 'K' - 'A'; });
  std::size_t next = 0;
  for (const KeptStretch& stretch : list) {
    EXPECT_EQ(stretch.first, next);
    next = stretch.last;
    const std::string part = text.substr(stretch.first, stretch.last - stretch.first);
    const bool is_kept = stretch.state == KeptStretch::State::fresh;
    result += is_kept ? "[" + part + "]" + (stretch.calls > 0 ? std::to_string(stretch.calls) : "") : "|" + part;
  }
  EXPECT_EQ(next, text.size());
  return result;
}

TEST(SequencesCut, EndsAtWhatTheHostTakesPartIn) {
  EXPECT_EQ(cut_text("lll-llll-ll"), "[lll]|-[llll]|-|ll");
  EXPECT_EQ(cut_text("lllxlll"), "[lllxlll]");
  EXPECT_EQ(cut_text("llllll", 2), "|ll[llll]");
}

TEST(SequencesCut, EndsAtCallsThatTheTransportDoesNotKeep) {
  EXPECT_EQ(cut_text("lllAlllalll", kNoGate, false), "[lll]|A[lll]|a[lll]");
  EXPECT_EQ(cut_text("lllKlllklll"), "[lll]|K[lll]|k[lll]");
}

TEST(SequencesCut, HoldsCallsWithBothEnds) {
  EXPECT_EQ(cut_text("lAlallBlb"), "[lAlallBlb]2");
  EXPECT_EQ(cut_text("lABaalb"), "[lABaalb]2") << "waited for twice";
  EXPECT_EQ(cut_text("AaBb"), "|AaBb") << "too short to gain anything";
}

TEST(SequencesCut, EndsAtCallsOfWhichTheOtherEndIsElsewhere) {
  EXPECT_EQ(cut_text("lllAlllBlb-alll"), "[lll]|A[lllBlb]1|-|a[lll]");
  EXPECT_EQ(cut_text("blllAlal"), "|b[lllAlal]1");
  EXPECT_EQ(cut_text("lllAllalllB"), "[lllAllalll]1|B");
  EXPECT_EQ(cut_text("lllAlllalll", 5), "[lll]|A|l|ll|a[lll]") << "across the gate";
  EXPECT_EQ(cut_text("lllAAalll"), "[lll]|AA|a[lll]") << "begun again before its end";
}

/// What is cut out may leave others with one end only.
TEST(SequencesCut, LooksAgainAfterEachCut) { EXPECT_EQ(cut_text("lllAlllBlllalll"), "[lll]|A[lll]|B[lll]|a[lll]"); }

}  // namespace
}  // namespace baleen
