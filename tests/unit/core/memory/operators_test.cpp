/// \file `new` and `delete` with a scope and without.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "core/memory/planning_memory.hpp"
#include "core/memory/small_objects.hpp"

namespace baleen {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasOperators = false;
#else
constexpr bool kHasOperators = true;
#endif

bool is_of_region(const void* object) { return planning_objects.has(object); }

TEST(PlanningMemory, IsWhereSmallObjectsLie) {
  std::map<int, std::string> later;
  {
    const PlanningMemory memory;
    const auto small = std::make_unique<int>(1);
    EXPECT_EQ(is_of_region(small.get()), kHasOperators);
    const auto most = std::make_unique<std::byte[]>(SmallObjects::kLargest);
    EXPECT_EQ(is_of_region(most.get()), kHasOperators);
    const auto large = std::make_unique<std::byte[]>(SmallObjects::kLargest + 1);
    EXPECT_FALSE(is_of_region(large.get()));
    struct alignas(64) Aligned {
      char bytes[64];
    };
    const auto aligned = std::make_unique<Aligned>();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned.get()) % 64, 0U);
    void* const nothing = ::operator new(0);
    EXPECT_NE(nothing, nullptr);
    ::operator delete(nothing);
    const std::unique_ptr<int> quiet(new (std::nothrow) int(2));
    EXPECT_EQ(is_of_region(quiet.get()), kHasOperators);
    for (int i = 0; i < 1000; ++i) later[i] = std::string(40, 'a');
  }
  const auto outside = std::make_unique<int>(1);
  EXPECT_FALSE(is_of_region(outside.get()));
  EXPECT_EQ(is_of_region(&*later.begin()), kHasOperators);
  std::thread([&] { later.clear(); }).join();  // deleted by another thread, and behind its scope
  { const PlanningMemory memory; }
  EXPECT_EQ(planning_objects.usage().live, 0U);
  EXPECT_EQ(planning_objects.usage().taken, 0U);
}

TEST(PlanningMemory, LeavesASecondThreadToMalloc) {
  const PlanningMemory memory;
  std::thread([] {
    const PlanningMemory other;
    EXPECT_FALSE(is_of_region(std::make_unique<int>(1).get()));
  }).join();
  EXPECT_EQ(is_of_region(std::make_unique<int>(1).get()), kHasOperators);
}

TEST(PlanningMemory, ThrowsWhereNothingIsLeft) {
  if (!kHasOperators) return;  // AddressSanitizer ends the process
  EXPECT_THROW((void)::operator new (std::size_t{1} << 62), std::bad_alloc);
}

}  // namespace
}  // namespace baleen
