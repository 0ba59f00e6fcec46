/// \file Whether what a data plugin tells of its rows can be true.
#pragma once
#include "baleen/data.h"
#include "baleen/result.hpp"

namespace baleen {

/// The first thing in `info` that cannot be: counts, names, dtypes, extents beyond what baleen/data.h allows. The
/// message continues "data `x`: ". Reads nothing beyond the arrays, whatever the counts say.
Status check_dataset_info(const baleen_dataset_info_t& info);

}  // namespace baleen
