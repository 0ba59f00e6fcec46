/// \file Memory in which steps hand over to each other.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "baleen/result.hpp"

namespace baleen::hierarchy {

/// All collectives of a rank share it, for those that span hosts run one after the other. What was taken once stays
/// where it is.
class Scratch {
 public:
  using Allocate = std::function<Result<void*>(std::uint64_t bytes)>;

  explicit Scratch(Allocate allocate) : allocate_(std::move(allocate)) {}

  /// Begins at the front again, for the next collective.
  void rewind() { chunk_ = used_ = 0; }
  /// The next bytes, at a cache line. Null where the system has none: `failure` then says why.
  std::byte* take(std::uint64_t bytes);
  /// The first refusal.
  const Status& failure() const { return failure_; }
  /// What was allocated.
  std::vector<void*> chunks() const;

 private:
  struct Chunk {
    std::byte* memory = nullptr;
    std::uint64_t bytes = 0;
  };
  Allocate allocate_;
  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0;
  std::uint64_t used_ = 0;  // of that chunk
  Status failure_;
};

}  // namespace baleen::hierarchy
