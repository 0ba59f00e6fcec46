/// \file How a contraction becomes matrix products.
#pragma once
#include <optional>
#include <vector>

#include "baleen/contraction.hpp"
#include "kernel.hpp"

namespace baleen::cuda {

using namespace sdk;

using Loop = ContractionLoop;
using Contraction = ContractionGroups;

/// One column-major product d = op(left) op(right) as BLAS takes it, of which `batch` lie apart by fixed strides.
struct GemmPlan {
  struct Matrix {
    bool transposed = false;
    std::int64_t rows = 0, columns = 0;  ///< as stored
    std::int64_t leading = 0, batch_stride = 0;
  };
  bool swapped = false;  ///< left is the contraction's b, right its a; d is y transposed
  Matrix left, right, result;
  std::int64_t rows = 0, columns = 0, depth = 0, batch = 1;

  /// The product is run once for each, at these offsets in elements; the later ones of a sum add to y.
  struct Turn {
    std::int64_t a = 0, b = 0, y = 0;
    bool adds = false;
  };
  std::vector<Turn> turns;
};

/// How operands are to lie.
enum class GemmForm {
  kAny,
  kDepthInnermost  ///< left transposed, right not
};

/// Nothing where a matrix has no dimension of stride 1, or where too many small products would be needed.
std::optional<GemmPlan> plan_gemm(const Contraction& contraction, GemmForm form = GemmForm::kAny);

}  // namespace baleen::cuda
