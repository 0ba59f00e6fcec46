/// \file The graph that gives parameters and states their first values.
#include "compiler/plan/passes.hpp"

namespace baleen {
namespace {

/// FNV-1a: the site of a parameter's random numbers depends on its name alone.
std::uint64_t site_of(const std::string& name) {
  std::uint64_t h = 0xcbf29ce484222325ull;
  for (unsigned char c : name) h = (h ^ c) * 0x100000001b3ull;
  return h;
}

/// Appends the first value's program; returns its result's number.
std::uint32_t append_initial(Expression& e, const Initializer& initializer, const std::string& name) {
  // a + b * noise, where there is noise.
  std::uint32_t noise = 0;
  double scale = initializer.b;
  switch (initializer.kind) {
    case Initializer::Kind::constant: return e.constant(initializer.a);
    case Initializer::Kind::normal: noise = e.random(BALEEN_X_NORMAL, site_of(name)); break;
    case Initializer::Kind::uniform:
      noise = e.random(BALEEN_X_UNIFORM, site_of(name));
      scale = initializer.b - initializer.a;
      break;
  }
  const auto scaled = e.binary(BALEEN_X_MUL, noise, e.constant(scale));
  return e.binary(BALEEN_X_ADD, scaled, e.constant(initializer.a));
}

Status fill(Graph& graph, ValueId target, const Initializer& initializer) {
  const ValueType type = graph.type(target);
  Expression expression;
  const std::int64_t result = append_initial(expression, initializer, graph.value(target).name);
  BALEEN_TRY_ASSIGN(const ValueId value, graph.append1("pointwise", {},
                                                       {{"expression", std::move(expression)},
                                                        {"results", Attributes::ints({result})},
                                                        {"shape", type.shape},
                                                        {"dtype", Attributes::ints({type.dtype})}},
                                                       graph.value(target).name));
  return graph.assign(target, value);
}

}  // namespace

Result<Graph> initialize_graph(const Job& job, const UpdateResult& update, const OpRegistry& registry) {
  Graph graph(&registry);
  graph.context().phase = Phase::update;
  for (const ParameterSpec& p : job.parameters) {
    BALEEN_TRY_ASSIGN(const ValueId target, graph.parameter(p.name, p.type));
    BALEEN_TRY(fill(graph, target, p.initializer));
  }
  for (std::size_t i = 0; i < update.states.size(); ++i) {
    BALEEN_TRY_ASSIGN(const ValueId target, graph.state(update.states[i].name, update.states[i].type));
    BALEEN_TRY(fill(graph, target, {Initializer::Kind::constant, update.initial[i], 0}));
  }
  return graph;
}

}  // namespace baleen
