/// \file A job of which all that may be lies outside the device, and the bits of it to turn.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <set>

#include "frontend/engine/memory_check.hpp"
#include "support/places.hpp"
#include "support/seed.hpp"
#include "unit/core/runtime/small_job.hpp"
#include "unit/frontend/engine/own_memory.hpp"

namespace baleen::app {

class OffloadedBits : public testing::Test {
 protected:
  static constexpr std::size_t kPage = 4096;  ///< where slots begin

  void SetUp() override {
    if (!test::has_plugin("strategy", "offload") || !test::has_plugin("offload", "host"))
      GTEST_SKIP() << "no strategy `offload` or no backend `host` in this tree";
  }
  /// All is outside that may be, or of states those that match. `in_place`: updates run in the memory of slots, which
  /// their store does not compare.
  void train(bool in_place = false, const std::string& states = "*") {
    const UserValue all{std::vector<std::string>{"*"}, "test"};
    test::JobOptions options = options_;
    run_.reset();  // before what watches it
    check_.emplace();
    options.watch = &*check_;
    options.dtype = BALEEN_F32;
    options.optimizer = "adamw";
    options.lr = 1e-3;
    options.strategies = {{"offload",
                           {{"states", {std::vector<std::string>{states}, "test"}},
                            {"parameters", all},
                            {"gradients", all},
                            {"delay_update", {true, "test"}},
                            {"update", {std::string(in_place ? "host" : "device"), "test"}},
                            {"min_elements", {std::int64_t{16}, "test"}}},
                           {},
                           "test"}};
    options.store_maps = in_place;
    run_ = std::make_unique<test::SmallRun>(folder_, options);
    ASSERT_TRUE(run_->status) << run_->status.error().text();
    check_->attach(session());
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
  Status stepped() {
    const auto facts = session().step();
    return facts ? Status() : Status(facts.error());
  }
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
  test::JobOptions options_;  ///< what is not set by `train`
  std::optional<MemoryCheck> check_;
  std::unique_ptr<test::SmallRun> run_;
  std::vector<const PersistentBuffer*> slots_;
};

/// "parameter", or which state: ".m".
inline std::string suffix_of(const PersistentBuffer& buffer) {
  const std::string& name = buffer.spec.name;
  return buffer.spec.role == Role::parameter ? "parameter" : name.substr(name.rfind('.'));
}

/// Of each tensor a bit, found by the next step or, in the second half, by what comes before a save.
class BitOfEach {
 public:
  /// Whether there is another one.
  bool next(const std::vector<const PersistentBuffer*>& slots) {
    kinds_ = slots.size();
    if (++number_ > 2 * kinds_) return false;
    buffer_ = slots[(number_ - 1) % kinds_];
    bit_ = random_() % (8 * buffer_->bytes);
    suffixes_.insert(suffix_of(*buffer_));
    return true;
  }
  const PersistentBuffer& buffer() const { return *buffer_; }
  std::uint64_t bit() const { return bit_; }
  bool is_of_step() const { return number_ <= kinds_; }
  void expect_found(const Status& found, const std::string& how) const {
    const std::string& name = buffer_->spec.name;
    ASSERT_FALSE(found) << "bit " << bit_ << " of " << name << (is_of_step() ? " is trained on" : " would be saved");
    EXPECT_EQ(found.error().code, BALEEN_DAMAGED);
    EXPECT_NE(found.error().message.find("`" + name + "`"), std::string::npos) << found.error().message;
    EXPECT_NE(found.error().message.find(how), std::string::npos) << found.error().message;
  }
  const std::set<std::string>& suffixes() const { return suffixes_; }

 private:
  std::mt19937_64 random_{test::seed()};
  std::size_t number_ = 0, kinds_ = 0;
  const PersistentBuffer* buffer_ = nullptr;
  std::uint64_t bit_ = 0;
  std::set<std::string> suffixes_;
};

inline const std::set<std::string> kSuffixes{".late_gradient", ".m", ".v", "parameter"};

}  // namespace baleen::app
