/// \file Runs a graph with layouts on simulated ranks: each holds its pieces only, and gets anything else through the
/// collectives that stand in the graph.
#pragma once
#include "compiler/layout/piece.hpp"
#include "support/reference_interpreter.hpp"
#include "support/reference_kernels.hpp"

namespace baleen::test {

/// The definition of a kind; throws std::runtime_error where there is none.
Kernel reference_kernel(const std::string& kind);

/// Every op is computed by the reference kernels from what one rank holds, put where it belongs in the whole with zeros
/// elsewhere, and the rank's part of the result is kept: so a rank that lacks something computes wrong numbers. Errors
/// are thrown as std::runtime_error. Borrowed: the graph.
class SimulatedRanks {
 public:
  explicit SimulatedRanks(const Graph& graph);

  /// A source's whole value; each rank is given its piece.
  void set(const std::string& name, std::vector<double> data) { sources_[name] = std::move(data); }
  void run();

  /// A value put together from the ranks that hold it, partial ones summed; throws where replicas differ.
  Tensor whole(ValueId v) const;
  /// How many ops of the last run talked to other ranks inside, because they reduce a dimension that is cut.
  int talks_inside() const { return talks_inside_; }
  /// What parameters and states are assigned, by name.
  std::map<std::string, Tensor> assigned() const;

 private:
  /// By rank: of global shape, zero where the rank has nothing; in a local region of local shape.
  using Pieces = std::vector<Tensor>;

  void run(const Op& op);
  void run_kernel(const Op& op);
  bool is_local(const Op& op) const;
  void run_local(const Op& op);
  Tensor local_result(const Op& op, std::size_t rank) const;
  Tensor converted(const Op& op, std::size_t rank) const;
  double element(const Op& op, const std::vector<std::int64_t>& members, const Coordinate& at) const;
  Tensor operand(const Op& op, std::size_t input, std::size_t rank, const std::vector<int>& whole_axes) const;
  std::vector<int> internal_axes(const Op& op) const;
  const std::vector<char>& mask(ValueId v, std::size_t rank) const;
  Tensor masked(ValueId v, std::size_t rank, const Tensor& whole) const;

  const Graph& graph_;
  std::size_t ranks_;
  std::map<std::string, std::vector<double>> sources_;
  std::map<ValueId, Pieces> values_;
  std::map<std::string, ValueId> assigned_;
  std::map<ValueId, bool> local_;
  int talks_inside_ = 0;
  mutable std::map<std::pair<ValueId, std::size_t>, std::vector<char>> masks_;
};

}  // namespace baleen::test
