/// \file The list of families, taken from the SDK's headers.
#include "core/plugin/kinds.hpp"

#include <array>
#include <cstddef>

#include "baleen/checkpoint.h"
#include "baleen/compute.h"
#include "baleen/data.h"
#include "baleen/monitor.h"
#include "baleen/op_kind.h"
#include "baleen/optimizer.h"
#include "baleen/strategy.h"
#include "baleen/transport.h"

namespace baleen {
namespace {

/// Functions follow the table's `size` field, eight bytes each.
constexpr std::uint64_t bit(std::size_t offset) { return 1ull << ((offset - sizeof(std::uint64_t)) / sizeof(void*)); }

constexpr std::uint64_t kStrategyPhases =
    bit(offsetof(baleen_strategy_t, split)) | bit(offsetof(baleen_strategy_t, tag)) |
    bit(offsetof(baleen_strategy_t, rewrite)) | bit(offsetof(baleen_strategy_t, place)) |
    bit(offsetof(baleen_strategy_t, recompute)) | bit(offsetof(baleen_strategy_t, lower)) |
    bit(offsetof(baleen_strategy_t, schedule));

constexpr std::uint64_t kTransportMemory =
    bit(offsetof(baleen_transport_t, allocate)) | bit(offsetof(baleen_transport_t, release)) |
    bit(offsetof(baleen_transport_t, register_arena)) | bit(offsetof(baleen_transport_t, unregister_arena));

constexpr std::array<Kind, 8> kKinds = {{
    {"compute", sizeof(baleen_compute_t), bit(offsetof(baleen_compute_t, query)), true, "plugins/compute"},
    {"optimizer", sizeof(baleen_optimizer_t), bit(offsetof(baleen_optimizer_t, begin)), false, "optimizers"},
    {"data", sizeof(baleen_data_t), bit(offsetof(baleen_data_t, query)), false, "plugins/data"},
    {"monitor", sizeof(baleen_monitor_t), bit(offsetof(baleen_monitor_t, spans)), true, "plugins/monitor"},
    {"checkpoint", sizeof(baleen_checkpoint_t), 0, false, "plugins/checkpoint"},
    {"strategy", sizeof(baleen_strategy_t), kStrategyPhases, false, "strategies"},
    {"op", sizeof(baleen_ops_t), 0, false, "plugins/ops"},
    {"transport", sizeof(baleen_transport_t), kTransportMemory | bit(offsetof(baleen_transport_t, query)), true,
     "transports"},
}};

}  // namespace

std::span<const Kind> kinds() { return kKinds; }

const Kind* find_kind(std::string_view name) {
  for (const Kind& kind : kKinds)
    if (kind.name == name) return &kind;
  return nullptr;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

}  // namespace baleen
