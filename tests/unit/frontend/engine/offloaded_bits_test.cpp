/// \file A bit at a time is turned in what the strategy `offload` keeps in the host's memory between two steps: states,
/// parameters and gradients that wait. Each is found by the next step, or by what reads it for a save.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include "frontend/engine/memory_check.hpp"
#include "support/places.hpp"
#include "support/seed.hpp"
#include "unit/core/runtime/small_job.hpp"
#include "unit/frontend/engine/own_memory.hpp"

namespace baleen::app {
namespace {

constexpr std::size_t kPage = 4096;  ///< where slots begin

class OffloadedBits : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::has_plugin("strategy", "offload") || !test::has_plugin("offload", "host"))
      GTEST_SKIP() << "no strategy `offload` or no backend `host` in this tree";
  }
  /// All is outside that may be.
  void train() {
    const UserValue all{std::vector<std::string>{"*"}, "test"};
    test::JobOptions options;
    options.watch = &check_;
    options.dtype = BALEEN_F32;
    options.optimizer = "adamw";
    options.lr = 1e-3;
    options.strategies = {{"offload",
                           {{"parameters", all},
                            {"gradients", all},
                            {"delay_update", {true, "test"}},
                            {"min_elements", {std::int64_t{16}, "test"}}},
                           {},
                           "test"}};
    run_ = std::make_unique<test::SmallRun>(folder_, options);
    ASSERT_TRUE(run_->status) << run_->status.error().text();
    check_.attach(session());
    for (int i = 0; i < 3; ++i) {
      const auto facts = session().step();
      ASSERT_TRUE(facts) << facts.error().text();
    }
    slots_.clear();
    for (const PersistentBuffer& buffer : session().persistent().buffers)
      if (buffer.is_offloaded() && buffer.bytes > 0) slots_.push_back(&buffer);
    ASSERT_FALSE(slots_.empty());
  }
  Session& session() { return *run_->session; }
  /// Wherever those bytes lie: a buffer that has them still is written before it is read.
  void turn(const PersistentBuffer& buffer, std::uint64_t bit) {
    std::vector<std::byte> bytes(buffer.bytes);
    ASSERT_TRUE(session().read_own(buffer, 0, bytes));
    const test::OwnMemory memory;
    const auto places = memory.places_of(bytes, kPage);
    ASSERT_FALSE(places.empty()) << buffer.spec.name << " is not in this process's memory";
    for (const off_t place : places) memory.turn(place, bit);
  }

  const test::TemporaryFolder folder_;
  MemoryCheck check_;
  std::unique_ptr<test::SmallRun> run_;
  std::vector<const PersistentBuffer*> slots_;
};

TEST_F(OffloadedBits, AreFoundWithinAStepAndBeforeASave) {
  std::mt19937_64 random(test::seed());
  std::size_t kinds = 1;
  std::set<std::string> suffixes;
  for (std::size_t i = 0; i < 2 * kinds; ++i) {
    ASSERT_NO_FATAL_FAILURE(train());  // a store tells its first failure ever after
    kinds = slots_.size();
    const PersistentBuffer& buffer = *slots_[i % kinds];
    const std::string& name = buffer.spec.name;
    suffixes.insert(buffer.spec.role == Role::parameter ? "parameter" : name.substr(name.rfind('.')));
    const std::uint64_t bit = random() % (8 * buffer.bytes);
    ASSERT_NO_FATAL_FAILURE(turn(buffer, bit));
    std::vector<std::byte> saved(buffer.bytes);
    const Status found = i < kinds ? [&] {
      const auto facts = session().step();
      return facts ? Status() : Status(facts.error());
    }() : session().read_own(buffer, 0, saved);
    ASSERT_FALSE(found) << "bit " << bit << " of " << name << (i < kinds ? " is trained on" : " would be saved");
    EXPECT_EQ(found.error().code, BALEEN_DAMAGED);
    EXPECT_NE(found.error().message.find("`" + name + "`"), std::string::npos) << found.error().message;
    EXPECT_NE(found.error().message.find("checksum differs"), std::string::npos) << found.error().message;
  }
  EXPECT_EQ(suffixes, (std::set<std::string>{".late_gradient", ".m", ".v", "parameter"}));
}

}  // namespace
}  // namespace baleen::app
