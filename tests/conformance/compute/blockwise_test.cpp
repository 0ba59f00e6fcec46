/// \file Launches that tell of their blocks (blockwise.h): each element is in one, and nothing else has changed.
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "conformance/compute/harness.hpp"

namespace baleen::conformance {
namespace {

/// Where the elements of each block begin, and how many of them there are.
class Watched {
 public:
  /// Refuses the block that begins there.
  explicit Watched(std::uint64_t refused = UINT64_MAX) : refused_(refused) {}

  const baleen_block_watch_t* watch() const { return &watch_; }
  std::map<std::uint64_t, std::uint64_t> begun, ended;

 private:
  static std::uint32_t before(void* self, std::uint64_t first, std::uint64_t count) {
    Watched& own = *static_cast<Watched*>(self);
    const std::lock_guard lock(own.mutex_);
    EXPECT_TRUE(own.begun.emplace(first, count).second) << "the block at " << first << " begins twice";
    return first == own.refused_ ? 1 : 0;
  }
  static void after(void* self, std::uint64_t first, std::uint64_t count) {
    Watched& own = *static_cast<Watched*>(self);
    const std::lock_guard lock(own.mutex_);
    EXPECT_EQ(own.begun.count(first), 1u) << "the block at " << first << " ends before it begins";
    EXPECT_TRUE(own.ended.emplace(first, count).second) << "the block at " << first << " ends twice";
  }

  std::mutex mutex_;
  std::uint64_t refused_;
  baleen_block_watch_t watch_{sizeof watch_, this, before, after};
};

class Blockwise : public ComputeTest {
 protected:
  /// Momentum: m' = 0.9 m + g, p' = p - f m'.
  static OpSpec update() {
    return OpSpec("pointwise")
        .expression({{BALEEN_X_INPUT, 0, 0, 0, 0},
                     {BALEEN_X_INPUT, 1, 0, 0, 0},
                     {BALEEN_X_INPUT, 2, 0, 0, 0},
                     {BALEEN_X_INPUT, 3, 0, 0, 0},
                     {BALEEN_X_CONSTANT, 0, 0, 0, 0.9},
                     {BALEEN_X_MUL, 1, 4, 0, 0},
                     {BALEEN_X_ADD, 5, 2, 0, 0},
                     {BALEEN_X_MUL, 6, 3, 0, 0},
                     {BALEEN_X_SUB, 0, 7, 0, 0}},
                    {8, 6});
  }
  std::vector<Tensor> operands(const Shape& shape) {
    std::vector<Tensor> all;
    for (int i = 0; i < 3; ++i) all.push_back(random_tensor(random, shape));
    all.push_back(Tensor{Shape(shape.size(), 1), {0.01}});
    return all;
  }
  bool tells() { return two().table().query(two().get(), abi(std::string_view(BALEEN_BLOCKWISE))) != nullptr; }
};

TEST_P(Blockwise, EachElementIsInOneBlock) {
  if (!tells()) return;
  bool any = false;
  for (const Shape& shape : {Shape{100003}, Shape{3, 50000}, Shape{32768}, Shape{17}, Shape{700, 40}}) {
    const std::vector<Tensor> inputs = operands(shape);
    const std::vector<Tensor> like{zeros(shape), zeros(shape)};
    const std::vector<Tensor> wanted = run(update(), inputs, like);
    for (const auto aliases : {RunOptions::Aliases::none, RunOptions::Aliases::first}) {
      Watched watched;
      std::vector<RunOptions::Blocks> blocks;
      RunOptions options;
      options.watch = watched.watch();
      options.blocks = &blocks;
      options.aliases = aliases;
      std::vector<Tensor> got = like;
      ASSERT_EQ(two().run(update(), inputs, got, dtype(), options), BALEEN_OK) << plugin().last_failure();
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].values, wanted[i].values) << "output " << i;
      ASSERT_EQ(blocks.size(), 6u);
      EXPECT_EQ(blocks[3].each, 0u) << "of one number there are no blocks";
      EXPECT_EQ(watched.begun, watched.ended);
      const std::uint64_t each = blocks[0].each, elements = static_cast<std::uint64_t>(inputs[0].values.size());
      if (each == 0) {
        EXPECT_TRUE(watched.begun.empty());
        continue;
      }
      any = true;
      for (const std::size_t i : {0, 1, 2, 4, 5}) EXPECT_EQ(blocks[i].elements, elements) << "tensor " << i;
      std::uint64_t at = 0;
      for (const auto& [first, count] : watched.begun) {
        EXPECT_EQ(first, at);
        EXPECT_EQ(count, std::min(each, elements - at));
        at = first + count;
      }
      EXPECT_EQ(at, elements);
    }
  }
  EXPECT_TRUE(any) << "the device has the extension, and no kernel tells of blocks";
}

TEST_P(Blockwise, ARefusedBlockStaysAsItIs) {
  if (!tells()) return;
  const Shape shape{100003};
  const std::vector<Tensor> inputs = operands(shape);
  std::vector<RunOptions::Blocks> blocks;
  RunOptions options;
  options.blocks = &blocks;
  Watched all;
  options.watch = all.watch();
  std::vector<Tensor> wanted{zeros(shape), zeros(shape)};
  ASSERT_EQ(two().run(update(), inputs, wanted, dtype(), options), BALEEN_OK);
  ASSERT_GT(blocks[0].each, 0u);
  const std::uint64_t refused = blocks[0].each, end = refused + all.begun.at(refused);
  Watched some(refused);
  options.watch = some.watch();
  std::vector<Tensor> got{zeros(shape), zeros(shape)};
  ASSERT_EQ(two().run(update(), inputs, got, dtype(), options), BALEEN_OK) << plugin().last_failure();
  EXPECT_FALSE(some.ended.contains(refused));
  for (std::size_t i = 0; i < got.size(); ++i)
    for (std::uint64_t at = 0; at < got[i].values.size(); ++at)
      if (at >= refused && at < end) {
        EXPECT_TRUE(std::isnan(got[i].values[at])) << "output " << i << ", element " << at << " was written";
      } else {
        EXPECT_TRUE(std::isnan(got[i].values[at]) || got[i].values[at] == wanted[i].values[at]) << at;
      }
}

BALEEN_COMPUTE_SUITE(Blockwise);

}  // namespace
}  // namespace baleen::conformance
