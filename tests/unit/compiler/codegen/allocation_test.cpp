/// \file A run of a program allocates nothing: every `new` of the process is counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "unit/compiler/codegen/graphs.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace {
std::atomic<long> allocations{0};
}  // namespace

// Plugins take these too, since a shared library's `operator new` is the program's.
void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes ? bytes : 1)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes ? bytes : 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++allocations;
  const auto a = static_cast<std::size_t>(alignment);
  if (void* p = std::aligned_alloc(a, (bytes + a - 1) / a * a)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace baleen::test {
namespace {

TEST(Allocation, ARunAllocatesNothing) {
  const Graph graph = training_graph(6);
  Workbench bench(graph, make_device(CPU, {{"threads", "2"}, {"pin", "false"}}), 2, false);
  for (const auto& [name, numbers] : random_sources(graph, 1)) bench.set(name, numbers);
  std::vector<std::int64_t> segments(bench.program().segments().size(), 0);
  const Program::RunOptions options{1, 2, nullptr, &segments};
  ASSERT_TRUE(bench.program().run(bench.device().stream(), options));
  const long before = allocations;
  const Status status = bench.program().run(bench.device().stream(), options);
  EXPECT_EQ(allocations - before, 0);
  EXPECT_TRUE(status);
  EXPECT_GT(before, 0);
}

TEST(Allocation, ARunWithOffloadedStatesAllocatesNothing) {
  Graph graph = training_graph(6);
  for (const OpId id : graph.ops())
    if (graph.op(id).kind->name == "state") graph.value(graph.op(id).outputs[0]).offloaded_ahead = 2;
  Workbench bench(graph, make_device(CPU, {{"threads", "2"}, {"pin", "false"}}), 2, false, {LATE});
  for (const auto& [name, numbers] : random_sources(graph, 1)) bench.set(name, numbers);
  const Program::RunOptions options{1, 2, nullptr, nullptr};
  ASSERT_FALSE(bench.program().executable().transfers.empty());
  ASSERT_TRUE(bench.program().run(bench.device().stream(), options));
  const long before = allocations;
  const Status status = bench.program().run(bench.device().stream(), options);
  EXPECT_EQ(allocations - before, 0);
  EXPECT_TRUE(status);
}

TEST(Allocation, ARunWithUpdatesBesideTheDeviceAllocatesNothing) {
  Graph graph = training_graph(6);
  for (const OpId id : graph.ops()) {
    if (graph.op(id).kind->name != "state") continue;
    graph.value(graph.op(id).outputs[0]).offloaded_ahead = 2;
    graph.value(graph.op(id).outputs[0]).updated_on_host = true;
  }
  Workbench bench(graph, make_device(CPU, {{"threads", "2"}, {"pin", "false"}}), 2, false,
                  {HOST, {}, StoreChoice::Updates::beside, CPU});
  for (const auto& [name, numbers] : random_sources(graph, 1)) bench.set(name, numbers);
  const Program::RunOptions options{1, 2, nullptr, nullptr};
  ASSERT_FALSE(bench.program().executable().beside.empty());
  ASSERT_TRUE(bench.program().run(bench.device().stream(), options));
  const long before = allocations;
  const Status status = bench.program().run(bench.device().stream(), options);
  EXPECT_EQ(allocations - before, 0);
  EXPECT_TRUE(status);
}

}  // namespace
}  // namespace baleen::test
