/// \file What members send of a large collective is what transport.h counts: plans tell these bytes.
#include <gtest/gtest.h>

#include "compile.hpp"

namespace baleen::ucx {
namespace {

/// Bytes that the member at `place` sends of `count` fp32, by the algorithm that is chosen.
struct Sent {
  std::uint64_t counted = 0, sent = 0, received = 0;
};

Sent sent_by(baleen_collective_t op, std::size_t place, std::size_t members, std::size_t root, std::uint64_t count,
             baleen_dtype_t dtype) {
  std::vector<std::byte> input(count * members * 8), output(count * members * 8);
  Collective c;
  c.op = op;
  c.dtype = dtype;
  c.deterministic = true;
  c.reduction = is_reducing(op) ? BALEEN_SUM : 0;
  c.root = root;
  c.place = place;
  c.members = members;
  const bool is_cut = op == BALEEN_REDUCE_SCATTER || op == BALEEN_ALL_GATHER;
  c.entries.push_back({input.data(), output.data(), count, is_cut ? (count + members - 1) / members : 0, {}, {}});
  Scratch scratch;
  const Compilation compilation{c, 64 << 10, scratch};
  const Program program = compile(compilation, choose(question_of(c), {}));
  Sent sent{collective_bytes(c), 0, 0};
  for (const Node& node : program.nodes()) {
    if (node.kind == Node::Kind::kSend) sent.sent += node.bytes;
    if (node.kind == Node::Kind::kReceive) sent.received += node.bytes;
  }
  return sent;
}

void expect_as_counted(baleen_collective_t op, std::size_t members, std::size_t root, std::uint64_t count,
                       baleen_dtype_t dtype) {
  std::uint64_t sent = 0, received = 0;
  for (std::size_t place = 0; place < members; ++place) {
    const Sent one = sent_by(op, place, members, root, count, dtype);
    // Shares begin at cache lines.
    EXPECT_NEAR(static_cast<double>(one.sent), static_cast<double>(one.counted),
                64.0 * static_cast<double>(members * 8))
        << collective_name(op) << " at " << place << " of " << members << ", root " << root;
    sent += one.sent;
    received += one.received;
  }
  EXPECT_EQ(sent, received);
}

TEST(Sent, IsWhatIsCounted) {
  for (const std::size_t members : {2, 3, 4, 6, 8})
    for (const baleen_collective_t op : {BALEEN_ALL_REDUCE, BALEEN_REDUCE_SCATTER, BALEEN_ALL_GATHER})
      for (const baleen_dtype_t dtype : {BALEEN_F32, BALEEN_BF16}) expect_as_counted(op, members, 0, 1'000'000, dtype);
}

TEST(Sent, OfAReductionToARootIsWhatTheOthersHave) {
  for (const std::size_t members : {1, 2, 3, 4, 5, 6, 8, 9})
    for (std::size_t root = 0; root < members; ++root)
      for (const baleen_dtype_t dtype : {BALEEN_F32, BALEEN_F64, BALEEN_BF16}) {
        if (dtype == BALEEN_BF16 && members > 4) continue;  // pairwise: partial sums would be rounded
        for (const std::uint64_t count : {100, 100'003, 1'000'000})
          expect_as_counted(BALEEN_REDUCE, members, root, count, dtype);
      }
}

}  // namespace
}  // namespace baleen::ucx
