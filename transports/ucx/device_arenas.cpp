/// \file Which addresses are a device's.
#include "device_arenas.hpp"

#include <algorithm>

namespace baleen::ucx {

DeviceArenas::~DeviceArenas() {
  for (const auto& [base, memory] : known_) wire_.free(memory);
}

Result<bool> DeviceArenas::add(void* base, std::uint64_t bytes) {
  BALEEN_TRY_ASSIGN(const Wire::Memory memory, wire_.adopt(base, bytes));
  if (!memory.base) return false;
  known_.emplace(memory.base, memory);
  return true;
}

void DeviceArenas::remove(void* base) {
  const auto found = known_.find(static_cast<const std::byte*>(base));
  if (found == known_.end()) return;
  wire_.free(found->second);
  known_.erase(found);
}

bool DeviceArenas::holds(const void* data) const {
  const auto* const at = static_cast<const std::byte*>(data);
  auto after = known_.upper_bound(at);
  if (after == known_.begin()) return false;
  const auto& [base, memory] = *--after;
  return static_cast<std::uint64_t>(at - base) < memory.bytes;
}

bool DeviceArenas::holds_some_of(const Collective& collective) const {
  return std::ranges::any_of(collective.entries,
                             [&](const CollectiveEntry& e) { return holds(e.input) || holds(e.output); });
}

}  // namespace baleen::ucx
