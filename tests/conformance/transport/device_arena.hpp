/// \file Collectives in memory of a rank's device.
#pragma once
#include <cstring>

#include "baleen/collective.hpp"
#include "baleen/device_memory.h"
#include "conformance/transport/suite.hpp"

namespace baleen::conformance {

/// The answer of a transport to the query for memory on the device.
inline const baleen_transport_device_memory_t& device_memory_of(const Rank& rank) {
  const void* found = rank.table.query(rank.get(), abi(BALEEN_TRANSPORT_DEVICE_MEMORY));
  expect(found, "it has no memory on the device");
  return *static_cast<const baleen_transport_device_memory_t*>(found);
}

/// Whose memory: an arena of the device that the transport is told of, or the transport's own.
enum class Of { kDevice, kTransport };

/// Memory on a rank's device, as the program makes it.
class Arena {
 public:
  Arena(Rank& rank, std::uint64_t bytes, Of of = Of::kDevice)
      : rank_(rank), bytes_(bytes), of_(of), device_(test::device_of(rank.get())) {
    expect(table().stream_create(device_.get(), &stream_) == BALEEN_OK, "no stream");
    if (of == Of::kTransport) {
      expect(device_memory_of(rank).allocate(rank.get(), bytes, &base_) == BALEEN_OK, rank.host().failure());
      return;
    }
    expect(table().arena_create(device_.get(), BALEEN_ARENA_SHARED, bytes, &base_) == BALEEN_OK, "no arena");
    expect(rank.table.register_arena(rank.get(), base_, bytes) == BALEEN_OK, "it does not take the arena");
  }
  ~Arena() {
    if (of_ == Of::kTransport)
      device_memory_of(rank_).release(rank_.get(), base_);
    else
      rank_.table.unregister_arena(rank_.get(), base_);
    table().stream_destroy(device_.get(), stream_);
    if (of_ == Of::kDevice) table().arena_destroy(device_.get(), BALEEN_ARENA_SHARED, base_, bytes_);
  }
  Arena(const Arena&) = delete;

  std::byte* at(std::uint64_t offset) const { return static_cast<std::byte*>(base_) + offset; }
  void put(std::uint64_t offset, const Bytes& bytes) { copy(at(offset), bytes.data(), bytes.size()); }
  /// Without waiting: who runs behind it sees it.
  void enqueue(std::uint64_t offset, const Bytes& bytes) {
    expect(table().copy(device_.get(), stream_, at(offset), bytes.data(), bytes.size()) == BALEEN_OK, "no copy");
  }
  Bytes get(std::uint64_t offset, std::uint64_t size) {
    Bytes bytes(size);
    copy(bytes.data(), at(offset), size);
    return bytes;
  }
  /// Starts behind the device's stream, which waits for the end: as a program does it.
  void run(void* slot) {
    baleen_event_t ready{sizeof ready, 0, 0, nullptr}, done{sizeof done, 0, 0, nullptr};
    expect(table().stream_signal(device_.get(), stream_, &ready, 1) == BALEEN_OK, "no signal");
    rank_.start(slot, &ready, 1, &done, 1);
    expect(table().stream_wait(device_.get(), stream_, &done, 1) == BALEEN_OK, "no wait");
    expect(table().synchronize(device_.get(), stream_) == BALEEN_OK, "the device failed");
    rank_.finish(done, 1);
  }

 private:
  const baleen_compute_t& table() const { return device_.table(); }
  void copy(void* to, const void* from, std::uint64_t bytes) {
    if (bytes == 0) return;
    expect(table().copy(device_.get(), stream_, to, from, bytes) == BALEEN_OK, "no copy");
    expect(table().synchronize(device_.get(), stream_) == BALEEN_OK, "the device failed");
  }

  Rank& rank_;
  const std::uint64_t bytes_;
  const Of of_;
  test::EmulatedDevice& device_;
  void *base_ = nullptr, *stream_ = nullptr;
};

/// A case whose buffers lie one behind the other on the device.
class OnDevice {
 public:
  /// They begin at `at`.
  OnDevice(Rank& rank, void* group, const Case& c, Arena& arena, std::uint64_t at = 0)
      : place_(static_cast<std::size_t>(rank.rank)), answer_(c, place_), arena_(arena) {
    std::vector<baleen_collective_entry_t> entries;
    std::vector<std::vector<std::uint64_t>> receives(c.buffers.size());
    for (std::size_t b = 0; b < c.buffers.size(); ++b) {
      inputs_.push_back(at);
      at += answer_.inputs[b].size();
      outputs_.push_back(at);
      at += answer_.outputs[b].size();
      const Buffer& buffer = c.buffers[b];
      baleen_collective_entry_t entry{
          arena.at(inputs_[b]), arena.at(outputs_[b]), buffer.count, buffer.block, nullptr, nullptr};
      if (c.op == BALEEN_ALL_TO_ALL && buffer.block == 0) {
        for (const auto& row : buffer.pieces) receives[b].push_back(row[place_]);
        entry.sends = buffer.pieces[place_].data();
        entry.receives = receives[b].data();
      }
      entries.push_back(entry);
      arena.put(inputs_[b], answer_.inputs[b]);
    }
    const bool rooted = c.op == BALEEN_BROADCAST || c.op == BALEEN_REDUCE;
    slot_ = rank.prepare(group, {sizeof(baleen_collective_spec_t), c.op, is_reducing(c.op) ? c.reduction : 0, c.dtype,
                                 rooted ? static_cast<std::int32_t>(c.root) : 0, entries.data(), entries.size(),
                                 c.op == BALEEN_PERMUTE ? c.destinations.data() : nullptr, c.deterministic ? 1u : 0u, 0,
                                 abi("case.lua:1")});
  }
  void expect_answer(const std::string& name) {
    arena_.run(slot_);
    for (std::size_t b = 0; b < outputs_.size(); ++b)
      expect(arena_.get(outputs_[b], answer_.outputs[b].size()) == answer_.outputs[b],
             name + ": buffer " + std::to_string(b) + " is wrong");
  }
  void* slot() const { return slot_; }
  /// Within the rounding of sums in any order.
  void expect_near_answer() {
    arena_.run(slot_);
    for (std::size_t b = 0; b < outputs_.size(); ++b) {
      const Bytes got = arena_.get(outputs_[b], answer_.outputs[b].size());
      for (std::size_t i = 0; i < got.size(); i += sizeof(float)) {
        float x = 0, y = 0;
        std::memcpy(&x, got.data() + i, sizeof x);
        std::memcpy(&y, answer_.outputs[b].data() + i, sizeof y);
        expect(std::abs(x - y) <= 1e-3f, "a sum is far from what it should be");
      }
    }
  }

 private:
  const std::size_t place_;
  const Answer answer_;
  Arena& arena_;
  std::vector<std::uint64_t> inputs_, outputs_;
  void* slot_ = nullptr;
};

}  // namespace baleen::conformance
