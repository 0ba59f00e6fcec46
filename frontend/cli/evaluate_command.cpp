/// \file `baleen evaluate`: the held-out loss and metrics of a trained model, without training.
#include <cmath>

#include "core/log/printed.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/cli/launch_run.hpp"
#include "frontend/engine/assembly.hpp"
#include "frontend/engine/json.hpp"

namespace baleen::app {
namespace {

Status print(const EvaluateOptions& options, const Facts& facts, std::int64_t rows) {
  if (options.json) {
    Json all;
    for (const auto& [name, number] : facts) all[name] = json_number(number);
    all["rows"] = rows;
    print_out("%s\n", json_text(all).c_str());
  } else {
    for (const auto& [name, number] : facts) print_out("%-24s %.6g\n", name.c_str(), number);
    print_out("%-24s %lld\n", "rows", static_cast<long long>(rows));
  }
  return flush_output();
}

/// Collective over all ranks, which have the same facts.
Status check_finite(const Facts& facts, Session& session, const std::string& model) {
  for (const auto& [name, number] : facts) {
    if (std::isfinite(number)) continue;
    BALEEN_TRY_ASSIGN(const std::string parameter, session.damaged_parameter());
    const std::string why =
        parameter.empty() ? "" : " (the parameter `" + parameter + "` holds numbers that are not finite)";
    return Error{BALEEN_DAMAGED,
                 "`" + name + "` is " + (std::isnan(number) ? "NaN" : "infinite") + why +
                     "; `on_nan = \"continue\"` in the job prints such numbers all the same",
                 model};
  }
  return {};
}

Status evaluate(const EvaluateOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(Prepared prepared, prepare(options, setup));
  RunFlags flags;
  flags.data.takes_learned = true;
  if (!options.data.empty()) {
    flags.data.source = std::filesystem::absolute(options.data).string();
    flags.data.rows = BALEEN_LEARNED_ALL_ROWS;
  }
  flags.command = "evaluate" + (options.batches ? " --batches " + std::to_string(*options.batches) : std::string()) +
                  (options.data.empty() ? "" : " --data");
  flags.only = GraphRole::evaluate;
  BALEEN_TRY_ASSIGN(Described described, describe(options, setup, prepared, flags));
  const std::string where = described.script->job().where;
  if (!described.data) return invalid("the job has programs alone, and no `loss` to evaluate", where);
  const std::int64_t held_out = described.data->info().rows[BALEEN_HELD_OUT], batch = described.script->job().batch;
  if (held_out == 0)
    return invalid(
        "its data holds out no row, so nothing can be evaluated; raise its `held_out`, or name a file with --data",
        where);
  const bool takes_all = described.script->job().goes_on_not_finite;
  const std::int64_t batches = options.batches.value_or(described.script->evaluate_batches());
  BALEEN_TRY_ASSIGN(const auto run,
                    Run::create(options, setup, std::move(prepared), flags, false, std::move(described)));
  BALEEN_TRY_ASSIGN(const Facts facts, run->evaluate(batches));
  const Status finite = takes_all ? Status() : check_finite(facts, run->session(), options.load.string());
  if (setup.link && setup.link->place().rank != 0) return {};
  BALEEN_TRY(finite);
  return print(options, facts, batches > 0 && batches <= held_out / batch ? batches * batch : held_out);
}

}  // namespace

int evaluate_command(const EvaluateOptions& options, const Setup& setup) {
  if (starts_ranks(setup)) return launch_run(options, setup);
  return conclude(setup.log, evaluate(options, setup), setup.link);
}

}  // namespace baleen::app
