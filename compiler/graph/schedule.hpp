/// \file What is decided about an op beside what it computes.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "baleen/op.h"
#include "baleen/result.hpp"

namespace baleen {

struct Op;
using OpId = baleen_op_t;

/// What the script, strategies and passes have decided about an op, beside what it computes. Printed among its tags.
struct OpSchedule {
  /// Collectives of one bucket run as one call. In a loop over micro-batches, copies are a bucket of their own.
  struct Bucket {
    std::uint32_t number = 0;
    std::vector<int> loops = {};
    friend auto operator<=>(const Bucket&, const Bucket&) = default;
  };
  std::optional<Bucket> bucket = {};
  bool begins_here = false;                      ///< a collective begins where it stands, no sooner
  std::vector<OpId> must_complete_before = {};   ///< collectives that are over when this one begins
  bool every_micro_batch = false;                ///< runs in every micro-batch, though it is the same in all
  bool recomputed = false;                       ///< a copy of its forward op, for the backward pass
  std::optional<int> chunk = {};                 ///< of the model, of several that its ranks hold in turn
  bool no_fuse = false;                          ///< stays what it is: no fused or joined form takes its place
  bool whole = false;                            ///< of an update: reads and makes whole values on every rank
  std::optional<std::string> compute_copy = {};  ///< makes a compute copy of the parameter that it reads: which
  std::string offer = {}, owner = {};            ///< the offer that it took, and the strategy that lowers it
  /// Of what a script made inside `split` and `replicate`: numbers of the job's annotations, the innermost last. A
  /// parameter that was asked for in several places has several lists.
  std::vector<std::vector<std::size_t>> annotations = {};
  std::map<std::uint32_t, std::vector<std::string>> names = {};  ///< that a script's `layout` knows results by
};

/// The tags of an op and its schedule as text, by name.
std::map<std::string, std::string> shown_tags(const Op& op);
/// What a plugin or a script says about an op: "no_fuse", "whole" and "compute_copy" are of its schedule, other words
/// are tags. Fails where the word is one of the schedule that is said otherwise.
Status set_tag(Op& op, const std::string& key, std::string text);

}  // namespace baleen
