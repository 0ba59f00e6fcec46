/// \file A bit at a time is turned in all that a training keeps from one step to the next, on one rank and on two,
/// whole and in shards: each is found within a step, by the rank whose memory it is, and before anything is saved.
/// (What is computed in 16 bits is cast from fp32 in each step, and kept by nobody.)
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "frontend/engine/memory_check.hpp"
#include "support/places.hpp"
#include "support/ranks.hpp"
#include "support/seed.hpp"
#include "unit/core/runtime/small_job.hpp"

namespace baleen::app {
namespace {

constexpr std::size_t kBits = 112;  ///< of each of nine clusters: 1008; of others fewer
constexpr std::size_t kFew = 40;
constexpr std::uint64_t kSeed = 0xB1A5'ED5E'EDED'0C0DULL;
constexpr std::int64_t kRow = 0x0011'2233'4455'6670LL;      ///< likewise of rows, and some steps' more
constexpr std::int64_t kResumed = 0x0123'4567'89AB'CDEFLL;  ///< as many steps as nothing else counts

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}
void require(const Status& status) { require(static_cast<bool>(status), status ? "" : status.error().text()); }

/// Passes on what a check finds, and undoes the damage there and then: the run, and the other rank, go on.
class Mending : public InstructionWatch {
 public:
  explicit Mending(MemoryCheck& check) : check_(check) {}

  void turn(std::byte* memory, std::uint64_t bit) {
    place_ = memory + bit / 8, mask_ = static_cast<std::byte>(1u << (bit % 8));
    *place_ ^= mask_;
  }
  void turn_back() {
    if (place_) *std::exchange(place_, nullptr) ^= mask_;
  }
  /// What was found since the last call.
  std::vector<std::string> found() { return std::exchange(found_, {}); }

  bool sees(const Executable& executable, std::size_t segment, const BlockLaunches* launches) override {
    return check_.sees(executable, segment, launches);
  }
  Status begins_step() override { return has_found(check_.begins_step()) ? check_.begins_step() : Status(); }
  Status before(const Instruction& instruction) override {
    return has_found(check_.before(instruction)) ? check_.before(instruction) : Status();
  }
  Status after(const Instruction& instruction) override {
    return has_found(check_.after(instruction)) ? check_.after(instruction) : Status();
  }
  const baleen_block_watch_t* blocks(const Instruction& instruction) override {
    inner_ = check_.blocks(instruction);
    return inner_ ? &outer_ : nullptr;
  }
  void wrote(const PersistentBuffer& buffer) override { check_.wrote(buffer); }

 private:
  bool has_found(const Status& status) {
    if (status) return false;
    found_.push_back(status.error().text());
    turn_back();
    return true;
  }
  std::uint32_t before_block(std::uint64_t first, std::uint64_t count) {
    if (inner_->before(inner_->self, first, count) == 0) return 0;
    turn_back();  // it is told behind the launch
    return inner_->before(inner_->self, first, count);
  }

  MemoryCheck& check_;
  std::byte* place_ = nullptr;
  std::byte mask_{};
  std::vector<std::string> found_;
  const baleen_block_watch_t* inner_ = nullptr;
  baleen_block_watch_t outer_ = {sizeof outer_, this,
                                 [](void* self, std::uint64_t first, std::uint64_t count) {
                                   return static_cast<Mending*>(self)->before_block(first, count);
                                 },
                                 [](void* self, std::uint64_t first, std::uint64_t count) {
                                   const auto* const inner = static_cast<Mending*>(self)->inner_;
                                   inner->after(inner->self, first, count);
                                 }};
};

/// Something that a rank keeps from one step to the next.
struct Kept {
  std::string name;  ///< as messages begin
  std::byte* memory;
  std::uint64_t bits;
};

/// Where a session has this number, which is there once.
std::byte* place_in(const Session& session, std::uint64_t number) {
  static_assert(sizeof(Session) == sizeof(void*), "a session is a pointer to its parts");
  std::byte* parts = nullptr;
  std::memcpy(&parts, &session, sizeof parts);
  std::byte* found = nullptr;
  for (std::size_t at = 0; at + sizeof number <= malloc_usable_size(parts); at += alignof(std::uint64_t)) {
    if (std::memcmp(parts + at, &number, sizeof number) != 0) continue;
    require(!found, "a session has this number twice");
    found = parts + at;
  }
  require(found, "a session does not have this number");
  return found;
}

using Strategies = std::vector<MemberSpec>;
MemberSpec entry(const std::string& name, UserValues options = {}) { return {name, std::move(options), {}, "test"}; }
UserValue word(const std::string& text) { return {text, "test"}; }
UserValue number(std::int64_t value) { return {value, "test"}; }

struct Cluster {
  const char* name;
  int ranks;
  Strategies strategies;
  std::set<std::string> stored = {};  ///< besides parameters and moments; names that hold these
  bool is_cut = false;                ///< a rank has a part of parameters
  bool is_late = false;               ///< a step makes the update of the step before
  std::string optimizer = "adamw";
  std::size_t bits = kBits;
  std::int64_t accumulate = 2;
};
void PrintTo(const Cluster& cluster, std::ostream* out) { *out << cluster.name; }

/// A rank whose bits are turned.
class Victim {
 public:
  explicit Victim(test::JobOptions options, const std::string& optimizer = "adamw") {
    options.watch = &mending_;
    options.lr = 1e-3;
    options.dtype = BALEEN_F32;
    options.optimizer = optimizer;
    options.seed = kSeed;
    options.goes_on_not_finite = true;  // what was computed of a bit before it was found is undone here
    run_ = std::make_unique<test::SmallRun>(folder_, options);
    require(run_->status);
    require(session().resume(kResumed, kRow, {}));
    std::byte* const steps = place_in(session(), kResumed);
    require(session().resume(0, kRow, {}));
    check_.attach(session());
    for (int i = 0; i < 3; ++i) step();
    std::byte* const place = place_in(session(), static_cast<std::uint64_t>(kRow + 3 * options.batch));
    for (const PersistentBuffer& buffer : session().persistent().buffers) {
      if (buffer.bytes == 0 || buffer.is_offloaded()) continue;  // of slots: offloaded_bits_test.cpp
      auto* const memory = const_cast<std::byte*>(session().own_memory(buffer));
      require(memory, buffer.spec.name + " is not in the host's memory");
      kept_.push_back({"`" + buffer.spec.name + "`", memory, 8 * buffer.bytes});
      good_[&buffer] = {memory, memory + buffer.bytes};
    }
    kept_.push_back({"the seed of the job", place_in(session(), kSeed), 64});
    kept_.push_back({"the number of steps of the job", steps, 64});
    kept_.push_back({"the job's place in the data", place, 64});
  }

  Session& session() { return *run_->session; }
  void step() {
    const auto facts = session().step();
    require(facts ? Status() : facts.error());
    const std::vector<std::string> found = mending_.found();
    require(found.empty(), found.empty() ? "" : "found though nothing is lost: " + found[0]);
  }
  std::size_t kinds() const { return kept_.size(); }
  /// That parameters, moments and what else the cluster has are among what is lost.
  void expect_kept(const Cluster& cluster) {
    std::set<std::string> wanted = cluster.stored, categories;
    bool is_cut = false;
    for (const PersistentBuffer& buffer : session().persistent().buffers) {
      categories.insert(buffer.spec.category);
      std::erase_if(wanted, [&](const std::string& part) { return buffer.spec.name.find(part) != std::string::npos; });
      is_cut = is_cut || (buffer.spec.role == Role::parameter && !buffer.spec.layout.empty());
    }
    require(categories.contains("parameters") && categories.contains("optimizer"), "parameters or moments are missing");
    require(wanted.empty(), wanted.empty() ? "" : "nothing is stored of " + *wanted.begin());
    require(is_cut == cluster.is_cut, "parameters are not cut as they should be");
    require(kept_.size() <= cluster.bits, std::to_string(kept_.size()) + " things to lose");
  }
  /// A bit is lost before a step.
  void lose(std::size_t kind, std::uint64_t bit) {
    const Kept& kept = kept_[kind % kept_.size()];
    mending_.turn(kept.memory, bit % kept.bits);
    const auto facts = session().step();
    mending_.turn_back();
    require(facts ? Status() : facts.error());
    const std::string what = "bit " + std::to_string(bit % kept.bits) + " of " + kept.name;
    const std::vector<std::string> found = mending_.found();
    require(found.size() == 1, what + " is found " + std::to_string(found.size()) + " times");
    require(found[0].starts_with(kept.name + " is no longer what ") &&
                found[0].find(", found in step ") != std::string::npos,
            what + ": " + found[0]);
  }
  /// The same between the last step and a save.
  void lose_before_save(std::size_t kind, std::uint64_t bit) {
    const Kept& kept = kept_[kind % kept_.size()];
    require(check_.compare_all());
    mending_.turn(kept.memory, bit % kept.bits);
    const Status found = check_.compare_all();
    mending_.turn_back();
    const std::string what = "bit " + std::to_string(bit % kept.bits) + " of " + kept.name;
    require(!found, what + " would be saved");
    require(found.error().text().starts_with(kept.name + " is no longer what ") &&
                found.error().text().find(", before it was saved") != std::string::npos,
            what + ": " + found.error().text());
  }
  /// What the damage has done to numbers until it was found.
  void restore() {
    for (const auto& [buffer, bytes] : good_) require(session().write_own(*buffer, bytes));
  }

 private:
  const test::TemporaryFolder folder_;
  MemoryCheck check_;
  Mending mending_{check_};
  std::unique_ptr<test::SmallRun> run_;
  std::vector<Kept> kept_;
  std::map<const PersistentBuffer*, std::vector<std::byte>> good_;
};

class StoredBits : public testing::TestWithParam<Cluster> {
 protected:
  void SetUp() override {
    for (const MemberSpec& one : GetParam().strategies)
      if (!test::has_plugin("strategy", one.name)) GTEST_SKIP() << "no strategy `" << one.name << "` in this tree";
  }
};

TEST_P(StoredBits, AreFoundWithinAStep) {
  const Cluster& cluster = GetParam();
  const std::uint64_t begin = test::seed();
  test::SharedRendezvous rendezvous("a");
  std::vector<std::string> kept;
  const std::string failures = test::run_bodies(test::As::kThreads, cluster.ranks, [&](std::int32_t rank) {
    const baleen_rendezvous_t own = rendezvous.of(rank, cluster.ranks);
    test::JobOptions options;
    options.strategies = cluster.strategies;
    options.accumulate = cluster.accumulate;
    options.is_late = cluster.is_late;
    if (cluster.ranks > 1) options.transport = "loopback", options.rendezvous = &own;
    Victim here(options, cluster.optimizer);
    here.expect_kept(cluster);
    std::mt19937_64 random(begin);  // the same on each
    for (std::size_t i = 0; i < cluster.bits; ++i) {
      const auto victim = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(cluster.ranks));
      const std::uint64_t bit = random(), late_bit = random();
      victim == rank ? here.lose(i, bit) : here.step();
      here.restore();
      if (victim == rank) here.lose_before_save(i, late_bit);
      here.step();
    }
  });
  EXPECT_EQ(failures, "");
}

/// Whatever an optimizer keeps of a parameter.
TEST(StoredBitsOfOptimizers, AreFoundWithinAStep) {
  for (const std::string& name : test::built_members("optimizer")) {
    Victim here({}, name);
    std::mt19937_64 random(test::seed());
    EXPECT_GT(here.kinds(), 6u) << name << " keeps nothing of a parameter";
    for (std::size_t kind = 0; kind < here.kinds(); ++kind)
      for (int i = 0; i < 2; ++i) {
        EXPECT_NO_THROW(here.lose(kind, random())) << name;
        here.restore();
        EXPECT_NO_THROW(here.lose_before_save(kind, random())) << name;
        here.step();
      }
  }
}

/// After odd and even numbers of steps: no bit is taken for a step more or less.
TEST(StoredBitsOfRandomState, AreFoundOneByOne) {
  Victim here({});
  for (std::uint64_t bit = 0; bit < 64; ++bit)
    for (int parity = 0; parity < 2; ++parity)
      for (const std::size_t from_end : {1, 2, 3}) {
        EXPECT_NO_THROW(here.lose(here.kinds() - from_end, bit)) << bit;
        EXPECT_NO_THROW(here.lose_before_save(here.kinds() - from_end, bit)) << bit;
        if (from_end == 3) here.step();
      }
}

const UserValue kHalf = word("fp16"), kBrain = word("bf16");
MemberSpec zero(std::int64_t stage) {
  return entry("zero", {{"stage", number(stage)}, {"replicate_below", number(1)}});
}
const MemberSpec kEight =
    entry("precision", {{"dtype", kBrain}, {"products", word("fp8")}, {"fp8_history", number(16)}});
MemberSpec compressed(const std::string& method, std::int64_t warmup) {
  UserValues options{{"method", word(method)}, {"warmup_steps", number(warmup)}, {"min_elements", number(64)}};
  if (method == "powersgd") options["rank"] = number(1);
  return entry("compress", std::move(options));
}
std::string named(const testing::TestParamInfo<Cluster>& one) { return one.param.name; }
INSTANTIATE_TEST_SUITE_P(
    Of, StoredBits,
    testing::Values(
        Cluster{"OneRank", 1, {}},
        Cluster{"OneRankInHalf", 1, {entry("precision", {{"dtype", kHalf}})}, {"loss_scale"}},
        Cluster{"Copies", 2, {entry("data")}},
        Cluster{"CopiesInHalf", 2, {entry("data"), entry("precision", {{"dtype", kHalf}})}, {"loss_scale"}},
        Cluster{"LateCopies", 2, {entry("data")}, {"late_gradient"}, false, true}, Cluster{"CutMoments", 2, {zero(1)}},
        Cluster{"CutParameters", 2, {zero(3)}, {}, true},
        Cluster{"CutMomentsInBrain", 2, {zero(1), entry("precision", {{"dtype", kBrain}})}, {}, true},
        Cluster{"CutParametersInHalf", 2, {zero(3), entry("precision", {{"dtype", kHalf}})}, {"loss_scale"}, true}),
    named);
INSTANTIATE_TEST_SUITE_P(
    OfStrategies, StoredBits,
    testing::Values(Cluster{"InEightBits", 1, {kEight}, {".amax", "fp8.position"}, false, false, "adamw", kFew},
                    Cluster{"CopiesInEightBits", 2, {entry("data"), kEight}, {".amax"}, false, false, "adamw", kFew},
                    Cluster{"SentInOneBit",
                            2,
                            {entry("data"), compressed("1bit", 2)},
                            {"error", "sum_error", "square", "mean"},
                            false,
                            false,
                            "adamw",
                            kFew},
                    Cluster{"BeforeSentInOneBit",
                            2,
                            {entry("data"), compressed("1bit", 100'000)},
                            {"error", "sum_error", "square", "mean"},
                            false,
                            false,
                            "adamw",
                            kFew},
                    Cluster{"SentOfLowRank",
                            2,
                            {entry("data"), compressed("powersgd", 0)},
                            {"error", "factor"},
                            false,
                            false,
                            "adamw",
                            kFew},
                    Cluster{"CutMomentsSentInOneBit",
                            2,
                            {zero(1), compressed("1bit", 2)},
                            {"error", "square", "mean"},
                            false,
                            false,
                            "adamw",
                            kFew},
                    Cluster{"DelayedByOffload",
                            1,
                            {entry("offload", {{"delay_update", UserValue{true, "test"}}})},
                            {"late_gradient"},
                            false,
                            false,
                            "adamw",
                            kFew,
                            1}),
    named);

}  // namespace
}  // namespace baleen::app
