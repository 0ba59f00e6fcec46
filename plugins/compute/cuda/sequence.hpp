/// \file Launches of a stream kept as a CUDA graph, and enqueued as one.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "driver.hpp"
#include "geometry.hpp"
#include "launch_log.hpp"
#include "native_events.hpp"

namespace baleen::cuda {

class Stream;

/// A kernel of the graph whose arguments hold seed and step.
struct VaryingNode {
  CUgraphNode node = nullptr;
  CUfunction function = nullptr;
  Geometry geometry;
  std::vector<std::byte> args;
  std::size_t seed = 0, step = 0;  ///< where they stand in the arguments
};

/// A signal between streams of the capture.
struct KeptSignal {
  baleen_event_t* event = nullptr;
  std::uint64_t value = 0;
  NativeEvents::Signal* mark = nullptr;  ///< until the end of the capture
};

/// What is noted while a stream is captured, and those that join it by waiting for it.
struct Recording {
  bool holds(CUstream stream) const;
  bool has(const baleen_event_t& event, std::uint64_t value) const { return find(event, value) != nullptr; }
  Status wait(const Driver& driver, CUstream stream, const baleen_event_t& event, std::uint64_t value);
  Status signal(const Driver& driver, NativeEvents& events, CUstream stream, baleen_event_t& event,
                std::uint64_t value);
  /// Notes why nothing of it can be kept, and returns it.
  Status refuse(const std::string& what);

  std::vector<VaryingNode> varying;
  std::vector<unsigned> launches;  ///< their numbers in the stream's log
  Status failure;                  ///< the first of noting
  std::vector<CUstream> streams;
  std::vector<KeptSignal> signals;

 private:
  const KeptSignal* find(const baleen_event_t& event, std::uint64_t value) const;
};

class Sequence {
 public:
  /// Captures what this thread enqueues on the stream until `end`.
  static Status begin(const Driver& driver, Stream& stream);
  static Result<std::unique_ptr<Sequence>> end(const Driver& driver, Stream& stream);
  ~Sequence();
  Sequence(const Sequence&) = delete;

  Status replay(Stream& stream, std::uint64_t seed, std::uint64_t step);

 private:
  explicit Sequence(const Driver& driver) : driver_(driver) {}
  Status update(std::uint64_t seed, std::uint64_t step);

  const Driver& driver_;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  std::vector<VaryingNode> varying_;
  std::vector<KeptSignal> signals_;  ///< whose counters are to rise behind the first replay
  std::shared_ptr<const Label> label_;
  std::uint64_t micro_ = 0;
  bool told_ = false;  ///< the graph has `seed_` and `step_`
  std::uint64_t seed_ = 0, step_ = 0;
};

}  // namespace baleen::cuda
