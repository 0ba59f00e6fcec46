/// \file How blocks go to and come from files: the only place that knows io_uring or threads. Tests put faults here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "baleen/host.hpp"
#include "baleen/result.hpp"

namespace baleen::nvme {

/// A read or write of one range of one file. The memory lives until its result is there.
struct IoRequest {
  std::uint32_t id = 0;  ///< below the depth; no two under way have the same
  bool is_write = false;
  int file = -1;
  std::uint64_t offset = 0;
  std::byte* memory = nullptr;
  std::uint32_t bytes = 0;
  bool is_bounce = false;  ///< the memory is the bounce buffer number `id`
};

struct IoResult {
  std::uint32_t id = 0;
  std::int64_t result = 0;  ///< bytes moved, or a negative errno
};

/// [one thread]
class BlockIo {
 public:
  virtual ~BlockIo() = default;
  /// True as soon as nothing is under way; false where something still is after so many seconds. Then it is left to the
  /// kernel, which may touch its memory for as long as this process lives. Comes before the destructor.
  virtual bool drain(double seconds) = 0;
  /// Gives it to the kernel.
  virtual void begin(const IoRequest& request) = 0;
  /// Asks for the end of what is under way; its result comes sooner then, or does not.
  virtual void cancel(std::uint32_t id) = 0;
  /// Results, as many as there are and fit; waits for the first one for so many seconds.
  virtual std::size_t wait(std::span<IoResult> results, double seconds) = 0;
  virtual const char* name() const = 0;
};

/// Memory for bounce buffers: `depth` of them, each of `bytes`, one behind the other.
struct BounceBuffers {
  std::byte* base = nullptr;
  std::uint32_t bytes = 0, depth = 0;
  std::byte* at(std::uint32_t id) const { return base + std::uint64_t{id} * bytes; }
};

/// By io_uring; UNSUPPORTED, with the kernel's reason, where it is forbidden or was not there when this was built.
Result<std::unique_ptr<BlockIo>> make_uring_io(const Host& host, const BounceBuffers& buffers);
/// By threads with pread and pwrite, one for each request under way, at most 16.
std::unique_ptr<BlockIo> make_thread_io(std::uint32_t depth);

}  // namespace baleen::nvme
