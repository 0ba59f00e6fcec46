/// \file Appends what surrounds a call of the transport: views, copies and constants of values that have a shape and
/// nothing else.
#pragma once

#include "compiler/codegen/expand.hpp"

namespace baleen {

class Packer {
 public:
  /// Borrows all; `cause` gives names, places and tags to what is appended.
  Packer(Lowered& lowered, OpEmitter& emitter, const Op& cause, std::uint32_t section)
      : lowered_(lowered), emitter_(emitter), cause_(cause), section_(section) {}

  const Shape& shape(LowValue x) const { return lowered_.values[x].shape; }
  Result<LowValue> reshape(LowValue x, Shape shape);
  Result<LowValue> flat(LowValue x) { return reshape(x, {element_count(shape(x))}); }
  /// With dimension `dim` outermost, and back.
  Result<LowValue> to_front(LowValue x, std::size_t dim) { return move_dimension(x, dim, 0); }
  Result<LowValue> from_front(LowValue x, std::size_t dim) { return move_dimension(x, 0, dim); }
  Result<LowValue> slice(LowValue x, std::size_t dim, Range run);
  /// Parts without elements are left out; there is at least one part.
  Result<LowValue> concat(const std::vector<LowValue>& parts, std::size_t dim);
  /// Several runs of a dimension, one after the other.
  Result<LowValue> select(LowValue x, std::size_t dim, const std::vector<Range>& runs);
  Result<LowValue> zeros(baleen_dtype_t dtype, Shape shape);
  /// `result` as zeros; without elements if this rank holds none.
  Result<LowValue> zeros(const ResultSpec& result) { return constant(0, result); }
  Result<LowValue> constant(double number, const ResultSpec& result);

  /// A call whose result is a value like `x` with a shape of its own.
  Result<LowValue> call(LoweredCall what, LowValue x, Shape result);
  /// A call that makes `result` itself. `x` is kNone if this rank sends nothing.
  Result<LowValue> call(LoweredCall what, LowValue x, const ResultSpec& result);
  /// A call in which this rank only sends.
  void give(LoweredCall call, LowValue x);
  /// The value `result` of the program, which has the elements of `x` and a name, type, layout and role of its own.
  Result<LowValue> finish(LowValue x, const ResultSpec& result);

 private:
  Op op(const char* kind, const std::vector<LowValue>& inputs, Attributes attributes) const;
  Result<LowValue> emit(Op op, LowValue like, Shape shape);
  Result<LowValue> emit(Op op, const ResultSpec& result);
  Result<LowValue> move_dimension(LowValue x, std::size_t from, std::size_t to);
  void add_call(LoweredCall call, LowValue x, LowValue y);

  Lowered& lowered_;
  OpEmitter& emitter_;
  const Op& cause_;
  std::uint32_t section_;
};

}  // namespace baleen
