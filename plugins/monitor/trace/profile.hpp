/// \file Where a step's time goes: spans summed up by op, beside what the device can do.
#pragma once
#include <map>
#include <string>

#include "baleen/monitor.hpp"

namespace baleen::trace {

using namespace sdk;

/// "blocks.11.mlp.up (matmul)" as "blocks.*.mlp.up (matmul)": what layers have in common.
std::string group_of(std::string_view name);

/// Of the steps after the first, in which pages and caches are cold; of the first where there is no other.
class Profile {
 public:
  void add(const Record& record);
  void add(const baleen_span_t& span);
  /// The table; empty where no step was seen. Rates are those of the time of all launches of a row together.
  std::string table() const;

 private:
  struct Row {
    std::int64_t calls = 0, nanoseconds = 0;
    double flops = 0;
    std::uint64_t bytes = 0;
    bool waits = false;
  };
  struct Part {
    std::map<std::string, Row, std::less<>> rows;
    std::int64_t steps = 0;
    double milliseconds = 0;  ///< of whole steps
  };

  std::string line(const std::string& name, const Row& row, const Part& part) const;
  const Part& shown() const { return later_.steps > 0 ? later_ : first_; }

  Part first_, later_;
  Part pending_;                            ///< of the step that has not been told yet
  double peak_flops_ = 0, peak_bytes_ = 0;  ///< per second; 0 unknown
};

}  // namespace baleen::trace
