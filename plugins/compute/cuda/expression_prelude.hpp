/// \file The text that stands before every generated kernel.
#pragma once

namespace baleen::cuda {

/// Types, random numbers, roundings and the functions that are more than one call. `Real` is what is computed in.
extern const char kPointwisePrelude[];

}  // namespace baleen::cuda
