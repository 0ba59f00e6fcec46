/// \file Compiles the programs of a plan one after the other.
#include "core/runtime/job_programs.hpp"

namespace baleen {

Status JobPrograms::compile_all(const Plan& plan, Device& device, const Coordinates& at,
                                std::uint64_t staged_piece_bytes) {
  CompileOptions options;
  options.at = at;
  options.staged_piece_bytes = staged_piece_bytes;
  persistent = lay_out(plan.persistent, device.info().alignment, plan.mesh, at);
  const auto compile_one = [&](const ScheduledGraph& scheduled, std::optional<Program>& to) -> Status {
    BALEEN_TRY_ASSIGN(Program program, Program::compile(scheduled, device, persistent, options));
    to.emplace(std::move(program));
    return {};
  };
  BALEEN_TRY(compile_one(plan.initialize, initialize));
  BALEEN_TRY(compile_one(plan.train, train));
  if (plan.evaluate) BALEEN_TRY(compile_one(*plan.evaluate, evaluate));
  if (plan.generate) BALEEN_TRY(compile_one(*plan.generate, generate));
  return {};
}

std::vector<const Program*> JobPrograms::all() const {
  std::vector<const Program*> programs;
  for (const auto* p : {&initialize, &train, &evaluate, &generate})
    if (*p) programs.push_back(&**p);
  return programs;
}

StagingBytes JobPrograms::staging() const {
  StagingBytes bytes;
  for (const Program* program : all()) bytes.cover(program->staging());
  return bytes;
}

}  // namespace baleen
