/// \file The strategy `offload`: states of the optimizer lie outside the device between their uses (Rajbhandari et al.,
/// arXiv 2104.07857; granular as in Lin et al., arXiv 2110.03888).
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "baleen/pattern.hpp"
#include "baleen/strategy.hpp"

BALEEN_DESCRIPTOR(
    "strategy", "offload", "1.0.0", "Apache-2.0", "optimizer states outside the device between uses", 0, "",
    BALEEN_OPTION("states", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "",
                  "patterns of names of states (\"blocks.*\", \"*.exp_avg\"); none: all"),
    BALEEN_OPTION("fraction", BALEEN_OPTION_FLOAT, 0, 0, 1, "1", "", "", "of their bytes, the largest first"),
    BALEEN_OPTION("min_elements", BALEEN_OPTION_INT, 0, 1, 1e12, "1024", "", "", "smaller states stay where they are"),
    BALEEN_OPTION("ahead", BALEEN_OPTION_INT, 0, 1, BALEEN_MAX_AHEAD, "2", "", "",
                  "updates that run while the states of a later one are on their way"));

namespace baleen::offload {

using namespace sdk;

namespace {

struct Options {
  std::vector<std::string> patterns;
  double fraction = 1;
  std::int64_t min_elements = 1;
  std::uint32_t ahead = 1;
};

/// A state that the update alone reads.
struct State {
  baleen_value_t value = BALEEN_NONE;
  std::string name;
  std::uint64_t bytes = 0;  ///< of the rank that has most
  std::int64_t elements = 0;
};

class Offload : public Strategy {
 public:
  static Result<std::unique_ptr<Offload>> create(const Host&, const Settings& settings, MeshView) {
    Options options;
    for (const std::string_view pattern : settings.list("states")) options.patterns.emplace_back(pattern);
    options.fraction = settings.number("fraction");
    options.min_elements = settings.integer("min_elements");
    options.ahead = static_cast<std::uint32_t>(settings.integer("ahead"));
    return std::make_unique<Offload>(std::move(options));
  }
  explicit Offload(Options options) : options_(std::move(options)) {}

  bool claims(std::uint32_t) const override { return false; }

  /// The train graph comes first. A program that learns beside it need not have what options name.
  Status schedule(GraphView graph, Scheduling scheduling) override {
    const std::vector<State> all = states_of(graph, scheduling);
    if (all.empty()) return {};
    if (!std::exchange(seen_, true)) BALEEN_TRY(check_patterns(all));
    const std::vector<State> chosen = choose(all);
    std::uint64_t bytes = 0, stay = 0;
    for (const State& state : all) stay += state.bytes;
    for (const State& state : chosen) {
      scheduling.set_offloaded(state.value, options_.ahead);
      bytes += state.bytes;
    }
    scheduling.note(std::to_string(chosen.size()) + " of " + std::to_string(all.size()) + " states, " +
                    std::to_string(bytes) + " bytes of a rank, lie outside the device between their uses; " +
                    std::to_string(stay - bytes) + " bytes stay");
    return {};
  }

 private:
  static std::vector<State> states_of(GraphView& graph, const Scheduling& scheduling) {
    std::vector<State> states;
    for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
      const baleen_value_info_t value = graph.value(id);
      if (value.role != BALEEN_ROLE_STATE || scheduling.position(value.producer) == BALEEN_NONE) continue;
      if (!is_of_update(graph, id)) continue;
      const baleen_value_info_t info = graph.value(id);
      if (info.rank == 0) continue;  // a number, such as how many updates there were
      std::int64_t elements = 1;
      for (std::uint32_t d = 0; d < info.rank; ++d) elements *= info.shape[d];
      states.push_back({id, std::string(view(info.name)), scheduling.local_bytes(id), elements});
    }
    return states;
  }

  /// Read and assigned by ops of the update alone.
  static bool is_of_update(GraphView& graph, baleen_value_t id) {
    const baleen_value_info_t value = graph.value(id);
    const std::vector<baleen_op_t> users(value.users, value.users + value.user_count);
    int assigns = 0;
    for (const baleen_op_t user : users) {
      if (graph.info(user).phase != BALEEN_PHASE_UPDATE) return false;
      const auto op = graph.op(user);
      assigns += op->kind() == "assign" && op->inputs()[0] == id ? 1 : 0;
    }
    return assigns == 1 && users.size() > 1;
  }

  bool matches_any(const State& state) const {
    return options_.patterns.empty() || std::ranges::any_of(options_.patterns, [&](const std::string& pattern) {
             return matches(pattern, state.name);
           });
  }

  Status check_patterns(const std::vector<State>& all) const {
    for (const std::string& pattern : options_.patterns)
      if (std::ranges::none_of(all, [&](const State& state) { return matches(pattern, state.name); }))
        return invalid("`states`: \"" + pattern +
                       "\" matches no state that the update alone reads; their names are like `" + all.back().name +
                       "`");
    return {};
  }

  /// Of those that options name the largest, until they are the fraction of their bytes.
  std::vector<State> choose(const std::vector<State>& all) const {
    std::vector<State> named;
    double total = 0, taken = 0;
    for (const State& state : all) {
      if (state.elements < options_.min_elements || !matches_any(state)) continue;
      total += static_cast<double>(state.bytes);
      named.push_back(state);
    }
    std::ranges::stable_sort(named, std::greater(), &State::bytes);
    std::vector<State> chosen;
    for (const State& state : named) {
      if (taken >= options_.fraction * total) break;
      taken += static_cast<double>(state.bytes);
      chosen.push_back(state);
    }
    return chosen;
  }

  const Options options_;
  bool seen_ = false;  ///< a graph that learns
};

}  // namespace
}  // namespace baleen::offload

BALEEN_STRATEGY(baleen::offload::Offload);
