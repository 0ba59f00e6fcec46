/// \file The letters of a `matmul`.
#pragma once
#include <algorithm>
#include <string>

#include "baleen/result.hpp"

namespace baleen::ops {

/// "bsd,dv->bsv" split at its punctuation.
struct ContractionSpec {
  std::string a, b, y;

  /// Each letter stands once in each part.
  static Result<ContractionSpec> parse(const std::string& text);

  /// Whether it multiplies the last dimension by a matrix: a = X d, y = X v, b of two dimensions.
  bool is_projection() const {
    return b.size() == 2 && a.size() == y.size() && !a.empty() && a.back() != y.back() &&
           std::equal(a.begin(), a.end() - 1, y.begin()) && (is_plain() || is_transposed());
  }
  bool is_plain() const { return b[0] == a.back() && b[1] == y.back(); }
  bool is_transposed() const { return b[1] == a.back() && b[0] == y.back(); }
};

}  // namespace baleen::ops
