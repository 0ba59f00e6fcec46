/// \file The judgement of `baleen verify`: what two runs came to, compared.
#pragma once
#include <optional>
#include <string>

#include "frontend/cli/verify_record.hpp"

namespace baleen::app {

struct Judgement {
  std::string summary;                    ///< the largest differences for people, a line each
  std::optional<std::string> difference;  ///< the first that is too large, in the order of the run; nothing: equal
};

/// Of `many` ranks against `one`. In fp64: losses and evaluations within 1e-10 relative, each parameter and each state
/// of the optimizer |a - b| <= 1e-8 |b| + 1e-12 sqrt(n). In fp32: losses within 1e-6 at the first step and 1e-4 at the
/// twentieth and after, held-out losses likewise, first gradients within 1e-5 of the norm of all; parameters and states
/// are only shown, since an optimizer may divide rounding noise by itself. In 16 bits more, as roundings of fewer
/// digits add up at random: 256 times that with bf16, 90 times with fp16; first gradients by 4 units of the last digit.
Judgement judge(const Record& many, const Record& one);

}  // namespace baleen::app
