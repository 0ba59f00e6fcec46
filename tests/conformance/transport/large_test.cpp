/// \file More than 2^31 bytes between two ranks: all operations, in place where they may be, in the transport's memory
/// and in other memory.
#include <algorithm>
#include <cstring>
#include <memory>

#include "baleen/collective.hpp"
#include "suite.hpp"

namespace baleen::conformance {
namespace {

constexpr std::uint64_t kCount = (std::uint64_t{1} << 31) + 1;
constexpr std::uint64_t kBlock = kCount / 2 + 1;  // of two

using Values = std::uint8_t*;

/// A prime, so that what comes from a wrong piece of any usual size differs.
constexpr std::uint64_t kPeriod = (std::uint64_t{1} << 20) - 3;

/// Bytes that repeat after kPeriod: written and compared as fast as memory is.
class Pattern {
 public:
  template <class Byte>
  explicit Pattern(Byte byte) : bytes_(2 * kPeriod) {
    for (std::uint64_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::uint8_t>(byte(i % kPeriod));
  }

  std::uint8_t operator[](std::uint64_t i) const { return bytes_[i % kPeriod]; }
  void fill(Values data, ElementRange range) const {
    each(range, 0,
         [&](std::uint64_t at, const std::uint8_t* from, std::uint64_t count) { std::memcpy(data + at, from, count); });
  }
  /// That data[i] is byte i + skipped of the pattern.
  void expect(const std::uint8_t* data, ElementRange range, std::uint64_t skipped = 0) const {
    each(range, skipped, [&](std::uint64_t at, const std::uint8_t* from, std::uint64_t count) {
      if (std::memcmp(data + at, from, count) == 0) return;
      const std::uint64_t wrong =
          static_cast<std::uint64_t>(std::mismatch(data + at, data + at + count, from).first - data);
      throw std::runtime_error("wrong at byte " + std::to_string(wrong));
    });
  }

 private:
  template <class Visit>
  void each(ElementRange range, std::uint64_t skipped, Visit visit) const {
    for (std::uint64_t at = range.begin, count = 0; at < range.end; at += count) {
      count = std::min(kPeriod, range.end - at);
      visit(at, bytes_.data() + (at + skipped) % kPeriod, count);
    }
  }

  std::vector<std::uint8_t> bytes_;
};

/// What a rank brings.
const Pattern& values_of(std::int32_t rank) {
  static const auto made = [](std::uint64_t own) {
    return Pattern([own](std::uint64_t i) { return i * 37 + i / 251 + own * 101; });
  };
  static const Pattern all[] = {made(0), made(1), made(2)};
  return all[rank];
}
/// The sum of what the first `ranks` ranks bring.
const Pattern& sums_of(int ranks) {
  static const auto made = [](int count) {
    return Pattern([count](std::uint64_t i) {
      std::uint64_t sum = 0;
      for (int rank = 0; rank < count; ++rank) sum += values_of(rank)[i];
      return sum;
    });
  };
  static const Pattern of_two = made(2), of_three = made(3);
  return ranks == 2 ? of_two : of_three;
}

/// Buffers of a rank: of the transport, or not.
class Buffers {
 public:
  Buffers(Rank& rank, bool shared) : rank_(rank), shared_(shared) {}
  ~Buffers() {
    for (void* base : taken_) rank_.release(base);
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
  void run_whole(baleen_collective_t op, std::int32_t giver, std::int32_t taker,
                 const std::function<const Pattern&(std::int32_t rank)>& expected) {
    run_twice([=](Rank& rank, void* world, Buffers& buffers) {
      Values data = buffers.take(kCount);
      const ElementRange all{0, kCount};
      const bool gives = giver < 0 || giver == rank.rank, takes = taker < 0 || taker == rank.rank;
      if (gives) values_of(rank.rank).fill(data, all);
      exchange(rank, world, op, {gives ? data : nullptr, takes ? data : nullptr, kCount, 0, nullptr, nullptr});
      if (takes) expected(rank.rank).expect(data, all);
    });
  }
};

TEST_P(Large, AllReduce) {
  run_whole(BALEEN_ALL_REDUCE, -1, -1, [](std::int32_t) -> const Pattern& { return sums_of(2); });
}

TEST_P(Large, Reduce) {
  run_whole(BALEEN_REDUCE, -1, 1, [](std::int32_t) -> const Pattern& { return sums_of(2); });
}

TEST_P(Large, Broadcast) {
  run_whole(BALEEN_BROADCAST, 1, -1, [](std::int32_t) -> const Pattern& { return values_of(1); });
}

TEST_P(Large, Permute) {
  run_whole(BALEEN_PERMUTE, -1, -1, [](std::int32_t rank) -> const Pattern& { return values_of(1 - rank); });
}

TEST_P(Large, SendAndReceive) {
  run_twice([](Rank& rank, void* world, Buffers& buffers) {
    Values data = buffers.take(kCount);
    if (rank.rank == 0) {
      values_of(0).fill(data, {0, kCount});
      exchange(rank, world, BALEEN_SEND, {data, nullptr, kCount, 0, nullptr, nullptr});
    } else {
      exchange(rank, world, BALEEN_RECEIVE, {nullptr, data, kCount, 0, nullptr, nullptr});
      values_of(0).expect(data, {0, kCount});
    }
  });
}

ElementRange block_of(std::int32_t rank) { return rank == 0 ? ElementRange{0, kBlock} : ElementRange{kBlock, kCount}; }

TEST_P(Large, ReduceScatter) {
  run_twice([](Rank& rank, void* world, Buffers& buffers) {
    Values data = buffers.take(kCount);
    const ElementRange own = block_of(rank.rank);
    values_of(rank.rank).fill(data, {0, kCount});
    exchange(rank, world, BALEEN_REDUCE_SCATTER, {data, data + own.begin, kCount, kBlock, nullptr, nullptr});
    sums_of(2).expect(data, own);
  });
}

TEST_P(Large, AllGather) {
  run_twice([](Rank& rank, void* world, Buffers& buffers) {
    Values data = buffers.take(kCount);
    const ElementRange own = block_of(rank.rank);
    values_of(rank.rank).fill(data, own);
    exchange(rank, world, BALEEN_ALL_GATHER, {data + own.begin, data, kCount, kBlock, nullptr, nullptr});
    for (const std::int32_t from : {0, 1}) values_of(from).expect(data, block_of(from));
  });
}

// Not in place, and with twice the memory; one piece is longer than 2^31 bytes.
TEST_P(Large, AllToAll) {
  run_twice([](Rank& rank, void* world, Buffers& buffers) {
    const std::uint64_t pieces[2][2] = {{3, kCount}, {5, 7}};  // from, to
    const std::uint64_t *sends = pieces[rank.rank], receives[] = {pieces[0][rank.rank], pieces[1][rank.rank]};
    const std::uint64_t sent = sends[0] + sends[1], received = receives[0] + receives[1];
    Values input = buffers.take(sent), output = buffers.take(received);
    values_of(rank.rank).fill(input, {0, sent});
    exchange(rank, world, BALEEN_ALL_TO_ALL, {input, output, 0, 0, sends, receives});
    for (std::uint64_t from = 0, begin = 0; from < 2; begin += receives[from++]) {
      const std::uint64_t skipped = rank.rank == 0 ? 0 : pieces[from][0];
      values_of(static_cast<std::int32_t>(from)).expect(output + begin, {0, receives[from]}, skipped);
    }
  });
}

/// An emulated device has too little memory.
std::vector<Member> members_in_host_memory() {
  std::vector<Member> all = members();
  std::erase_if(all, [](const Member& member) { return member.name == "nccl"; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Members, Large, testing::ValuesIn(members_in_host_memory()),
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
                  values_of(rank.rank).fill(data, all);
                  rank.run(rank.prepare(world, spec));
                  sums_of(3).expect(data, all);
                  const std::int32_t next[] = {1, 2, 0};
                  spec.op = BALEEN_PERMUTE;
                  spec.reduction = 0;
                  spec.destinations = next;
                  values_of(rank.rank).fill(data, all);
                  rank.run(rank.prepare(world, spec));
                  values_of((rank.rank + 2) % 3).expect(data, all);
                  rank.table.group_destroy(rank.get(), world);  // slots go before memory does
                },
                {{"intra_host", shm}, {"inter_host", shm}}, "aab"),
            "");
}

}  // namespace
}  // namespace baleen::conformance
