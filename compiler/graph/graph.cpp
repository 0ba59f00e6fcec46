/// \file Building, reading and changing a graph; equal pure ops are merged as they are appended.
#include "compiler/graph/graph.hpp"

#include <algorithm>
#include <bit>
#include <queue>
#include <utility>

#include "baleen/dtype.hpp"
#include "baleen/op_rules.hpp"

namespace baleen {
namespace {

std::uint64_t shallow_hash(const Op& op) {
  std::uint64_t h = std::hash<std::string>{}(op.kind->name);
  for (ValueId v : op.inputs) h = mix(h, v);
  return mix(mix(h, op.attributes.hash()), static_cast<std::uint64_t>(op.phase));
}

std::string describe(const ValueType& type) { return std::string(dtype_name(type.dtype)) + to_string(type.shape); }

std::string source_key(const std::string& kind, const std::string& name) { return kind + ":" + name; }

template <class List>
void insert_sorted(List& list, OpId id) {
  auto it = std::lower_bound(list.begin(), list.end(), id);
  if (it == list.end() || *it != id) list.insert(it, id);
}

void remove_sorted(Ids& list, OpId id) {
  auto it = std::lower_bound(list.begin(), list.end(), id);
  if (it != list.end() && *it == id) list.erase(it);
}

}  // namespace

// --- building

Shared<std::vector<std::string>> Graph::shared_axes(const std::vector<std::string>& axes) {
  const auto found = axes_.find(axes);
  if (found != axes_.end()) return found->second;
  return axes_[axes] = axes;
}

/// Equal attributes are the same ones.
void Graph::share(Attributes& attributes) {
  Attributes& like = attributes_.at(attributes.hash());
  if (like == attributes)
    attributes = like;
  else
    like = attributes;
}

/// Of ops that are alike, the same ones.
Result<std::shared_ptr<const Iteration>> Graph::letters_of(const Op& op) const {
  const std::uint64_t hash = typing_hash(*this, op);
  auto& [of, letters] = letters_.at(hash);
  if (of == hash) return letters;
  BALEEN_TRY_ASSIGN(Iteration made, op.kind->iteration(*this, op));
  of = hash;
  letters = std::make_shared<const Iteration>(std::move(made));
  return letters;
}

/// Asks a rule that may fail, so that `iteration_of` need not; of others only forgets what they gave.
Status Graph::keep_letters(const Op& op) const {
  op.letters = nullptr;
  if (!op.kind->checks_iteration) return {};
  BALEEN_TRY_ASSIGN(op.letters, letters_of(op));
  return {};
}

ValueId Graph::add_value(const ValueType& type, Role role, OpId producer, std::uint32_t result, const Text& name) {
  Value value;
  value.id = static_cast<ValueId>(values_.size());
  value.name = name;
  value.dtype = type.dtype;
  value.shape = type.shape;
  std::vector<std::string> axes = type.axes;
  axes.resize(type.shape.size());
  value.axes = shared_axes(axes);
  value.role = role;
  value.producer = producer;
  value.result = result;
  values_.push_back(std::move(value));
  return values_.back().id;
}

Result<ValueId> Graph::source(const std::string& kind, const std::string& name, const ValueType& type, Role role) {
  const std::string key = source_key(kind, name);
  if (auto it = sources_.find(key); it != sources_.end()) {
    const Value& have = values_[it->second];
    if (have.dtype != type.dtype || have.shape != type.shape)
      return invalid(kind + " `" + name + "` is used as " + describe(this->type(have.id)) + " and as " + describe(type),
                     context_.where);
    return it->second;
  }
  const OpKind* op_kind = registry_->find(kind);
  if (!op_kind) return internal("op kind `" + kind + "` is not registered");
  if (const Status counted = sdk::check_extents(kind + " `" + name + "`", type.shape); !counted)
    return invalid(counted.error().message, context_.where);
  Op op;
  op.id = static_cast<OpId>(ops_.size());
  op.kind = op_kind;
  op.name = name;
  op.where = context_.where;
  op.attributes.set("name", name);
  op.outputs = {add_value(type, role, op.id, 0, name)};
  sources_[key] = op.outputs[0];
  order_.push_back(op.id);
  ops_.push_back(std::move(op));
  return ops_.back().outputs[0];
}

Result<ValueId> Graph::parameter(const std::string& name, const ValueType& type) {
  return source("parameter", name, type, Role::parameter);
}
Result<ValueId> Graph::state(const std::string& name, const ValueType& type) {
  return source("state", name, type, Role::state);
}
Result<ValueId> Graph::input(const std::string& name, const ValueType& type) {
  return source("input", name, type, Role::input);
}
Result<ValueId> Graph::scalar(const std::string& name, baleen_dtype_t dtype) {
  return source("scalar", name, ValueType{dtype, {}, {}}, Role::scalar);
}

OpId Graph::find_equal(const Op& op, std::uint64_t hash) const {
  return by_hash_.find(hash, [&](OpId id) {
    const Op& other = ops_[id];
    return other.live && other.kind == op.kind && other.phase == op.phase && other.inputs == op.inputs &&
           other.attributes == op.attributes;
  });
}

Result<std::vector<ValueId>> Graph::append(const std::string& kind, const std::vector<ValueId>& inputs,
                                           Attributes attributes, const Text& name) {
  const Text full_name = name.empty() ? context_.name : name;
  const OpKind* op_kind = registry_->find(kind);
  if (!op_kind)
    return invalid("there is no op kind `" + kind +
                       "`: it is not built in, and no plugin of kind `op` that was found " +
                       "has it (`baleen plugins` lists those that are)",
                   context_.where);

  Op op;
  op.kind = op_kind;
  op.name = full_name;
  op.where = context_.where;
  op.attributes = std::move(attributes);
  op.inputs = inputs;
  op.phase = context_.phase;
  op.forward_op = context_.forward_op;
  std::vector<ValueType> types;
  for (ValueId id : op.inputs) {
    if (id >= values_.size()) return internal(kind + ": no value %" + std::to_string(id), context_.where);
    types.push_back(type(id));
  }
  const auto refuse = [&](Error error) {
    if (!full_name.empty()) error.message = full_name + ": " + error.message;
    if (error.where.empty()) error.where = context_.where;
    return error;
  };
  if (op_kind->schema) BALEEN_TRY(fill_in_defaults(*op_kind->schema, op.attributes));
  share(op.attributes);
  auto results = op_kind->infer({op.attributes, std::move(types)});
  if (!results) return refuse(std::move(results).error());
  const std::uint64_t hash = op_kind->has(kPure) ? shallow_hash(op) : 0;
  if (op_kind->has(kPure))
    if (OpId equal = find_equal(op, hash); equal != kNone) return std::vector<ValueId>(ops_[equal].outputs);

  op.id = static_cast<OpId>(ops_.size());
  for (std::uint32_t i = 0; i < results->size(); ++i)
    op.outputs.push_back(add_value((*results)[i], Role::activation, op.id, i, full_name));
  for (ValueId id : op.inputs) insert_sorted(values_[id].users, op.id);
  if (op_kind->has(kPure)) by_hash_.add(hash, op.id);
  op.agreed = typing_hash(*this, op);
  order_.push_back(op.id);
  ops_.push_back(std::move(op));
  if (Status agrees = keep_letters(ops_.back()); !agrees) return refuse(std::move(agrees).error());
  return std::vector<ValueId>(ops_.back().outputs);
}

Result<ValueId> Graph::append1(const std::string& kind, const std::vector<ValueId>& inputs, Attributes attributes,
                               const Text& name) {
  BALEEN_TRY_ASSIGN(auto outputs, append(kind, inputs, std::move(attributes), name));
  if (outputs.size() != 1) return internal("`" + kind + "` has " + std::to_string(outputs.size()) + " results");
  return outputs[0];
}

Result<ValueId> Graph::pointwise(const std::vector<ValueId>& inputs, const Expression& expression, std::uint32_t result,
                                 const Text& name) {
  return append1("pointwise", inputs, {{"expression", expression}, {"results", Attributes::ints({result})}}, name);
}

Result<ValueId> Graph::unary(std::uint32_t opcode, ValueId a) {
  Expression e;
  const auto result = e.unary(opcode, e.input(0));
  return pointwise({a}, e, result);
}

Result<ValueId> Graph::binary(std::uint32_t opcode, ValueId a, ValueId b) {
  Expression e;
  const auto x = e.input(0);
  const auto result = a == b ? e.binary(opcode, x, x) : e.binary(opcode, x, e.input(1));
  if (a == b) return pointwise({a}, e, result);
  return pointwise({a, b}, e, result);
}

Result<ValueId> Graph::constant(double value, baleen_dtype_t dtype) {
  Expression e;
  e.constant(value);
  return append1("pointwise", {},
                 {{"expression", std::move(e)},
                  {"results", Attributes::ints({0})},
                  {"shape", Attributes::ints({})},
                  {"dtype", Attributes::ints({dtype})}});
}

Status Graph::assign(ValueId target, ValueId value) {
  auto result = append("assign", {target, value}, {}, values_[target].name);
  if (!result) return std::move(result).error();
  return {};
}

// --- reading

std::vector<OpId> Graph::ops() const {
  if (!has_dead_) return order_;
  std::vector<OpId> live;
  live.reserve(order_.size());
  for (OpId id : order_)
    if (ops_[id].live) live.push_back(id);
  return live;
}

const Op* Graph::producer(ValueId id) const {
  const OpId op = values_[id].producer;
  return op == kNone ? nullptr : &ops_[op];
}

void Graph::set_output(const std::string& name, ValueId value) {
  for (auto& output : outputs_)
    if (output.name == name) {
      output.value = value;
      return;
    }
  outputs_.push_back({name, value});
}

ValueId Graph::output(const std::string& name) const {
  for (const auto& output : outputs_)
    if (output.name == name) return output.value;
  return kNone;
}

ValueType Graph::type(ValueId id) const { return {values_[id].dtype, values_[id].shape, values_[id].axes}; }

// --- changing

Status Graph::redirect(ValueId from, ValueId to, OpId except) {
  if (values_[from].dtype != values_[to].dtype || values_[from].shape != values_[to].shape)
    return internal("redirect of " + describe(type(from)) + " to " + describe(type(to)));
  if (values_[from].producer != kNone && values_[to].producer != kNone)
    redirected_[values_[from].producer] = values_[to].producer;
  const Ids users = std::exchange(values_[from].users, {});
  for (OpId user : users) {
    if (user == except) {
      values_[from].users = {except};
      continue;
    }
    std::replace(ops_[user].inputs.begin(), ops_[user].inputs.end(), from, to);
    insert_sorted(values_[to].users, user);
    if (ops_[user].kind->has(kPure)) by_hash_.add(shallow_hash(ops_[user]), user);
  }
  for (auto& output : outputs_)
    if (output.value == from) output.value = to;
  return {};
}

Status Graph::replace(ValueId from, ValueId to) {
  const Value& old = values_[from];
  Value& now = values_[to];
  now.name = old.name;
  now.axes = old.axes;
  now.role = old.role;
  now.layout = old.layout;
  now.offloaded_ahead = old.offloaded_ahead;
  now.offloaded_piece = old.offloaded_piece;
  now.updated_on_host = old.updated_on_host;
  return redirect(from, to);
}

void Graph::fill_in_axes(ValueId value, const std::vector<std::string>& axes) {
  std::vector<std::string> filled = values_[value].axes;
  for (std::size_t d = 0; d < std::min(filled.size(), axes.size()); ++d)
    if (filled[d].empty()) filled[d] = axes[d];
  values_[value].axes = shared_axes(filled);
}

Status Graph::set_input(OpId id, std::size_t index, ValueId to) {
  Op& op = ops_[id];
  const ValueId from = op.inputs.at(index);
  if (values_[from].dtype != values_[to].dtype || values_[from].shape != values_[to].shape)
    return internal("input of " + describe(type(from)) + " set to " + describe(type(to)));
  op.inputs[index] = to;
  if (std::find(op.inputs.begin(), op.inputs.end(), from) == op.inputs.end()) remove_sorted(values_[from].users, id);
  insert_sorted(values_[to].users, id);
  if (op.kind->has(kPure)) by_hash_.add(shallow_hash(op), id);
  return {};
}

Status Graph::amend(OpId id, const std::vector<ValueId>& inputs, Attributes attributes) {
  Op& op = ops_[id];
  std::vector<ValueType> types;
  for (ValueId input : inputs) {
    if (input >= values_.size()) return internal(op.kind->name + ": no value %" + std::to_string(input), op.where);
    types.push_back(type(input));
  }
  auto results = op.kind->infer({attributes, std::move(types)});
  if (!results) return Error{results.error().code, op.name + ": " + results.error().message, op.where};
  if (results->size() != op.outputs.size()) return internal(op.name + ": an amended op has other results", op.where);
  for (std::size_t i = 0; i < results->size(); ++i) {
    Value& value = values_[op.outputs[i]];
    if (value.shape != (*results)[i].shape)
      return internal(
          op.name + ": result " + describe(type(value.id)) + " would be amended to " + describe((*results)[i]),
          op.where);
    value.dtype = (*results)[i].dtype;
  }
  for (ValueId input : op.inputs) remove_sorted(values_[input].users, id);
  op.inputs = inputs;
  op.attributes = std::move(attributes);
  share(op.attributes);
  for (ValueId input : op.inputs) insert_sorted(values_[input].users, id);
  if (op.kind->has(kPure)) by_hash_.add(shallow_hash(op), id);
  op.agreed = typing_hash(*this, op);
  return keep_letters(op);
}

std::uint64_t typing_hash(const Graph& graph, const Op& op) {
  std::uint64_t h = mix(std::bit_cast<std::uintptr_t>(op.kind), op.attributes.hash());
  for (const auto* side : {&op.inputs, &op.outputs}) {
    h = mix(h, side->size());
    for (const ValueId id : *side) {
      const Value& value = graph.value(id);
      h = mix(mix(h, static_cast<std::uint64_t>(value.dtype)), value.shape.size());
      for (const std::int64_t extent : value.shape) h = mix(h, static_cast<std::uint64_t>(extent));
      for (const std::string& axis : *value.axes) h = mix(h, std::hash<std::string>{}(axis));
    }
  }
  return h == 0 ? 1 : h;  // 0 is of no op
}

const Iteration& iteration_of(const Graph& graph, const Op& op) {
  if (!op.letters) op.letters = *graph.letters_of(op);
  return *op.letters;
}

std::string title_of(const Op& op) { return op.name.empty() ? op.kind->name : op.name + " (" + op.kind->name + ")"; }

bool is_cast(const Graph& graph, const Op& op) {
  if (!op.kind->has(kPointwise) || op.inputs.size() != 1 || op.outputs.size() != 1) return false;
  const Value &from = graph.value(op.inputs[0]), &to = graph.value(op.outputs[0]);
  const auto& code = op.attributes.expression("expression").code;
  return is_floating(from.dtype) && is_floating(to.dtype) && from.dtype != to.dtype && from.shape == to.shape &&
         code.size() == 1 && code[0].opcode == BALEEN_X_INPUT;
}

bool is_maximum(const Op& op) { return op.kind->name == "reduce" && op.attributes.text("kind") == "max"; }

void Graph::erase(OpId id) {
  Op& op = ops_[id];
  if (!op.live) return;
  op.live = false;
  has_dead_ = true;
  for (ValueId input : op.inputs) remove_sorted(values_[input].users, id);
  if (!op.inputs.empty() || !op.kind->has(kStructural) || !op.attributes.has("name")) return;  // no source
  const auto source = sources_.find(source_key(op.kind->name, op.attributes.text("name")));
  if (source != sources_.end() && values_[source->second].producer == id) sources_.erase(source);
}

void Graph::remove_dead() {
  std::vector<char> needed(values_.size(), 0);
  for (const auto& output : outputs_) needed[output.value] = 1;
  for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
    const Op& op = ops_[*it];
    if (!op.live) continue;
    const bool used = op.kind->has(kSideEffect) ||
                      std::any_of(op.outputs.begin(), op.outputs.end(), [&](ValueId v) { return needed[v] != 0; });
    if (used)
      for (ValueId input : op.inputs) needed[input] = 1;
    else
      erase(*it);
  }
  if (std::exchange(has_dead_, false)) std::erase_if(order_, [&](OpId id) { return !ops_[id].live; });
}

Status Graph::normalise() {
  std::vector<std::size_t> position(ops_.size(), 0), missing(ops_.size(), 0);
  for (std::size_t i = 0; i < order_.size(); ++i) position[order_[i]] = i;
  auto later = [&](OpId a, OpId b) { return position[a] > position[b]; };
  std::priority_queue<OpId, std::vector<OpId>, decltype(later)> ready(later);
  std::size_t live = 0;
  std::vector<OpId> producers, users;
  for (OpId id : order_) {
    const Op& op = ops_[id];
    if (!op.live) continue;
    ++live;
    producers.clear();
    for (ValueId input : op.inputs) insert_sorted(producers, values_[input].producer);
    missing[id] = producers.size();
    if (producers.empty()) ready.push(id);
  }
  std::vector<OpId> order;
  order.reserve(live);
  while (!ready.empty()) {
    const OpId id = ready.top();
    ready.pop();
    order.push_back(id);
    users.clear();
    for (ValueId output : ops_[id].outputs)
      for (OpId user : values_[output].users) insert_sorted(users, user);
    for (OpId user : users)
      if (--missing[user] == 0) ready.push(user);
  }
  if (order.size() != live) return internal("the graph has a cycle");
  order_ = std::move(order);
  has_dead_ = false;
  return {};
}

Status Graph::order_by_need(const std::vector<OpId>& old) {
  std::vector<char> seen(ops_.size(), 0);
  std::vector<OpId> order, waiting;
  // A stack instead of recursion: graphs are deep. An op is placed when it is met the second time.
  const auto place = [&](OpId first) {
    waiting.push_back(first);
    while (!waiting.empty()) {
      const OpId id = waiting.back();
      if (seen[id] == 0 && ops_[id].live) {
        seen[id] = 1;
        const auto& inputs = ops_[id].inputs;
        for (auto it = inputs.rbegin(); it != inputs.rend(); ++it)
          if (const OpId producer = values_[*it].producer; seen[producer] == 0) waiting.push_back(producer);
        continue;
      }
      waiting.pop_back();
      if (seen[id] == 1) order.push_back(id);
      seen[id] = 2;
    }
  };
  // Else a weight's gradient, which nobody needs before the update, would be computed there, and what it reads kept.
  const auto is_unused = [&](OpId id) {
    return std::ranges::all_of(ops_[id].outputs, [&](ValueId v) {
      return values_[v].users.empty() && std::ranges::find(outputs_, v, &GraphOutput::value) == outputs_.end();
    });
  };
  for (OpId id : old) {
    place(id);
    const auto stands_in = redirected_.find(id);
    if (stands_in != redirected_.end() && is_unused(id)) place(stands_in->second);
    if (const auto found = behind_.find(id); found != behind_.end()) std::ranges::for_each(found->second, place);
  }
  for (OpId id : order_) place(id);
  redirected_.clear();
  behind_.clear();
  return reorder(order);
}

Status Graph::reorder(const std::vector<OpId>& order) {
  std::vector<char> placed(ops_.size(), 0);
  for (OpId id : order) {
    if (id >= ops_.size() || !ops_[id].live || placed[id])
      return internal("the new order lists op " + std::to_string(id) + ", which is not there or stands in it already");
    for (ValueId input : ops_[id].inputs)
      if (!placed[values_[input].producer])
        return internal("the new order puts op " + std::to_string(id) + " before an op that it reads");
    placed[id] = 1;
  }
  if (order.size() != ops().size()) return internal("the new order leaves ops out");
  order_ = order;
  has_dead_ = false;
  return {};
}

}  // namespace baleen
