/// \file Puts a rounding behind each value.
#include "frontend/cli/verify_rounded.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "baleen/dtype.hpp"
#include "baleen/expression_builder.hpp"

namespace baleen::app {
namespace {

constexpr std::string_view kRewritten = ": rewrite";
/// Of sites of random numbers, so that none is the script's.
constexpr std::uint64_t kSites = 0xba1e'e000'0000'0000;

/// By how much of itself what is added up in fp32 may be off, in whatever order: 16 roundings.
const double kSums = 16 * std::exp2(-dtype_digits(BALEEN_F32));

constexpr double kGrid = 0x1p40;

/// Without a plan that says it.
bool rounds(const Op& op) {
  const OpKind& kind = *op.kind;
  if (op.inputs.empty()) return kind.name == "parameter" || kind.name == "input";
  return !(kind.has(kStructural) || kind.has(kView) || kind.has(kSensitive) || kind.has(kReduction));
}

/// One graph of a job.
class Rounder {
 public:
  Rounder(Graph& graph, const Rounding& rounding, const std::map<OpId, PlannedDtypes::OfOp>* planned)
      : graph_(graph), rounding_(rounding), planned_(planned) {}

  Status run() {
    for (const OpId id : graph_.ops()) {
      const PlannedDtypes::OfOp* const planned = planned_of(id);
      if (planned) BALEEN_TRY(round_operands(id, *planned));
      const std::vector<ValueId> results(graph_.op(id).outputs.begin(), graph_.op(id).outputs.end());
      for (std::size_t r = 0; r < results.size(); ++r) {
        if (!is_rounded_value(results[r]) || graph_.value(results[r]).users.empty()) continue;
        const std::optional<baleen_dtype_t> dtype = planned ? narrow(planned->outputs, r) : default_of(id);
        if (!dtype) continue;
        BALEEN_TRY_ASSIGN(const ValueId value, append(results[r], *dtype, graph_.op(id).name));
        BALEEN_TRY(graph_.redirect(results[r], value, reader_of(results[r], value)));
        rounded_[value] = *dtype;
      }
    }
    return graph_.normalise();
  }

 private:
  const PlannedDtypes::OfOp* planned_of(OpId id) const {
    if (!planned_) return nullptr;
    const auto found = planned_->find(id);
    const Op& op = graph_.op(id);
    const bool is_same = found != planned_->end() && found->second.kind == op.kind->name &&
                         found->second.inputs.size() == op.inputs.size() &&
                         found->second.outputs.size() == op.outputs.size();
    return is_same ? &found->second : nullptr;
  }
  bool is_rounded_value(ValueId value) const { return is_floating(graph_.value(value).dtype); }
  std::optional<baleen_dtype_t> default_of(OpId id) const {
    return rounds(graph_.op(id)) ? std::optional(rounding_.dtype) : std::nullopt;
  }
  static std::optional<baleen_dtype_t> narrow(const std::vector<baleen_dtype_t>& dtypes, std::size_t number) {
    const baleen_dtype_t dtype = dtypes[number];
    return is_floating(dtype) && dtype != BALEEN_F64 ? std::optional(dtype) : std::nullopt;
  }

  /// What an op reads in fewer digits than the value has for others.
  Status round_operands(OpId id, const PlannedDtypes::OfOp& planned) {
    for (std::size_t k = 0; k < planned.inputs.size(); ++k) {
      const ValueId value = graph_.op(id).inputs[k];
      const std::optional<baleen_dtype_t> dtype = narrow(planned.inputs, k);
      if (!is_rounded_value(value) || !dtype) continue;
      const auto has = rounded_.find(value);
      if (has != rounded_.end() && dtype_digits(has->second) <= dtype_digits(*dtype)) continue;
      BALEEN_TRY_ASSIGN(const ValueId cast, append(value, *dtype, graph_.op(id).name));
      BALEEN_TRY(graph_.set_input(id, k, cast));
    }
    return {};
  }

  /// The op that reads `result` on the way to `rounded`.
  OpId reader_of(ValueId result, ValueId rounded) const {
    OpId op = graph_.value(rounded).producer;
    while (graph_.op(op).inputs[0] != result) op = graph_.value(graph_.op(op).inputs[0]).producer;
    return op;
  }

  /// Equal ones are one op. A cast there and back rounds what goes back too, as it does on the ranks; not in fp16,
  /// whose range they shift by a factor of the loss.
  Result<ValueId> append(ValueId value, baleen_dtype_t dtype, const Text& name) {
    Expression e;
    const std::uint32_t made = moved(e, value, dtype);
    if (dtype != BALEEN_BF16) return graph_.pointwise({value}, e, rounded_to(e, made, dtype), name);
    BALEEN_TRY_ASSIGN(const ValueId narrow, cast(value, e, made, dtype, name));
    Expression same;
    return cast(narrow, same, same.input(0), graph_.value(value).dtype, name);
  }
  Result<ValueId> cast(ValueId value, const Expression& e, std::uint32_t made, baleen_dtype_t dtype, const Text& name) {
    return graph_.append1(
        "pointwise", {value},
        {{"expression", e}, {"results", Attributes::ints({made})}, {"dtype", Attributes::ints({dtype})}}, name);
  }

  /// x (1 + d), d at random of up to kSums, unless x has no more digits than the dtype; or x, whose derivative is 1 + d
  /// with d of up to so many roundings: x and its floor on a fine grid differ by next to nothing, and in this.
  std::uint32_t moved(Expression& e, ValueId value, baleen_dtype_t dtype) const {
    const std::uint32_t x = e.input(0);
    if (rounding_.draw == 0) return x;
    const bool goes_back = rounding_.roundings > 0;
    const double most = goes_back ? rounding_.roundings * std::exp2(-dtype_digits(dtype)) : kSums;
    const std::uint32_t drawn = e.random(BALEEN_X_UNIFORM, kSites + (rounding_.draw << 32) + value);
    const std::uint32_t d =
        e.binary(BALEEN_X_SUB, e.binary(BALEEN_X_MUL, drawn, e.constant(2 * most)), e.constant(most));
    if (!goes_back) {
      const std::uint32_t exact = e.binary(BALEEN_X_EQ, rounded_to(e, x, dtype), x);
      return e.select(exact, x, e.binary(BALEEN_X_ADD, x, e.binary(BALEEN_X_MUL, x, d)));
    }
    const std::uint32_t floor = e.unary(BALEEN_X_FLOOR, e.binary(BALEEN_X_MUL, x, e.constant(kGrid)));
    const std::uint32_t rest = e.binary(BALEEN_X_SUB, x, e.binary(BALEEN_X_MUL, floor, e.constant(1 / kGrid)));
    return e.binary(BALEEN_X_ADD, x, e.binary(BALEEN_X_MUL, rest, d));
  }

  /// To the dtype's digits. Numbers of 8 bits are scaled into their narrow range, so those are rounded to as many
  /// digits of fp32, whatever their size (Dekker, "A floating-point technique for extending the available precision",
  /// 1971).
  static std::uint32_t rounded_to(Expression& e, std::uint32_t x, baleen_dtype_t dtype) {
    if (!is_fp8(dtype)) return e.append({BALEEN_X_ROUND, x, static_cast<std::uint32_t>(dtype), 0, 0});
    const double split = std::ldexp(1.0, dtype_digits(BALEEN_F32) - dtype_digits(dtype)) + 1;
    const std::uint32_t large = e.binary(BALEEN_X_MUL, x, e.constant(split));
    return e.binary(BALEEN_X_SUB, large, e.binary(BALEEN_X_SUB, large, x));
  }

  Graph& graph_;
  const Rounding& rounding_;
  const std::map<OpId, PlannedDtypes::OfOp>* const planned_;  ///< null: none
  std::map<ValueId, baleen_dtype_t> rounded_;                 ///< what rounds, behind results
};

/// Those of a graph, where some value is as coarse as any of the run's.
const std::map<OpId, PlannedDtypes::OfOp>* planned_of(const std::string& name, const Rounding& rounding) {
  if (!rounding.planned) return nullptr;
  const auto found = rounding.planned->graphs.find(name);
  if (found == rounding.planned->graphs.end()) return nullptr;
  const auto is_coarse = [&](const auto& op) {
    return std::ranges::find(op.second.outputs, rounding.dtype) != op.second.outputs.end();
  };
  return std::ranges::any_of(found->second, is_coarse) ? &found->second : nullptr;
}

}  // namespace

void PlannedDtypes::note(const std::string& phase, const Graph& graph) {
  if (!phase.ends_with(kRewritten)) return;
  // Of a train graph that is another one in its first steps, the last form counts, which comes last.
  std::string name = phase.substr(0, phase.size() - kRewritten.size());
  if (name.starts_with(std::string(kTrainGraph) + " ")) name = kTrainGraph;
  auto& ops = graphs[name];
  ops.clear();
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    OfOp& noted = ops[id];
    noted.kind = op.kind->name;
    for (const ValueId value : op.inputs) noted.inputs.push_back(graph.value(value).dtype);
    for (const ValueId value : op.outputs) noted.outputs.push_back(graph.value(value).dtype);
  }
}

Status round_values(Job& job, const Rounding& rounding) {
  for (auto& [name, made] : job.graphs)
    if (made.role == GraphRole::train || made.role == GraphRole::evaluate || made.role == GraphRole::learn)
      BALEEN_TRY(Rounder(made.graph, rounding, planned_of(name, rounding)).run());
  return {};
}

}  // namespace baleen::app
