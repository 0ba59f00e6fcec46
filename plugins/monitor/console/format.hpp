/// \file Facts as people read them: counts, bytes, durations, and the parts of a step's line.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "baleen/monitor.hpp"

namespace baleen::console {

using namespace sdk;

/// 950, 12.3 k, 1.05 M, 2.1 G, ...
std::string count_text(double count);
/// 512 B, 1.5 KiB, 2.0 GiB, ...
std::string bytes_text(double bytes);
/// 0:07, 12:34, 1:02:03; "?" where it is not a time.
std::string duration_text(double seconds);
/// Four significant digits, or all of a whole number.
std::string number_text(double number);

/// A fact's name without underscores.
std::string label_of(const baleen_fact_t& fact);
/// A fact's contents, by the ending of its name (`_bytes`, `_ms`, `seconds`, `parameters`, ...).
std::string text_of(const baleen_fact_t& fact);

/// Whether a fact of this name is one of those that planned memory consists of.
bool is_part_of_memory(std::string_view name);
/// These of a record, the largest first: "parameters 1.5 MiB, the device 1.0 MiB, other 12 B" of `total` bytes.
std::string memory_parts(const Record& record, double total);

/// The parts of a step's line in the order of importance, so that a narrow terminal loses the last first. `unit` is
/// what throughput counts. Facts that are not known here are shown by their names.
std::vector<std::string> step_parts(const Record& record, const std::string& unit);

/// "[=====>    ]", `width` columns inside.
std::string bar_text(double done, int width);

}  // namespace baleen::console
