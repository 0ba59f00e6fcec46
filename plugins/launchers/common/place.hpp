/// \file Where a rank stands among the others, wherever it was told so.
#pragma once
#include <string>
#include <vector>

namespace baleen::launchers {

struct Place {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;  ///< among the ranks of this host
  int local_ranks = 1;
  std::string host = "localhost";
  int threads = 1;     ///< how many threads this rank should compute with
  int host_index = 0;  ///< of this host among the job's, from 0
  /// The host of each rank, as an index; never decreasing. As long as `ranks`, or empty: all on this host.
  std::vector<int> host_of_rank = {};
  /// Of this host, on the way to and from the first one, in digits; empty where there is one host.
  std::string address = {};

  bool operator==(const Place&) const = default;
};

}  // namespace baleen::launchers
