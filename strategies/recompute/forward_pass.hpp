/// \file The forward pass as recomputation sees it: what its ops make, read and compute.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "baleen/strategy.hpp"

namespace baleen::recompute {

/// A result of a forward op.
struct Made {
  std::uint64_t bytes = 0;     ///< on one rank, of a micro-batch; 0 of a view and of what belongs to parameters
  bool read_backward = false;  ///< by an op of the backward pass
};

/// A result that a forward op reads.
struct Read {
  std::size_t op = 0, result = 0;
};

struct ForwardOp {
  baleen_op_t id = BALEEN_NONE;
  std::string kind, name, block;  ///< `block`: the tag of that name, which the script's library gives
  double flops = 0;
  bool eligible = false;  ///< may run again
  bool lowered = false;   ///< by another strategy
  bool view = false;      ///< shows its operand's elements: costs nothing
  bool converts = false;  ///< a cast, a view, or moves its one operand between ranks
  std::vector<Made> results;
  std::vector<Read> reads;           ///< of other forward ops
  std::vector<std::size_t> readers;  ///< forward ops, ascending
};

/// A flag for each op of a forward pass.
using Chosen = std::vector<char>;

/// The ops of the forward pass in their order of execution, sources left out. Ops are called by their place in it.
class ForwardPass {
 public:
  /// An empty one where there is no backward pass.
  static ForwardPass of(sdk::GraphView graph, const sdk::Recomputing& recompute);
  /// Readers follow from `reads`.
  explicit ForwardPass(std::vector<ForwardOp> ops);

  const std::vector<ForwardOp>& ops() const { return ops_; }
  std::size_t size() const { return ops_.size(); }
  const ForwardOp& operator[](std::size_t op) const { return ops_[op]; }

  /// Of `wanted` those whose results the backward pass, or another copy, reads; views of what runs again run again too,
  /// and no other views.
  Chosen needed(Chosen wanted) const;
  /// What `needed` ops compute.
  double flops(const Chosen& needed) const;
  /// Bytes that are kept for the backward pass where `needed` ops run again.
  std::uint64_t kept(const Chosen& needed) const;
  /// The same by op that makes them.
  std::vector<std::uint64_t> kept_by_op(const Chosen& needed) const;
  /// Less those that save nothing: what they read would have to be kept in place of what they make.
  Chosen without_useless(Chosen wanted) const;
  /// Numbers in the graph.
  std::vector<baleen_op_t> ids(const Chosen& chosen) const;
  std::uint64_t bytes(std::size_t op) const;

 private:
  std::vector<ForwardOp> ops_;
};

}  // namespace baleen::recompute
