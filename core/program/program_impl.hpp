/// \file What a compiled program consists of.
#pragma once
#include <optional>

#include "core/program/kernel_store.hpp"
#include "core/program/program.hpp"

namespace baleen {

/// Where an address of the table comes from; resolved by `bind`.
struct AddressSource {
  enum class Arena : std::uint8_t { none, work, persistent } arena = Arena::none;
  std::uint64_t offset = 0;
};

struct ProgramImpl {
  ProgramImpl(ScheduledGraph graph, Device& on) : scheduled(std::move(graph)), device(&on), kernels(on) {}

  ScheduledGraph scheduled;
  Device* device;
  KernelStore kernels;
  std::vector<Segment> segments;
  std::vector<std::string> labels;
  std::vector<AddressSource> sources;
  std::vector<void*> addresses;  ///< as `sources`, once bound
  std::vector<Port> inputs, outputs;
  MemoryReport memory;
  double flops = 0;
  std::vector<char> poison;  ///< as many NaN bytes as the largest buffer has
  void* persistent_base = nullptr;
  void* work_base = nullptr;
};

struct Lowered;
struct Step;
struct Lifetimes;

/// Lays out the work arena and writes instructions, addresses, ports and the memory report into `program`.
void assemble(ProgramImpl& program, Lowered& lowered, const std::vector<Step>& steps, const Lifetimes& lifetimes,
              const CompileOptions& options);

}  // namespace baleen
