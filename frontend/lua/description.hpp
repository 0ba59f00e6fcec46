/// \file What a script has described so far: the graph being built, the layer whose code runs, and the parameters
/// that all graphs share. Knows nothing of Lua. Functions throw ScriptError.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/graph.hpp"
#include "compiler/plan/job.hpp"
#include "frontend/lua/script_error.hpp"

namespace baleen {

class Description {
 public:
  Description(const OpRegistry& registry, baleen_dtype_t dtype) : registry_(&registry), dtype_(dtype) {}

  // --- graphs
  /// "train", "evaluate", "generate"; empty between graphs.
  const std::string& graph_name() const { return name_; }
  /// `learns`: it is trained. `adds`: it may ask for parameters that no graph before has.
  void begin(std::string name, bool learns, bool adds);
  /// Whether the graph being built is trained.
  bool learns() const { return learns_; }
  Graph finish();
  /// The graph being built; throws where there is none.
  Graph& graph();
  /// Differs for every graph: values remember it.
  std::uint32_t serial() const { return serial_; }
  baleen_dtype_t dtype() const { return dtype_; }

  // --- layers
  /// A layer whose code runs. New ops take its path as their name, and its tags.
  struct Scope {
    std::string path;
    std::string where;  ///< where the user made the layer
    int depth = 0;      ///< frames of the user's files on the stack when it was entered
    std::map<std::string, std::string> tags = {};
    std::vector<std::size_t> annotations = {};   ///< that it stands in, the innermost last
    std::optional<std::size_t> annotation = {};  ///< of `annotations`, where it is one's rather than a layer's
    std::vector<ValueId> made = {};              ///< inside, where it is an annotation's
  };
  /// Returns how many scopes there were before.
  std::size_t enter(Scope scope);
  /// Leaves all but `count` scopes.
  void leave(std::size_t count);
  /// Null outside layers.
  const Scope* scope() const { return scopes_.empty() ? nullptr : &scopes_.back(); }
  std::string path() const { return scopes_.empty() ? std::string() : scopes_.back().path; }

  // --- annotations (description_parallel.cpp)
  /// Its number; the same for equal ones. Throws at a second `layout` of one name and axis.
  std::size_t annotate(Annotation annotation);
  /// What is made until `leave` belongs to it. Returns what `enter` of a scope does.
  std::size_t enter(Annotation annotation, int depth);
  /// Throws where nothing that was made in the scope number `mark` has the logical axis that is to be split.
  void check_split(std::size_t mark);
  /// The present layer returns it.
  void name_result(ValueId value);
  /// Throws where a `layout` names nothing in the graphs that may add parameters, or a dimension that is not there.
  void check_layouts() const;
  const std::vector<Annotation>& annotations() const { return annotations_; }
  /// Into how many a step's batch is cut, and where the script says so; 0 where it does not.
  void set_micro_batches(std::int64_t count, std::string where) { micro_batches_ = {count, std::move(where)}; }
  const std::pair<std::int64_t, std::string>& micro_batches() const { return micro_batches_; }

  // --- ops
  /// Appends an op that stands at `where` in the script.
  std::vector<ValueId> append(const std::string& kind, std::vector<ValueId> inputs, Attributes attributes,
                              const std::string& where);
  ValueId append1(const std::string& kind, std::vector<ValueId> inputs, Attributes attributes,
                  const std::string& where);
  /// The results of an expression. Inputs of fewer dimensions are broadcast along leading ones; `shape` is needed
  /// without inputs. Without floating inputs the result has the job's dtype.
  std::vector<ValueId> pointwise(std::vector<ValueId> inputs, Expression expression, std::vector<std::int64_t> results,
                                 const std::optional<Shape>& shape, const std::string& where);
  /// The expression that a script's function over elements is writing; null where none runs.
  struct Trace {
    Expression expression;
    std::uint32_t serial = 0;  ///< terms remember it
    std::int64_t rank = 0;     ///< of the result
  };
  Trace* trace() { return trace_ ? &*trace_ : nullptr; }
  void begin_trace(std::int64_t rank) { trace_.emplace(Trace{{}, ++trace_serial_, rank}); }
  void end_trace() { trace_.reset(); }

  /// A site for random numbers: a function of the layer's path and of how often it asked in this graph.
  std::uint64_t next_site();

  // --- parameters
  /// The parameter of that name in the present graph. The first call decides on its type and first value.
  ValueId parameter(ParameterSpec spec);
  const std::vector<ParameterSpec>& parameters() const { return parameters_; }

 private:
  void check_first(const Annotation& layout) const;
  void note_made(ValueId value);
  void note_named();
  void tag_parameter(ValueId parameter);

  const OpRegistry* registry_;
  baleen_dtype_t dtype_;
  std::string name_;
  bool learns_ = false, adds_ = false;
  std::optional<Graph> graph_;
  std::uint32_t serial_ = 0;
  std::vector<Scope> scopes_;
  std::map<std::string, std::uint64_t> sites_;
  std::optional<Trace> trace_;
  std::uint32_t trace_serial_ = 0;
  std::vector<ParameterSpec> parameters_;
  std::pair<std::int64_t, std::string> micro_batches_;
  std::vector<Annotation> annotations_;
  std::map<std::string, ValueId> results_;  ///< of layers in the present graph, by path
  std::map<std::string, Value> named_;      ///< what a `layout` may name
};

}  // namespace baleen
