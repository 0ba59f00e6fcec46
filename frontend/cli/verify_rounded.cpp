/// \file Puts a rounding behind each value.
#include "frontend/cli/verify_rounded.hpp"

#include <algorithm>
#include <array>
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

/// The same in fp64, and of one op.
const double kInWide = 4 * std::exp2(-dtype_digits(BALEEN_F64));

constexpr double kGrid = 0x1p40;
/// As a loss in fp16 may be scaled.
constexpr double kScale = 0x1p12;

bool is_16_bits(baleen_dtype_t dtype) { return dtype == BALEEN_BF16 || dtype == BALEEN_F16; }

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
      const Text name = graph_.op(id).name;  // the op itself goes elsewhere where the graph grows
      for (std::size_t r = 0; r < results.size(); ++r) {
        if (!is_rounded_value(results[r]) || graph_.value(results[r]).users.empty()) continue;
        const std::optional<baleen_dtype_t> dtype = planned ? narrow(planned->outputs, r) : default_of(id);
        if (!dtype) continue;
        BALEEN_TRY_ASSIGN(const ValueId result, in_parts(id, results[r], *dtype, planned));
        BALEEN_TRY_ASSIGN(const ValueId value, append(result, *dtype, name));
        BALEEN_TRY(graph_.redirect(results[r], value, result == results[r] ? reader_of(result, value) : kNone));
        rounded_[value] = *dtype;
      }
    }
    return graph_.normalise();
  }

 private:
  /// A dimension of an operand over which an op sums, or one of its result that an operand lacks.
  struct Cut {
    std::size_t operand = 0, dim = 0;
    std::int64_t at = 0;
  };

  const PlannedDtypes::OfOp* planned_of(OpId id) const {
    if (!planned_) return nullptr;
    const auto found = planned_->find(id);
    const Op& op = graph_.op(id);
    const bool is_same = found != planned_->end() && found->second.kind == op.kind->name &&
                         found->second.inputs.size() == op.inputs.size() &&
                         found->second.outputs.size() == op.outputs.size();
    return is_same ? &found->second : nullptr;
  }
  bool is_coarse(baleen_dtype_t dtype) const { return dtype == rounding_.dtype || is_16_bits(dtype); }
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
    const Text name = graph_.op(id).name;
    for (std::size_t k = 0; k < planned.inputs.size(); ++k) {
      const ValueId value = graph_.op(id).inputs[k];
      const std::optional<baleen_dtype_t> dtype = narrow(planned.inputs, k);
      if (!is_rounded_value(value) || !dtype) continue;
      const auto has = rounded_.find(value);
      if (has != rounded_.end() && dtype_digits(has->second) <= dtype_digits(*dtype)) continue;
      BALEEN_TRY_ASSIGN(const ValueId cast, append(value, *dtype, name));
      BALEEN_TRY(graph_.set_input(id, k, cast));
    }
    return {};
  }

  /// `result` of the op as it is made in two parts, where it is one that the draw parts; else itself.
  Result<ValueId> in_parts(OpId id, ValueId result, baleen_dtype_t dtype, const PlannedDtypes::OfOp* planned) {
    const Op op = graph_.op(id);
    const bool is_one = op.outputs.size() == 1 && op.kind->has(kPure) && op.kind->iteration;
    if (!rounding_.in_parts || !is_one || !is_coarse(dtype) || op.kind->has(kView)) return result;
    const Iteration letters = iteration_of(graph_, op);
    const std::optional<Cut> summed = cut_of_sum(op, letters), shared = cut_of_shared(op, letters, planned);
    const bool prefers_sum = (drawn(id) & 1) != 0;
    if (summed && (prefers_sum || !shared)) return as_sum(op, *summed, dtype);
    return shared ? as_shared(op, *shared, dtype, planned) : Result<ValueId>(result);
  }
  /// Random bits of the draw and an op.
  std::uint64_t drawn(OpId id) const {
    std::uint64_t bits = (rounding_.draw << 32) + id;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return (bits ^ (bits >> 31)) >> 8;
  }
  std::int64_t somewhere(OpId id, std::int64_t extent) const {
    return 1 + static_cast<std::int64_t>((drawn(id) >> 8) % static_cast<std::uint64_t>(extent - 1));
  }

  /// Of an operand in which the op is linear, a dimension that the result lacks.
  std::optional<Cut> cut_of_sum(const Op& op, const Iteration& letters) const {
    for (const std::vector<std::uint32_t>& set : letters.linear) {
      if (set.size() != 1) continue;
      const std::size_t operand = set[0];
      const Shape& shape = graph_.value(op.inputs[operand]).shape;
      for (std::size_t dim = 0; dim < shape.size(); ++dim)
        if (is_cut(letters.inputs[operand][dim], shape[dim], letters.outputs[0]))
          return Cut{operand, dim, somewhere(op.id, shape[dim])};
    }
    return {};
  }
  /// A dimension of the result that an operand in few digits lacks, whose gradient is a sum over it.
  std::optional<Cut> cut_of_shared(const Op& op, const Iteration& letters, const PlannedDtypes::OfOp* planned) const {
    std::vector<Cut> cuts;
    const Shape& shape = graph_.value(op.outputs[0]).shape;
    for (std::size_t operand = 0; operand < op.inputs.size(); ++operand)
      for (std::size_t dim = 0; dim < shape.size() && is_narrow(op, operand, planned); ++dim)
        if (is_cut(letters.outputs[0][dim], shape[dim], letters.inputs[operand]))
          cuts.push_back({operand, dim, somewhere(op.id, shape[dim])});
    if (cuts.empty()) return {};
    return cuts[(drawn(op.id) >> 1) % cuts.size()];
  }
  static bool is_cut(char letter, std::int64_t extent, const std::string& others) {
    return letter != '.' && extent > 1 && others.find(letter) == std::string::npos;
  }
  bool is_narrow(const Op& op, std::size_t operand, const PlannedDtypes::OfOp* planned) const {
    return (!planned || is_coarse(planned->inputs[operand])) && is_rounded_value(op.inputs[operand]);
  }

  /// f(x) as f(x below the cut) + f(x behind it).
  Result<ValueId> as_sum(const Op& op, const Cut& cut, baleen_dtype_t dtype) {
    std::array<ValueId, 2> parts = {};
    for (std::size_t part = 0; part < parts.size(); ++part) {
      std::vector<ValueId> inputs(op.inputs.begin(), op.inputs.end());
      Expression e;
      const std::uint32_t x = e.input(0), inside = below(e, cut);
      const std::uint32_t kept = part == 0 ? e.select(inside, x, e.constant(0)) : e.select(inside, e.constant(0), x);
      BALEEN_TRY_ASSIGN(inputs[cut.operand], graph_.pointwise({inputs[cut.operand]}, e, kept, op.name));
      BALEEN_TRY_ASSIGN(const ValueId term, graph_.append1(op.kind->name, inputs, op.attributes, op.name));
      BALEEN_TRY_ASSIGN(parts[part], append(term, dtype, op.name));
    }
    return graph_.binary(BALEEN_X_ADD, parts[0], parts[1]);
  }
  /// One copy of what is read in few digits is for the result below the cut, another one for that behind it: what goes
  /// back to each is rounded.
  Result<ValueId> as_shared(const Op& op, const Cut& cut, baleen_dtype_t dtype, const PlannedDtypes::OfOp* planned) {
    std::array<ValueId, 2> parts = {};
    for (std::size_t part = 0; part < parts.size(); ++part) {
      std::vector<ValueId> inputs(op.inputs.begin(), op.inputs.end());
      copy_ = part + 1;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        if (!is_narrow(op, k, planned)) continue;
        BALEEN_TRY_ASSIGN(inputs[k], append(inputs[k], dtype, op.name));
      }
      copy_ = 0;
      BALEEN_TRY_ASSIGN(parts[part], graph_.append1(op.kind->name, inputs, op.attributes, op.name));
    }
    Expression e;
    const std::uint32_t inside = below(e, cut);
    return graph_.pointwise({parts[0], parts[1]}, e, e.select(inside, e.input(0), e.input(1)), op.name);
  }
  static std::uint32_t below(Expression& e, const Cut& cut) {
    const std::uint32_t at = e.index(static_cast<std::uint32_t>(cut.dim));
    return e.binary(BALEEN_X_LT, at, e.constant(static_cast<double>(cut.at)));
  }

  /// The op that reads `result` on the way to `rounded`.
  OpId reader_of(ValueId result, ValueId rounded) const {
    OpId op = graph_.value(rounded).producer;
    while (graph_.op(op).inputs[0] != result) op = graph_.value(graph_.op(op).inputs[0]).producer;
    return op;
  }

  /// Equal ones are one op. A cast there and back rounds what goes back too, as it does on the ranks.
  Result<ValueId> append(ValueId value, baleen_dtype_t dtype, const Text& name) {
    Expression e;
    const std::uint32_t made = moved(e, value, dtype);
    if (dtype == BALEEN_F16) return append_scaled(value, e, made, name);
    if (dtype == BALEEN_F64) return graph_.pointwise({value}, e, made, name);
    if (dtype != BALEEN_BF16) return graph_.pointwise({value}, e, rounded_to(e, made, dtype), name);
    BALEEN_TRY_ASSIGN(const ValueId narrow, cast(value, e, made, dtype, name));
    Expression same;
    return cast(narrow, same, same.input(0), graph_.value(value).dtype, name);
  }
  /// In fp16, whose range ranks shift by a factor of the loss: what goes back is rounded as so many times itself. It
  /// goes through a cast of `made` / kScale, of which nothing is left in the value: what is added of it is less than
  /// one part of the grid, and rounded away.
  Result<ValueId> append_scaled(ValueId value, const Expression& e, std::uint32_t made, const Text& name) {
    BALEEN_TRY_ASSIGN(const ValueId x, graph_.pointwise({value}, e, made, name));  // the one reader of `value`
    Expression small, both;
    const std::uint32_t scaled = small.binary(BALEEN_X_MUL, small.input(0), small.constant(1 / kScale));
    BALEEN_TRY_ASSIGN(const ValueId narrow, cast(x, small, scaled, BALEEN_F16, name));
    const std::uint32_t wide = both.binary(BALEEN_X_MUL, both.input(1), both.constant(kScale));
    const std::uint32_t rest = both.binary(BALEEN_X_SUB, wide, floor_of(both, wide));
    const std::uint32_t kept = floor_of(both, rounded_to(both, both.input(0), BALEEN_F16));
    const std::uint32_t sum = both.binary(BALEEN_X_ADD, kept, rest);
    return graph_.pointwise({x, narrow}, both, rounded_to(both, sum, BALEEN_F16), name);
  }
  /// Without a derivative: on a grid that has all numbers of fp16.
  static std::uint32_t floor_of(Expression& e, std::uint32_t x) {
    const std::uint32_t floor = e.unary(BALEEN_X_FLOOR, e.binary(BALEEN_X_MUL, x, e.constant(kGrid)));
    return e.binary(BALEEN_X_MUL, floor, e.constant(1 / kGrid));
  }
  Result<ValueId> cast(ValueId value, const Expression& e, std::uint32_t made, baleen_dtype_t dtype, const Text& name) {
    return graph_.append1(
        "pointwise", {value},
        {{"expression", e}, {"results", Attributes::ints({made})}, {"dtype", Attributes::ints({dtype})}}, name);
  }

  /// x (1 + d), d at random of up to kSums, unless x has no more digits than the dtype (in fp64: than fp32); or x,
  /// whose derivative is 1 + d with d of up to so many roundings: x and its floor on a fine grid differ by next to
  /// nothing, and in this.
  std::uint32_t moved(Expression& e, ValueId value, baleen_dtype_t dtype) const {
    const std::uint32_t x = e.input(0);
    if (rounding_.draw == 0) return x;
    const bool goes_back = rounding_.roundings > 0;
    const bool is_wide = dtype == BALEEN_F64;
    const double most = goes_back ? rounding_.roundings * std::exp2(-dtype_digits(dtype)) : (is_wide ? kInWide : kSums);
    const std::uint32_t drawn = e.random(BALEEN_X_UNIFORM, kSites + (copy_ << 38) + (rounding_.draw << 32) + value);
    const std::uint32_t d =
        e.binary(BALEEN_X_SUB, e.binary(BALEEN_X_MUL, drawn, e.constant(2 * most)), e.constant(most));
    if (!goes_back) {
      const std::uint32_t exact = e.binary(BALEEN_X_EQ, rounded_to(e, x, is_wide ? BALEEN_F32 : dtype), x);
      return e.select(exact, x, e.binary(BALEEN_X_ADD, x, e.binary(BALEEN_X_MUL, x, d)));
    }
    const std::uint32_t rest = e.binary(BALEEN_X_SUB, x, floor_of(e, x));
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
  std::uint64_t copy_ = 0;                                    ///< of a value of which an op reads two
};

/// Those of a graph, where some value is as coarse as any of the run's; of two dtypes of 16 bits one may be sent alone.
const std::map<OpId, PlannedDtypes::OfOp>* planned_of(const std::string& name, const Rounding& rounding) {
  if (!rounding.planned) return nullptr;
  const auto found = rounding.planned->graphs.find(name);
  if (found == rounding.planned->graphs.end()) return nullptr;
  const auto is_coarse = [&](const auto& op) {
    return std::ranges::any_of(op.second.outputs, [&](baleen_dtype_t dtype) {
      return dtype == rounding.dtype || (is_16_bits(dtype) && is_16_bits(rounding.dtype));
    });
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
