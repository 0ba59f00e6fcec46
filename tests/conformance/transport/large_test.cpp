/// \file More than 2^31 bytes between two ranks: all operations, in place where they may be, in the transport's memory
/// and in other memory.
#include <memory>

#include "baleen/collective.hpp"
#include "suite.hpp"

namespace baleen::conformance {
namespace {

constexpr std::uint64_t kCount = (std::uint64_t{1} << 31) + 1;
constexpr std::uint64_t kBlock = kCount / 2 + 1;  // of two

using Values = std::uint8_t*;

/// Element `i` of what a rank brings: no period of it is a power of two.
std::uint8_t value(std::uint64_t i, std::int32_t rank) {
  return static_cast<std::uint8_t>(i * 37 + i / 251 + (i >> 29) + static_cast<std::uint64_t>(rank) * 101);
}
std::uint8_t sum(std::uint64_t i) { return static_cast<std::uint8_t>(value(i, 0) + value(i, 1)); }

/// Buffers of a rank: of the transport, or not.
class Buffers {
 public:
  Buffers(Rank& rank, bool shared) : rank_(rank), shared_(shared) {}
  ~Buffers() {
    for (void* base : taken_) rank_.table.release(rank_.get(), base);
  }
  Buffers(const Buffers&) = delete;

  Values take(std::uint64_t bytes) {
    if (!shared_) return own_.emplace_back(new std::uint8_t[bytes]).get();
    taken_.push_back(rank_.allocate(bytes));
    return static_cast<Values>(taken_.back());
  }

 private:
  Rank& rank_;
  const bool shared_;
  std::vector<void*> taken_;
  std::vector<std::unique_ptr<std::uint8_t[]>> own_;
};

void fill(Values data, ElementRange range, std::int32_t rank) {
  for (std::uint64_t i = range.begin; i < range.end; ++i) data[i] = value(i, rank);
}

template <class Expected>
void expect_values(const std::uint8_t* data, ElementRange range, Expected&& expected) {
  for (std::uint64_t i = range.begin; i < range.end; ++i)
    if (data[i] != expected(i)) throw std::runtime_error("wrong at byte " + std::to_string(i));
}

void exchange(Rank& rank, void* world, baleen_collective_t op, const baleen_collective_entry_t& entry) {
  const std::int32_t swapped[] = {1, 0};
  const std::int32_t root = is_pairwise(op) ? 1 - rank.rank : op == BALEEN_BROADCAST || op == BALEEN_REDUCE ? 1 : 0;
  const baleen_reduction_t reduction = is_reducing(op) ? BALEEN_SUM : 0;
  const baleen_collective_spec_t spec{
      sizeof spec, op, reduction, BALEEN_U8, root, &entry, 1, op == BALEEN_PERMUTE ? swapped : nullptr, 1, 0, {}};
  rank.run(rank.prepare(world, spec));
}

class Large : public TransportSuite {
 protected:
  /// `body(rank, world, buffers)` with buffers of either kind.
  void run_twice(const std::function<void(Rank&, void*, Buffers&)>& body) {
    run(2, [&](Rank& rank) {
      for (const bool shared : {true, false}) {
        Buffers buffers(rank, shared);
        void* world = rank.world();
        body(rank, world, buffers);
        rank.table.group_destroy(rank.get(), world);  // slots go before memory does
      }
    });
  }
  /// An operation on the whole of one buffer, in place; `giver` and `taker`: the only rank that gives, that takes; -1:
  /// both.
  template <class Expected>
  void run_whole(baleen_collective_t op, std::int32_t giver, std::int32_t taker, Expected&& expected) {
    run_twice([=](Rank& rank, void* world, Buffers& buffers) {
      Values data = buffers.take(kCount);
      const ElementRange all{0, kCount};
      const bool gives = giver < 0 || giver == rank.rank, takes = taker < 0 || taker == rank.rank;
      if (gives) fill(data, all, rank.rank);
      exchange(rank, world, op, {gives ? data : nullptr, takes ? data : nullptr, kCount, 0, nullptr, nullptr});
      if (takes) expect_values(data, all, [&](std::uint64_t i) { return expected(i, rank.rank); });
    });
  }
};

TEST_P(Large, AllReduce) {
  run_whole(BALEEN_ALL_REDUCE, -1, -1, [](std::uint64_t i, std::int32_t) { return sum(i); });
}

TEST_P(Large, Reduce) {
  run_whole(BALEEN_REDUCE, -1, 1, [](std::uint64_t i, std::int32_t) { return sum(i); });
}

TEST_P(Large, Broadcast) {
  run_whole(BALEEN_BROADCAST, 1, -1, [](std::uint64_t i, std::int32_t) { return value(i, 1); });
}

TEST_P(Large, Permute) {
  run_whole(BALEEN_PERMUTE, -1, -1, [](std::uint64_t i, std::int32_t rank) { return value(i, 1 - rank); });
}

TEST_P(Large, SendAndReceive) {
  run_twice([](Rank& rank, void* world, Buffers& buffers) {
    Values data = buffers.take(kCount);
    if (rank.rank == 0) {
      fill(data, {0, kCount}, 0);
      exchange(rank, world, BALEEN_SEND, {data, nullptr, kCount, 0, nullptr, nullptr});
    } else {
      exchange(rank, world, BALEEN_RECEIVE, {nullptr, data, kCount, 0, nullptr, nullptr});
      expect_values(data, {0, kCount}, [](std::uint64_t i) { return value(i, 0); });
    }
  });
}

ElementRange block_of(std::int32_t rank) { return rank == 0 ? ElementRange{0, kBlock} : ElementRange{kBlock, kCount}; }

TEST_P(Large, ReduceScatter) {
  run_twice([](Rank& rank, void* world, Buffers& buffers) {
    Values data = buffers.take(kCount);
    const ElementRange own = block_of(rank.rank);
    fill(data, {0, kCount}, rank.rank);
    exchange(rank, world, BALEEN_REDUCE_SCATTER, {data, data + own.begin, kCount, kBlock, nullptr, nullptr});
    expect_values(data, own, sum);
  });
}

TEST_P(Large, AllGather) {
  run_twice([](Rank& rank, void* world, Buffers& buffers) {
    Values data = buffers.take(kCount);
    const ElementRange own = block_of(rank.rank);
    fill(data, own, rank.rank);
    exchange(rank, world, BALEEN_ALL_GATHER, {data + own.begin, data, kCount, kBlock, nullptr, nullptr});
    for (const std::int32_t from : {0, 1})
      expect_values(data, block_of(from), [=](std::uint64_t i) { return value(i, from); });
  });
}

// Not in place, and with twice the memory; one piece is longer than 2^31 bytes.
TEST_P(Large, AllToAll) {
  run_twice([](Rank& rank, void* world, Buffers& buffers) {
    const std::uint64_t pieces[2][2] = {{3, kCount}, {5, 7}};  // from, to
    const std::uint64_t *sends = pieces[rank.rank], receives[] = {pieces[0][rank.rank], pieces[1][rank.rank]};
    const std::uint64_t sent = sends[0] + sends[1], received = receives[0] + receives[1];
    Values input = buffers.take(sent), output = buffers.take(received);
    fill(input, {0, sent}, rank.rank);
    exchange(rank, world, BALEEN_ALL_TO_ALL, {input, output, 0, 0, sends, receives});
    for (std::uint64_t from = 0, begin = 0; from < 2; begin += receives[from++]) {
      const std::uint64_t skipped = rank.rank == 0 ? 0 : pieces[from][0];
      expect_values(output + begin, {0, receives[from]},
                    [=](std::uint64_t i) { return value(skipped + i, static_cast<std::int32_t>(from)); });
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Members, Large, testing::ValuesIn(members()),
                         [](const auto& info) { return info.param.text(); });

// A hierarchy of three ranks on two hosts; of two it would be one of its transports.
TEST(LargeHierarchy, SumsAndPermutes) {
  const std::string shm = member_text("shm");
  const test::TransportPlugin plugin(test::built_plugin("transport", "hierarchy"));
  EXPECT_EQ(test::run_ranks(
                plugin, As::kProcesses, 3,
                [](Rank& rank) {
                  Buffers buffers(rank, true);
                  void* world = rank.world();
                  Values data = buffers.take(kCount);
                  const ElementRange all{0, kCount};
                  const baleen_collective_entry_t entry{data, data, kCount, 0, nullptr, nullptr};
                  baleen_collective_spec_t spec{sizeof spec, BALEEN_ALL_REDUCE, BALEEN_SUM, BALEEN_U8, 0, &entry,
                                                1,           nullptr,           1,          0,         {}};
                  fill(data, all, rank.rank);
                  rank.run(rank.prepare(world, spec));
                  expect_values(data, all,
                                [](std::uint64_t i) { return static_cast<std::uint8_t>(sum(i) + value(i, 2)); });
                  const std::int32_t next[] = {1, 2, 0};
                  spec.op = BALEEN_PERMUTE;
                  spec.reduction = 0;
                  spec.destinations = next;
                  fill(data, all, rank.rank);
                  rank.run(rank.prepare(world, spec));
                  expect_values(data, all, [&](std::uint64_t i) { return value(i, (rank.rank + 2) % 3); });
                  rank.table.group_destroy(rank.get(), world);  // slots go before memory does
                },
                0, {{"intra_host", shm}, {"inter_host", shm}}, "aab"),
            "");
}

}  // namespace
}  // namespace baleen::conformance
