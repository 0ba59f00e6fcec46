/// \file What `--print-passes` shows: the graph after each pass, a part of it, or what a pass changed.
#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/result.hpp"
#include "compiler/plan/plan.hpp"

namespace baleen::app {

/// What a user asked to see.
struct PassView {
  bool prints = false;
  std::vector<std::string> passes;  ///< patterns of "propagate" or "train: propagate"; none: all
  std::vector<std::string> ops;     ///< patterns of an op's name ("blocks.0.*") or kind ("matmul"); none: all
  bool changes = false;             ///< only lines that are not as after the pass before

  bool operator==(const PassView&) const = default;
};

/// Prints on standard output. Outlives the observer.
class PassPrinter {
 public:
  /// `mesh`: the job's, without axes for one rank.
  PassPrinter(PassView view, Mesh mesh) : view_(std::move(view)), mesh_(std::move(mesh)) {}

  /// None where nothing is to be printed.
  PassObserver observer();
  /// The job is planned anew: passes begin again.
  void begin_again();
  /// At the end: a pattern that matched nothing is refused, with the passes that there were.
  Status finish() const;

 private:
  using Lines = std::map<OpId, std::string>;  ///< by op

  void show(const std::string& phase, const Graph& graph);
  bool is_shown(const Op& op);
  std::string text_of(const std::string& phase, const Graph& graph, const Lines& lines);

  PassView view_;
  Mesh mesh_;
  bool explained_ = false;
  std::map<std::string, Lines> before_;  ///< by the graph's name
  std::vector<std::string> seen_;        ///< passes
  std::set<std::string> used_;           ///< patterns
};

/// What the letters of a graph's lines mean, as comments; `mesh`'s axes give the order of a layout's letters.
std::string legend(const Mesh& mesh);

}  // namespace baleen::app
