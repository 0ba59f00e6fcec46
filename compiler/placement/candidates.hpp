/// \file What an op could do along one mesh axis (docs/design.md, Propagation): replicate, shard a letter, pass
/// partial, or an offer.
#pragma once
#include <set>

#include "compiler/placement/op_letters.hpp"
#include "compiler/placement/placement.hpp"
#include "compiler/placement/value_copies.hpp"

namespace baleen {

/// Operands' and results' placements on one axis.
struct Candidate {
  Choice choice;
  std::vector<Placement> inputs, outputs;
  const Iteration::Internal* internal = nullptr;  ///< the small reduction that sharding the letter needs
  const Offer* offer = nullptr;
  double bytes = 0;  ///< of the offer
};

/// What has been decided for an op, axis by axis.
struct Decided {
  const Op& op;
  const OpLetters& letters;
  const OpLetters* forward = nullptr;                    ///< the letters of its forward op
  const std::vector<Choice>* forward_choices = nullptr;  ///< null without a forward op that was placed
  std::vector<Candidate> chosen;                         ///< of the axes so far
};

/// Lists candidates. Borrowed: the request, whose offers the candidates point to, and the values' copies so far.
class Candidates {
 public:
  Candidates(const Graph& graph, const PlacementRequest& request, const ValueCopies& copies);

  /// In the order in which ties are broken among candidates of cost 0. Never empty.
  std::vector<Candidate> list(const Decided& decided, int axis) const;
  /// The same for a backward op, of other letters than its forward op's too.
  std::vector<Candidate> list_without_forward(const Decided& decided, int axis) const;

  /// Why a letter is not among them; for messages.
  std::string why_not(const Decided& decided, int axis, const Letter& letter) const;

 private:
  void note_balanced(ValueId value, int axis, const Placement& placement);
  bool may_cut(const Op& op, const Letter& letter, int axis) const;
  std::int64_t parts(const Decided& decided, const Letter& letter, int axis) const;
  bool is_balanced(const Decided& decided, const Letter& letter, int axis) const;
  Candidate shard(const Decided& decided, const Letter& letter, int axis) const;
  void add_offers(const Decided& decided, int axis, std::vector<Candidate>& list) const;
  void keep_forward_choice(const Decided& decided, int axis, std::vector<Candidate>& list) const;

  const Graph& graph_;
  const PlacementRequest& request_;
  const ValueCopies& copies_;
  std::multimap<OpId, std::uint32_t> offers_;
  std::vector<std::set<std::string>> balanced_;  ///< per mesh axis: logical axes that it cuts in balanced chunks
};

}  // namespace baleen
