/// \file What each compute plugin computes: lists beside this file, one per plugin, which computed_test.cpp compares
/// with what the plugin says.
#pragma once
#include <map>
#include <string>

#include "conformance/compute/harness.hpp"

namespace baleen::conformance {

/// "12/12" by "fp32: matmul": of that many examples of a kind of op in that dtype, how many are taken.
using Computed = std::map<std::string, std::string>;

/// The list of a plugin's file. Throws where there is none.
Computed computed_by(const std::string& plugin_path);

/// The path of the list.
std::string computed_list(const std::string& plugin_path);

inline constexpr const char* kJoined = "linear_cross_entropy_and_grad";  ///< a kind that devices may lack

/// The members that take every example of the kind in the dtype.
std::vector<std::tuple<std::string, baleen_dtype_t>> members_that_compute(const std::string& kind,
                                                                          const std::vector<baleen_dtype_t>& dtypes);

}  // namespace baleen::conformance
