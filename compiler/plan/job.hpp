/// \file What a script describes: the model's parameters, its graphs, and how they are to be trained.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/graph/graph.hpp"
#include "core/input/user_value.hpp"

namespace baleen {

/// How a parameter starts. The random numbers depend on seed, name and the element's index alone.
struct Initializer {
  enum class Kind { constant, normal, uniform };
  Kind kind = Kind::constant;
  double a = 0;  ///< constant; normal: mean; uniform: low
  double b = 0;  ///< normal: standard deviation; uniform: high
};

struct ParameterSpec {
  std::string name;
  ValueType type;
  Initializer initializer;
  std::string where;
};

/// A function of the attempted step, from 0. Called on the main thread.
using Schedule = std::function<double(std::int64_t step)>;

/// Options of one member of a family, as the user gave them. Schedules of SCHEDULE options by option name.
struct MemberSpec {
  std::string name;
  UserValues options;
  std::map<std::string, Schedule> schedules;
  std::string where;
};

/// Parameters whose name matches one of `patterns` ('*' any text, '?' one character); the first group that matches
/// wins.
struct ParameterGroup {
  std::vector<std::string> patterns;
  UserValues options;
  std::map<std::string, Schedule> schedules;
  bool frozen = false;
  std::string where;
};

/// A layout along one mesh axis that the script chooses by hand; it stands above what strategies ask for.
struct Annotation {
  enum class Kind {
    split,      ///< what is made inside is cut along its logical axis `dim`
    replicate,  ///< what is made inside is whole
    layout      ///< one parameter, input or result of a layer, by name
  };
  Kind kind = Kind::split;
  std::string axis;     ///< of the mesh; one that a mesh lacks changes nothing
  std::string dim;      ///< logical axis that is cut
  std::string pattern;  ///< layout: of names, as in a ParameterGroup
  int number = 0;       ///< layout without `dim`: which dimension is cut, from 1, or from -1 for the last; 0: none
  std::string where;

  friend bool operator==(const Annotation&, const Annotation&) = default;
};

/// What a graph is for, and so what the plan makes of it and who writes its inputs.
enum class GraphRole {
  initialize,  ///< made by the plan: fills every persistent tensor
  train,       ///< a step: differentiated, and parameters updated. Inputs are rows of the data. At most one
  evaluate,    ///< loss and metrics of held-out rows; outputs as those of `train`
  infer,       ///< a named program: the caller writes all inputs and reads all outputs
  learn        ///< a named program that is differentiated and updates parameters, each time that it is run
};

/// Whether it is one of the script's programs, which are run by name.
inline bool is_program(GraphRole role) { return role == GraphRole::infer || role == GraphRole::learn; }

/// Name and type of an input or output of a graph. The shape is global.
struct NamedType {
  std::string name;
  ValueType type;
};

/// What a caller gives to a named program and gets from it.
struct ProgramInfo {
  std::string name;
  std::vector<NamedType> inputs, outputs;
};

/// Of a graph's ops of kind input, and of its outputs.
std::vector<NamedType> inputs_of(const Graph& graph);
std::vector<NamedType> outputs_of(const Graph& graph);

/// How a graph of role learn trains. Its states are named "<graph>/<state>".
struct Learning {
  std::vector<std::string> parameters;  ///< patterns of those that it updates; none: all
  MemberSpec optimizer;                 ///< schedules are functions of how often it was run
  std::vector<ParameterGroup> groups;
  double clip_grad_norm = 0;
};

struct JobGraph {
  GraphRole role = GraphRole::infer;
  bool replicated = false;  ///< every rank computes all of it; else strategies divide it as they divide `evaluate`
  Graph graph = Graph();
  Learning learning = {};  ///< of role learn
};

/// The name of the graph whose role is `train`.
inline constexpr const char* kTrainGraph = "train";

/// Everything a script returns, with the graphs it built. Graphs of the roles train and evaluate have inputs named as
/// the data's fields, outputs "loss" (a sum over the batch) and "weight" (what to divide by, which must not depend on
/// parameters), and any number of metrics "metric.<name>" with "metric.<name>.weight". A graph to infer with has the
/// inputs and outputs that the script gives it; one that learns has "loss" and "weight" among them.
struct Job {
  std::string where = {};  ///< its place in the script
  std::vector<ParameterSpec> parameters;
  std::map<std::string, JobGraph> graphs;
  MemberSpec optimizer;
  std::vector<ParameterGroup> groups;
  double clip_grad_norm = 0;                     ///< global norm of the gradient; 0: none
  std::int64_t gradient_accumulation_steps = 1;  ///< micro-batches per step
  std::int64_t batch = 0;
  std::uint64_t seed = 0;
  baleen_dtype_t dtype = BALEEN_F32;
  std::int64_t check_every = 0;        ///< updates after which copies on several ranks are compared; 0: never
  bool check_memory = true;            ///< each update compares what it reads with what the one before wrote
  bool goes_on_not_finite = false;     ///< after steps whose loss or gradient is no finite number
  bool keep_gradients = false;         ///< those of the last step, as states (kGradientPrefix)
  bool is_late = false;                ///< a step makes the update of the step before, as a strategy may want it, too
  bool takes_gradients = false;        ///< whoever runs it gives them, in states (kGivenGradientPrefix)
  std::uint64_t working_budget = 0;    ///< bytes that a rank may hold beside model states; 0: nobody said
  std::uint64_t lacking_bytes = 0;     ///< of a rank's device, as an earlier plan came to (Plan::lack)
  std::string states_prefix = {};      ///< before the names of the optimizer's and the strategies' states
  std::vector<MemberSpec> strategies;  ///< plan order
  std::vector<Annotation> annotations;
  Mesh mesh;  ///< the manifest's; without axes: one rank

  /// The graph of the role train; empty where the job has none yet.
  Graph& train() {
    JobGraph& made = graphs[kTrainGraph];
    made.role = GraphRole::train;
    return made.graph;
  }
};

}  // namespace baleen
