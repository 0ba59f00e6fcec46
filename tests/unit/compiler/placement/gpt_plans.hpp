/// \file Plans for the small GPT: what each mesh axis is for, and what strategies would ask for.
#pragma once
#include <ostream>

#include "gpt_graph.hpp"

namespace baleen::test {

/// One plan: what each mesh axis is for.
struct GptPlan {
  std::string name;
  std::vector<MeshAxis> axes;
  GptModel model;
  int zero = 0;                ///< stage along `data`
  bool flat = false;           ///< ... of flat shards
  bool cut_residuals = false;  ///< along `tensor`, by sequence
  bool balanced = false;       ///< along `sequence`
  bool every_micro_batch = false;
  bool cut_width = false;  ///< residuals along `tensor`, by width, with whole weights
};

inline void PrintTo(const GptPlan& plan, std::ostream* out) { *out << plan.name; }

PlacementRequest request_of(const GptPlan& plan, const GptGraph& gpt);

const std::vector<GptPlan>& gpt_plans();
/// Throws std::runtime_error for a name that is none.
const GptPlan& gpt_plan(const std::string& name);

}  // namespace baleen::test
