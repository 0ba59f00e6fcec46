/// \file The graph: values and ops with stable numbers. It describes the whole batch on the whole mesh.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "baleen/graph.h"
#include "compiler/graph/ids.hpp"
#include "compiler/graph/op_kind.hpp"
#include "compiler/graph/ops_by_hash.hpp"
#include "compiler/graph/schedule.hpp"

namespace baleen {

enum class Role { activation, input, parameter, state, gradient, updated, scalar, copy };
enum class Phase { forward, backward, update };

/// A tensor of the graph. Shapes are global.
struct Value {
  ValueId id = kNone;
  Text name;
  baleen_dtype_t dtype = BALEEN_F32;
  Shape shape;
  Shared<std::vector<std::string>> axes;  ///< logical axis per dimension, "" where none; as many as dimensions
  Role role = Role::activation;
  OpId producer = kNone;
  std::uint32_t result = 0;  ///< which of the producer's results
  Layout layout;             ///< empty before `place`
  /// Not 0: it lies in the offload store between its uses, and is got while so many others of such values run.
  std::uint32_t offloaded_ahead = 0;
  std::uint64_t offloaded_piece = 0;  ///< bytes of it that an elementwise update has at a time; 0: all
  bool updated_on_host = false;       ///< where it lies, if its update is elementwise
  Ids users;                          ///< each live user once, ascending

  std::size_t rank() const { return shape.size(); }
  /// The logical axis of a dimension.
  const std::string& axis(std::size_t dim) const { return (*axes)[dim]; }
};

struct Op {
  OpId id = kNone;
  const OpKind* kind = nullptr;
  Text name;   ///< path of the layer, "blocks.3.attention.qkv"
  Text where;  ///< "train.lua:12", for messages
  Attributes attributes;
  Ids inputs, outputs;
  Phase phase = Phase::forward;
  OpId forward_op = kNone;  ///< the forward op that a backward op (or a copy) belongs to
  Shared<OpSchedule> schedule = {};
  Shared<std::map<std::string, std::string>> tags;  ///< of scripts and plugins, for each other
  bool live = true;                                 ///< until `Graph::erase`
  /// What `iteration_of` gave last; null where it has not been asked, or the op has changed since.
  mutable std::shared_ptr<const Iteration> letters = {};
  /// The `typing_hash` of the op when its kind's rule `infer` last gave the types that its results have; 0: never.
  mutable std::uint64_t agreed = 0;
};

/// A result of the graph that outlives a run of it: "loss", "weight", "logits".
struct GraphOutput {
  std::string name;
  ValueId value;
};

/// What was made last, by a hash, so that what is alike is kept once. A few may be forgotten. A copy begins empty.
template <class T>
class Alike {
 public:
  Alike() = default;
  Alike(const Alike&) {}
  Alike(Alike&&) noexcept = default;
  Alike& operator=(const Alike&) { return *this; }
  Alike& operator=(Alike&&) noexcept = default;

  /// The place where one with this hash is kept, if it is; else another, or an empty one.
  T& at(std::uint64_t hash) {
    if (kept_.empty()) kept_.resize(kPlaces);
    return kept_[hash % kPlaces];
  }

 private:
  static constexpr std::size_t kPlaces = 509;  // a prime
  std::vector<T> kept_;
};

/// Ops are kept in a topological order; `append` puts an op at its end. Copyable, and copies share what most ops never
/// change. A graph in which a pass failed is thrown away.
class Graph {
 public:
  explicit Graph(const OpRegistry* registry = nullptr) : registry_(registry) {}

  // --- building
  /// Values without inputs. The name is unique per kind of source: asking again gives the same value (types must
  /// agree).
  Result<ValueId> parameter(const std::string& name, const ValueType& type);
  Result<ValueId> state(const std::string& name, const ValueType& type);
  Result<ValueId> input(const std::string& name, const ValueType& type);
  /// A number the host writes before each step.
  Result<ValueId> scalar(const std::string& name, baleen_dtype_t dtype);

  /// Appends an op; results as the kind's rule infers. Equal pure ops of one phase are merged. The error names the
  /// layer.
  Result<std::vector<ValueId>> append(const std::string& kind, const std::vector<ValueId>& inputs,
                                      Attributes attributes = {}, const Text& name = {});
  /// As above for kinds of one result.
  Result<ValueId> append1(const std::string& kind, const std::vector<ValueId>& inputs, Attributes attributes = {},
                          const Text& name = {});
  /// pointwise with one result: instruction `result` of the expression.
  Result<ValueId> pointwise(const std::vector<ValueId>& inputs, const Expression& expression, std::uint32_t result,
                            const Text& name = {});
  /// pointwise of one opcode over values.
  Result<ValueId> unary(std::uint32_t opcode, ValueId a);
  Result<ValueId> binary(std::uint32_t opcode, ValueId a, ValueId b);
  /// A rank-0 constant of the dtype.
  Result<ValueId> constant(double value, baleen_dtype_t dtype);
  /// target (a parameter or state) becomes `value` at the end of the program.
  Status assign(ValueId target, ValueId value);

  /// Context that new ops take: phase, forward op, name prefix, place in the script.
  struct Context {
    Phase phase = Phase::forward;
    OpId forward_op = kNone;
    Text name;
    Text where;
  };
  Context& context() { return context_; }

  // --- reading
  const Op& op(OpId id) const { return ops_[id]; }
  Op& op(OpId id) { return ops_[id]; }
  const Value& value(ValueId id) const { return values_[id]; }
  Value& value(ValueId id) { return values_[id]; }
  std::size_t op_count() const { return ops_.size(); }  ///< ids below; some may be dead
  std::size_t value_count() const { return values_.size(); }
  /// Live ops in topological order.
  std::vector<OpId> ops() const;
  /// The op that made a value; null for none.
  const Op* producer(ValueId id) const;
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  void set_output(const std::string& name, ValueId value);
  /// kNone if absent.
  ValueId output(const std::string& name) const;
  const OpRegistry& registry() const { return *registry_; }
  const Mesh& mesh() const { return mesh_; }
  void set_mesh(Mesh mesh) { mesh_ = std::move(mesh); }
  ValueType type(ValueId id) const;

  // --- changing
  /// All users of `from` (and outputs) use `to` instead, except op `except`. Types must agree. Call `normalise` after.
  Status redirect(ValueId from, ValueId to, OpId except = kNone);
  /// As `redirect`; `to` takes the name, logical axes, role, layout and `offloaded_ahead` of `from` too.
  Status replace(ValueId from, ValueId to);
  /// Dimensions of `value` that have no logical axis get that of `axes`, as far as this list goes.
  void fill_in_axes(ValueId value, const std::vector<std::string>& axes);
  /// Op `op` uses `value` as its input number `index`. Types must agree. Call `normalise` after.
  Status set_input(OpId op, std::size_t index, ValueId value);
  /// Op `op` reads `inputs` and has `attributes` from here on. Dtypes of its results follow; names, shapes, tags stay.
  /// Ops that read results of another dtype by now are amended in turn, or `verify` finds them.
  Status amend(OpId op, const std::vector<ValueId>& inputs, Attributes attributes);
  /// Drops ops that no output, assign or side effect needs.
  void remove_dead();
  /// Restores topological order after redirects (stable: keeps the present order where it can).
  Status normalise();
  /// The next `order_by_need` puts `op`, which is not of its old order, right behind `other`.
  void place_behind(OpId op, OpId other) { behind_[other].push_back(op); }
  /// Puts the ops of `old` in that order as far as what they read allows, and each other op right before the first that
  /// needs it; but what an op of `old` was redirected to, if nobody uses that op any more, takes its place.
  Status order_by_need(const std::vector<OpId>& old);
  /// Puts the ops in this order: all live ones, each after what it reads.
  Status reorder(const std::vector<OpId>& order);
  void erase(OpId op);

 private:
  friend const Iteration& iteration_of(const Graph& graph, const Op& op);

  Status keep_letters(const Op& op) const;
  Result<ValueId> source(const std::string& kind, const std::string& name, const ValueType& type, Role role);
  OpId find_equal(const Op& op, std::uint64_t hash) const;
  /// The one that all values with this list share.
  Shared<std::vector<std::string>> shared_axes(const std::vector<std::string>& axes);
  void share(Attributes& attributes);
  Result<std::shared_ptr<const Iteration>> letters_of(const Op& op) const;
  ValueId add_value(const ValueType& type, Role role, OpId producer, std::uint32_t result, const Text& name);

  const OpRegistry* registry_;
  std::vector<Op> ops_;
  std::vector<Value> values_;
  std::vector<OpId> order_;
  std::vector<GraphOutput> outputs_;
  bool has_dead_ = false;  ///< ops in `order_`
  std::map<std::string, ValueId> sources_;
  std::map<std::vector<std::string>, Shared<std::vector<std::string>>> axes_;  ///< that values have, each list once
  Alike<Attributes> attributes_;
  mutable Alike<std::pair<std::uint64_t, std::shared_ptr<const Iteration>>> letters_;
  OpsByHash by_hash_;
  std::unordered_map<OpId, std::vector<OpId>> behind_;
  std::unordered_map<OpId, OpId> redirected_;  ///< since the last `order_by_need`: who makes what an op made
  Mesh mesh_;
  Context context_;
};

/// The letters of an op whose kind has the rule `iteration`. Valid until the op is amended.
const Iteration& iteration_of(const Graph& graph, const Op& op);

/// Of all that the rule `infer` is given, and of the types that the results have. An op with the hash in `agreed` need
/// not ask the rule again.
std::uint64_t typing_hash(const Graph& graph, const Op& op);

/// For messages: "blocks.0.mlp.up (matmul)"; of an op without a name its kind alone.
std::string title_of(const Op& op);

/// Whether an op gives its one operand's numbers in another floating dtype, and does nothing else.
bool is_cast(const Graph& graph, const Op& op);
/// Whether an op gives the largest of its elements: maxima of parts can be compared again.
bool is_maximum(const Op& op);

/// A stable 64-bit hash of structure, types, attributes and names (not of ids of dead ops): ranks compare it.
std::uint64_t hash(const Graph& graph);

/// Every invariant: operands exist and come first, types are what the rules infer, users agree, one assign per target.
/// [after each pass]
Status verify(const Graph& graph);

/// One line per op; with layouts where there are any.
std::string print(const Graph& graph);
/// The line of one op.
std::string print(const Graph& graph, OpId op);
/// "forward".
const char* phase_name(Phase phase);

/// Appends the backward pass of the scalar `loss`, whose cotangent is `seed` (a scalar value), in phase `backward`,
/// every new op with its forward op (sums of cotangents have none: they take part in no one op's layout). Returns the
/// gradient of each of `targets`, kNone where the loss does not depend on it. Several cotangents of one value are
/// summed by one n-ary pointwise op, in the order of the forward uses; where they are pads of pieces that tile the
/// value (the gradients of slices), one concat takes their place. The gradients get Role::gradient.
Result<std::vector<ValueId>> differentiate(Graph& graph, ValueId loss, ValueId seed,
                                           const std::vector<ValueId>& targets);

}  // namespace baleen
