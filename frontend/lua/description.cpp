/// \file Building a script's graphs.
#include "frontend/lua/description.hpp"

#include <algorithm>

#include "baleen/dtype.hpp"

namespace baleen {
namespace {

/// FNV-1a.
std::uint64_t hash_text(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3ull;
  return hash;
}

bool has_tensors_of_rank(const Graph& graph, const std::vector<ValueId>& values) {
  return std::any_of(values.begin(), values.end(), [&](ValueId v) { return graph.value(v).rank() > 0; });
}

}  // namespace

void Description::begin(std::string name, bool learns, bool adds) {
  name_ = std::move(name);
  learns_ = learns;
  adds_ = adds;
  graph_.emplace(registry_);
  ++serial_;
  scopes_.clear();
  sites_.clear();
  results_.clear();
}

Graph Description::finish() {
  if (adds_) note_named();
  Graph graph = std::move(*graph_);
  graph.context() = {};
  graph_.reset();
  name_.clear();
  learns_ = adds_ = false;
  return graph;
}

Graph& Description::graph() {
  if (!graph_)
    throw ScriptError(
        invalid("tensors exist only while the job's model is described; call layers and ops inside the model"));
  return *graph_;
}

std::size_t Description::enter(Scope scope) {
  scopes_.push_back(std::move(scope));
  return scopes_.size() - 1;
}

void Description::leave(std::size_t count) { scopes_.resize(std::min(count, scopes_.size())); }

std::vector<ValueId> Description::append(const std::string& kind, std::vector<ValueId> inputs, Attributes attributes,
                                         const std::string& where) {
  Graph& target = graph();
  target.context().name = path();
  target.context().where = where;
  const std::size_t before = target.op_count();
  std::vector<ValueId> results = unwrap(target.append(kind, std::move(inputs), std::move(attributes)));
  for (std::size_t id = before; scope() && id < target.op_count(); ++id) {
    Op& made = target.op(static_cast<OpId>(id));
    for (const auto& [key, text] : scope()->tags) unwrap(set_tag(made, key, text));
    if (!scope()->annotations.empty()) made.schedule.edit().annotations = {scope()->annotations};
  }
  for (ValueId value : results) note_made(value);
  return results;
}

ValueId Description::append1(const std::string& kind, std::vector<ValueId> inputs, Attributes attributes,
                             const std::string& where) {
  return append(kind, std::move(inputs), std::move(attributes), where).at(0);
}

std::vector<ValueId> Description::pointwise(std::vector<ValueId> inputs, Expression expression,
                                            std::vector<std::int64_t> results, const std::optional<Shape>& shape,
                                            const std::string& where) {
  Graph& target = graph();
  std::size_t rank = shape ? shape->size() : 0;
  bool floating = false;
  for (ValueId v : inputs) {
    rank = std::max(rank, target.value(v).rank());
    floating |= is_floating(target.value(v).dtype);
  }
  for (ValueId& v : inputs) {
    Shape own = target.value(v).shape;
    if (own.empty() || own.size() == rank) continue;
    own.insert(own.begin(), rank - own.size(), 1);
    v = append1("reshape", {v}, {{"shape", Attributes::ints(own)}}, where);
  }
  Attributes attributes{{"expression", std::move(expression)}, {"results", Attributes::ints(std::move(results))}};
  if (shape && !has_tensors_of_rank(target, inputs)) attributes.set("shape", Attributes::ints(*shape));
  if (!floating) attributes.set("dtype", Attributes::ints({dtype_}));
  return append("pointwise", std::move(inputs), std::move(attributes), where);
}

std::uint64_t Description::next_site() {
  // The train graph and all that are not trained have the same.
  const std::string here = learns_ && name_ != kTrainGraph ? name_ + "/" + path() : path();
  return hash_text(here + "#" + std::to_string(sites_[here]++));
}

ValueId Description::parameter(ParameterSpec spec) {
  graph().context().where = spec.where;
  const auto known = std::find_if(parameters_.begin(), parameters_.end(),
                                  [&](const ParameterSpec& other) { return other.name == spec.name; });
  if (known == parameters_.end()) {
    if (!adds_)
      throw ScriptError(invalid(spec.name + ": no graph that is trained has such a parameter, and the " + name_ +
                                    " graph asks for it; make layers outside the model's function, so that all graphs "
                                    "share their parameters",
                                spec.where));
    parameters_.push_back(spec);
  } else if (known->type.shape != spec.type.shape) {
    throw ScriptError(invalid(spec.name + ": the parameter has the shape " + to_string(known->type.shape) + " since " +
                                  known->where + ", and is asked for with " + to_string(spec.type.shape) + " in the " +
                                  name_ + " graph; a layer must be called with inputs of one shape",
                              spec.where));
  }
  const ValueId value = unwrap(graph().parameter(spec.name, spec.type));
  tag_parameter(value);
  return value;
}

}  // namespace baleen
