/// \file How fast the ranks' collectives are: one at a time, timed and checked on every member of every group.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/result.hpp"
#include "core/execute/communicator.hpp"
#include "frontend/cli/commands.hpp"

namespace baleen::app {

struct BenchCall;

/// One collective of one size on all groups along `axes` at once.
struct BenchPoint {
  std::string collective;
  std::string axes;          ///< joined by '+'
  std::int64_t members = 1;  ///< of a group
  std::uint64_t bytes = 0;   ///< of the larger side on the member that has most
  double seconds = 0;        ///< of one, one after the other: the median of samples, on the slowest rank

  /// Bytes per second.
  double algorithm_bandwidth() const { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }
  /// The same times what the slowest link must carry of the bytes, so that it compares with the hardware's: 2(n-1)/n
  /// for all_reduce, (n-1)/n for reduce_scatter, all_gather, all_to_all, gather and scatter, else 1 (as NVIDIA's
  /// nccl-tests define it).
  double bus_bandwidth() const;
};

/// The names that `measure` takes, in the order of a report.
const std::vector<std::string>& bench_collectives();

/// Collective over all ranks in every call. Its memory lives as long as it.
class TransportBench {
 public:
  enum class Memory { arena, own };

  /// Two buffers for collectives of up to `most` bytes: the transport's own, or ours (registered where the transport
  /// gains by it).
  static Result<std::unique_ptr<TransportBench>> create(Communicator& communicator, std::uint64_t most, Memory memory);
  ~TransportBench();
  TransportBench(const TransportBench&) = delete;

  /// Runs a collective of fp32 with `bytes` (rounded up to what its members divide) until about `seconds` have passed,
  /// in place where it can be, and looks at every number of the first run. An error where one is wrong.
  Result<BenchPoint> measure(std::string_view collective, const std::vector<std::string>& axes, std::uint64_t bytes,
                             double seconds);

 private:
  explicit TransportBench(Communicator& communicator) : communicator_(communicator) {}
  Status make_buffers(std::uint64_t most, Memory memory);
  Result<double> largest(double number);
  Status run(const BenchCall& call);
  Result<double> sample(const BenchCall& call, std::int64_t times);
  Result<double> time(const BenchCall& call, double seconds);

  Communicator& communicator_;
  std::vector<std::string> world_;
  float *input_ = nullptr, *output_ = nullptr;
  std::optional<Memory> memory_;  ///< of the buffers
  std::uint64_t capacity_ = 0;    ///< floats in each of them
  double agreed_ = 0;             ///< an operand of the ranks' agreement
  void* agreement_ = nullptr;     ///< the slot of its maximum
  baleen_event_t done_{};
  std::uint64_t done_value_ = 0;
};

}  // namespace baleen::app
