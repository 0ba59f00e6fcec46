/// \file Work that falls into numbered parts, over threads.
#pragma once
#include <cstddef>
#include <functional>

#include "baleen/result.hpp"

namespace baleen::text {

/// Processors that this process may use.
std::size_t usable_processors();

/// Calls `work(0)` ... `work(count - 1)`, each once, on at most `threads` threads, and returns when all are over. The
/// error of the first part that failed; after an error no part is begun. Exceptions become errors.
Status for_each_part(std::size_t count, std::size_t threads, const std::function<Status(std::size_t)>& work);

}  // namespace baleen::text
