/// \file The strategy `offload`: states of the optimizer and parameters lie outside the device between their uses
/// (Rajbhandari et al., arXiv 2104.07857; granular as in Lin et al., arXiv 2110.03888).
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "baleen/pattern.hpp"
#include "baleen/strategy.hpp"

BALEEN_DESCRIPTOR("strategy", "offload", "1.0.0", "Apache-2.0",
                  "optimizer states and parameters outside the device between uses", 0, "",
                  BALEEN_OPTION("states", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "",
                                "patterns of names of states (\"blocks.*\", \"*.exp_avg\"); none: all"),
                  BALEEN_OPTION("parameters", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "",
                                "patterns of names of parameters (\"blocks.*\", \"*\"); none: they stay"),
                  BALEEN_OPTION("fraction", BALEEN_OPTION_FLOAT, 0, 0, 1, "1", "", "",
                                "of the bytes of these states, and of these parameters, the largest first"),
                  BALEEN_OPTION("min_elements", BALEEN_OPTION_INT, 0, 1, 1e12, "1024", "", "",
                                "what is smaller stays where it is"),
                  BALEEN_OPTION("ahead", BALEEN_OPTION_INT, 0, 1, BALEEN_MAX_AHEAD, "2", "", "",
                                "uses, as updates and layers, that run while what a later one needs is on its way"));

namespace baleen::offload {

using namespace sdk;

namespace {

struct Options {
  std::vector<std::string> states, parameters;  ///< patterns; no states: all, no parameters: none
  double fraction = 1;
  std::int64_t min_elements = 1;
  std::uint32_t ahead = 1;
};

/// A state that the update alone reads, or a parameter.
struct Stored {
  baleen_value_t value = BALEEN_NONE;
  std::string name;
  std::uint64_t bytes = 0;  ///< of the rank that has most
  std::int64_t elements = 0;
};

class Offload : public Strategy {
 public:
  static Result<std::unique_ptr<Offload>> create(const Host&, const Settings& settings, MeshView) {
    Options options;
    for (const std::string_view pattern : settings.list("states")) options.states.emplace_back(pattern);
    for (const std::string_view pattern : settings.list("parameters")) options.parameters.emplace_back(pattern);
    options.fraction = settings.number("fraction");
    options.min_elements = settings.integer("min_elements");
    options.ahead = static_cast<std::uint32_t>(settings.integer("ahead"));
    return std::make_unique<Offload>(std::move(options));
  }
  explicit Offload(Options options) : options_(std::move(options)) {}

  bool claims(std::uint32_t) const override { return false; }

  /// The train graph comes first. A program that learns beside it need not have what options name.
  Status schedule(GraphView graph, Scheduling scheduling) override {
    const std::vector<Stored> states = stored_in(graph, scheduling, BALEEN_ROLE_STATE);
    if (!states.empty() && !std::exchange(saw_states_, true))
      BALEEN_TRY(check_patterns("states", options_.states, states, "state that the update alone reads"));
    if (!states.empty()) offload("states", states, options_.states, scheduling);
    if (options_.parameters.empty()) return {};
    const std::vector<Stored> parameters = stored_in(graph, scheduling, BALEEN_ROLE_PARAMETER);
    if (!parameters.empty() && !std::exchange(saw_parameters_, true))
      BALEEN_TRY(check_patterns("parameters", options_.parameters, parameters, "parameter"));
    if (!parameters.empty()) offload("parameters", parameters, options_.parameters, scheduling);
    return {};
  }

 private:
  void offload(const std::string& what, const std::vector<Stored>& all, const std::vector<std::string>& patterns,
               Scheduling& scheduling) const {
    const std::vector<Stored> chosen = choose(all, patterns);
    std::uint64_t bytes = 0, stay = 0;
    for (const Stored& one : all) stay += one.bytes;
    for (const Stored& one : chosen) {
      scheduling.set_offloaded(one.value, options_.ahead);
      bytes += one.bytes;
    }
    scheduling.note(std::to_string(chosen.size()) + " of " + std::to_string(all.size()) + " " + what + ", " +
                    std::to_string(bytes) + " bytes of a rank, lie outside the device between their uses; " +
                    std::to_string(stay - bytes) + " bytes stay");
  }

  static std::vector<Stored> stored_in(GraphView& graph, const Scheduling& scheduling, baleen_role_t role) {
    std::vector<Stored> all;
    for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
      const baleen_value_info_t value = graph.value(id);
      if (value.role != role || scheduling.position(value.producer) == BALEEN_NONE) continue;
      if (role == BALEEN_ROLE_STATE && !is_of_update(graph, id)) continue;
      if (role == BALEEN_ROLE_PARAMETER && !is_parameter(graph, value.producer)) continue;
      const baleen_value_info_t info = graph.value(id);
      if (info.rank == 0) continue;  // a number, such as how many updates there were
      std::int64_t elements = 1;
      for (std::uint32_t d = 0; d < info.rank; ++d) elements *= info.shape[d];
      all.push_back({id, std::string(view(info.name)), scheduling.local_bytes(id), elements});
    }
    return all;
  }

  /// And no compute copy of one, which an op makes.
  static bool is_parameter(GraphView& graph, baleen_op_t producer) { return graph.op(producer)->inputs().empty(); }

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

  static bool matches_any(const std::vector<std::string>& patterns, const Stored& one) {
    return patterns.empty() ||
           std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(pattern, one.name); });
  }

  static Status check_patterns(const std::string& option, const std::vector<std::string>& patterns,
                               const std::vector<Stored>& all, const std::string& what) {
    for (const std::string& pattern : patterns)
      if (std::ranges::none_of(all, [&](const Stored& one) { return matches(pattern, one.name); }))
        return invalid("`" + option + "`: \"" + pattern + "\" matches no " + what + "; their names are like `" +
                       all.back().name + "`");
    return {};
  }

  /// Of those that options name the largest, until they are the fraction of their bytes.
  std::vector<Stored> choose(const std::vector<Stored>& all, const std::vector<std::string>& patterns) const {
    std::vector<Stored> named;
    double total = 0, taken = 0;
    for (const Stored& one : all) {
      if (one.elements < options_.min_elements || !matches_any(patterns, one)) continue;
      total += static_cast<double>(one.bytes);
      named.push_back(one);
    }
    std::ranges::stable_sort(named, std::greater(), &Stored::bytes);
    std::vector<Stored> chosen;
    for (const Stored& one : named) {
      if (taken >= options_.fraction * total) break;
      taken += static_cast<double>(one.bytes);
      chosen.push_back(one);
    }
    return chosen;
  }

  const Options options_;
  bool saw_states_ = false, saw_parameters_ = false;  ///< in a graph
};

}  // namespace
}  // namespace baleen::offload

BALEEN_STRATEGY(baleen::offload::Offload);
