/// \file Collectives that the device keeps in a sequence: all members replay them or none, with the same bits, and with
/// the same ends as those that are started one by one.
#include <unistd.h>

#include <chrono>
#include <numeric>
#include <optional>

#include "baleen/captured.h"
#include "nccl_run.hpp"
#include "support/promise.hpp"

namespace baleen::conformance {
namespace {

constexpr std::uint64_t kNumbers = 6000, kRoom = kNumbers * sizeof(float);
const test::RankOptions kGraphs{{"graphs", "true"}};

/// What a program does with its device and its transport. Three buffers: what is added up, what is gathered, and of
/// what each gets the sum of its block; the second goes by a communicator of its own.
class Recorder {
 public:
  explicit Recorder(Rank& rank) : rank_(rank), device_(test::device_of(rank.get())), table_(device_.table()) {
    expect(table_.arena_create(device_.get(), BALEEN_ARENA_SHARED, 3 * kRoom, &memory_) == BALEEN_OK, "no arena");
    expect(table_.stream_create(device_.get(), &stream_) == BALEEN_OK, "no stream");
    void* native = nullptr;
    device_.events().native_stream(device_.get(), stream_, &native);
    rank.table.register_arena(rank.get(), memory_, 3 * kRoom);
    groups_ = {rank.world(), rank.world()};
    auto* const at = static_cast<float*>(memory_);
    constexpr baleen_collective_t kOps[] = {BALEEN_ALL_REDUCE, BALEEN_ALL_GATHER, BALEEN_REDUCE_SCATTER};
    for (std::size_t i = 0; i < 3; ++i) {
      float* const own = at + i * kNumbers;
      one_[i].emplace(kOps[i], own, own, kNumbers, rank);
      one_[i]->spec.deterministic = 1;
      slots_[i] = rank.prepare(groups_[i % 2], one_[i]->spec);
    }
  }
  ~Recorder() {
    forget();
    table_.stream_destroy(device_.get(), stream_);
    rank_.table.unregister_arena(rank_.get(), memory_);
    table_.arena_destroy(device_.get(), BALEEN_ARENA_SHARED, memory_, 3 * kRoom);
  }
  Recorder(const Recorder&) = delete;

  const baleen_transport_captured_t& captured() const {
    const void* found = rank_.table.query(rank_.get(), abi(BALEEN_TRANSPORT_CAPTURED));
    expect(found != nullptr, "the transport captures nothing");
    return *static_cast<const baleen_transport_captured_t*>(found);
  }
  const baleen_sequences_t& sequences() const {
    return *static_cast<const baleen_sequences_t*>(table_.query(device_.get(), abi(BALEEN_SEQUENCES)));
  }
  Rank& rank() { return rank_; }
  void* slot(std::size_t number) const { return slots_[number]; }
  void* group() const { return groups_[0]; }
  baleen_event_t& ready() { return ready_; }

  /// Enqueues all three, each when the stream has come to it.
  void enqueue() {
    for (std::size_t i = 0; i < 3; ++i) {
      expect(table_.stream_signal(device_.get(), stream_, &ready_, ++signals_) == BALEEN_OK, "no signal");
      rank_.start(slots_[i], &ready_, signals_, &done_[i], ++begun_[i]);
      expect(table_.stream_wait(device_.get(), stream_, &done_[i], begun_[i]) == BALEEN_OK, "no wait");
    }
  }
  /// Keeps them, and starts them as before. Whether the device has kept them.
  bool keep() {
    const auto signals = signals_;
    const auto begun = begun_;
    expect(captured().begin(rank_.get()) == BALEEN_OK, rank_.host().failure());
    expect(sequences().begin(device_.get(), stream_) == BALEEN_OK, "the device begins no sequence");
    std::string why;
    try {
      enqueue();
    } catch (const std::runtime_error& e) {
      why = e.what();
    }
    const bool kept = sequences().end(device_.get(), stream_, &sequence_) == BALEEN_OK;
    expect(why.empty(), why);
    expect(captured().end(rank_.get(), &capture_) == BALEEN_OK, rank_.host().failure());
    signals_ = signals;
    begun_ = begun;
    enqueue();
    return kept;
  }
  bool agree(bool has_kept) {
    std::int32_t agreed = -1;
    expect(captured().agree(rank_.get(), &capture_, has_kept ? 1 : 0, &agreed) == BALEEN_OK, rank_.host().failure());
    return agreed == 1;
  }
  /// False where the transport refuses.
  bool replay() {
    ++replays_;
    if (captured().enter(rank_.get(), capture_, &rests_, replays_) != BALEEN_OK) return false;
    table_.stream_wait(device_.get(), stream_, &rests_, replays_);
    expect(sequences().replay(device_.get(), stream_, sequence_, 0, 0) == BALEEN_OK, "no replay");
    table_.stream_signal(device_.get(), stream_, &ready_, ++signals_);
    return captured().replayed(rank_.get(), capture_, &ready_, signals_, &replayed_, replays_) == BALEEN_OK;
  }
  void wait(baleen_event_t& event, std::uint64_t value) {
    expect(table_.stream_wait(device_.get(), stream_, &event, value) == BALEEN_OK, "no wait");
  }
  /// How the replays so far have ended; "" is well.
  std::string end_of_replays() {
    table_.synchronize(device_.get(), stream_);
    event_wait(replayed_, replays_);
    return event_value(replayed_) == BALEEN_EVENT_FAILED ? rank_.reason() : std::string();
  }
  void put(float first) {
    std::vector<float> numbers(3 * kNumbers);
    std::iota(numbers.begin(), numbers.end(), first + static_cast<float>(rank_.rank));
    table_.copy(device_.get(), stream_, memory_, numbers.data(), 3 * kRoom);
    table_.synchronize(device_.get(), stream_);
  }
  std::vector<float> get() {
    std::vector<float> numbers(3 * kNumbers);
    table_.copy(device_.get(), stream_, numbers.data(), memory_, 3 * kRoom);
    table_.synchronize(device_.get(), stream_);
    return numbers;
  }
  /// As a program does it before anything of the transport ends.
  void forget() {
    if (sequence_) sequences().release(device_.get(), std::exchange(sequence_, nullptr));
    if (capture_) captured().release(rank_.get(), std::exchange(capture_, nullptr));
  }

 private:
  Rank& rank_;
  test::EmulatedDevice& device_;
  const baleen_compute_t& table_;
  void *memory_ = nullptr, *stream_ = nullptr, *sequence_ = nullptr, *capture_ = nullptr;
  std::vector<void*> groups_;
  std::array<std::optional<OneBuffer>, 3> one_;
  std::array<void*, 3> slots_{};
  std::array<baleen_event_t, 3> done_{};
  std::array<std::uint64_t, 3> begun_{};
  baleen_event_t ready_{}, rests_{}, replayed_{};
  std::uint64_t signals_ = 0, replays_ = 0;
};

void expect_agreed(Recorder& recorder) {
  recorder.put(1);
  recorder.enqueue();
  expect(recorder.keep(), "the device keeps nothing");
  expect(recorder.agree(true), "they do not agree");
}

/// By turns with the same collectives outside, whose order replays must keep.
TEST(NcclCapture, ReplaysGiveTheSameBits) {
  const auto body = [](Rank& rank) {
    Recorder recorder(rank);
    expect_agreed(recorder);
    for (const float first : {3.0f, 1e6f, -0.25f}) {
      recorder.put(first);
      recorder.enqueue();
      const std::vector<float> wanted = recorder.get();
      recorder.put(first);
      expect(recorder.replay(), "no replay");
      recorder.enqueue();
      expect(recorder.replay(), "no second replay");
      const std::vector<float> twice = recorder.get();
      recorder.put(first);
      for (int i = 0; i < 3; ++i) recorder.enqueue();
      expect(recorder.get() == twice, "three rounds, two of them replays, give something else");
      recorder.put(first);
      expect(recorder.replay(), "no third replay");
      expect(recorder.get() == wanted, "a replay gives something else");
      expect(recorder.end_of_replays().empty(), "a replay failed");
    }
  };
  EXPECT_EQ(run_nccl(3, body, kGraphs), "");
  EXPECT_EQ(run_nccl(2, body, kGraphs), "");
}

/// What waits for nothing comes behind a replay all the same, which here waits for a gate on its stream.
TEST(NcclCapture, WhatIsStartedBehindAReplayWaitsForIt) {
  const auto body = [](Rank& rank) {
    Recorder recorder(rank);
    expect_agreed(recorder);
    baleen_event_t gate{}, done{};
    recorder.wait(gate, 1);
    expect(recorder.replay(), "no replay");
    rank.start(recorder.slot(0), nullptr, 0, &done, 1);
    usleep(100'000);
    const std::uint64_t before = event_value(done);
    event_signal(gate, 1);
    expect(recorder.end_of_replays().empty(), "the replay failed");
    rank.finish(done, 1);
    expect(before == 0, "it did not wait");
  };
  EXPECT_EQ(run_nccl(2, body, kGraphs), "");
}

TEST(NcclCapture, IsThereOnRequest) {
  EXPECT_EQ(run_nccl(1,
                     [](Rank& rank) {
                       expect(!rank.table.query(rank.get(), abi(BALEEN_TRANSPORT_CAPTURED)), "nobody asked for it");
                     }),
            "");
}

/// What a thread carries, what may wait for a peer alone, and barriers. Nothing has failed by it.
TEST(NcclCapture, RefusesWhatCannotBeReplayed) {
  EXPECT_EQ(
      run_nccl(
          2,
          [](Rank& rank) {
            Recorder recorder(rank);
            std::vector<float> in_host(kNumbers, 1);
            const OneBuffer host(BALEEN_ALL_REDUCE, in_host.data(), in_host.data(), kNumbers, rank);
            OneBuffer pair(rank.rank == 0 ? BALEEN_SEND : BALEEN_RECEIVE, in_host.data(), in_host.data(), 8, rank);
            pair.spec.root = 1 - rank.rank;
            void* const slots[] = {rank.prepare(recorder.group(), host.spec), rank.prepare(recorder.group(), pair.spec),
                                   rank.prepare(recorder.group(), barrier_spec())};
            baleen_event_t done{};
            expect(recorder.captured().begin(rank.get()) == BALEEN_OK, "no capture");
            for (void* slot : slots)
              expect(rank.table.start(rank.get(), slot, &recorder.ready(), 1, &done, 1) == BALEEN_UNSUPPORTED,
                     "it is taken");
            expect_contains(rank.host().failure(), "cannot be captured");
            void* capture = nullptr;
            expect(recorder.captured().end(rank.get(), &capture) == BALEEN_OK, "no end");
            recorder.captured().release(rank.get(), capture);
            rank.run(slots[0]);
            expect(in_host[5] == 2, "the host's buffer is not added up");
            expect(event_value(done) == 0 && rank.reason().empty(), "something has failed");
            expect_agreed(recorder);
          },
          kGraphs),
      "");
}

/// Its device keeps nothing, or it has kept other collectives than the rest: then nobody replays, and all go on.
TEST(NcclCapture, OneThatRefusesTakesTheOthersAlong) {
  const std::string failures = run_nccl(
      3,
      [](Rank& rank) {
        Recorder recorder(rank);
        recorder.enqueue();
        if (rank.rank == 1) setenv("EMULATED_CUDA_GRAPHS", "0", 1);
        const bool kept = recorder.keep();
        expect(kept == (rank.rank != 1), "the device does not do as it was told");
        expect(!recorder.agree(kept), "they agree");
        const std::vector<std::string> told = rank.host().logged();
        expect(rank.rank > 0 || told.back().find("and rank 1 none") != std::string::npos,
               "nobody is told: " + told.back());
        recorder.forget();
        recorder.put(5);
        recorder.enqueue();
        expect(recorder.get()[0] == 5 * 3 + 3, "the sum is another");
        expect(rank.reason().empty(), "something has failed");
      },
      kGraphs);
  EXPECT_EQ(failures, "");
}

/// Of three ranks the second is struck in a replay, in the communicator that the graph comes to last or between.
class NcclReplayFaults : public testing::TestWithParam<const char*> {
 protected:
  static std::string struck(const char* variable) {
    test::SharedRendezvous rendezvous;
    test::RankOptions options = test::double_of_nccl();
    options.emplace_back("graphs", "true");
    return test::run_bodies(As::kProcesses, 3, [&](std::int32_t number) {
      std::optional<Rank> rank;
      rank.emplace(nccl(), rendezvous, number, 3, options);
      std::optional<Recorder> recorder;
      recorder.emplace(*rank);
      expect_agreed(*recorder);
      expect(recorder->replay() && recorder->end_of_replays().empty(), "the first replay failed");
      if (number == 1) setenv(variable, GetParam(), 1);
      const auto begin = std::chrono::steady_clock::now();
      std::string why;
      for (int round = 0; round < 3 && why.empty(); ++round) why = recorder->replay() ? "" : rank->reason();
      if (why.empty()) why = recorder->end_of_replays();
      recorder.reset();
      rank.reset();
      const double took = test::seconds_since(begin);
      expect(!why.empty(), "it ended well");
      expect_contains(why, variable == std::string("NCCL_DOUBLE_DIE") ? "rank 1 is gone" : "rank 1: ");
      expect(took < 5, "it took " + std::to_string(took) + " s to leave");
    });
  }
};

TEST_P(NcclReplayFaults, ADeathIsNamedByAllOthers) {
  EXPECT_EQ(struck("NCCL_DOUBLE_DIE"), "rank 1 ended with status 9\n");
}
TEST_P(NcclReplayFaults, AnErrorIsToldToAll) { EXPECT_EQ(struck("NCCL_DOUBLE_BREAK"), ""); }

INSTANTIATE_TEST_SUITE_P(Of, NcclReplayFaults, testing::Values("ncclAllGather:1", "ncclSend:6"), [](const auto& info) {
  return std::string(info.param).substr(0, std::string(info.param).find(':'));
});

/// Replays count as starts: who leaves after as many has left in good order, and who begins one more is told.
TEST(NcclCapture, CountsReplaysAsStarts) {
  const std::string failures = run_nccl(
      2,
      [](Rank& rank) {
        Recorder recorder(rank);
        expect_agreed(recorder);
        for (int round = 0; round < 2; ++round) expect(recorder.replay(), "no replay");
        expect(recorder.end_of_replays().empty(), "a replay failed");
        if (rank.rank == 0) return;
        const auto begin = std::chrono::steady_clock::now();
        const bool enters = recorder.replay();
        const std::string why = enters ? recorder.end_of_replays() : rank.reason();
        expect_contains(why, "rank 0 has left, and all_reduce");
        expect(test::seconds_since(begin) < 5, "it took too long");
      },
      kGraphs);
  EXPECT_EQ(failures, "");
}

/// One that is under way keeps a group from ending well, and its event tells.
TEST(NcclCapture, AReplayUnderWayIsUnfinished) {
  const std::string failures = run_nccl(
      2,
      [](Rank& rank) {
        Recorder recorder(rank);
        expect_agreed(recorder);
        if (rank.rank == 1) {
          usleep(500'000);  // it never comes
          return;
        }
        expect(recorder.replay(), "no replay");
        recorder.forget();
        rank.table.group_destroy(rank.get(), recorder.group());
        expect_contains(recorder.end_of_replays(), "a group was destroyed while its operations were under way");
      },
      kGraphs);
  EXPECT_EQ(failures, "");
}

}  // namespace
}  // namespace baleen::conformance
