/// \file What a session will allocate, known before anything is; and the refusal of what does not fit.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/program/program.hpp"

namespace baleen {

/// Bytes by kind and "total" (see Session::planned_bytes). The work arena is the largest program's; its kinds are those
/// of that program's peak, "padding" being what the offsets waste.
std::map<std::string, std::uint64_t> plan_memory(const PersistentLayout& persistent,
                                                 const std::vector<const Program*>& programs, const Device& device);

/// BALEEN_NO_MEMORY with the bytes by kind, what there is, and what would help, if the total exceeds a local rank's
/// share of the device's memory.
Status check_memory(const std::map<std::string, std::uint64_t>& planned, const Device& device, std::int64_t local_ranks,
                    std::int64_t batch, std::int64_t micro_batches);

/// "12.3 MiB".
std::string bytes_text(std::uint64_t bytes);

}  // namespace baleen
