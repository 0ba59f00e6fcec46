/// \file What `baleen plan` found, for people and for programs.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "baleen/offload.h"
#include "core/execute/program.hpp"
#include "core/runtime/offload_places.hpp"
#include "core/runtime/session_memory.hpp"
#include "frontend/engine/closed_forms.hpp"
#include "frontend/engine/json.hpp"
#include "frontend/engine/plan_measures.hpp"
#include "frontend/engine/rank_classes.hpp"

namespace baleen::app {

/// A place outside the device that holds something.
struct PlannedPlace {
  std::string name;  ///< of its member
  std::uint64_t bytes = 0;
  OffloadTraffic moved;                              ///< of one training step, or of one run of the class's `program`
  std::optional<baleen_offload_speed_t> speed = {};  ///< once it was measured
};

/// What every rank of a class holds and sends.
struct PlannedClass {
  RankClass ranks;
  std::map<std::string, std::uint64_t> planned;  ///< bytes by kind and "total"
  std::uint64_t held_gradients = 0;              ///< from the end of the last backward pass on
  std::string program;                           ///< that stands for a step, in a job of programs alone; or ""
  std::vector<StoredPart> stored;                ///< how persistent tensors are cut
  RankWork work;                                 ///< of one training step, or of one run of `program`
  std::vector<Traffic> traffic;                  ///< of one training step, or of one run of `program`
  std::vector<PlannedPlace> outside;             ///< nearest first; empty: nothing lies outside the device
  HostNeed host;                                 ///< of the host's memory, beside the program
  std::uint64_t host_memory = 0;                 ///< that the ranks of a host have of it together; the most: not known
  bool fits_host = true;                         ///< they need no more
  OffloadTraffic offloaded;                      ///< moved there and back, likewise
  HostUpdateReport host_updates;                 ///< what of the update runs where states lie, likewise
  std::string why_on_device;                     ///< why none of it does, where that is no matter of the updates
  bool moves_directly = false;                   ///< by copies of the device
  std::int64_t host_ranks = 1;                   ///< on the host of the class's first rank, which share the places
  std::vector<ClosedFormCost> closed_forms;      ///< of the class's first rank
  WorkingBytes working;                          ///< at once beside model states
  /// The host's memory of the process: arenas, what is resident of the program before there are any (libraries, Lua,
  /// graphs, data, as this process has it), what collectives pin, stores in memory, and mapped data that may be read.
  std::uint64_t process = 0;
  std::uint64_t program_bytes = 0, unread_files = 0;  ///< of it program and transport; data not yet read
  std::uint64_t memory = 0;                           ///< bytes of the device that one rank may have
  std::uint64_t budget = 0;                           ///< the manifest's, of `working`; 0: none
  bool fits = false;                                  ///< into both
  std::optional<baleen_device_limits_t> device = {};  ///< that was counted for, where it describes itself
};

/// What other plans of the same job came to.
struct Advice {
  struct Tried {
    std::vector<std::string> changes;
    bool fits = false;
    std::uint64_t total = 0;  ///< bytes of the rank that holds most
    double flops = 0;         ///< of the rank that computes most, per step
    std::uint64_t sent = 0;   ///< bytes of the rank that sends most, per step
    std::uint64_t moved = 0;  ///< of that which moves most to and from places outside its device, per step
    std::string other_numbers =
        {};  ///< why training has other numbers than by the plan that does not fit; "": it has not
  };
  std::vector<Tried> tried;  ///< those that fit first, then by total
  std::size_t refused = 0;   ///< alternatives that are none
  bool is_over = true;       ///< nothing was left out for the time that it takes
};

/// What a step takes at least: the seconds that a place outside the device needs for the bytes that the ranks of a host
/// get from it, or for those that they put, whichever is most; places work side by side. 0 where none was measured.
double moving_seconds(const PlannedClass& one);

struct PlanReport {
  std::string script;
  Mesh mesh;
  std::int64_t ranks = 1;
  std::int64_t parameters = 0;  ///< elements of the model
  std::vector<PlannedClass> classes;
  std::vector<std::string> notes;  ///< of annotations and strategies
  std::string numbers;             ///< in what training differs from the script's own numbers; "": in rounding alone
  std::optional<Advice> advice;    ///< where it does not fit
  Status verdict;                  ///< the first refusal of a class that does not fit, if there is one
};

/// "ranks 0-6, 8".
std::string ranks_text(const RankClass& ranks);
/// "1,234,567".
std::string with_commas(std::uint64_t number);
/// "1.2 TFLOP".
std::string flops_text(double flops);
/// A table per class.
std::string to_text(const PlanReport& report);
/// One object; names of bytes are those of a run's closing record ("planned_bytes", "sent_bytes" by "KIND.AXES").
std::string to_json(const PlanReport& report);
Json json_of(const PlanReport& report);

}  // namespace baleen::app
