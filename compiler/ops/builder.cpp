/// \file Appending several ops in a row.
#include "compiler/ops/builder.hpp"

namespace baleen::ops {

ValueId Builder::one(const std::string& kind, Values inputs, Attributes attributes) {
  if (failed()) return kNone;
  auto made = graph_.append1(kind, std::move(inputs), std::move(attributes));
  if (made) return *made;
  error_ = std::move(made).error();
  return kNone;
}

ValueId Builder::pointwise(Values inputs, const Expression& expression, std::uint32_t result,
                           std::optional<Shape> shape, std::optional<baleen_dtype_t> dtype) {
  std::vector<std::int64_t> results{result};
  Expression pruned = prune(expression, results);
  Attributes attributes{{"expression", std::move(pruned)}, {"results", Attributes::ints(results)}};
  if (shape) attributes.set("shape", *shape);
  choose(inputs, dtype, attributes);
  return one("pointwise", std::move(inputs), std::move(attributes));
}

void Builder::choose(const Values& inputs, std::optional<baleen_dtype_t> dtype, Attributes& attributes) const {
  if (!dtype || failed()) return;
  Types types;
  for (ValueId input : inputs) types.push_back(graph_.type(input));
  if (widest(types) != *dtype) attributes.set("dtype", Attributes::ints({*dtype}));
}

ValueId Builder::binary(std::uint32_t opcode, ValueId a, ValueId b, std::optional<baleen_dtype_t> dtype) {
  Expression e;
  const auto x = e.input(0);
  const auto result = e.binary(opcode, x, a == b ? x : e.input(1));
  return pointwise(a == b ? Values{a} : Values{a, b}, e, result, {}, dtype);
}

ValueId Builder::cast(ValueId x, baleen_dtype_t to) {
  if (failed() || dtype(x) == to) return x;
  Expression e;
  const auto same = e.input(0);
  return pointwise({x}, e, same, {}, to);
}

ValueId Builder::reduce(const std::string& kind, ValueId x, std::vector<std::int64_t> dims, bool keep,
                        std::optional<baleen_dtype_t> dtype) {
  if (dims.empty()) return dtype ? cast(x, *dtype) : x;
  Attributes attributes{
      {"kind", kind}, {"dims", Attributes::ints(std::move(dims))}, {"keep", Attributes::ints({keep})}};
  choose({x}, dtype, attributes);
  return one("reduce", {x}, std::move(attributes));
}

ValueId Builder::reshape(ValueId x, const Shape& to) {
  if (failed() || shape(x) == to) return x;
  return one("reshape", {x}, {{"shape", Attributes::ints(to)}});
}

Shape Builder::shape(ValueId x) const { return failed() ? Shape{} : graph_.value(x).shape; }

baleen_dtype_t Builder::dtype(ValueId x) const { return failed() ? BALEEN_F32 : graph_.value(x).dtype; }

Result<Values> Builder::finish(Values results) const {
  if (error_) return *error_;
  return results;
}

}  // namespace baleen::ops
