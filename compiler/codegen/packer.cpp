/// \file Views, copies and calls as ops of a lowered program.
#include "compiler/codegen/packer.hpp"

#include <numeric>

namespace baleen {

Op Packer::op(const char* kind, const std::vector<LowValue>& inputs, Attributes attributes) const {
  Op made;
  made.kind = lowered_.registry->find(kind);
  made.name = cause_.name;
  made.where = cause_.where;
  made.attributes = std::move(attributes);
  made.phase = cause_.phase;
  made.inputs = inputs;
  return made;
}

Result<LowValue> Packer::emit(Op op, LowValue like, Shape shape) {
  const LoweredValue& x = lowered_.values[like];
  const Role role = x.role == Role::gradient ? Role::gradient : Role::activation;
  return emit(std::move(op), {x.name, {x.dtype, std::move(shape), {}}, {}, role});
}

Result<LowValue> Packer::emit(Op op, const ResultSpec& result) {
  BALEEN_TRY_ASSIGN(const auto made, emitter_.emit(std::move(op), {result}, section_));
  return made[0];
}

Result<LowValue> Packer::reshape(LowValue x, Shape shape) {
  if (shape == this->shape(x)) return x;
  return emit(op("reshape", {x}, {{"shape", shape}}), x, shape);
}

Result<LowValue> Packer::move_dimension(LowValue x, std::size_t from, std::size_t to) {
  if (from == to) return x;
  std::vector<std::int64_t> permutation(shape(x).size());
  std::iota(permutation.begin(), permutation.end(), 0);
  permutation.erase(permutation.begin() + static_cast<std::ptrdiff_t>(from));
  permutation.insert(permutation.begin() + static_cast<std::ptrdiff_t>(to), static_cast<std::int64_t>(from));
  Shape turned;
  for (std::int64_t d : permutation) turned.push_back(shape(x)[static_cast<std::size_t>(d)]);
  return emit(op("transpose", {x}, {{"permutation", permutation}}), x, std::move(turned));
}

Result<LowValue> Packer::slice(LowValue x, std::size_t dim, Range run) {
  Shape part = shape(x);
  if (run.begin == 0 && run.length() == part[dim]) return x;
  part[dim] = run.length();
  return emit(op("slice", {x},
                 {{"dim", Attributes::ints({static_cast<std::int64_t>(dim)})},
                  {"start", Attributes::ints({run.begin})},
                  {"length", Attributes::ints({run.length()})}}),
              x, std::move(part));
}

Result<LowValue> Packer::concat(const std::vector<LowValue>& parts, std::size_t dim) {
  std::vector<LowValue> filled;
  for (LowValue part : parts)
    if (element_count(shape(part)) > 0) filled.push_back(part);
  if (filled.size() == 1) return filled[0];
  Shape whole = shape(parts[0]);
  whole[dim] = 0;
  for (LowValue part : parts) whole[dim] += shape(part)[dim];
  // Along `dim` they may be long even so: another dimension is empty.
  if (filled.empty()) return whole == shape(parts[0]) ? parts[0] : zeros(lowered_.values[parts[0]].dtype, whole);
  return emit(op("concat", filled, {{"dim", Attributes::ints({static_cast<std::int64_t>(dim)})}}), filled[0],
              std::move(whole));
}

Result<LowValue> Packer::select(LowValue x, std::size_t dim, const std::vector<Range>& runs) {
  if (runs.empty()) return slice(x, dim, {});
  std::vector<LowValue> parts;
  for (const Range& run : runs) {
    BALEEN_TRY_ASSIGN(const LowValue part, slice(x, dim, run));
    parts.push_back(part);
  }
  return concat(parts, dim);
}

Result<LowValue> Packer::zeros(baleen_dtype_t dtype, Shape shape) {
  return zeros(ResultSpec{cause_.name, {dtype, std::move(shape), {}}, {}, Role::activation});
}

Result<LowValue> Packer::constant(double number, const ResultSpec& result) {
  Expression expression;
  const std::int64_t last = expression.constant(number);
  return emit(op("pointwise", {},
                 {{"expression", std::move(expression)},
                  {"results", Attributes::ints({last})},
                  {"shape", result.type.shape},
                  {"dtype", Attributes::ints({result.type.dtype})}}),
              result);
}

void Packer::add_call(LoweredCall call, LowValue x, LowValue y) {
  Op made = cause_;
  made.inputs = x == kNone ? std::vector<LowValue>{} : std::vector{x};
  made.outputs = y == kNone ? std::vector<LowValue>{} : std::vector{y};
  const LowOp number = lowered_.add_op(std::move(made), LoweringKind::collective, section_);
  call.dtype = lowered_.values[x == kNone ? y : x].dtype;
  call.where = cause_.where.empty() ? cause_.name.str() : cause_.where + " (" + cause_.name + ")";
  lowered_.ops[number].call = std::move(call);
  lowered_.sections[section_].ops.push_back(number);
}

Result<LowValue> Packer::call(LoweredCall what, LowValue x, Shape result) {
  const LoweredValue& like = lowered_.values[x];
  const Role role = like.role == Role::parameter ? Role::copy : like.role;
  return call(std::move(what), x, ResultSpec{like.name, {like.dtype, std::move(result), {}}, {}, role});
}

Result<LowValue> Packer::call(LoweredCall what, LowValue x, const ResultSpec& result) {
  BALEEN_TRY_ASSIGN(const LowValue y, emitter_.add_value(result, cause_.where));
  add_call(std::move(what), x, y);
  return y;
}

void Packer::give(LoweredCall call, LowValue x) { add_call(std::move(call), x, kNone); }

Result<LowValue> Packer::finish(LowValue x, const ResultSpec& result) {
  return emit(op("reshape", {x}, {{"shape", result.type.shape}}), result);
}

}  // namespace baleen
