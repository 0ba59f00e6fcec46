/// \file What a kind of collective is called, in messages and in what is recorded.
#pragma once
#include <string_view>

#include "baleen/transport.h"

namespace baleen {

constexpr std::string_view collective_name(baleen_collective_t op) {
  constexpr std::string_view kNames[] = {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce",
                                         "all_to_all", "permute",        "send",       "receive",   "barrier"};
  return op >= BALEEN_ALL_REDUCE && op <= BALEEN_BARRIER ? kNames[op - 1] : "?";
}

}  // namespace baleen
