/// \file Adds up what a session will allocate and refuses what does not fit.
#include "core/runtime/session_memory.hpp"

#include <algorithm>
#include <cstdio>

namespace baleen {

std::string bytes_text(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) value /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

std::map<std::string, std::uint64_t> plan_memory(const PersistentLayout& persistent,
                                                 const std::vector<const Program*>& programs, const Device& device) {
  std::map<std::string, std::uint64_t> planned;
  std::uint64_t accounted = 0;
  for (const PersistentBuffer& buffer : persistent.buffers) {
    planned[buffer.spec.category] += buffer.bytes;
    accounted += buffer.bytes;
  }
  const auto largest = *std::max_element(programs.begin(), programs.end(), [](const Program* a, const Program* b) {
    return a->memory().arena_bytes < b->memory().arena_bytes;
  });
  const MemoryReport& work = largest->memory();
  planned["inputs"] = work.inputs;
  planned["activations"] = work.activations;
  planned["gradients"] = work.gradients;
  planned["scratch"] = work.scratch;
  const std::uint64_t named = work.inputs + work.activations + work.gradients + work.scratch;
  planned["padding"] = (work.arena_bytes - std::min(work.arena_bytes, named)) + (persistent.bytes - accounted);
  planned["device"] = device.info().private_bytes;
  planned["total"] = persistent.bytes + work.arena_bytes + device.info().private_bytes;
  return planned;
}

Status check_memory(const std::map<std::string, std::uint64_t>& planned, const Device& device, std::int64_t local_ranks,
                    std::int64_t batch, std::int64_t micro_batches) {
  const std::uint64_t total = planned.at("total");
  const std::uint64_t have = device.info().memory_bytes / static_cast<std::uint64_t>(local_ranks);
  if (total <= have) return {};
  std::string text = "the plan needs " + bytes_text(total) + " (" + std::to_string(total) + " bytes) and device `" +
                     device.info().name + "` has " + bytes_text(have) +
                     (local_ranks > 1 ? " for each of its " + std::to_string(local_ranks) + " ranks:" : ":");
  for (const auto& [kind, bytes] : planned)
    if (kind != "total" && bytes > 0) text += " " + kind + " " + bytes_text(bytes) + ",";
  text.back() = '.';
  const std::uint64_t work = planned.at("inputs") + planned.at("activations") + planned.at("scratch");
  if (total - work > have)
    text +=
        " Parameters and optimizer alone do not fit: make the model smaller, or choose an optimizer with fewer slots";
  else if (batch / micro_batches > 1)
    text += " What would help: `accumulate` = " + std::to_string(std::min(batch, micro_batches * 2)) +
            " or more (micro-batches of a batch of " + std::to_string(batch) +
            "), a smaller batch, or a shorter context";
  else
    text += " What would help: a shorter context, or a smaller model";
  return Error{BALEEN_NO_MEMORY, text, {}};
}

}  // namespace baleen
