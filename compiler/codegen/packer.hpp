/// \file Appends what surrounds a call of the transport: views, copies and constants of values that have a shape and
/// nothing else.
#pragma once
#include <optional>

#include "compiler/codegen/expand.hpp"

namespace baleen {

/// The global indices `length` from `offset` on of something that has several parts.
struct Stretch {
  std::int64_t offset = 0, length = 0;
};

class Packer {
 public:
  /// Borrows all; `cause` gives names, places and tags to what is appended.
  Packer(Lowered& lowered, OpEmitter& emitter, const Op& cause, std::uint32_t section)
      : lowered_(lowered), emitter_(emitter), cause_(cause), section_(section) {}

  const Shape& shape(LowValue x) const { return lowered_.values[x].shape; }
  Result<LowValue> reshape(LowValue x, Shape shape);
  Result<LowValue> flat(LowValue x) { return reshape(x, {element_count(shape(x))}); }
  /// With dimension `dim` outermost, and back.
  Result<LowValue> to_front(LowValue x, std::size_t dim);
  Result<LowValue> from_front(LowValue x, std::size_t dim);
  Result<LowValue> slice(LowValue x, std::size_t dim, Stretch stretch);
  /// Parts without elements are left out; there is at least one part.
  Result<LowValue> concat(const std::vector<LowValue>& parts, std::size_t dim);
  /// Several stretches of a dimension, one after the other.
  Result<LowValue> select(LowValue x, std::size_t dim, const std::vector<Stretch>& stretches);
  Result<LowValue> zeros(baleen_dtype_t dtype, Shape shape);
  /// What `result` is on a rank that has nothing of it, or zeros where it has.
  Result<LowValue> zeros(const ResultSpec& result);

  /// A call whose result is a value like `x` with a shape of its own.
  Result<LowValue> call(Wire wire, LowValue x, Shape result);
  /// A call that makes `result` itself; kNone: this rank gives nothing.
  Result<LowValue> call(Wire wire, LowValue x, const ResultSpec& result);
  /// A call from which this rank gets nothing.
  void give(Wire wire, LowValue x);
  /// `x`, with the very elements, as what it is in the program.
  Result<LowValue> finish(LowValue x, const ResultSpec& result);

 private:
  Op op(const char* kind, std::vector<LowValue> inputs) const;
  Result<LowValue> emit(Op op, LowValue like, Shape shape);
  void add_call(Wire wire, LowValue x, LowValue y);

  Lowered& lowered_;
  OpEmitter& emitter_;
  const Op& cause_;
  std::uint32_t section_;
};

}  // namespace baleen
