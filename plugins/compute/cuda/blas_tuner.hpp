/// \file Which of cuBLASLt's algorithms for a product is the fastest on this device: measured once, then kept on disk.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler.hpp"

namespace baleen::cuda {

/// How much work makes measuring worth while.
constexpr double kLeastMeasuredFlops = 1e9;

/// Used by one thread. Without it the library's favourite is taken, which it names without having run anything.
class BlasTuner {
 public:
  /// Results are kept in `folder`, for devices of this name. `stream` has nothing to do meanwhile.
  BlasTuner(const Driver& driver, CUstream stream, std::filesystem::path folder, std::string device)
      : driver_(driver), stream_(stream), cache_(std::move(folder)), device_(std::move(device)) {}

  /// Enqueues a candidate on `stream`, with buffers of device memory; false where it cannot be run.
  using Enqueue = std::function<bool(std::size_t candidate, CUstream stream, std::span<void* const> buffers)>;

  /// The fastest one's number. `names` tell candidates apart, from run to run too; `bytes` are the sizes of the
  /// buffers. The first one where nothing can be measured, or where no other is faster by more than chance.
  std::size_t fastest(const std::string& key, std::span<const std::string> names, std::span<const std::uint64_t> bytes,
                      const Enqueue& enqueue);

 private:
  /// Nothing where nothing can be measured.
  std::optional<std::size_t> measure(std::size_t candidates, std::span<const std::uint64_t> bytes,
                                     const Enqueue& enqueue) const;

  const Driver& driver_;
  CUstream stream_;
  CodeCache cache_;
  std::string device_;
};

}  // namespace baleen::cuda
