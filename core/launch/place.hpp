/// \file Where a rank stands among the others, wherever it was told so.
#pragma once
#include <string>

namespace baleen {

struct Place {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;  ///< among the ranks of this host
  int local_ranks = 1;
  std::string host = "localhost";
  int threads = 1;  ///< how many threads this rank should compute with

  bool operator==(const Place&) const = default;
};

}  // namespace baleen
