/// \file What a compiled plan says of a rank beside its bytes: arithmetic, which calls can overlap, how states are cut.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/codegen/executable.hpp"

namespace baleen::app {

/// Of one run of a program on one rank.
struct RankWork {
  double flops = 0;        ///< what its kernels compute, as the compute plugin counts
  double even_share = 0;   ///< of what the graph computes on all ranks together, by the kinds' cost rules
  double recomputed = 0;   ///< of the even share what forward ops compute that run again
  std::uint64_t sent = 0;  ///< bytes
  /// Of them those of calls that are begun before other arithmetic of the rank and waited for behind it.
  std::uint64_t sent_meanwhile = 0;
};
RankWork work_of(const Executable& executable);

/// Persistent tensors of one category that the same axes cut.
struct StoredPart {
  std::string category;           ///< "parameters", "optimizer", "control"
  std::vector<std::string> axes;  ///< in the mesh's order; none: every rank has the whole
  std::uint64_t bytes = 0;        ///< of this rank
  std::uint64_t whole = 0;        ///< of the whole tensors
};
/// By category in the order of creation; in each the parts that most axes cut come first.
std::vector<StoredPart> stored_parts(const PersistentLayout& persistent, const Mesh& mesh);

}  // namespace baleen::app
