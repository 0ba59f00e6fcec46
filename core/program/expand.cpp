/// \file Adds ops to a lowered program: as they are, or expanded where the device lacks the kind.
#include "core/program/expand.hpp"

#include <algorithm>
#include <unordered_map>

#include "baleen/dtype.hpp"
#include "core/program/region_view.hpp"

namespace baleen {
namespace {

/// Expansions of expansions; more than this is a circle.
constexpr int kDeepest = 8;

Means means_of(const OpKind& kind) {
  if (kind.has(kStructural)) return Means::accumulate;
  if (kind.has(kView)) return Means::view;
  return kind.name == "concat" ? Means::join : Means::kernel;
}

}  // namespace

Error OpEmitter::refuse(const Op& op, const std::string& why) const {
  std::string text = op.name + ": the device cannot compute `" + op.kind->name + "` of";
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const LoweredValue& value = lowered_.values[op.inputs[i]];
    text += (i ? ", " : " ") + std::string(dtype_name(value.dtype)) + " " + to_string(value.shape);
  }
  return unsupported(text + ", and " + why, op.where);
}

Result<LowValue> OpEmitter::add_value(const ResultSpec& spec, const std::string& where) {
  LoweredValue value{spec.name, spec.type.dtype, spec.type.shape, spec.type.shape, spec.micro, spec.role, kNone, false,
                     {}};
  if (value.shape.size() > BALEEN_MAX_RANK)
    return unsupported("`" + spec.name + "` has " + std::to_string(value.shape.size()) + " dimensions", where);
  if (spec.micro.dim >= 0) {
    std::int64_t& extent = value.shape[static_cast<std::size_t>(spec.micro.dim)];
    if (extent % lowered_.micro_batches != 0)
      return internal("`" + spec.name + "` " + to_string(spec.type.shape) + " cannot be cut evenly into micro-batches",
                      where);
    extent /= lowered_.micro_batches;
  }
  return lowered_.add_value(std::move(value));
}

Result<std::vector<LowValue>> OpEmitter::emit(Op op, const std::vector<ResultSpec>& results, std::uint32_t section,
                                              int depth) {
  const std::size_t values_before = lowered_.values.size();
  for (const ResultSpec& spec : results) {
    BALEEN_TRY_ASSIGN(const LowValue value, add_value(spec, op.where));
    op.outputs.push_back(value);
  }
  const Means means = means_of(*op.kind);
  if (means == Means::kernel && !device_.table().supports(device_.handle(), RegionView(lowered_, {&op}).get())) {
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
  if (!op.kind->expand) return refuse(op, "the op has no expansion into others; choose another device or layer");
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
    if (value.micro != results[i].micro) return refuse(op, "its expansion cannot be cut into micro-batches");
    if (value.producer != kNone && value.role == Role::activation) value.role = results[i].role;
  }
  return values;
}

Result<std::vector<LowValue>> OpEmitter::import(const Graph& scratch, const Op& original,
                                                const std::vector<ValueId>& wanted, std::uint32_t section, int depth) {
  std::unordered_map<ValueId, LowValue> map;
  for (OpId id : scratch.ops()) {
    const Op& from = scratch.op(id);
    if (from.inputs.empty() && from.kind->has(kStructural)) {
      map[from.outputs[0]] = original.inputs[std::stoul(from.attributes.text("name"))];
      continue;
    }
    Op op = from;
    op.twin = original.twin;
    op.outputs.clear();
    for (ValueId& v : op.inputs) v = map.at(v);
    BALEEN_TRY_ASSIGN(const auto micro, infer_micro(scratch, from, op.inputs, section));
    std::vector<ResultSpec> specs;
    for (std::size_t i = 0; i < from.outputs.size(); ++i)
      specs.push_back({from.name, scratch.type(from.outputs[i]), micro[i], Role::activation});
    BALEEN_TRY_ASSIGN(const auto values, emit(std::move(op), specs, section, depth + 1));
    for (std::size_t i = 0; i < values.size(); ++i) map[from.outputs[i]] = values[i];
  }
  std::vector<LowValue> results;
  for (ValueId v : wanted) results.push_back(map.at(v));
  return results;
}

/// The rules by which the plan cut the graph, for the ops of an expansion.
Result<std::vector<MicroPlacement>> OpEmitter::infer_micro(const Graph& scratch, const Op& op,
                                                           std::vector<LowValue>& inputs, std::uint32_t section) {
  std::vector<MicroPlacement> results(op.outputs.size());
  auto micro = [&](std::size_t i) { return lowered_.values[inputs[i]].micro; };
  std::vector<std::uint32_t> partial;
  char letter = 0;
  const Iteration letters = op.kind->iteration ? op.kind->iteration(scratch, op) : Iteration{};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (micro(i).whole()) continue;
    if (!op.kind->iteration) return refuse(op, "its expansion mixes the batch");
    if (micro(i).partial)
      partial.push_back(static_cast<std::uint32_t>(i));
    else
      letter = letters.inputs[i][static_cast<std::size_t>(micro(i).dim)];
  }
  if (letter == '.' || (letter != 0 && !partial.empty())) return refuse(op, "its expansion mixes the batch");
  if (letter != 0) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto dim = letters.inputs[i].find(letter);
      const int cut =
          dim == std::string::npos || lowered_.values[inputs[i]].global[dim] == 1 ? -1 : static_cast<int>(dim);
      if (micro(i).dim == cut) continue;
      if (micro(i).dim >= 0) return refuse(op, "its expansion mixes the batch");
      BALEEN_TRY_ASSIGN(inputs[i], in_pieces(inputs[i], cut, section));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto dim = letters.outputs[i].find(letter);
      if (dim == std::string::npos)
        results[i].partial = true;
      else
        results[i].dim = static_cast<int>(dim);
    }
  } else if (!partial.empty()) {
    for (auto set : letters.linear) {
      std::sort(set.begin(), set.end());
      if (set == partial) return std::vector<MicroPlacement>(results.size(), {-1, true});
    }
    return refuse(op, "its expansion needs a value of all micro-batches at once");
  }
  return results;
}

/// A copy of a whole constant that is computed per micro-batch.
Result<LowValue> OpEmitter::in_pieces(LowValue number, int dim, std::uint32_t section) {
  const LoweredValue value = lowered_.values[number];
  if (value.producer == kNone || !lowered_.ops[value.producer].op.inputs.empty())
    return internal("`" + value.name + "` is needed in pieces of the batch, and is no constant");
  Op op = lowered_.ops[value.producer].op;
  op.outputs.clear();
  BALEEN_TRY_ASSIGN(
      const auto pieces,
      emit(std::move(op), {{value.name, {value.dtype, value.global, {}}, {dim, false}, value.role}}, section));
  return pieces[0];
}

}  // namespace baleen
