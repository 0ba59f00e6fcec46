/// \file What a run of `baleen verify` came to: losses, metrics, gradients and all that lives between steps.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "baleen/graph.h"
#include "compiler/plan/plan.hpp"
#include "core/runtime/session.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/verify_rounded.hpp"

namespace baleen::app {

/// A tensor in few numbers: kSigns sums with random signs, of which those of two tensors differ by about the norm of
/// their difference (Alon, Matias and Szegedy, The space complexity of approximating the frequency moments, 1996), and
/// two with the coordinates of random points of a circle, since elements whose signs are all alike may change places.
/// Those of pieces add up to that of the whole.
struct Sketch {
  static constexpr std::size_t kSigns = 4;
  std::array<double, kSigns + 2> sums = {};
  double squares = 0;

  double norm() const { return std::sqrt(squares); }

  /// The number of element `index` of the whole.
  void add(std::int64_t index, double number);
  bool is_finite() const;
};
Sketch sketch_of(const std::vector<double>& numbers);
/// About the norm of the difference of two tensors.
double distance(const Sketch& a, const Sketch& b);

struct Record {
  /// Three lists of tensors: what `verify` compares after each step.
  enum List : std::size_t { gradients, parameters, states, kLists, numbers = kLists, evaluated };
  using Sketches = std::array<std::vector<Sketch>, kLists>;

  /// A step of the training, or a run of a program that learns.
  struct Step {
    std::string program = {};  ///< the program's name; empty: the training
    double loss = 0;
    Facts facts;          ///< metrics and "gradient_norm"
    bool applied = true;  ///< whether the optimizer's update counted
    bool counts = true;   ///< whether the gradients do, in this step's update or a late one
    Sketches tensors;     ///< by the places of `names`
  };
  /// What the script's loop asked for with `evaluate`, when `steps` were done.
  struct Evaluation {
    std::int64_t steps = 0;
    Facts facts;  ///< "held_out_loss" and metrics
  };

  /// Beside tensors, what ranks are to have alike: of each step these and its metrics, in their order; of each
  /// evaluation its facts.
  enum Number : std::size_t { loss, norm, metrics };

  /// What a rank holds of a tensor after a step is to be what rank `of` holds, and is not. With the list `numbers` it
  /// is of a Number, with `evaluated` of a fact of evaluation `step`.
  struct Copy {
    std::size_t step = 0;
    List list = numbers;
    std::size_t tensor = 0;
    std::int64_t rank = 0, of = 0;
    double distance = 0;
  };

  std::array<std::vector<std::string>, kLists> names;  ///< a program's gradients and states: "<program>/<name>"
  std::set<std::string> programs;                      ///< that learn
  std::vector<Step> steps;                             ///< with runs of programs between them
  std::vector<Evaluation> evaluations;
  Sketches first;                                             ///< before the first step
  std::array<std::vector<std::vector<double>>, kLists> last;  ///< parameters and states at the end, whole
  /// What the first steps came to on all ranks together, by the places of `names`.
  struct Kept {
    /// Gradients of other programs are empty. Parameters are those behind the step.
    std::vector<std::vector<float>> gradients, parameters;
  };
  std::vector<Kept> kept;                            ///< where it is asked for, of as many steps as kKeptBytes hold
  std::map<std::string, Approximated> approximated;  ///< gradients, by name
  bool is_late = false;                              ///< a step makes the update of the step before
  std::vector<Copy> copies;                          ///< that are not like their originals, by step
  baleen_dtype_t coarsest = BALEEN_F32;
  PlannedDtypes dtypes;                     ///< of the plan, where gradients are kept
  Mesh mesh;                                ///< of the ranks
  std::optional<Error> wrong_layouts = {};  ///< as in make_plan; training refuses the plan for them
};

/// Of a gradient or state, the program that it belongs to: the name before a `/`; empty: the training.
std::string program_of(const Record& record, const std::string& name);
/// "step 3", or "run 3 of `judge`", counted from 1: number `i` of `steps`.
std::string label_of(const Record& record, std::size_t i);
/// Steps of the training among the first `count` of all.
std::int64_t training_steps(const Record& record, std::size_t count);

/// The largest share in so many first steps.
double largest_share(const Approximated& approximated, std::size_t steps);

/// What gradients and parameters of all steps may take.
inline constexpr std::uint64_t kKeptBytes = 1u << 30;

struct RecordOptions {
  bool reference = false;          ///< the script alone: one rank, no strategy, fp64
  std::vector<bool> skipped = {};  ///< by step, of a reference: the update that it made is taken back
  bool is_late = false;            ///< of a reference: a step makes the update of the step before
  double shake = 0;                ///< of a reference: first each parameter is changed by about this share of itself
  std::optional<Rounding> rounded = {};  ///< of a reference: how what its graphs read and compute is rounded
  bool keeps = false;                    ///< `kept`, on rank 0; every rank is asked
  /// Of a reference: it follows what this one kept. Each update takes those gradients, and behind each step parameters
  /// are set to those; all changed by `shake` of themselves.
  const Record* followed = nullptr;
};

/// Runs the script to its end and keeps what it comes to.
Result<Record> record(const VerifyOptions& options, const Setup& setup, const RecordOptions& how);

}  // namespace baleen::app
