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
                  BALEEN_OPTION("states", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "**", "", "",
                                "patterns of names of states (\"blocks.*\", \"*.exp_avg\"); \"**\": all"),
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
  std::map<std::string, std::vector<std::string>> patterns;  ///< by kind
  bool as_needed = false;
  double fraction = 1;
  std::int64_t min_elements = 1;
  std::uint64_t piece_bytes = 0;  ///< 0: no pieces
  std::uint64_t tile_bytes = 0;   ///< 0: no tiles
  bool delays_update = false;
  bool updates_on_host = false;
  std::uint32_t ahead = 1;
};

/// Of states, where none are named.
constexpr std::string_view kAll = "**";
constexpr const char* kKinds[] = {"states", "parameters", "gradients", "activations"};

class Offload : public Strategy {
 public:
  static Result<std::unique_ptr<Offload>> create(const Host&, const Settings& settings, MeshView) {
    Options options;
    for (const char* kind : kKinds)
      for (const std::string_view pattern : settings.list(kind)) options.patterns[kind].emplace_back(pattern);
    options.as_needed = settings.boolean("as_needed");
    options.fraction = settings.number("fraction");
    options.min_elements = settings.integer("min_elements");
    const double piece = std::ceil(settings.number("piece_mb") * 1048576 / BALEEN_PIECE_BYTES);
    options.piece_bytes = static_cast<std::uint64_t>(piece) * BALEEN_PIECE_BYTES;
    options.tile_bytes = static_cast<std::uint64_t>(settings.number("tile_mb") * 1048576);
    if (settings.number("tile_mb") > 0 && options.tile_bytes == 0)
      return invalid("`tile_mb` is less than a byte; take a greater one, or 0 for no tiles");
    options.delays_update = settings.boolean("delay_update");
    options.updates_on_host = settings.text("update") == "host";
    options.ahead = static_cast<std::uint32_t>(settings.integer("ahead"));
    if (options.patterns.empty() && options.tile_bytes == 0 && !options.delays_update)
      return invalid(
          "`states` is empty and no other option names anything, so nothing would lie outside; name some, "
          "or leave the strategy out");
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
      is_late_ = true;
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
    offload("states", values.states(), scheduling);
    offload("parameters", values.parameters(), scheduling);
    offload("gradients", values.gradients(), scheduling);
    if (!patterns_of("gradients").empty()) bound_sums(graph, scheduling);
    offload("activations", values.activations(), scheduling);
    chosen_.clear();
    return {};
  }

  Status finish() override {
    if (options_.delays_update && !is_late_)
      return invalid("`delay_update`: the job has no step whose update could be that of the step before; leave it out");
    for (const auto& [kind, patterns] : options_.patterns)
      for (const std::string& pattern : patterns)
        if (pattern != kAll && !matched_.contains({kind, pattern})) return no_match(kind, pattern);
    return {};
  }

 private:
  /// What options name of a kind; all of each where only what is needed goes and they name nothing.
  std::vector<std::string> patterns_of(const std::string& kind) const {
    const auto named = options_.patterns.find(kind);
    const bool names_all = options_.patterns.size() == 1 && options_.patterns.begin()->first == kKinds[0] &&
                           options_.patterns.begin()->second == std::vector<std::string>{std::string(kAll)};
    if (options_.as_needed && names_all) return {std::string(kAll)};
    return named == options_.patterns.end() ? std::vector<std::string>() : named->second;
  }

  void offload(const std::string& what, std::vector<Stored> all, Scheduling& scheduling) {
    const std::vector<std::string> patterns = patterns_of(what);
    // Not that of std::ranges, whose result clang 14 cannot take.
    const auto behind = std::stable_partition(all.begin(), all.end(), [](const Stored& one) { return !one.is_part; });
    const std::vector<Stored> parts(behind, all.end());
    all.erase(behind, all.end());
    if (all.empty() || patterns.empty()) return;
    note_matches(what, patterns, all);
    if (what == "activations" && stays_in_pipeline(all, scheduling)) return;
    std::vector<Stored> going = choose(all, patterns);
    if (options_.as_needed) going = needed(what, going, scheduling);
    std::vector<Stored> gone;
    for (const Stored& one : going) {
      if (!chosen_.insert(one.value).second) continue;
      scheduling.set_offloaded(one.value, options_.ahead);
      if (options_.piece_bytes > 0) scheduling.update_in_pieces(one.value, options_.piece_bytes);
      if (options_.updates_on_host && (what == "states" || what == "parameters")) scheduling.update_on_host(one.value);
      gone.push_back(one);
    }
    for (const Stored& part : parts)
      if (part.elements >= options_.min_elements &&
          std::ranges::any_of(going, [&](const Stored& one) { return one.name == part.name; }))
        scheduling.set_offloaded(part.value, options_.ahead);
    tell(what, all, gone, scheduling);
  }

  /// Of the ranks of a pipeline that which has most outside.
  void tell(const std::string& what, const std::vector<Stored>& all, const std::vector<Stored>& gone,
            Scheduling& scheduling) const {
    const std::string count = std::to_string(gone.size()) + " of " + std::to_string(all.size()) + " " + what;
    if (what == "gradients" || what == "activations") {
      scheduling.note(count + " lie outside the device wherever more than " + std::to_string(options_.ahead) +
                      " uses lie between two of theirs");
      return;
    }
    std::pair<std::uint64_t, std::uint64_t> most;  // outside, and in all
    for (const std::string& stage : stages_of(all))
      most = std::max(most, {bytes_at(stage, gone), bytes_at(stage, all)});
    scheduling.note(count + ", " + std::to_string(most.first) +
                    " bytes of a rank, lie outside the device between their "
                    "uses; " +
                    std::to_string(most.second - most.first) + " bytes stay");
  }

  static std::vector<std::string> stages_of(const std::vector<Stored>& all) {
    std::set<std::string> stages;
    for (const Stored& one : all) stages.insert(one.stage);
    if (stages.size() > 1) stages.erase("");  // what all ranks have counts with each
    return {stages.begin(), stages.end()};
  }
  static std::uint64_t bytes_at(const std::string& stage, const std::vector<Stored>& some) {
    std::uint64_t bytes = 0;
    for (const Stored& one : some) bytes += one.stage == stage || one.stage.empty() ? one.bytes : 0;
    return bytes;
  }

  /// Several micro-batches of what a pipeline's ranks make are under way, each in a buffer of its own.
  static bool stays_in_pipeline(const std::vector<Stored>& all, Scheduling& scheduling) {
    if (scheduling.micro_batches() == 1 || stages_of(all).size() < 2) return false;
    scheduling.note("activations stay in the device: in a pipeline several micro-batches of them are under way");
    return true;
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
    return std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(pattern, one.name); });
  }

  void note_matches(const std::string& kind, const std::vector<std::string>& patterns, const std::vector<Stored>& all) {
    for (const Stored& one : all) {
      names_[kind].insert(one.name);
      for (const std::string& pattern : patterns)
        if (matches(pattern, one.name)) matched_.insert({kind, pattern});
    }
  }

  /// With the name that has most of the pattern's beginning.
  Error no_match(const std::string& kind, const std::string& pattern) const {
    const std::string what = kind == "states"        ? "state that the update alone reads"
                             : kind == "activations" ? "value of the forward pass that the backward pass reads"
                             : kind == "gradients"   ? "parameter that has a gradient"
                                                     : "parameter";
    std::string text = "`" + kind + "`: \"" + pattern + "\" matches no " + what;
    const auto names = names_.find(kind);
    if (names == names_.end()) return invalid(text + ", of which the job has none");
    const auto common = [&](const std::string& name) {
      return std::mismatch(name.begin(), name.end(), pattern.begin(), pattern.end()).first - name.begin();
    };
    return invalid(text + "; their names are like `" + *std::ranges::max_element(names->second, {}, common) + "`");
  }

  /// Of those that options name the largest, until they are the fraction of their bytes, of each stage of a pipeline.
  std::vector<Stored> choose(const std::vector<Stored>& all, const std::vector<std::string>& patterns) const {
    std::vector<Stored> named;
    std::map<std::string, double> total, taken;  // by stage
    for (const Stored& one : all) {
      if (one.elements < options_.min_elements || !matches_any(patterns, one)) continue;
      total[one.stage] += static_cast<double>(one.bytes);
      named.push_back(one);
    }
    std::ranges::stable_sort(named, std::greater(), &Stored::bytes);
    std::vector<Stored> chosen;
    for (const Stored& one : named) {
      if (taken[one.stage] >= options_.fraction * total[one.stage]) continue;
      taken[one.stage] += static_cast<double>(one.bytes);
      chosen.push_back(one);
    }
    return chosen;
  }

  const Options options_;
  std::string tiled_;                                      ///< to be told of the graph at hand
  bool is_late_ = false;                                   ///< a graph makes the update of the step before
  std::map<std::string, std::set<std::string>> names_;     ///< that any graph has, by kind
  std::set<std::pair<std::string, std::string>> matched_;  ///< kinds and patterns, in any graph
  std::set<baleen_value_t> chosen_;                        ///< of the graph at hand
  /// Bytes, where only what is needed goes: `moved_` of states and parameters in all graphs so far, `moved_here_` of
  /// others in the graph at hand.
  std::uint64_t lacking_ = 0, moved_ = 0, moved_here_ = 0;
  std::map<std::string, bool> goes_;  ///< what lasts, in all graphs so far: by kind and name
};

}  // namespace
}  // namespace baleen::offload

BALEEN_STRATEGY(baleen::offload::Offload);
