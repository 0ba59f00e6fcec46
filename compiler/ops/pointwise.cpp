/// \file `pointwise`: an expression per element, over inputs that are broadcast along dimensions of extent 1.
#include <algorithm>

#include "compiler/ops/pointwise.hpp"

namespace baleen::ops {
namespace {

/// "pointwise gelu(x0 + x1)", shortened.
std::string title(const InferContext& context) {
  const auto& results = context.attributes.integers("results");
  std::string text = to_string(context.attributes.expression("expression"), {results[0]})[0];
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return "pointwise " + text;
}

std::string operand(const InferContext& context, std::size_t i) {
  return "x" + std::to_string(i) + " " + to_string(context.inputs[i].shape);
}

/// The common shape of the inputs, or `shape` where it is given, to which all are broadcast.
Result<Shape> result_shape(const InferContext& context) {
  Shape shape;
  std::size_t first = context.inputs.size();  // the input that gave the rank
  const bool given = context.attributes.has("shape");
  if (given) shape = context.attributes.integers("shape");
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    const Shape& input = context.inputs[i].shape;
    if (input.empty()) continue;
    if (!given && first == context.inputs.size()) {
      shape = input;
      first = i;
    }
    const auto other = [&] { return given ? "`shape` " + to_string(shape) : operand(context, first); };
    if (input.size() != shape.size())
      return invalid(title(context) + ": " + other() + " has " + std::to_string(shape.size()) + " dimensions and " +
                     operand(context, i) + " has " + std::to_string(input.size()) +
                     "; reshape to equal ranks (extents of 1 are broadcast)");
    for (std::size_t d = 0; d < input.size(); ++d) {
      if (input[d] == shape[d] || input[d] == 1) continue;
      if (shape[d] != 1 || given)
        return invalid(title(context) + ": dimension " + std::to_string(d) + " is " + std::to_string(input[d]) +
                       " in " + operand(context, i) + " and " + std::to_string(shape[d]) +
                       (given ? " in " + other() : " before it, in " + to_string(shape)) +
                       "; extents must be equal or 1");
      shape[d] = input[d];
    }
  }
  if (!check_extents({}, shape)) return check_extents(title(context), shape).error();  // a title is much to write
  return shape;
}

Result<std::vector<baleen_dtype_t>> result_dtypes(const InferContext& context) {
  const std::size_t count = context.attributes.integers("results").size();
  if (context.attributes.has("dtype")) {
    const auto& list = context.attributes.integers("dtype");
    if (list.size() != 1 && list.size() != count)
      return invalid(title(context) + ": `dtype` lists " + std::to_string(list.size()) + " dtypes for " +
                     std::to_string(count) + " results");
    std::vector<baleen_dtype_t> dtypes;
    for (std::size_t i = 0; i < count; ++i) {
      const auto dtype = static_cast<baleen_dtype_t>(list[list.size() == 1 ? 0 : i]);
      if (dtype_size(dtype) == 0) return invalid(title(context) + ": " + std::to_string(dtype) + " is no dtype");
      dtypes.push_back(dtype);
    }
    return dtypes;
  }
  const auto dtype = widest(context.inputs);
  if (!dtype) return invalid(title(context) + ": without floating inputs the attribute `dtype` must say the result's");
  return std::vector<baleen_dtype_t>(count, *dtype);
}

Status check_program(const InferContext& context) {
  const Expression& expression = context.attributes.expression("expression");
  const auto& results = context.attributes.integers("results");
  if (results.empty()) return invalid("pointwise: `results` is empty");
  Status status = verify(expression, results, static_cast<std::uint32_t>(context.inputs.size()));
  if (!status) return invalid("pointwise: " + status.error().message);
  return {};
}

/// Elements are computed with in floating point, which has no room for 64 bits.
Status refuse_wide_ids(const InferContext& context) {
  for (std::size_t i = 0; i < context.inputs.size(); ++i)
    if (context.inputs[i].dtype == BALEEN_I64)
      return invalid(title(context) + ": x" + std::to_string(i) + " is " + type_text(context.inputs[i]) +
                     ", whose 64 bits no float holds" + sdk::remedy_of(BALEEN_I64));
  return {};
}

Status check_indices(const InferContext& context, const Shape& shape) {
  for (const auto& i : context.attributes.expression("expression").code)
    if (i.opcode == BALEEN_X_INDEX && i.a >= shape.size())
      return invalid(title(context) + ": index(" + std::to_string(i.a) + ") of a result of shape " + to_string(shape));
  return {};
}

Result<Types> infer(const InferContext& context) {
  BALEEN_TRY(check_attributes("pointwise", context.attributes,
                              {{"expression", AttributeType::expression},
                               {"results", AttributeType::integers},
                               {"shape", AttributeType::integers, false},
                               {"dtype", AttributeType::integers, false}}));
  BALEEN_TRY(check_program(context));
  BALEEN_TRY(refuse_wide_ids(context));
  if (context.inputs.empty() && !context.attributes.has("shape"))
    return invalid(title(context) + ": without inputs the attribute `shape` must say the result's");
  BALEEN_TRY_ASSIGN(const Shape shape, result_shape(context));
  BALEEN_TRY(check_indices(context, shape));
  BALEEN_TRY_ASSIGN(const auto dtypes, result_dtypes(context));
  ValueType type{BALEEN_F32, shape, std::vector<std::string>(shape.size())};
  for (std::size_t d = 0; d < shape.size(); ++d)
    for (const ValueType& input : context.inputs)
      if (type.axes[d].empty() && input.shape.size() == shape.size() && input.shape[d] == shape[d])
        type.axes[d] = axis(input, d);
  Types results;
  for (baleen_dtype_t dtype : dtypes) results.push_back(same_but(type, dtype));
  return results;
}

/// How an instruction depends on a set of inputs.
enum class Dependence : std::uint8_t { none, zero, linear, other };

Dependence sum_of(Dependence a, Dependence b) {
  if (a == Dependence::other || b == Dependence::other) return Dependence::other;
  if (a == Dependence::zero) return b;
  if (b == Dependence::zero || a == b) return a;
  return Dependence::other;  // linear + constant
}

Dependence product_of(Dependence a, Dependence b) {
  if (a == Dependence::none) return b;
  if (b == Dependence::none) return a;
  return a == Dependence::zero && b == Dependence::zero ? Dependence::zero : Dependence::other;
}

Dependence step(const baleen_instruction_t& i, const std::vector<Dependence>& at) {
  const std::uint32_t operand[] = {i.a, i.b, i.c};
  const int operands = operand_count(i.opcode);
  const bool fixed = std::all_of(operand, operand + operands, [&](std::uint32_t o) {
    return at[o] == Dependence::none || at[o] == Dependence::zero;
  });
  switch (i.opcode) {
    case BALEEN_X_CONSTANT: return i.constant == 0 ? Dependence::zero : Dependence::none;
    case BALEEN_X_ADD:
    case BALEEN_X_SUB: return sum_of(at[i.a], at[i.b]);
    case BALEEN_X_NEG: return at[i.a];
    case BALEEN_X_MUL: return fixed ? Dependence::none : product_of(at[i.a], at[i.b]);
    case BALEEN_X_DIV:
      if (fixed) return Dependence::none;
      return at[i.b] == Dependence::none ? at[i.a] : Dependence::other;
    case BALEEN_X_SELECT:
      if (fixed) return Dependence::none;
      return at[i.a] == Dependence::linear || at[i.a] == Dependence::other ? Dependence::other
                                                                           : sum_of(at[i.b], at[i.c]);
    default: return fixed ? Dependence::none : Dependence::other;
  }
}

bool jointly_linear(const Expression& expression, const std::vector<std::int64_t>& results,
                    const std::vector<std::uint32_t>& inputs) {
  std::vector<Dependence> at;
  at.reserve(expression.code.size());
  for (const auto& i : expression.code) {
    const bool member = i.opcode == BALEEN_X_INPUT && std::find(inputs.begin(), inputs.end(), i.a) != inputs.end();
    at.push_back(member ? Dependence::linear : i.opcode == BALEEN_X_INPUT ? Dependence::none : step(i, at));
  }
  return std::all_of(results.begin(), results.end(),
                     [&](std::int64_t r) { return at[static_cast<std::size_t>(r)] == Dependence::linear; });
}

Iteration iteration(const Graph& graph, const Op& op) {
  const Shape& shape = graph.value(op.outputs[0]).shape;
  const std::string all = letters(shape.size());
  Iteration result;
  result.outputs.assign(op.outputs.size(), all);
  std::vector<std::uint32_t> floats;
  for (std::uint32_t i = 0; i < op.inputs.size(); ++i) {
    const Value& input = graph.value(op.inputs[i]);
    std::string own = all.substr(0, input.rank());
    for (std::size_t d = 0; d < own.size(); ++d)
      if (input.shape[d] != shape[d]) own[d] = '.';
    result.inputs.push_back(own);
    if (is_floating(input.dtype)) floats.push_back(i);
  }
  result.linear = linear_sets(op.attributes.expression("expression"), op.attributes.integers("results"), floats);
  return result;
}

Cost cost(const Graph& graph, const Op& op) {
  const auto& code = op.attributes.expression("expression").code;
  const auto work = std::count_if(code.begin(), code.end(), [](const auto& i) { return operand_count(i.opcode) > 0; });
  const auto elements = element_count(graph.value(op.outputs[0]).shape);
  return cost_of(graph, op, static_cast<double>(work) * static_cast<double>(elements));
}

}  // namespace

std::vector<std::vector<std::uint32_t>> linear_sets(const Expression& expression,
                                                    const std::vector<std::int64_t>& results,
                                                    const std::vector<std::uint32_t>& inputs) {
  constexpr std::size_t kAllSubsets = 6;
  std::vector<std::vector<std::uint32_t>> sets;
  auto keep = [&](const std::vector<std::uint32_t>& set) {
    if (jointly_linear(expression, results, set)) sets.push_back(set);
  };
  if (inputs.size() <= kAllSubsets) {
    for (std::uint32_t mask = 1; mask < (1u << inputs.size()); ++mask) {
      std::vector<std::uint32_t> set;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (mask & (1u << i)) set.push_back(inputs[i]);
      keep(set);
    }
    return sets;
  }
  for (std::uint32_t input : inputs) keep({input});
  keep(inputs);
  return sets;
}

Status register_pointwise(OpRegistry& registry) {
  return registry.add({.name = "pointwise",
                       .traits = kPure | kPointwise | kCheap | kTyped,
                       .infer = infer,
                       .gradient = pointwise_gradient,
                       .iteration = iteration,
                       .cost = cost});
}

}  // namespace baleen::ops
