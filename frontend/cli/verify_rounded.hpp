/// \file A job whose values are rounded as ranks round theirs that compute with few digits.
#pragma once
#include "baleen/base.h"
#include "compiler/plan/job.hpp"

namespace baleen::app {

/// Parameters and inputs as the graphs that have a loss read them, and what their ops compute, are rounded to `dtype`;
/// not what norms, softmax, losses and sums make, which mixed precision leaves in fp32. Derivatives pass through.
Status round_values(Job& job, baleen_dtype_t dtype);

}  // namespace baleen::app
