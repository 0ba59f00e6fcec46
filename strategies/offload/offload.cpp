/// \file The strategy `offload`: states of the optimizer, parameters, gradients and activations lie outside the device
/// between their uses (Rajbhandari et al., arXiv 2104.07857; granular as in Lin et al., arXiv 2110.03888).
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "baleen/pattern.hpp"
#include "tiles.hpp"
#include "values.hpp"

BALEEN_DESCRIPTOR("strategy", "offload", "1.0.0", "Apache-2.0",
                  "states, parameters, gradients, activations outside the device between uses", 0, "",
                  BALEEN_OPTION("states", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "",
                                "patterns of names of states (\"blocks.*\", \"*.exp_avg\"); none: all"),
                  BALEEN_OPTION("parameters", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "",
                                "patterns of names of parameters (\"blocks.*\", \"*\"); none: they stay"),
                  BALEEN_OPTION("gradients", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "",
                                "patterns of names of parameters whose gradients lie there; none: they stay"),
                  BALEEN_OPTION("activations", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "",
                                "patterns of names of layers (\"blocks.*\"): what the backward pass reads of them"),
                  BALEEN_OPTION("as_needed", BALEEN_OPTION_BOOL, 0, 0, 1, "false", "", "",
                                "only as much as a rank's device lacks; of all four kinds where none is named"),
                  BALEEN_OPTION("fraction", BALEEN_OPTION_FLOAT, 0, 0, 1, "1", "", "",
                                "of the bytes of each of these kinds, the largest first"),
                  BALEEN_OPTION("min_elements", BALEEN_OPTION_INT, 0, 1, 1e12, "1024", "", "",
                                "what is smaller stays where it is"),
                  BALEEN_OPTION("piece_mb", BALEEN_OPTION_FLOAT, 0, 0, 1e6, "4", "", "",
                                "MiB of a value that an elementwise update has in the device at a time; 0: all of it"),
                  BALEEN_OPTION("tile_mb", BALEEN_OPTION_FLOAT, 0, 0, 1e6, "0", "", "",
                                "MiB of a parameter that a product or an embedding reads at a time; 0: all of it"),
                  BALEEN_OPTION("delay_update", BALEEN_OPTION_BOOL, 0, 0, 1, "false", "", "",
                                "a step makes the update of the step before, in the midst of its backward pass"),
                  BALEEN_OPTION("update", BALEEN_OPTION_STRING, 0, 0, 0, "device", "device|host", "",
                                "who makes elementwise updates: the device, or the host's cores where states lie"),
                  BALEEN_OPTION("ahead", BALEEN_OPTION_INT, 0, 1, BALEEN_MAX_AHEAD, "2", "", "",
                                "uses, as updates and layers, that run while what a later one needs is on its way"));

namespace baleen::offload {

using namespace sdk;

namespace {

struct Options {
  std::vector<std::string> states;                              ///< patterns; none: all
  std::vector<std::string> parameters, gradients, activations;  ///< none: none of these
  bool as_needed = false;
  double fraction = 1;
  std::int64_t min_elements = 1;
  std::uint64_t piece_bytes = 0;  ///< 0: no pieces
  std::uint64_t tile_bytes = 0;   ///< 0: no tiles
  bool delays_update = false;
  bool updates_on_host = false;
  std::uint32_t ahead = 1;
};

class Offload : public Strategy {
 public:
  static Result<std::unique_ptr<Offload>> create(const Host&, const Settings& settings, MeshView) {
    Options options;
    for (auto [name, patterns] :
         {std::pair("states", &options.states), std::pair("parameters", &options.parameters),
          std::pair("gradients", &options.gradients), std::pair("activations", &options.activations)})
      for (const std::string_view pattern : settings.list(name)) patterns->emplace_back(pattern);
    options.as_needed = settings.boolean("as_needed");
    options.fraction = settings.number("fraction");
    options.min_elements = settings.integer("min_elements");
    const double piece = std::ceil(settings.number("piece_mb") * 1048576 / BALEEN_PIECE_BYTES);
    options.piece_bytes = static_cast<std::uint64_t>(piece) * BALEEN_PIECE_BYTES;
    options.tile_bytes = static_cast<std::uint64_t>(settings.number("tile_mb") * 1048576);
    options.delays_update = settings.boolean("delay_update");
    options.updates_on_host = settings.text("update") == "host";
    options.ahead = static_cast<std::uint32_t>(settings.integer("ahead"));
    return std::make_unique<Offload>(std::move(options));
  }
  explicit Offload(Options options) : options_(std::move(options)) {}

  bool claims(std::uint32_t) const override { return false; }

  Status rewrite(GraphView graph) override {
    if (options_.tile_bytes == 0) return {};
    Tiles tiles(graph, options_.tile_bytes);
    tiles.run();
    tiled_ =
        std::to_string(tiles.layers()) + " layers read " + std::to_string(tiles.parameters()) + " parameters in tiles";
    return {};
  }

  Status gradients(GraphView, Gradients gradients) override {
    if (options_.delays_update) gradients.delay_update();
    return {};
  }

  /// The train graph comes first. A program that learns beside it need not have what options name.
  Status schedule(GraphView graph, Scheduling scheduling) override {
    Values values(graph, scheduling);
    if (!tiled_.empty()) scheduling.note(tiled_);
    tiled_.clear();
    if (options_.delays_update && values.is_late()) {
      if (scheduling.micro_batches() > 1)
        return invalid(
            "`delay_update` hides an update in the backward pass of a step with one micro-batch, and here are " +
            std::to_string(scheduling.micro_batches()) +
            "; take `gradient_accumulation_steps = 1`, or leave it out: beside so many micro-batches an update is "
            "short");
      scheduling.note("each step makes the update of the step before, in the midst of its backward pass");
    }
    if (options_.as_needed) lacking_ = scheduling.lacking_bytes();
    moved_here_ = 0;
    const bool all = options_.as_needed && options_.states.empty() && options_.parameters.empty() &&
                     options_.gradients.empty() && options_.activations.empty();
    BALEEN_TRY(offload("states", values.states(), options_.states, true, scheduling));
    BALEEN_TRY(offload("parameters", values.parameters(), options_.parameters, all, scheduling));
    BALEEN_TRY(offload("gradients", values.gradients(), options_.gradients, all, scheduling));
    if (all || !options_.gradients.empty()) bound_sums(graph, scheduling);
    BALEEN_TRY(offload("activations", values.activations(), options_.activations, all, scheduling));
    chosen_.clear();
    return {};
  }

 private:
  /// `or_all`: without a pattern all of this kind go.
  Status offload(const std::string& what, std::vector<Stored> all, const std::vector<std::string>& patterns,
                 bool or_all, Scheduling& scheduling) {
    // Not that of std::ranges, whose result clang 14 cannot take.
    const auto behind = std::stable_partition(all.begin(), all.end(), [](const Stored& one) { return !one.is_part; });
    const std::vector<Stored> parts(behind, all.end());
    all.erase(behind, all.end());
    if (all.empty() || (patterns.empty() && !or_all)) return {};
    if (saw_.insert(what).second) BALEEN_TRY(check_patterns(what, patterns, all));
    std::uint64_t bytes = 0, stay = 0;
    std::size_t count = 0;
    for (const Stored& one : all) stay += one.bytes;
    std::vector<Stored> going = choose(all, patterns);
    if (options_.as_needed) going = needed(what, going, scheduling);
    for (const Stored& one : going) {
      if (!chosen_.insert(one.value).second) continue;
      scheduling.set_offloaded(one.value, options_.ahead);
      if (options_.piece_bytes > 0) scheduling.update_in_pieces(one.value, options_.piece_bytes);
      if (options_.updates_on_host && (what == "states" || what == "parameters")) scheduling.update_on_host(one.value);
      bytes += one.bytes;
      ++count;
    }
    for (const Stored& part : parts)
      if (part.elements >= options_.min_elements &&
          std::ranges::any_of(going, [&](const Stored& one) { return one.name == part.name; }))
        scheduling.set_offloaded(part.value, options_.ahead);
    if (what == "gradients" || what == "activations") {
      scheduling.note(std::to_string(count) + " of " + std::to_string(all.size()) + " " + what +
                      " lie outside the device where their uses are far apart");
      return {};
    }
    scheduling.note(std::to_string(count) + " of " + std::to_string(all.size()) + " " + what + ", " +
                    std::to_string(bytes) + " bytes of a rank, lie outside the device between their uses; " +
                    std::to_string(stay - bytes) + " bytes stay");
    return {};
  }

  /// Of those that may go, the largest first, as many as lack memory: each that is not more than still lacks, and then
  /// the smallest other one. Of states and parameters the first graph that is run and has one of this name decides,
  /// since the others find it where that one leaves it.
  std::vector<Stored> needed(const std::string& what, const std::vector<Stored>& may_go, Scheduling& scheduling) {
    const auto lasts = [&](const Stored& one) { return what == "states" || what == "parameters" || one.waits; };
    const auto key = [&](const Stored& one) { return what + " " + one.name; };
    std::vector<Stored> goes, stays;
    const auto go = [&](const Stored& one) {
      (lasts(one) ? moved_ : moved_here_) += held_bytes(what, one, scheduling);
      if (lasts(one)) goes_.insert_or_assign(key(one), true);
      goes.push_back(one);
    };
    const auto lacks = [&] { return lacking_ - std::min(lacking_, moved_ + moved_here_); };
    for (const Stored& one : may_go) {
      const auto decided = goes_.find(key(one));
      if (lasts(one) && decided != goes_.end()) {
        if (decided->second) goes.push_back(one);
      } else if (lacks() > 0 && held_bytes(what, one, scheduling) <= lacks()) {
        go(one);
      } else {
        stays.push_back(one);
      }
    }
    if (lacks() > 0 && !stays.empty()) {
      go(stays.back());
      stays.pop_back();
    }
    if (!stays.empty()) scheduling.could_do_more();
    if (lacking_ > 0)
      for (const Stored& one : stays)
        if (lasts(one)) goes_.emplace(key(one), false);
    return goes;
  }

  /// A rank holds the activations of a micro-batch.
  static std::uint64_t held_bytes(const std::string& what, const Stored& one, const Scheduling& scheduling) {
    return what == "activations" ? one.bytes / scheduling.micro_batches() : one.bytes;
  }

  /// What collectives sum up is there soon after they begin: two are under way, rather than all until the update.
  void bound_sums(GraphView graph, Scheduling& scheduling) const {
    std::vector<std::pair<std::uint32_t, baleen_op_t>> sums;  // by position
    for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
      const auto op = graph.op(id);
      if (!op || (op->kind() != "all_reduce" && op->kind() != "reduce_scatter")) continue;
      if (chosen_.contains(op->inputs()[0]) || chosen_.contains(op->outputs()[0]))
        sums.emplace_back(scheduling.position(id), id);
    }
    std::ranges::sort(sums);
    for (std::size_t i = 2; i < sums.size(); ++i) scheduling.must_complete_before(sums[i - 2].second, sums[i].second);
  }

  static bool matches_any(const std::vector<std::string>& patterns, const Stored& one) {
    return patterns.empty() ||
           std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(pattern, one.name); });
  }

  static Status check_patterns(const std::string& option, const std::vector<std::string>& patterns,
                               const std::vector<Stored>& all) {
    const std::string what = option == "states"        ? "state that the update alone reads"
                             : option == "activations" ? "value of the forward pass that the backward pass reads"
                             : option == "gradients"   ? "parameter that has a gradient"
                                                       : "parameter";
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
  std::string tiled_;                ///< to be told of the graph at hand
  std::set<std::string> saw_;        ///< kinds, in a graph
  std::set<baleen_value_t> chosen_;  ///< of the graph at hand
  /// Bytes, where only what is needed goes: `moved_` of states and parameters in all graphs so far, `moved_here_` of
  /// others in the graph at hand.
  std::uint64_t lacking_ = 0, moved_ = 0, moved_here_ = 0;
  std::map<std::string, bool> goes_;  ///< what lasts, in all graphs so far: by kind and name
};

}  // namespace
}  // namespace baleen::offload

BALEEN_STRATEGY(baleen::offload::Offload);
