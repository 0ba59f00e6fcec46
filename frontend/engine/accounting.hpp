/// \file What each rank planned, holds and sent, for the closing summary.
#pragma once
#include <vector>

#include "baleen/result.hpp"
#include "core/launch/rank_link.hpp"
#include "core/runtime/session.hpp"

namespace baleen::app {

/// The facts of all ranks, on rank 0; on others nothing. Collective where `link` is not null. Per rank r: numbers
/// "rank.r.planned_bytes.K" (K as in Session::planned_bytes), "rank.r.allocated_bytes" (arenas),
/// "rank.r.resident_bytes" (anonymous and shared pages of the process now), "rank.r.process_bytes" (its peak so far,
/// with program and libraries, pages that ranks share counted once in all), "rank.r.sent_bytes.KIND.AXES" (training
/// steps so far); and one text "rank r" that people read.
Result<std::vector<Fact>> account(const Session& session, RankLink* link);

}  // namespace baleen::app
