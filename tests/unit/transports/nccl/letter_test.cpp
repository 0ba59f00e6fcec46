/// \file Letters and verdicts come back from their bytes, whole or not at all.
#include "letter.hpp"

#include <gtest/gtest.h>

namespace baleen::nccl {
namespace {

using namespace sdk;

TEST(NcclLetter, IsWholeOrNone) {
  const Letter letter{*propose(1, 4, {0, 1, 3}, 7), "GPU-5", "0:64", true};
  const std::string bytes = encode(letter);
  const auto again = letter_from(bytes, 1);
  ASSERT_TRUE(again);
  EXPECT_EQ(encode(*again), bytes);
  EXPECT_EQ(again->device + again->layout, "GPU-50:64");
  EXPECT_TRUE(again->needs_communicator);
  for (const std::string& bad : {bytes.substr(1), bytes.substr(0, bytes.size() - 1), bytes + "x"}) {
    const auto read = letter_from(bad, 1);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, "nccl: a letter of rank 1 makes no sense; do all ranks run the same version?");
  }
}

TEST(NcclLetter, VerdictsAreWholeOrNone) {
  Verdict verdict{5, {}, true, true};
  for (std::size_t i = 0; i < sizeof verdict.id.internal; ++i) verdict.id.internal[i] = static_cast<char>(i);
  const std::string bytes = encode(Result<Verdict>(verdict));
  const auto again = verdict_from(bytes, 0);
  ASSERT_TRUE(again);
  EXPECT_EQ(encode(again), bytes);
  EXPECT_EQ(again->id.internal[100], 100);
  // A communicator of half an id would wait for ranks that never come.
  for (const std::string& bad : {bytes.substr(0, bytes.size() - 64), bytes + "x", std::string()})
    EXPECT_EQ(verdict_from(bad, 0).error().code, BALEEN_INTERNAL);
  const auto refused = verdict_from(encode(Result<Verdict>(invalid("rank 1 refuses", "a.lua:1"))), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, BALEEN_INVALID);
  EXPECT_EQ(refused.error().message, "a.lua:1: rank 1 refuses");
}

}  // namespace
}  // namespace baleen::nccl
