/// \file Members that disagree, at plan time or about the end of a script: both sides are named on every rank.
#include <functional>

#include "suite.hpp"

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

/// Of one transport: in a hierarchy the steps of two collectives may meet in no group.
class End : public TransportSuite {};

// All wait for each other, and nobody would ever come.
TEST_P(End, WhereOthersGoOnIsNamed) {
  for (const std::uint64_t count : {20ull, 30'000ull}) {
    for (const std::int32_t odd : {0, 2}) {
      run(3, [&](Rank& rank) {
        void* world = rank.world();
        std::vector<float> data(count);
        const baleen_collective_entry_t entry{data.data(), data.data(), count, 0, nullptr, nullptr};
        void* sum = rank.prepare(world, {sizeof(baleen_collective_spec_t), BALEEN_ALL_REDUCE, BALEEN_SUM, BALEEN_F32, 0,
                                         &entry, 1, nullptr, 1, 0, abi("train.lua:3")});
        void* end = rank.prepare(world, {sizeof(baleen_collective_spec_t), BALEEN_BARRIER, 0, 0, 0, nullptr, 0, nullptr,
                                         0, 0, abi("the end of the script")});
        rank.run(sum);
        try {
          rank.run(rank.rank == odd ? end : sum);
        } catch (const std::runtime_error& e) {
          expect_contains(e.what(), "starts barrier at the end of the script");
          return expect_contains(e.what(), "starts all_reduce of " + std::to_string(count) + " fp32 at train.lua:3");
        }
        throw std::runtime_error("nothing was noticed");
      });
    }
  }
}

BALEEN_TRANSPORT_SUITE(Agreement);
INSTANTIATE_TEST_SUITE_P(Members, End, testing::ValuesIn(members()),
                         [](const auto& info) { return info.param.text(); });

}  // namespace
}  // namespace baleen::conformance
