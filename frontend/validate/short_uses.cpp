/// \file Two steps, some rows, a short run.
#include "frontend/validate/short_uses.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "baleen/host.hpp"
#include "baleen/monitor.h"
#include "frontend/validate/data_rows.hpp"
#include "frontend/validate/optimizer_steps.hpp"

namespace baleen::validate {
namespace {

/// Any table as `create` begins it.
struct MakingTable {
  std::uint64_t size;
  baleen_status_t (*create)(const baleen_host_t*, const baleen_settings_t*, void**);
  void (*destroy)(void*);
};

void make_and_end(const Subject& subject, const Opened& plugin, std::string_view create) {
  const SettingsStorage settings = settings_of(subject);
  const Made<MakingTable> made(plugin, settings.get(), create);
}

void step_twice(const Subject& subject, const Opened& plugin) {
  SettingsStorage settings = settings_of(subject);
  const std::vector<Numbers> parameters = {{{2, 3}, {0.5, -1, 2, 0.25, -0.125, 3}}, {{2}, {1, -1}}};
  OptimizerSteps steps(plugin, settings, subject.descriptor, parameters);
  for (int step = 0; step < 2; ++step) steps.step({{0.1, 0.2, -0.3, 0.4, -0.5, 0.6}, {0.5, -0.25}}, 0.01);
}

void read_some_rows(const Subject& subject, const Opened& plugin, std::string_view create) {
  constexpr std::int64_t kRows = 7;
  const Rows data(subject, plugin, 1, create);
  if (!data.row_fits()) return;
  for (const baleen_split_t split : data.splits())
    for (const std::int64_t first : {std::int64_t{0}, data.rows(split) - 1})
      data.read(split, first, data.at_most(kRows));
}

void tell_a_short_run(const Subject& subject, const Opened& plugin) {
  constexpr std::int64_t kSteps = 3;
  const SettingsStorage settings = settings_of(subject);
  const Made<baleen_monitor_t> made(plugin, settings.get());
  const auto tell = [&](baleen_record_kind_t kind, std::int64_t step, std::string_view name, double number) {
    const baleen_fact_t fact{abi(name), number, {nullptr, 0}};
    const baleen_record_t record{sizeof record, kind, 0, step, kSteps, static_cast<double>(step), &fact, 1};
    plugin.ok("`record`", made.table().record, made.get(), &record);
  };
  tell(BALEEN_RECORD_START, 0, "parameters", 100);
  for (std::int64_t step = 1; step <= kSteps; ++step) tell(BALEEN_RECORD_STEP, step, "loss", 1);
  tell(BALEEN_RECORD_EVALUATE, kSteps, "held_out_loss", 0.5);
  tell(BALEEN_RECORD_FINISH, kSteps, "seconds", 4);
}

}  // namespace

void use_shortly(const Subject& subject, const Opened& plugin, std::string_view create) {
  const std::string_view kind = subject.descriptor.kind;
  try {
    if (kind != "data") make_and_end(subject, plugin, create);  // data sets may take long to make
    if (kind == "optimizer") step_twice(subject, plugin);
    if (kind == "data") read_some_rows(subject, plugin, create);
    if (kind == "monitor") tell_a_short_run(subject, plugin);
  } catch (const Refused&) {  // with a reason
  } catch (const Skip&) {     // an update of ops that validate does not compute
  }
}

}  // namespace baleen::validate
