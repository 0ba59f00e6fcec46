/// \file Four ranks of ucx on two hosts, and a moment at which something happens to them.
#pragma once
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/promise.hpp"
#include "support/ranks.hpp"
#include "support/running_job.hpp"
#include "support/two_networks.hpp"

namespace baleen::test {

/// What all processes see.
struct Stage {
  std::atomic<int> ready{0};  ///< ranks that may be struck
  std::atomic<bool> over{false};
  std::array<std::atomic<pid_t>, 4> process{};
  std::atomic<std::int64_t> struck{0};           ///< when, in nanoseconds of the monotonic clock; 0: not yet
  std::atomic<int> out{0};                       ///< ranks whose last call has ended
  std::array<std::atomic<double>, 4> seconds{};  ///< from then, or its begin, to the end of a rank's last call
};

/// Ranks 0 and 1 are on the first host, 2 and 3 on the second.
class RanksOnHosts : public testing::Test {
 protected:
  static constexpr std::int32_t kRanks = 4;
  explicit RanksOnHosts(const TwoNetworks::Lay& lay) : networks(lay) {}
  RanksOnHosts() = default;
  ~RanksOnHosts() override { munmap(&stage, sizeof stage); }

  void SetUp() override {
    if (!networks.missing().empty()) GTEST_SKIP() << networks.missing();
  }

  /// A network that could not be broken has shown nothing.
  void TearDown() override { EXPECT_TRUE(IsSkipped() || networks.missing().empty()) << networks.missing(); }

  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  /// Runs the body on every rank, and `strike` here once all are ready. What went wrong, "rank 1: ..." per line.
  std::string run(const RankOptions& options, const std::function<void(Rank&)>& body,
                  const std::function<void()>& strike = {}) {
    const TransportPlugin plugin(built_plugin("transport", "ucx"));
    RankOptions all = {{"tls", "tcp"}, {"devices", TwoNetworks::kDevice}};
    all.insert(all.end(), options.begin(), options.end());
    SharedRendezvous rendezvous;
    stage.ready = stage.out = 0;
    stage.over = false;
    stage.struck = 0;
    std::thread striker([&] {
      holds_within(std::chrono::seconds(60), [&] { return stage.ready == kRanks || stage.over; });
      if (stage.ready != kRanks || !strike) return;
      stage.struck = now();
      strike();
    });
    const std::string said = run_bodies(As::kProcesses, kRanks, [&](std::int32_t number) {
      expect(networks.move_to(number / 2), "no entrance to a network namespace");
      Rank rank(plugin, rendezvous, number, kRanks, all);
      stage.process[static_cast<std::size_t>(number)] = getpid();
      body(rank);
    });
    stage.over = true;
    striker.join();
    return said;
  }

  /// An all_reduce of ones over all ranks, prepared.
  struct Sum {
    Sum(Rank& given, std::uint64_t count) : rank(given), data(count, 1) {
      const baleen_collective_entry_t entry{data.data(), data.data(), count, 0, nullptr, nullptr};
      slot = rank.prepare(rank.world(), {sizeof(baleen_collective_spec_t), BALEEN_ALL_REDUCE, BALEEN_SUM, BALEEN_F32, 0,
                                         &entry, 1, nullptr, 1, 0, abi("a.lua:1")});
    }
    void run() {
      std::fill(data.begin(), data.end(), 1.f);
      rank.run(slot);
      expect(data == std::vector<float>(data.size(), static_cast<float>(rank.ranks)), "another sum");
    }
    Rank& rank;
    std::vector<float> data;
    void* slot = nullptr;
  };

  /// The body of a rank that computes until it hears that it cannot: over and over again (`busy`), or in a call to
  /// which the last rank comes when another is out. Throws the reason.
  void work_until_lost(Rank& rank, bool busy) {
    Sum sum(rank, busy ? 100'000 : 1'000);
    sum.run();
    ++stage.ready;
    if (!busy && rank.rank == kRanks - 1)
      while (stage.out == 0) usleep(1'000);
    std::int64_t begin = now();
    try {
      for (;; begin = now()) sum.run();
    } catch (const std::runtime_error&) {
      const std::int64_t since = std::max(begin, stage.struck.load());
      stage.seconds[static_cast<std::size_t>(rank.rank)] = 1e-9 * static_cast<double>(now() - since);
      ++stage.out;
      throw;
    }
  }
  /// Of these ranks each has said all of the parts. Returns the seconds after which the last one was out.
  double expect_told(const std::string& said, const std::vector<std::int32_t>& ranks,
                     const std::vector<std::string>& parts) {
    double last = 0;
    for (const std::int32_t rank : ranks) {
      const std::string mark = "rank " + std::to_string(rank) + ": ";
      const std::size_t begin = said.find("\n" + mark) == said.npos && !said.starts_with(mark) ? said.npos
                                : said.starts_with(mark)                                       ? 0
                                                         : said.find("\n" + mark) + 1;
      EXPECT_NE(begin, said.npos) << mark << "is not in: " << said;
      if (begin == said.npos) continue;
      const std::string line = said.substr(begin, said.find('\n', begin) - begin);
      for (const std::string& part : parts) EXPECT_NE(line.find(part), line.npos) << part << " is not in: " << line;
      const double seconds = stage.seconds[static_cast<std::size_t>(rank)];
      std::printf("rank %d was out after %.2f s: %s\n", rank, seconds, line.c_str());
      last = std::max(last, seconds);
    }
    return last;
  }

  Stage& stage = *new (mmap(nullptr, sizeof(Stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Stage;
  TwoNetworks networks;
};

}  // namespace baleen::test
