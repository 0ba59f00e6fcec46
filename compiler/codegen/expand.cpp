/// \file Adds ops to a lowered program: as they are, or expanded where the device lacks the kind.
#include "compiler/codegen/expand.hpp"

#include <algorithm>
#include <unordered_map>

#include "baleen/dtype.hpp"
#include "compiler/codegen/region_view.hpp"
#include "compiler/layout/piece.hpp"

namespace baleen {
namespace {

/// Expansions of expansions; more than this is a circle.
constexpr int kDeepest = 8;

LoweringKind means_of(const OpKind& kind) {
  if (kind.has(kCollective)) return LoweringKind::collective;
  if (kind.has(kStructural)) return LoweringKind::accumulate;
  if (kind.has(kView)) return LoweringKind::view;
  return kind.name == "concat" ? LoweringKind::join : LoweringKind::kernel;
}

}  // namespace

Error OpEmitter::refuse(const Op& op, const std::string& why, const std::vector<ResultSpec>& results) const {
  std::string text = op.name + ": the device cannot compute `" + op.kind->name + "` of";
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const LoweredValue& value = lowered_.values[op.inputs[i]];
    text += (i ? ", " : " ") + std::string(dtype_name(value.dtype)) + " " + to_string(value.shape);
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    text += (i ? ", " : " to ") + std::string(dtype_name(results[i].type.dtype));
  return unsupported(text + ", and " + why, op.where);
}

Result<LowValue> OpEmitter::add_value(const ResultSpec& spec, const std::string& where) {
  LoweredValue value;
  value.name = spec.name;
  value.dtype = spec.type.dtype;
  value.global = value.shape = spec.type.shape;
  value.layout = spec.layout;
  value.role = spec.role;
  if (value.shape.size() > BALEEN_MAX_RANK)
    return unsupported("`" + spec.name + "` has " + std::to_string(value.shape.size()) + " dimensions", where);
  if (is_whole(spec.layout)) return lowered_.add_value(std::move(value));
  const int micro = lowered_.mesh.find(kMicroAxis);
  if (micro >= 0) {
    const Placement& p = spec.layout[static_cast<std::size_t>(micro)];
    value.micro = {p.is_shard() ? p.argument : -1, p.is_partial()};
  }
  const Piece piece = piece_of(value.global, spec.layout, lowered_.mesh, lowered_.at);
  value.shape = piece.shape();
  value.held = piece.held;
  if (piece.flat) {
    set_flat(value, piece);
    return lowered_.add_value(std::move(value));
  }
  for (std::size_t d = 0; d < value.shape.size(); ++d) {
    auto& runs = value.runs.emplace_back();
    std::int64_t local = 0;
    for (const Range& run : piece.dims[d]) {
      runs.push_back({local, run.begin, run.length()});
      local += run.length();
    }
  }
  return lowered_.add_value(std::move(value));
}

/// An op sees a flat shard as one dimension, over all elements in row-major order.
void OpEmitter::set_flat(LoweredValue& value, const Piece& piece) const {
  std::int64_t box = 1;
  for (const Ranges& runs : piece.dims) box *= length(runs);
  value.indexed = box == element_count(value.global);
  value.global = {box};
  value.runs = {{{0, piece.flat->begin, piece.flat->length()}}};
}

namespace {

bool is_flat(const LoweredValue& value) {
  return std::any_of(value.layout.begin(), value.layout.end(),
                     [](const Placement& p) { return p.kind == Placement::Kind::shard_flat; });
}

bool draws_numbers(const Op& op) {
  if (!op.kind->has(kPointwise)) return false;
  const Expression& e = op.attributes.expression("expression");
  return std::any_of(e.code.begin(), e.code.end(),
                     [](const auto& i) { return i.opcode == BALEEN_X_UNIFORM || i.opcode == BALEEN_X_NORMAL; });
}

}  // namespace

/// Attributes that name dimensions or shapes, where operands have one dimension in their place.
Status OpEmitter::flatten(Op& op) const {
  const LoweredValue* flat = nullptr;
  for (const auto* list : {&op.inputs, &op.outputs})
    for (LowValue v : *list)
      if (is_flat(lowered_.values[v])) flat = &lowered_.values[v];
  if (!flat) return {};
  if (!flat->indexed && draws_numbers(op))
    return unsupported("`" + flat->name + "` is cut flat beneath other cuts, and random numbers need its indices",
                       op.where);
  if (op.kind->name == "reduce") op.attributes.set("dims", Attributes::ints({0}));
  if (op.kind->has(kPointwise) && op.attributes.has("shape"))
    op.attributes.set("shape", std::vector<std::int64_t>(flat->global));
  return {};
}

Result<std::vector<LowValue>> OpEmitter::emit(Op op, const std::vector<ResultSpec>& results, std::uint32_t section,
                                              int depth) {
  const std::size_t values_before = lowered_.values.size();
  for (const ResultSpec& spec : results) {
    BALEEN_TRY_ASSIGN(const LowValue value, add_value(spec, op.where));
    op.outputs.push_back(value);
  }
  BALEEN_TRY(flatten(op));
  const auto none = [&](LowValue v) { return lowered_.elements(v) == 0; };
  const bool makes_none = std::any_of(op.outputs.begin(), op.outputs.end(), none);
  const bool empty = makes_none || std::any_of(op.inputs.begin(), op.inputs.end(), none);
  const LoweringKind natural = means_of(*op.kind);
  const bool skipped = natural == LoweringKind::accumulate ? makes_none : empty && natural != LoweringKind::collective;
  const LoweringKind means = skipped ? LoweringKind::empty : natural;
  if (means == LoweringKind::kernel && !target_.supports(*RegionView(lowered_, {&op}).get())) {
    lowered_.values.resize(values_before);
    op.outputs.clear();
    return expand(op, results, section, depth);
  }
  std::vector<LowValue> outputs = op.outputs;
  lowered_.sections[section].ops.push_back(lowered_.add_op(std::move(op), means, section));
  return outputs;
}

/// The kind's expansion is written down in a graph of its own, so that nothing merges with ops of other sections.
Result<std::vector<LowValue>> OpEmitter::expand(const Op& op, const std::vector<ResultSpec>& results,
                                                std::uint32_t section, int depth) {
  if (!op.kind->expand)
    return refuse(op,
                  "the op has no expansion into others; choose another layer, another dtype, or another compute plugin",
                  results);
  if (depth == kDeepest) return refuse(op, "its expansion does not end");
  Graph scratch(lowered_.registry);
  scratch.context() = {op.phase, kNone, op.name, op.where};
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const LoweredValue& value = lowered_.values[op.inputs[i]];
    BALEEN_TRY_ASSIGN(const ValueId input, scratch.input(std::to_string(i), {value.dtype, value.global, {}}));
    inputs.push_back(input);
  }
  BALEEN_TRY_ASSIGN(const auto made, scratch.append(op.kind->name, inputs, op.attributes));
  const Op copy = scratch.op(scratch.value(made[0]).producer);
  BALEEN_TRY_ASSIGN(const auto expanded, op.kind->expand(scratch, copy));
  for (std::size_t i = 0; i < expanded.size(); ++i) scratch.set_output(std::to_string(i), expanded[i]);
  scratch.remove_dead();
  BALEEN_TRY_ASSIGN(const auto values, import(scratch, op, expanded, section, depth));
  for (std::size_t i = 0; i < values.size(); ++i) {
    LoweredValue& value = lowered_.values[values[i]];
    if (value.layout != results[i].layout) return refuse(op, "its expansion cannot be cut as the op is");
    if (value.producer != kNone && value.role == Role::activation) value.role = results[i].role;
  }
  return values;
}

Result<std::vector<LowValue>> OpEmitter::import(const Graph& scratch, const Op& original,
                                                const std::vector<ValueId>& wanted, std::uint32_t section, int depth) {
  std::unordered_map<ValueId, LowValue> map;
  for (OpId id : scratch.ops()) {
    const Op& from = scratch.op(id);
    if (from.inputs.empty() && from.kind->has(kStructural)) {  // an operand: those are the graph's first values
      map[from.outputs[0]] = original.inputs[from.outputs[0]];
      continue;
    }
    Op op = from;
    op.forward_op = original.forward_op;
    op.outputs.clear();
    for (ValueId& v : op.inputs) v = map.at(v);
    std::vector<Layout> layouts(from.outputs.size());
    for (std::size_t axis = 0; axis < lowered_.mesh.axes.size(); ++axis) {
      BALEEN_TRY_ASSIGN(const auto placements, infer_axis(scratch, from, op.inputs, axis, section));
      for (std::size_t i = 0; i < layouts.size(); ++i) layouts[i].push_back(placements[i]);
    }
    std::vector<ResultSpec> specs;
    for (std::size_t i = 0; i < from.outputs.size(); ++i)
      specs.push_back(
          {from.name, scratch.type(from.outputs[i]), is_whole(layouts[i]) ? Layout{} : layouts[i], Role::activation});
    BALEEN_TRY_ASSIGN(const auto values, emit(std::move(op), specs, section, depth + 1));
    for (std::size_t i = 0; i < values.size(); ++i) map[from.outputs[i]] = values[i];
  }
  std::vector<LowValue> results;
  for (ValueId v : wanted) results.push_back(map.at(v));
  return results;
}

Placement OpEmitter::placement(LowValue value, std::size_t axis) const {
  const Layout& layout = lowered_.values[value].layout;
  return layout.empty() ? Placement::replicate() : layout[axis];
}

/// The rules by which the plan cut the graph, for the ops of an expansion and one axis.
Result<std::vector<Placement>> OpEmitter::infer_axis(const Graph& scratch, const Op& op, Ids& inputs, std::size_t axis,
                                                     std::uint32_t section) {
  std::vector<Placement> results(op.outputs.size());
  std::vector<std::uint32_t> partial;
  char letter = 0;
  Placement shard;
  const Iteration letters = op.kind->iteration ? iteration_of(scratch, op) : Iteration{};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Placement p = placement(inputs[i], axis);
    if (p.is_replicate()) continue;
    if (!op.kind->iteration) return refuse(op, "its expansion mixes the batch");
    const std::optional<int> cut = p.cut();
    if (p.is_partial()) {
      partial.push_back(static_cast<std::uint32_t>(i));
    } else if (cut && *cut != kFlat) {
      letter = letters.inputs[i][static_cast<std::size_t>(*cut)];
      shard = p;
    } else {
      return refuse(op, "its expansion needs values cut along dimensions, and there is one that is " + to_string(p));
    }
  }
  if (letter == '.' || (letter != 0 && !partial.empty())) return refuse(op, "its expansion mixes the batch");
  if (letter != 0) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto dim = letters.inputs[i].find(letter);
      const bool cut = dim != std::string::npos && lowered_.values[inputs[i]].global[dim] != 1;
      const Placement now = placement(inputs[i], axis);
      Placement wanted = shard;
      wanted.argument = static_cast<int>(dim);
      if (cut ? now.same_kind(wanted) : !now.cut()) continue;
      if (now.cut()) return refuse(op, "its expansion mixes the batch");
      BALEEN_TRY_ASSIGN(inputs[i], in_pieces(inputs[i], wanted, axis, section));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto dim = letters.outputs[i].find(letter);
      results[i] = shard;
      results[i].argument = static_cast<int>(dim);
      if (dim == std::string::npos) results[i] = Placement::partial();
    }
  } else if (!partial.empty()) {
    for (auto set : letters.linear) {
      std::sort(set.begin(), set.end());
      if (set == partial) return std::vector<Placement>(results.size(), Placement::partial());
    }
    return refuse(op, "its expansion needs a whole value where there are terms of it");
  }
  return results;
}

/// A copy of a whole constant of which each rank, or micro-batch, computes its part.
Result<LowValue> OpEmitter::in_pieces(LowValue number, const Placement& piece, std::size_t axis,
                                      std::uint32_t section) {
  const LoweredValue value = lowered_.values[number];
  if (value.producer == kNone || !lowered_.ops[value.producer].op.inputs.empty())
    return internal("`" + value.name + "` is needed in pieces, and is no constant");
  Op op = lowered_.ops[value.producer].op;
  op.outputs.clear();
  Layout layout = value.layout;
  layout.resize(lowered_.mesh.axes.size());
  layout[axis] = piece;
  BALEEN_TRY_ASSIGN(const auto pieces,
                    emit(std::move(op), {{value.name, {value.dtype, value.global, {}}, layout, value.role}}, section));
  return pieces[0];
}

}  // namespace baleen
