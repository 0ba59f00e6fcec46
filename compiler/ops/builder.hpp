/// \file Appending several ops in a row, with one check for errors at the end.
#pragma once
#include <optional>

#include "compiler/ops/rules.hpp"

namespace baleen::ops {

/// Keeps the first error; after it every call does nothing and gives kNone. Borrowed: `graph` outlives it.
class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph) {}

  ValueId one(const std::string& kind, Values inputs, Attributes attributes = {});

  /// `result` of `expression`; a `shape` makes the result larger than the inputs' common shape. It is of the widest
  /// input's dtype, or of `dtype`.
  ValueId pointwise(Values inputs, const Expression& expression, std::uint32_t result, std::optional<Shape> shape = {},
                    std::optional<baleen_dtype_t> dtype = {});
  ValueId binary(std::uint32_t opcode, ValueId a, ValueId b, std::optional<baleen_dtype_t> dtype = {});
  /// x itself if it has the dtype.
  ValueId cast(ValueId x, baleen_dtype_t dtype);
  /// The result is of the operand's dtype, or of `dtype`.
  ValueId reduce(const std::string& kind, ValueId x, std::vector<std::int64_t> dims, bool keep,
                 std::optional<baleen_dtype_t> dtype = {});
  /// x itself if it has the shape.
  ValueId reshape(ValueId x, const Shape& shape);

  /// Empty after an error.
  Shape shape(ValueId x) const;
  baleen_dtype_t dtype(ValueId x) const;

  Result<Values> finish(Values results) const;

 private:
  bool failed() const { return error_.has_value(); }
  /// Sets the attribute where the result would be of another dtype without it.
  void choose(const Values& inputs, std::optional<baleen_dtype_t> dtype, Attributes& attributes) const;

  Graph& graph_;
  std::optional<Error> error_;
};

}  // namespace baleen::ops
