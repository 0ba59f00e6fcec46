/// \file What a plan that does not fit could be changed to, found by planning it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "baleen/result.hpp"
#include "compiler/plan/job.hpp"
#include "core/plugin/registry.hpp"
#include "frontend/engine/plan_report.hpp"

namespace baleen::app {

/// Strategies and micro-batches of a job, which decide what each rank holds.
struct Choices {
  std::vector<MemberSpec> strategies;
  std::int64_t gradient_accumulation_steps = 1;
};

/// Choices that differ from others in one thing.
struct Alternative {
  std::vector<std::string> changes;  ///< from the first choices on: "strategy `zero` with `stage` = 3 along `data`"
  Choices choices;
};

/// Every strategy that is installed in place of each other along its axis (the option `axis`), those without an axis
/// added (also with each of their switches the other way), other values of options that have few of them, and twice and
/// four times as many micro-batches: one of each of these in turn. `choices.strategies` names the strategy of each axis
/// of the mesh that has one.
std::vector<Alternative> alternatives(const Alternative& from, std::int64_t batch, const Registry& registry);

/// The strategies with those named that axes of the mesh get by their names alone.
std::vector<MemberSpec> with_named_axes(std::vector<MemberSpec> strategies, const Mesh& mesh, const Registry& registry);

/// Plans choices; an error where they are refused.
using PlanChoices = std::function<Result<PlanReport>(const Choices&)>;

/// Plans alternatives of `report`, then alternatives of the one that needs least, until some fit, nothing is left, or
/// the time is over. Those that fit come first, best first: those with the same numbers, least arithmetic, then
/// fewest bytes sent and moved.
Advice advise(const PlanReport& report, const Choices& choices, std::int64_t batch, const Registry& registry,
              const PlanChoices& plan);

}  // namespace baleen::app
