/// \file Every bit of a checkpoint, one after the other.
#include "changed_bits.hpp"

namespace baleen::test {
namespace {

/// The bits are shared out among so many cases.
constexpr std::size_t kParts = 16;

class EveryBit : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryBit, ThatChangesIsFound) { expect_changed_bits_to_be_found(GetParam(), kParts); }
INSTANTIATE_TEST_SUITE_P(Of, EveryBit, testing::Range<std::size_t>(0, kParts));

}  // namespace
}  // namespace baleen::test
