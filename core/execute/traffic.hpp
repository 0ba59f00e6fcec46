/// \file What an executable sends to other ranks and moves to and from an offload store.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/codegen/executable.hpp"

namespace baleen {

/// What a program sends per run, of one kind along one set of axes.
struct Traffic {
  std::string kind, axes;              ///< "all_reduce", "data"
  std::uint64_t calls = 0, bytes = 0;  ///< bytes that this rank sends
};

/// Bytes that a program moves per run to and from the offload store.
struct OffloadTraffic {
  std::uint64_t put = 0, got = 0;

  void add(const OffloadTraffic& other) { put += other.put, got += other.got; }
};

OffloadTraffic offload_traffic_of(const Executable& executable);
/// The same by slot; slots that it does not move are not there.
std::map<std::uint32_t, OffloadTraffic> offload_traffic_by_slot(const Executable& executable);
/// Transfers that have begun and are not settled, at most.
std::uint32_t transfers_at_once(const Executable& executable);
/// Per run, by kind and axes.
std::vector<Traffic> traffic_of(const Executable& executable);

}  // namespace baleen
