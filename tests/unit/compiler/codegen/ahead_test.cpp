/// \file Kernels that a target only begins to compile: each is waited for, and the first that fails is told.
#include <gtest/gtest.h>

#include "compiler/codegen/compile.hpp"
#include "core/execute/device_target.hpp"
#include "core/execute/persistent_layout.hpp"
#include "unit/compiler/codegen/graphs.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {
namespace {

/// The toy device, some of whose kernels fail when they are waited for, or at once.
class Begun : public Target {
 public:
  bool supports(const baleen_region_t& region) const override { return toy_.supports(region); }
  std::uint64_t alignment() const override { return toy_.alignment(); }
  Result<TargetKernel> compile(const baleen_region_t& region) const override {
    if (asked.size() == fails_at_once) return unsupported("at once");
    BALEEN_TRY_ASSIGN(TargetKernel kernel, toy_.compile(region));
    asked.push_back(kernel.handle.get());
    return kernel;
  }
  Status finish(const std::shared_ptr<void>& kernel) const override {
    finished.push_back(kernel.get());
    for (const std::size_t number : fail)
      if (kernel.get() == asked.at(number)) return invalid("kernel " + std::to_string(number));
    return {};
  }

  std::vector<std::size_t> fail;
  std::size_t fails_at_once = ~std::size_t{0};
  mutable std::vector<void*> asked, finished;

 private:
  std::unique_ptr<Device> device_ = make_device(TOY, {{"regions", "false"}});
  DeviceTarget toy_{*device_};
};

Result<Executable> compiled(const Target& target) {
  BALEEN_TRY_ASSIGN(const ScheduledGraph graph, scheduled(training_graph(6), 1));
  std::vector<PersistentSpec> specs;
  for (const OpId id : graph.graph.ops())
    for (const ValueId v : graph.graph.op(id).outputs)
      if (const Value& value = graph.graph.value(v); value.role == Role::parameter || value.role == Role::state)
        specs.push_back({value.name, graph.graph.type(v), value.role, "parameters", {}, false, {}, 0});
  const PersistentLayout layout = lay_out(specs, target.alignment());
  return compile(graph, target, layout, {});
}

TEST(CompilingAhead, WaitsForEveryKernelInTheOrderInWhichTheyWereAskedFor) {
  const Begun target;
  const auto executable = compiled(target);
  ASSERT_TRUE(executable) << executable.error().text();
  EXPECT_GE(target.asked.size(), 4u);
  EXPECT_EQ(target.finished, target.asked);
}
TEST(CompilingAhead, TellsTheFirstFailureWithItsOp) {
  Begun target;
  target.fail = {2, 1};
  target.fails_at_once = 3;
  const auto executable = compiled(target);
  ASSERT_FALSE(executable);
  EXPECT_EQ(executable.error().code, BALEEN_INVALID);
  const std::string& said = executable.error().message;
  ASSERT_TRUE(said.ends_with(": kernel 1")) << said;

  Begun at_once;
  at_once.fails_at_once = 1;
  const auto other = compiled(at_once);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, said.substr(0, said.size() - 8) + "at once") << "the same words before";
}

}  // namespace
}  // namespace baleen::test
