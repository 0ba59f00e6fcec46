/// \file What the graph must know of a kind of op: its shape, gradient, layout and cost rules.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "baleen/base.h"
#include "baleen/op.h"
#include "baleen/op_types.hpp"
#include "compiler/graph/attributes.hpp"
#include "compiler/graph/schema_checks.hpp"
#include "compiler/layout/layout.hpp"

namespace baleen {

class Graph;
struct Op;
struct Value;

using ValueId = baleen_value_t;
using OpId = baleen_op_t;
inline constexpr std::uint32_t kNone = BALEEN_NONE;

/// What passes may ask of a kind instead of its name.
enum Trait : std::uint32_t {
  kStructural = 1u << 0,   ///< no kernel: parameter, input, state, scalar, assign, collectives
  kPure = 1u << 1,         ///< equal inputs and attributes give equal results: may be merged and dropped
  kPointwise = 1u << 2,    ///< carries an `expression`
  kView = 1u << 3,         ///< may be a view of its input's memory (reshape, transpose, slice)
  kSensitive = 1u << 5,    ///< wants fp32 under mixed precision (norms, softmax, losses)
  kSideEffect = 1u << 6,   ///< kept though nobody uses a result (assign)
  kReduction = 1u << 7,    ///< a pointwise producer may be computed inside it
  kContraction = 1u << 8,  ///< a pointwise consumer may be computed in its epilogue
  kCollective = 1u << 9,   ///< ranks talk: becomes an operation of the transport
  kProduct = 1u << 10,     ///< wants 16-bit operands under mixed precision (products, attention, lookups)
  kTyped = 1u << 11,       ///< an attribute `dtype` may choose the floating dtype of its one, or last, result
};

// What kinds of plugins and the compiler's own tell alike.
using sdk::Cost;
using sdk::Iteration;
using sdk::ValueType;

/// Given to a shape rule.
struct InferContext {
  const Attributes& attributes;
  std::vector<ValueType> inputs;
};

/// An op that stands for two: its results are put in the place of `results`, in order.
struct Join {
  OpId with = kNone;  ///< the earlier one of the two; kNone: there is nothing to join
  std::string kind;
  std::vector<ValueId> inputs;
  Attributes attributes;
  std::vector<ValueId> results;
};

/// One kind of op. Passes ask for its traits and rules, not for its name.
struct OpKind {
  std::string name;
  std::uint32_t traits = 0;
  /// What authors of layers see of it. Null: the kind checks its operands and attributes in `infer`.
  std::shared_ptr<const OpSchema> schema = {};
  /// The plugin's own table, which lives as long as its library; null for a built-in kind. Devices ask it for kernels.
  const baleen_op_kind_t* table = nullptr;

  /// Checks inputs and attributes and gives the results' types. The error says what does not fit, both shapes.
  std::function<Result<std::vector<ValueType>>(const InferContext&)> infer = {};

  /// Appends the gradient of `op` to `graph`: given the results' cotangents (kNone where none flows), the inputs'
  /// cotangents (kNone where none). `wanted[i]` tells whether input i's is needed. Null: not differentiable.
  std::function<Result<std::vector<ValueId>>(Graph& graph, const Op& op, const std::vector<ValueId>& cotangents,
                                             const std::vector<bool>& wanted)>
      gradient = {};

  /// Depends on attributes and types alone, so passes ask `iteration_of` (graph.hpp), which keeps what it gave. Null:
  /// no dimension may be cut.
  std::function<Result<Iteration>(const Graph& graph, const Op& op)> iteration = {};

  /// Whether `iteration` may fail: then it is asked when an op is appended or amended.
  bool checks_iteration = false;

  std::function<Cost(const Graph& graph, const Op& op)> cost = {};

  /// The same results from other ops, or null.
  std::function<Result<std::vector<ValueId>>(Graph& graph, const Op& op)> expand = {};

  /// A better form of `op` given what made its inputs (a loss over a projection becomes the fused loss): its results,
  /// or an empty list where there is none. May be null. [before differentiation]
  std::function<Result<std::vector<ValueId>>(Graph& graph, const Op& op)> fuse = {};

  /// The op that computes `op` together with an earlier one whose work it would repeat (a loss's gradient needs the
  /// logits that the loss had). May be null. [after placement]
  std::function<Join(const Graph& graph, const Op& op)> join = {};

  bool has(Trait trait) const { return (traits & trait) != 0; }
};

/// The kinds by name. Kinds are owned by the registry, which outlives every graph.
class OpRegistry {
 public:
  /// Fails on a name that is taken.
  Status add(OpKind kind);
  /// Null if unknown.
  const OpKind* find(const std::string& name) const;
  std::vector<const OpKind*> all() const;

 private:
  std::map<std::string, OpKind> kinds_;
};

}  // namespace baleen
