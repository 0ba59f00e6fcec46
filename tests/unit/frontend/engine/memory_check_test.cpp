/// \file Bits of stored tensors are turned between updates, one at a time.
#include "frontend/engine/memory_check.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>

#include "support/places.hpp"
#include "support/seed.hpp"
#include "unit/core/runtime/small_job.hpp"

namespace baleen::app {
namespace {

class MemoryCheckTest : public testing::Test {
 protected:
  void train(const test::JobOptions& given = {}, InstructionWatch* watch = nullptr) {
    test::JobOptions options = given;
    options.watch = watch ? watch : &check_;
    options.lr = 1e-3;
    options.dtype = BALEEN_F32;
    run_ = std::make_unique<test::SmallRun>(folder_, options);
    ASSERT_TRUE(run_->status) << run_->status.error().text();
    check_.attach(*run_->session);
    for (int i = 0; i < 3; ++i) step();
  }
  Session& session() { return *run_->session; }
  void step() {
    const auto facts = session().step();
    ASSERT_TRUE(facts) << facts.error().text();
  }
  void turn(const PersistentBuffer& buffer, std::uint64_t bit) {
    auto* const memory = const_cast<std::byte*>(session().own_memory(buffer));
    memory[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  }
  /// Parameters, moments and the number of updates.
  std::vector<const PersistentBuffer*> guarded() {
    std::vector<const PersistentBuffer*> all;
    for (const PersistentBuffer& buffer : session().persistent().buffers) all.push_back(&buffer);
    return all;
  }

  const test::TemporaryFolder folder_;
  MemoryCheck check_;
  std::unique_ptr<test::SmallRun> run_;
};

TEST_F(MemoryCheckTest, FindsEveryBitWithinAStep) {
  constexpr int kBits = 1000;
  train();
  const std::vector<const PersistentBuffer*> all = guarded();
  std::set<std::string> categories;
  for (const PersistentBuffer* one : all) categories.insert(one->spec.category);
  ASSERT_EQ(categories, (std::set<std::string>{"control", "optimizer", "parameters"}));
  std::mt19937_64 random(test::seed());
  for (int i = 0; i < kBits; ++i) {
    const PersistentBuffer& buffer = *all[random() % all.size()];
    const std::uint64_t bit = random() % (8 * buffer.bytes);
    turn(buffer, bit);
    const auto facts = session().step();
    ASSERT_FALSE(facts) << "bit " << bit << " of " << buffer.spec.name;
    EXPECT_EQ(facts.error().code, BALEEN_DAMAGED);
    EXPECT_EQ(facts.error().message.find("`" + buffer.spec.name + "` is no longer what the last update wrote"), 0u)
        << facts.error().message;
    EXPECT_FALSE(session().is_whole());
    turn(buffer, bit);
    if (i % 50 == 0) step();
  }
}

/// What comes behind the last update finds its bits too.
TEST_F(MemoryCheckTest, FindsEveryBitBeforeASave) {
  constexpr int kBits = 300;
  train();
  const std::vector<const PersistentBuffer*> all = guarded();
  std::mt19937_64 random(test::seed());
  EXPECT_TRUE(check_.compare_all());
  for (int i = 0; i < kBits; ++i) {
    const PersistentBuffer& buffer = *all[random() % all.size()];
    const std::uint64_t bit = random() % (8 * buffer.bytes);
    turn(buffer, bit);
    const Status found = check_.compare_all();
    ASSERT_FALSE(found) << "bit " << bit << " of " << buffer.spec.name;
    EXPECT_EQ(found.error().code, BALEEN_DAMAGED);
    EXPECT_EQ(found.error().message.find("`" + buffer.spec.name +
                                         "` is no longer what the last update wrote, found after step "),
              0u)
        << found.error().message;
    turn(buffer, bit);
    EXPECT_TRUE(check_.compare_all());
  }
}

TEST_F(MemoryCheckTest, SaysWhere) {
  test::JobOptions wide;
  wide.width = 20000;  // a parameter of several blocks
  train(wide);
  for (const PersistentBuffer* one : guarded()) {
    if (one->bytes < 200'000) continue;
    turn(*one, 8 * 131072);
    const auto facts = session().step();
    ASSERT_FALSE(facts);
    EXPECT_NE(facts.error().message.find(" in bytes 131072 to 196607 of this rank's piece"), std::string::npos)
        << facts.error().message;
    return;
  }
  FAIL() << "no parameter is that large";
}

TEST_F(MemoryCheckTest, LetsSoundTrainingsRunWithAccumulation) {
  test::JobOptions two;
  two.accumulate = 2;
  train(two);
  for (int i = 0; i < 10; ++i) step();
}

/// Calls another watch, and turns a bit when so many more instructions that this one sees have begun.
class TurnsBits : public InstructionWatch {
 public:
  explicit TurnsBits(InstructionWatch& other) : other_(other) {}
  void turn(std::byte* memory, int instructions) {
    memory_ = memory;
    left_ = instructions;
  }
  bool has_turned() const { return !memory_; }
  bool device_tells() const { return device_tells_; }
  int told() const { return told_; }  ///< launches that told of their blocks

  bool sees(const Executable& executable, std::size_t segment, const BlockLaunches* launches) override {
    device_tells_ = launches != nullptr;
    return other_.sees(executable, segment, launches);
  }
  Status before(const Instruction& instruction) override {
    if (memory_ && left_-- == 0) *std::exchange(memory_, nullptr) ^= std::byte{1};
    return other_.before(instruction);
  }
  Status after(const Instruction& instruction) override { return other_.after(instruction); }
  const baleen_block_watch_t* blocks(const Instruction& instruction) override {
    const baleen_block_watch_t* const watch = other_.blocks(instruction);
    if (watch) ++told_;
    return watch;
  }
  void wrote(const PersistentBuffer& buffer) override { other_.wrote(buffer); }

 private:
  InstructionWatch& other_;
  std::byte* memory_ = nullptr;
  int left_ = 0, told_ = 0;
  bool device_tells_ = false;
};

/// Large tensors are compared block by block within the launches that update them: a bit in any block, of what is read
/// and of what is written, and nothing of the launch's other blocks is taken for wrong afterwards.
TEST_F(MemoryCheckTest, FindsBitsInBlocksOfLaunches) {
  TurnsBits watch(check_);
  test::JobOptions wide;
  wide.width = 20000;
  train(wide, &watch);
  EXPECT_EQ(watch.device_tells(), watch.told() > 0);
  std::mt19937_64 random(test::seed());
  std::set<std::string> categories;
  for (const PersistentBuffer* one : guarded()) {
    if (one->bytes < 200'000) continue;
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t bit = random() % (8 * one->bytes);
      turn(*one, bit);
      const auto facts = session().step();
      ASSERT_FALSE(facts) << "bit " << bit << " of " << one->spec.name;
      EXPECT_EQ(facts.error().message.find("`" + one->spec.name + "` is no longer what the last update wrote"), 0u)
          << facts.error().message;
      turn(*one, bit);
      step();
    }
    categories.insert(one->spec.category);
  }
  EXPECT_EQ(categories, (std::set<std::string>{"optimizer", "parameters"}));
}

/// Updates that handle pieces, in their own section or in the backward pass: each piece is compared for itself, and
/// written so.
class PiecesOfUpdates : public MemoryCheckTest, public testing::WithParamInterface<bool> {};

TEST_P(PiecesOfUpdates, FindTheirBits) {
  if (!test::has_plugin("strategy", "offload")) GTEST_SKIP() << "no strategy `offload` in this tree";
  TurnsBits watch(check_);
  test::JobOptions wide;
  wide.width = 2000;  // four pieces of the last matrix
  wide.is_late = GetParam();
  wide.strategies = {
      {"offload", {{"piece_mb", {0.5, "test"}}, {"min_elements", {std::int64_t{16}, "test"}}}, {}, "test"}};
  train(wide, &watch);
  EXPECT_EQ(watch.device_tells(), watch.told() > 0);
  std::mt19937_64 random(test::seed());
  int large = 0;
  for (const PersistentBuffer* one : guarded()) {
    if (one->bytes < 2'000'000 || !session().own_memory(*one)) continue;
    ++large;
    for (std::uint64_t piece = 0; piece < 4; ++piece) {
      const std::uint64_t byte = (piece << 19) + random() % (1 << 18);
      turn(*one, 8 * byte);
      const auto facts = session().step();
      ASSERT_FALSE(facts) << "byte " << byte << " of " << one->spec.name;
      const std::string& message = facts.error().message;
      EXPECT_EQ(message.find("`" + one->spec.name + "` is no longer what the last update wrote"), 0u) << message;
      EXPECT_NE(message.find(" in bytes " + std::to_string(byte / 65536 * 65536) + " to "), std::string::npos)
          << message << ", byte " << byte;
      turn(*one, 8 * byte);
      for (int i = 0; i < 3; ++i) step();
    }
  }
  EXPECT_EQ(large, GetParam() ? 2 : 1) << "the parameter, and the gradient that waits";
}

INSTANTIATE_TEST_SUITE_P(MemoryCheck, PiecesOfUpdates, testing::Bool(),
                         [](const auto& one) { return one.param ? "OfTheStepBefore" : "OfTheStep"; });

/// Within a step too there is no time at which a lost bit would be taken for right.
class BetweenInstructions : public MemoryCheckTest {
 protected:
  /// Turns a bit of each tensor before each instruction of a step; all are found. `among` are names of tensors.
  void find_all(const test::JobOptions& options, const std::set<std::string>& among) {
    TurnsBits turns(check_);
    train(options, &turns);
    std::set<std::string> missing = among;
    int found = 0;
    for (const PersistentBuffer* one : guarded()) {
      missing.erase(one->spec.name);
      for (int at = 0;; ++at, ++found) {
        turns.turn(const_cast<std::byte*>(session().own_memory(*one)), at);
        auto facts = session().step();
        if (!turns.has_turned()) {  // a step has no more instructions
          turns.turn(nullptr, 0);
          break;
        }
        if (facts) facts = session().step();
        ASSERT_FALSE(facts) << one->spec.name << " before instruction " << at;
        EXPECT_NE(facts.error().message.find("`" + one->spec.name + "` is no longer what"), std::string::npos)
            << facts.error().message;
        turn(*one, 0);
        check_.attach(session());
        step();
      }
    }
    EXPECT_TRUE(missing.empty()) << *missing.begin();
    EXPECT_GT(found, 50);
  }
};

TEST_F(BetweenInstructions, FindsBitsWithALossScale) {
  if (!test::has_plugin("strategy", "precision")) GTEST_SKIP() << "no strategy `precision` in this tree";
  test::JobOptions scaled;
  scaled.accumulate = 2;
  scaled.strategies = {{"precision", {{"dtype", {std::string("fp16"), "test"}}}, {}, "test"}};
  find_all(scaled, {"precision.loss_scale"});
}

TEST_F(BetweenInstructions, FindsBitsOfLateUpdates) {
  test::JobOptions late;
  late.is_late = true;
  find_all(late, {"hidden.weight.late_gradient", "optimizer.late_counts"});
}

/// What the host writes is right.
TEST_F(MemoryCheckTest, TakesWhatIsWrittenForRight) {
  train();
  for (const PersistentBuffer* one : guarded()) {
    std::vector<std::byte> bytes(one->bytes);
    ASSERT_TRUE(session().read_own(*one, 0, bytes));
    bytes[0] ^= std::byte{1};
    ASSERT_TRUE(session().write_own(*one, bytes));
    step();
  }
}

/// Evaluation and reading change nothing.
TEST_F(MemoryCheckTest, LetsEverythingElseBe) {
  train();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(session().evaluate(1));
    ASSERT_TRUE(session().read_own(guarded().front()->spec.name));
    step();
  }
}

}  // namespace
}  // namespace baleen::app
