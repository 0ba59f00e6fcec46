/// \file Local regions: `to_local`, `from_local`, `axis_index`, `permute`, `after`, `pick`, and the collectives between
/// them. Values inside have the shape of a rank's piece and no global meaning.
#include <algorithm>
#include <numeric>

#include "compiler/ops/collective.hpp"

namespace baleen::ops {
namespace {

constexpr AttributeType kInteger = AttributeType::integer;

std::vector<AttributeRule> local_rules(CollectiveOp collective) {
  std::vector<AttributeRule> rules{{"axes", AttributeType::integers}};
  switch (collective) {
    case CollectiveOp::all_reduce: rules.push_back({"reduction", AttributeType::text, false}); break;
    case CollectiveOp::reduce:
    case CollectiveOp::broadcast: rules.push_back({"root", kInteger}); break;
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::all_gather: rules.insert(rules.end(), {{"dim", kInteger}, {"size", kInteger}}); break;
    case CollectiveOp::all_to_all:
      rules.insert(rules.end(), {{"from_dim", kInteger}, {"to_dim", kInteger}, {"size", kInteger}});
      break;
    default: break;
  }
  return rules;
}

Status check_size(const std::string& kind, const Attributes& attributes) {
  if (attributes.integer("size") >= 1) return {};
  return invalid(kind + ": `size` is " + std::to_string(attributes.integer("size")) +
                 "; it is how many ranks take part");
}

/// `dim` of `y` holds the pieces of all ranks.
Status join(const std::string& kind, const std::string& attribute, const InferContext& context, ValueType& y) {
  const std::int64_t dim = context.attributes.integer(attribute);
  BALEEN_TRY(check_dim(kind, attribute, dim, {"the input", context.inputs[0]}));
  y.shape[static_cast<std::size_t>(dim)] *= context.attributes.integer("size");
  return check_extents(kind, y.shape);
}

/// `dim` of `y` is one rank's part, of equal parts.
Status divide(const std::string& kind, const std::string& attribute, const InferContext& context, ValueType& y) {
  const std::int64_t dim = context.attributes.integer(attribute), size = context.attributes.integer("size");
  BALEEN_TRY(check_dim(kind, attribute, dim, {"the input", context.inputs[0]}));
  std::int64_t& extent = y.shape[static_cast<std::size_t>(dim)];
  if (extent % size != 0)
    return invalid(kind + ": dimension " + std::to_string(dim) + " of " + to_string(context.inputs[0].shape) +
                   " does not divide by " + std::to_string(size) +
                   ", and a local region has equal parts; pad it first");
  extent /= size;
  return {};
}

Result<Types> infer_permute(const InferContext& context) {
  BALEEN_TRY(check_attributes("permute", context.attributes, {{"axes", AttributeType::integers}, {"shift", kInteger}}));
  BALEEN_TRY(check_mesh_axes("permute", context.attributes));
  BALEEN_TRY(check_count("permute", context, 1, 1));
  return Types{context.inputs[0]};
}

Iteration same_letters(const Graph& graph, const Op& op) {
  const std::string all = letters(graph.value(op.inputs[0]).rank());
  return {{all}, {all}, {{0}}, {}};
}

Result<Types> infer_to_local(const InferContext& context) {
  BALEEN_TRY(check_attributes("to_local", context.attributes, {{"shape", AttributeType::integers}}));
  BALEEN_TRY(check_count("to_local", context, 1, 1));
  ValueType y = context.inputs[0];
  const Shape whole = y.shape;
  y.shape = context.attributes.integers("shape");
  // A flat piece has one dimension, whatever the whole has.
  const bool flat = y.shape.size() == 1 && y.shape[0] <= element_count(whole);
  if (flat) y.axes.clear();
  if (!flat) BALEEN_TRY(check_rank("to_local", {"`shape`", y}, whole.size()));
  for (std::size_t d = 0; d < y.shape.size(); ++d)
    if (y.shape[d] < 1 || (!flat && y.shape[d] > whole[d]))
      return invalid("to_local: `shape` " + to_string(y.shape) + " is no part of " + to_string(whole));
  return Types{y};
}

Result<Types> infer_from_local(const InferContext& context) {
  BALEEN_TRY(check_attributes("from_local", context.attributes,
                              {{"shape", AttributeType::integers}, {"layout", AttributeType::text}}));
  BALEEN_TRY(check_count("from_local", context, 1, 1));
  ValueType y = context.inputs[0];
  y.shape = context.attributes.integers("shape");
  BALEEN_TRY(check_extents("from_local", y.shape));
  const auto layout = parse_layout(context.attributes.text("layout"));
  if (!layout) return invalid("from_local: `layout`: " + layout.error().message);
  const auto is_flat = [](const Placement& p) { return p.cut() == kFlat; };
  const bool flat = std::ranges::any_of(*layout, is_flat);
  if (flat) y.axes.clear();
  BALEEN_TRY(check_rank("from_local", {"the piece", context.inputs[0]}, flat ? 1 : y.shape.size()));
  return Types{y};
}

Result<Types> infer_pick(const InferContext& context) {
  BALEEN_TRY(check_attributes("pick", context.attributes, {{"axes", AttributeType::integers}}));
  BALEEN_TRY(check_mesh_axes("pick", context.attributes));
  if (context.attributes.integers("axes").size() != 1) return invalid("pick: `axes` is one mesh axis");
  const Named first{"the first input", context.inputs[0]};
  for (const ValueType& input : context.inputs)
    BALEEN_TRY(check_shape("pick", {"an input", input}, first.type.shape, first));
  return Types{context.inputs[0]};
}

Iteration iterate_pick(const Graph& graph, const Op& op) {
  const std::string all = letters(graph.value(op.outputs[0]).rank());
  std::vector<std::uint32_t> together(op.inputs.size());
  std::iota(together.begin(), together.end(), 0u);
  return {std::vector<std::string>(op.inputs.size(), all), {all}, {std::move(together)}, {}};
}

Result<Types> infer_axis_index(const InferContext& context) {
  BALEEN_TRY(check_attributes("axis_index", context.attributes, {{"axes", AttributeType::integers}}));
  BALEEN_TRY(check_mesh_axes("axis_index", context.attributes));
  if (context.attributes.integers("axes").size() != 1)
    return invalid("axis_index: `axes` is " + to_string(context.attributes.integers("axes")) + "; it is one mesh axis");
  BALEEN_TRY(check_count("axis_index", context, 0, 0));
  return Types{{BALEEN_I32, {}, {}}};
}

Result<Types> infer_after(const InferContext& context) {
  BALEEN_TRY(check_attributes("after", context.attributes, {{"begun", kInteger, false}}));
  BALEEN_TRY(check_count("after", context, 2, 2));
  return Types{context.inputs[0]};
}

/// Both operands are split into micro-batches together; the batch is the first dimension of each.
Iteration iterate_after(const Graph& graph, const Op& op) {
  const std::string all = letters(graph.value(op.inputs[0]).rank());
  std::string other(graph.value(op.inputs[1]).rank(), '.');
  if (!all.empty() && !other.empty()) other[0] = all[0];
  return {{all, other}, {all}, {}, {}};
}

}  // namespace

Result<Types> infer_local_collective(CollectiveOp collective, const InferContext& context) {
  const std::string kind = to_string(collective);
  const auto rules = local_rules(collective);
  if (rules.size() == 1)
    return invalid(kind + " stands between layouts alone: it needs the attributes `from` and `to`");
  BALEEN_TRY(check_attributes(kind, context.attributes, rules));
  BALEEN_TRY(check_mesh_axes(kind, context.attributes));
  BALEEN_TRY(check_count(kind, context, 1, 1));
  ValueType y = context.inputs[0];
  if (context.attributes.has("size")) BALEEN_TRY(check_size(kind, context.attributes));
  const bool reduces = collective == CollectiveOp::all_reduce || collective == CollectiveOp::reduce ||
                       collective == CollectiveOp::reduce_scatter;
  if (reduces) BALEEN_TRY(check_reducible(kind, context.inputs[0]));
  if (collective == CollectiveOp::all_gather) BALEEN_TRY(join(kind, "dim", context, y));
  if (collective == CollectiveOp::reduce_scatter) BALEEN_TRY(divide(kind, "dim", context, y));
  if (collective == CollectiveOp::all_to_all) {
    if (context.attributes.integer("from_dim") == context.attributes.integer("to_dim"))
      return invalid(kind + ": `from_dim` and `to_dim` are both " +
                     std::to_string(context.attributes.integer("to_dim")) + "; it joins one and cuts the other");
    BALEEN_TRY(join(kind, "from_dim", context, y));
    BALEEN_TRY(divide(kind, "to_dim", context, y));
  }
  const std::string& reduction = context.attributes.has("reduction") ? context.attributes.text("reduction") : "sum";
  if (reduction != "sum" && reduction != "max")
    return invalid(kind + ": `reduction` is \"" + reduction + "\"; it is \"sum\" or \"max\"");
  return Types{y};
}

Iteration iterate_local_collective(const Graph& graph, const Op& op) {
  Iteration result = same_letters(graph, op);
  for (const char* attribute : {"dim", "from_dim", "to_dim"})
    if (op.attributes.has(attribute))
      for (auto* operands : {&result.inputs, &result.outputs})
        (*operands)[0][static_cast<std::size_t>(op.attributes.integer(attribute))] = '.';
  if (op.attributes.has("reduction") && op.attributes.text("reduction") != "sum") result.linear.clear();
  return result;
}

Status register_local_region(OpRegistry& registry) {
  const auto add = [&](const char* name, std::uint32_t traits, auto infer,
                       Iteration (*iteration)(const Graph&, const Op&)) {
    return registry.add(
        {.name = name, .traits = kPure | traits, .infer = infer, .iteration = iteration, .cost = cost_per_element(0)});
  };
  BALEEN_TRY(add("permute", kStructural | kCollective, infer_permute, same_letters));
  BALEEN_TRY(add("to_local", kStructural, infer_to_local, same_letters));
  BALEEN_TRY(add("from_local", kStructural, infer_from_local, same_letters));
  BALEEN_TRY(add("after", kView, infer_after, iterate_after));
  BALEEN_TRY(add("pick", 0, infer_pick, iterate_pick));
  return add("axis_index", 0, infer_axis_index, [](const Graph&, const Op&) { return Iteration{{}, {""}, {}, {}}; });
}

}  // namespace baleen::ops
