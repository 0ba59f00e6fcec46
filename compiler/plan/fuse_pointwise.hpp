/// \file Joins neighbouring pointwise ops of a section into one op with a longer expression.
#pragma once
#include "compiler/plan/plan.hpp"

namespace baleen {

/// Concatenates expressions of pointwise ops of equal shape, dtype and layout that feed each other, where this makes no
/// cycle. Values that others use become further results. Changes no bit (expressions round where values were stored).
Status fuse_pointwise(ScheduledGraph& scheduled);

}  // namespace baleen
