/// \file Compiles a graph for a test device, runs it in memory between canaries, and compares with the reference
/// interpreter.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/execute/program.hpp"
#include "core/plugin/registry.hpp"
#include "support/places.hpp"

namespace baleen::test {

using Numbers = std::vector<double>;
using Powers = std::map<std::string, std::string>;  ///< options of the device, as a user would write them

/// The kinds of ops; one for all tests.
const OpRegistry& ops();
/// The device of a compute plugin built in this tree (`file`), with options.
std::unique_ptr<Device> make_device(const std::string& file, const Powers& powers = {});

/// A built offload plugin, with options.
struct StoreChoice {
  std::string file;  ///< empty: none
  Powers options = {};
  /// Who makes updates in the memory of its slots, where values say so: the device, or this one beside it.
  enum class Updates { as_others, by_device, beside } updates = Updates::as_others;
  std::string host = {};
};

/// The tensors that a graph keeps from run to run.
std::vector<PersistentSpec> persistent_specs(const Graph& graph);

/// Cuts a graph into micro-batches and orders it, as the plan does.
Result<ScheduledGraph> scheduled(Graph graph, std::int64_t micro_batches, std::vector<PipelineSchedule> pipelines = {});

/// A compiled program with its memory. Fails the test where the product returns an error.
class Workbench {
 public:
  Workbench(const Graph& graph, std::unique_ptr<Device> device, std::int64_t micro_batches = 1, bool poison = true,
            const StoreChoice& store = {});
  /// Values that say so lie in the store.
  Workbench(const ScheduledGraph& scheduled, std::unique_ptr<Device> device, bool poison = true,
            const StoreChoice& store = {});

  void set(const std::string& name, const Numbers& numbers);
  void run(std::uint64_t seed = 0, std::uint64_t step = 0);
  Numbers output(const std::string& name) const;
  Numbers persistent(const std::string& name) const;

  Program& program() { return *program_; }
  Device& device() { return *device_; }
  std::size_t launches() const;

 private:
  /// Memory of exactly so many bytes between two stretches that must not change.
  struct Guarded {
    explicit Guarded(std::size_t bytes);
    char* base();
    void check() const;
    std::size_t bytes;
    std::vector<char> memory;
  };
  const PersistentBuffer& buffer(const std::string& name) const;

  void open(const StoreChoice& store);

  std::unique_ptr<Device> device_, host_;
  PersistentLayout layout_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Guarded> work_, persistent_;
  std::unique_ptr<OffloadStores> store_;  ///< ends before them, for it moves what the others hold
  std::unique_ptr<HostCores> cores_;
};

/// Random numbers for every source of a graph (ids for int32 inputs, below `classes`), the same for a seed.
std::map<std::string, Numbers> random_sources(const Graph& graph, std::uint64_t seed, std::int64_t classes = 3);

/// Runs `graph` with the sources on the device and by the reference; all outputs and assigned values must agree.
/// `steps` runs in a row, the second from what the first assigned.
void expect_as_reference(const Graph& graph, const std::string& file, const Powers& powers, std::int64_t micro_batches,
                         std::uint64_t seed, int steps = 2, const StoreChoice& store = {});

}  // namespace baleen::test
