/// \file Memory of the transport's own that pieces of collectives work in.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace baleen::ucx {

/// Lanes of memory, one for each piece that may be under way at a time. All collectives of a rank share them, for they
/// run one after the other. What was taken once stays where it is.
class Scratch {
 public:
  static constexpr std::size_t kLanes = 4;

  /// Begins at the front of a lane again.
  void rewind(std::size_t lane) { lanes_[lane].chunk = lanes_[lane].used = 0; }
  /// The next bytes of a lane, at a cache line.
  std::byte* take(std::size_t lane, std::uint64_t bytes);

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  struct Chunk {
    std::unique_ptr<std::byte, Free> memory;
    std::uint64_t bytes = 0;
  };
  struct Lane {
    std::vector<Chunk> chunks;
    std::size_t chunk = 0;
    std::uint64_t used = 0;  // of that chunk
  };
  Lane lanes_[kLanes];
};

}  // namespace baleen::ucx
