/// \file The judgement of `baleen verify`: what two runs came to, compared.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/cli/verify_record.hpp"

namespace baleen::app {

struct Judgement {
  std::string summary;                    ///< the largest differences for people, a line each
  std::optional<std::string> difference;  ///< the first that is too large, in the order of the run; nothing: equal
  /// That is a parameter or a state after a step, and what gradients there are is right: which it is.
  std::optional<std::pair<Record::List, std::string>> updated = {};
};

/// A further reference, whose parameters began with each changed by this many roundings.
struct Shaken {
  const Record* record = nullptr;
  double roundings = 1;
};

/// A further reference, whose values are rounded.
struct Rounded {
  const Record* record = nullptr;
  bool is_random = false;  ///< in what goes back; the first of several is not
  bool in_parts = false;   ///< of those: what ranks add up is rounded term by term, so values differ too
  double times = 1;        ///< what further ones might come to, of what this one does
};

/// A further reference, whose updates take gradients in which elements that are rounding noise are louder.
struct Louder {
  const Record* record = nullptr;                ///< null: none
  const std::set<std::string>* names = nullptr;  ///< gradients that have such elements
};

/// What the script alone makes of the gradients that the ranks kept: `record`, and once more with each parameter at the
/// beginning and each gradient changed by one rounding of fp32.
struct Replay {
  const Record* record = nullptr;  ///< null: none
  const Record* shaken = nullptr;
};

/// Of `many` ranks against `one`, the script alone in fp64. After each step: loss, metrics, each gradient, the norm of
/// all, each parameter, each state of the optimizer, on every rank.
///
/// In fp64 a number may differ by 1e-10 of itself, a tensor by 1e-8 of its norm. With fewer digits: u, one rounding of
/// the coarsest dtype that is computed in, is where limits begin, and `shaken` says how they grow: what each has come
/// to, as a share of the roundings that it began with. Rounding goes on in every op of every step, which is why
/// kRoundings times the largest of that is allowed. Where what one rounding does not change jumps with several (the
/// choice of an expert), references with several show it. What rounding makes equal (the largest of several, a tie)
/// stays apart in all of these, so a loss, norm or gradient is also right that is as near to one of `rounded`, the
/// script alone in fp64 with each value rounded as the ranks round it. Others of these round what goes back at random;
/// the ranks are one more such draw, so kDraws times as far as the farthest is from the first, which does not, is
/// allowed beside. What needs any of these is named as ill-conditioned. A gradient that one rounding of the parameters
/// changes by a quarter of itself is noise; it is named and not judged. In fp64, if there is a `shaken`, neither are
/// its parameter and that one's states. Where single elements of a gradient are noise, `louder` shows
/// how far an update can carry these: kDraws times that is allowed of its parameter and states.
///
/// With fewer digits than fp64 an optimizer may divide rounding noise by itself, so parameters and states are judged
/// beside the `replay`: between it and the ranks is only how an update in fp32 rounds.
Judgement judge(const Record& many, const Record& one, const std::vector<Shaken>& shaken = {},
                const Replay& replay = {}, const std::vector<Rounded>& rounded = {}, const Louder& louder = {});

/// One rounding of a number of that dtype, as a share of it.
double rounding_of(baleen_dtype_t dtype);

}  // namespace baleen::app
