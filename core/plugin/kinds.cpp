/// \file The list of families, taken from the SDK's headers.
#include "core/plugin/kinds.hpp"

#include <array>
#include <cstddef>

#include "baleen/checkpoint.h"
#include "baleen/compute.h"
#include "baleen/data.h"
#include "baleen/kind.h"
#include "baleen/launcher.h"
#include "baleen/monitor.h"
#include "baleen/offload.h"
#include "baleen/op_kind.h"
#include "baleen/optimizer.h"
#include "baleen/strategy.h"
#include "baleen/transport.h"

namespace baleen {
namespace {

// The functions of a table, as its header lists them.
#define BALEEN_REQUIRED_FUNCTION(name) TableFunction{#name, false},
#define BALEEN_OPTIONAL_FUNCTION(name) TableFunction{#name, true},
#define BALEEN_LISTED(FUNCTIONS) std::to_array({FUNCTIONS(BALEEN_REQUIRED_FUNCTION, BALEEN_OPTIONAL_FUNCTION)})
constexpr auto kCompute = BALEEN_LISTED(BALEEN_COMPUTE_FUNCTIONS);
constexpr auto kOptimizer = BALEEN_LISTED(BALEEN_OPTIMIZER_FUNCTIONS);
constexpr auto kData = BALEEN_LISTED(BALEEN_DATA_FUNCTIONS);
constexpr auto kMonitor = BALEEN_LISTED(BALEEN_MONITOR_FUNCTIONS);
constexpr auto kCheckpoint = BALEEN_LISTED(BALEEN_CHECKPOINT_FUNCTIONS);
constexpr auto kStrategy = BALEEN_LISTED(BALEEN_STRATEGY_FUNCTIONS);
constexpr auto kOp = BALEEN_LISTED(BALEEN_OPS_FUNCTIONS);
constexpr auto kTransport = BALEEN_LISTED(BALEEN_TRANSPORT_FUNCTIONS);
constexpr auto kLauncher = BALEEN_LISTED(BALEEN_LAUNCHER_FUNCTIONS);
constexpr auto kOffload = BALEEN_LISTED(BALEEN_OFFLOAD_FUNCTIONS);
#undef BALEEN_LISTED
#undef BALEEN_OPTIONAL_FUNCTION
#undef BALEEN_REQUIRED_FUNCTION

/// Functions follow the table's `size` field, eight bytes each.
template <class Table, std::size_t N>
constexpr Kind kind(std::string_view name, const std::array<TableFunction, N>& functions, std::uint32_t revision,
                    int state, bool has_flags, std::string_view folder) {
  static_assert(sizeof(Table) == sizeof(std::uint64_t) + N * sizeof(void*), "the header lists each function once");
  return {name, sizeof(Table), functions, revision, state == BALEEN_DRAFT, has_flags, folder};
}

constexpr std::array<Kind, 10> kKinds = {
    kind<baleen_compute_t>("compute", kCompute, BALEEN_COMPUTE_REVISION, BALEEN_COMPUTE_STATE, true, "plugins/compute"),
    kind<baleen_optimizer_t>("optimizer", kOptimizer, BALEEN_OPTIMIZER_REVISION, BALEEN_OPTIMIZER_STATE, false,
                             "optimizers"),
    kind<baleen_data_t>("data", kData, BALEEN_DATA_REVISION, BALEEN_DATA_STATE, false, "plugins/data"),
    kind<baleen_monitor_t>("monitor", kMonitor, BALEEN_MONITOR_REVISION, BALEEN_MONITOR_STATE, true, "plugins/monitor"),
    kind<baleen_checkpoint_t>("checkpoint", kCheckpoint, BALEEN_CHECKPOINT_REVISION, BALEEN_CHECKPOINT_STATE, false,
                              "plugins/checkpoint"),
    kind<baleen_strategy_t>("strategy", kStrategy, BALEEN_STRATEGY_REVISION, BALEEN_STRATEGY_STATE, false,
                            "strategies"),
    kind<baleen_ops_t>("op", kOp, BALEEN_OP_REVISION, BALEEN_OP_STATE, false, "plugins/ops"),
    kind<baleen_transport_t>("transport", kTransport, BALEEN_TRANSPORT_REVISION, BALEEN_TRANSPORT_STATE, true,
                             "transports"),
    kind<baleen_launcher_t>("launcher", kLauncher, BALEEN_LAUNCHER_REVISION, BALEEN_LAUNCHER_STATE, false,
                            "plugins/launchers"),
    kind<baleen_offload_t>("offload", kOffload, BALEEN_OFFLOAD_REVISION, BALEEN_OFFLOAD_STATE, false,
                           "plugins/offload"),
};

/// A descriptor gets its revision by the kind's name.
static_assert(BALEEN_REVISION_OF("compute") == kKinds[0].revision && BALEEN_REVISION_OF("offloads") == 0);

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
