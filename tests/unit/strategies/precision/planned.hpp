/// \file Plans with the strategy `precision`, and steps of them by the reference interpreter.
#pragma once
#include "support/reference_interpreter.hpp"
#include "unit/compiler/codegen/workbench.hpp"
#include "unit/compiler/plan/small_jobs.hpp"

namespace baleen::test {

/// A plan, with the train graph after each phase that changed it.
struct Planned {
  Plan plan;
  std::map<std::string, Graph> after;  ///< "rewrite", "gradients", ...
};

/// Throws the error.
Planned plan_with_precision(Job job, UserValues options);

/// A run of a plan's train graph, step by step; 16 bits are rounded, fp32 is not.
class Steps {
 public:
  /// Parameters begin with random numbers of `seed`, states as the plan says.
  Steps(Planned planned, std::uint64_t seed);

  /// `inputs` by name; rates are 0.1.
  void run(const std::map<std::string, Numbers>& inputs);

  double output(const std::string& name) const { return outputs_.at(name); }
  /// Of a parameter or state, after the last step.
  const Numbers& stored(const std::string& name) const { return stored_.at(name); }
  const std::map<std::string, Numbers>& all_stored() const { return stored_; }

 private:
  Planned planned_;
  std::map<std::string, Numbers> stored_;
  std::map<std::string, double> outputs_;
  std::uint64_t steps_ = 0;
};

}  // namespace baleen::test
