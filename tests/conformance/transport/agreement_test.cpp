/// \file Members that disagree, at plan time and at run time: both sides are named on every rank.
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <new>

#include "suite.hpp"
#include "support/promise.hpp"

namespace baleen::conformance {
namespace {

class Agreement : public TransportSuite {
 protected:
  // Rank r prepares its own; the text of the error, which all must get.
  void expect_disagreement(
      const std::function<void(std::int32_t rank, baleen_collective_spec_t&, baleen_collective_entry_t&)>& change,
      const std::vector<std::string>& parts) {
    run(3, [&](Rank& rank) {
      void* world = rank.world();
      std::vector<float> data(64);
      baleen_collective_entry_t entry{data.data(), data.data(), 10, 0, nullptr, nullptr};
      const std::string where = "train.lua:" + std::to_string(rank.rank + 7);
      baleen_collective_spec_t spec{sizeof spec, BALEEN_ALL_REDUCE, BALEEN_SUM, BALEEN_F32, 0,         &entry,
                                    1,           nullptr,           1,          0,          abi(where)};
      const baleen_collective_spec_t good = spec;
      const baleen_collective_entry_t good_entry = entry;
      change(rank.rank, spec, entry);
      try {
        rank.prepare(world, spec);
      } catch (const std::runtime_error& e) {
        for (const std::string& part : parts) expect_contains(e.what(), part);
        entry = good_entry;
        rank.run(rank.prepare(world, good));  // nothing is broken by it
        return;
      }
      throw std::runtime_error("nothing was noticed");
    });
  }
};

TEST_P(Agreement, AnotherOperation) {
  expect_disagreement(
      [](std::int32_t rank, auto& spec, auto& entry) {
        if (rank != 1) return;
        spec.op = BALEEN_BROADCAST;
        spec.reduction = 0;
        entry.count = 12;
      },
      {"rank 1 prepares broadcast of 12 fp32 at train.lua:8 where rank 0 prepares all_reduce of 10 fp32 at "
       "train.lua:7"});
}

TEST_P(Agreement, AnotherSize) {
  expect_disagreement([](std::int32_t rank, auto&, auto& entry) { entry.count = rank == 2 ? 9 : 10; },
                      {"rank 2 prepares all_reduce of 9 fp32 at train.lua:9",
                       "rank 0 prepares all_reduce of 10 fp32 at train.lua:7", "buffer 0 has elements 9, not 10"});
}

TEST_P(Agreement, AnotherDtype) {
  expect_disagreement([](std::int32_t rank, auto& spec, auto&) { spec.dtype = rank == 0 ? BALEEN_I32 : BALEEN_F32; },
                      {"rank 1 prepares all_reduce of 10 fp32", "rank 0 prepares all_reduce of 10 int32"});
}

TEST_P(Agreement, AnotherReductionOrRoot) {
  expect_disagreement(
      [](std::int32_t rank, auto& spec, auto&) { spec.reduction = rank == 1 ? BALEEN_MAXIMUM : BALEEN_SUM; },
      {"another reduction", "train.lua:8"});
  expect_disagreement(
      [](std::int32_t rank, auto& spec, auto&) {
        spec.op = BALEEN_REDUCE;
        spec.root = rank == 2 ? 1 : 0;
      },
      {"rank 2 prepares reduce", "root 1, not 0"});
}

TEST_P(Agreement, AnotherNumberOfBuffers) {
  expect_disagreement([](std::int32_t rank, auto& spec, auto&) { spec.entry_count = rank == 2 ? 0 : 1; },
                      {"buffers 0, not 1"});
}

// What one rank alone can see to be wrong is told to all.
TEST_P(Agreement, ARefusalIsToldToAll) {
  expect_disagreement(
      [](std::int32_t rank, auto&, auto& entry) {
        if (rank == 1) entry.input = nullptr;
      },
      {"rank 1 refuses: all_reduce of 10 fp32 at train.lua:8: buffer 0 has no input"});
  expect_disagreement(
      [](std::int32_t rank, auto&, auto& entry) {
        if (rank == 2) entry.output = static_cast<float*>(entry.output) + 1;
      },
      {"rank 2 refuses", "overlaps its input"});
}

TEST_P(Agreement, UnevenPiecesMustMatch) {
  run(2, [](Rank& rank) {
    void* world = rank.world();
    std::vector<float> in(8), out(8);
    const std::uint64_t sends[] = {1, 3}, receives[] = {1, rank.rank == 1 ? 2u : 3u};
    const baleen_collective_entry_t entry{in.data(), out.data(), 0, 0, sends, receives};
    const baleen_collective_spec_t spec{sizeof spec, BALEEN_ALL_TO_ALL, 0, BALEEN_F32, 0, &entry, 1, nullptr, 1, 0, {}};
    try {
      rank.prepare(world, spec);
    } catch (const std::runtime_error& e) {
      return expect_contains(e.what(), "to be received");
    }
    throw std::runtime_error("nothing was noticed");
  });
}

TEST_P(Agreement, APairMustMatch) {
  run(2, [](Rank& rank) {
    void* world = rank.world();
    std::vector<float> data(8);
    const baleen_collective_entry_t entry{data.data(), data.data(), 8, 0, nullptr, nullptr};
    const baleen_collective_spec_t spec{sizeof spec, BALEEN_SEND, 0, BALEEN_F32, 1 - rank.rank, &entry, 1,
                                        nullptr,     1,           0, {}};
    try {
      rank.prepare(world, spec);
    } catch (const std::runtime_error& e) {
      return expect_contains(e.what(), "rank 1 prepares send of 8 fp32 where rank 0 prepares send of 8 fp32");
    }
    throw std::runtime_error("nothing was noticed");
  });
}

TEST_P(Agreement, AGroupWhereAnotherPrepares) {
  run(2, [](Rank& rank) {
    void* world = rank.world();
    std::vector<float> data(8);
    const baleen_collective_entry_t entry{data.data(), data.data(), 8, 0, nullptr, nullptr};
    try {
      if (rank.rank == 0)
        rank.group({0, 1});
      else
        rank.prepare(world, {sizeof(baleen_collective_spec_t), BALEEN_BROADCAST, 0, BALEEN_F32, 0, &entry, 1, nullptr,
                             1, 0, abi("a.lua:2")});
    } catch (const std::runtime_error& e) {
      return expect_contains(e.what(),
                             "rank 1 prepares broadcast of 8 fp32 at a.lua:2 where rank 0 creates a group of 0, 1");
    }
    throw std::runtime_error("nothing was noticed");
  });
}

TEST_P(Agreement, AGroupOutOfOrderIsRefused) {
  run(3, [](Rank& rank) {
    for (const std::vector<std::int32_t>& list : {std::vector<std::int32_t>{0, 2, 1}, {0, 1, 2, 3}, {}}) {
      try {
        rank.group(list);
      } catch (const std::runtime_error& e) {
        expect_contains(e.what(), "a group is an ascending list of the 3 ranks that holds the caller");
        continue;
      }
      throw std::runtime_error("it was accepted");
    }
  });
}

/// A number that ranks tell the test, be they threads or processes.
class SharedSeconds {
 public:
  SharedSeconds() : memory_(mmap(nullptr, sizeof(Value), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::runtime_error("no memory to share");
    new (memory_) Value(0);
  }
  ~SharedSeconds() { munmap(memory_, sizeof(Value)); }
  SharedSeconds(const SharedSeconds&) = delete;

  /// Keeps the largest.
  void see(double seconds) {
    double so_far = value();
    while (seconds > so_far && !value().compare_exchange_weak(so_far, seconds)) {
    }
  }
  double largest() { return value(); }

 private:
  using Value = std::atomic<double>;
  Value& value() { return *static_cast<Value*>(memory_); }
  void* memory_;
};

// Two slots, started in another order on rank 1; within the seconds that transport.h promises.
TEST_P(Agreement, AnotherOrderOfStartsIsNamedOnBothSides) {
  const auto once = [&](std::uint64_t count) {
    SharedSeconds took;
    run(
        2,
        [&](Rank& rank) {
          void* world = rank.world();
          std::vector<float> a(count), b(count + 2);
          const auto prepare = [&](std::vector<float>& data, std::string_view where) {
            const baleen_collective_entry_t entry{data.data(), data.data(), data.size(), 0, nullptr, nullptr};
            const baleen_collective_spec_t spec{
                sizeof spec, BALEEN_ALL_REDUCE, BALEEN_SUM, BALEEN_F32, 0, &entry, 1, nullptr, 1, 0, abi(where)};
            return rank.prepare(world, spec);
          };
          void *first = prepare(a, "train.lua:3"), *second = prepare(b, "train.lua:4");
          rank.run(first);
          rank.run(second);
          const auto begin = std::chrono::steady_clock::now();
          try {
            rank.run(rank.rank == 1 ? second : first);
            rank.run(rank.rank == 1 ? first : second);
          } catch (const std::runtime_error& e) {
            took.see(test::seconds_since(begin));
            expect_contains(e.what(),
                            "rank 1 starts all_reduce of " + std::to_string(count + 2) + " fp32 at train.lua:4");
            return expect_contains(e.what(),
                                   "rank 0 starts all_reduce of " + std::to_string(count) + " fp32 at train.lua:3");
          }
          throw std::runtime_error("nothing was noticed");
        },
        BALEEN_TRANSPORT_CHECKED);
    return took.largest();
  };
  for (const std::uint64_t count : {20ull, 30'000ull}) EXPECT_LT(once(count), 3) << "it took more than three seconds";
}

/// An all_reduce of all of `data` in place, as the script's line `where` starts it.
void* prepare_sum(Rank& rank, void* group, std::vector<float>& data, std::string_view where) {
  const baleen_collective_entry_t entry{data.data(), data.data(), data.size(), 0, nullptr, nullptr};
  const baleen_collective_spec_t spec{sizeof spec, BALEEN_ALL_REDUCE, BALEEN_SUM, BALEEN_F32, 0,         &entry,
                                      1,           nullptr,           1,          0,          abi(where)};
  return rank.prepare(group, spec);
}

// The same across two groups, where each rank alone would wait for ever.
TEST_P(Agreement, AnotherOrderAcrossGroupsIsNamedOnBothSides) {
  run(
      3,
      [](Rank& rank) {
        void* world = rank.world();
        void* pair = rank.rank < 2 ? rank.group({0, 1}) : nullptr;
        std::vector<float> a(50'000), b(7);
        void* all = prepare_sum(rank, world, a, "train.lua:3");
        void* two = pair ? prepare_sum(rank, pair, b, "train.lua:4") : nullptr;
        rank.run(all);
        if (pair) rank.run(two);
        try {
          rank.run(rank.rank == 1 ? two : all);
          if (pair) rank.run(rank.rank == 1 ? all : two);
        } catch (const std::runtime_error& e) {
          if (rank.rank == 2) return;  // learns that somebody has left
          return expect_contains(e.what(),
                                 "rank 1 starts all_reduce of 7 fp32 at train.lua:4 where rank 0 starts all_reduce of "
                                 "50000 fp32 at train.lua:3");
        }
        throw std::runtime_error("nothing was noticed");
      },
      BALEEN_TRANSPORT_CHECKED);
}

// Two ranks that a hierarchy lets meet in the smaller group only.
TEST_P(Agreement, AnotherOrderOfDistantMembersIsNamedOnBothSides) {
  run(
      4,
      [](Rank& rank) {
        void* world = rank.world();
        const bool is_end = rank.rank % 3 == 0;
        void* ends = is_end ? rank.group({0, 3}) : nullptr;
        std::vector<float> a(30'000), b(5);
        baleen_event_t done{};
        const std::unique_ptr<void, std::function<void(void*)>> before_memory_goes(
            world, [&](void* group) { rank.table.group_destroy(rank.get(), group); });
        void* all = prepare_sum(rank, world, a, "train.lua:3");
        void* two = ends ? prepare_sum(rank, ends, b, "train.lua:4") : nullptr;
        try {
          if (rank.rank == 3) rank.start(two, nullptr, 0, nullptr, 0);
          rank.start(all, nullptr, 0, &done, 1);
          if (rank.rank == 0) rank.start(two, nullptr, 0, nullptr, 0);
          rank.finish(done, 1);
          if (is_end) rank.run(all);
        } catch (const std::runtime_error& e) {
          if (!is_end) return;  // learns that somebody has left
          return expect_contains(e.what(),
                                 "rank 3 starts all_reduce of 5 fp32 at train.lua:4 where rank 0 starts all_reduce of "
                                 "30000 fp32 at train.lua:3");
        }
        if (is_end) throw std::runtime_error("nothing was noticed");
      },
      BALEEN_TRANSPORT_CHECKED);
}

BALEEN_TRANSPORT_SUITE(Agreement);

}  // namespace
}  // namespace baleen::conformance
