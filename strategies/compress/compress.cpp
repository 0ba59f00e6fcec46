/// \file The strategy `compress`: gradients travel in fewer bits along a mesh axis and are added up in fp32 before and
/// after. It changes collectives that others have asked for.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "baleen/dtype.hpp"
#include "baleen/pattern.hpp"
#include "baleen/strategy_tools.hpp"
#include "halves.hpp"
#include "power.hpp"
#include "quantised.hpp"
#include "reductions.hpp"

BALEEN_DESCRIPTOR(
    "strategy", "compress", "1.0.0", "Apache-2.0", "Gradients in fewer bits on the wire", 0, "",
    BALEEN_OPTION("method", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED, 1, 0, "", "bf16|fp16|8bit|1bit|powersgd", "",
                  "in what gradients travel"),
    BALEEN_OPTION("axis", BALEEN_OPTION_STRING, 0, 1, 0, "data", "", "", "the mesh axis to work along"),
    BALEEN_OPTION("min_elements", BALEEN_OPTION_INT, 0, 0, 1e15, "1024", "", "",
                  "gradients of fewer elements travel as they are"),
    BALEEN_OPTION("skip", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 0, 0, "", "", "",
                  "names of parameters whose gradients travel as they are; * stands for any text"),
    BALEEN_OPTION("block", BALEEN_OPTION_INT, 0, 32, 1048576, "1024", "", "",
                  "8bit, 1bit: elements that share a scale, a multiple of 32"),
    BALEEN_OPTION("rank", BALEEN_OPTION_INT, 0, 1, 4096, "4", "", "", "powersgd: columns of the two factors"),
    BALEEN_OPTION("min_gain", BALEEN_OPTION_FLOAT, 0, 0, 1e9, "2", "", "",
                  "powersgd: gradients that would shrink by less than this factor travel as they are"),
    BALEEN_OPTION("warmup_steps", BALEEN_OPTION_FLOAT, 0, 0, 1e9, "auto", "auto", "",
                  "1bit, powersgd: first steps in which nothing is compressed; auto: 100 for 1bit, 0 for powersgd"),
    BALEEN_OPTION("bucket_mb", BALEEN_OPTION_FLOAT, 0, 0, 1e6, "4", "", "",
                  "MiB of compressed gradients reduced together; 0: each alone"));

namespace baleen::compress {
namespace {

constexpr std::int64_t kBlock = 1024, kRank = 4, kBitsWarmup = 100;
constexpr double kGain = 2;

/// What the method does not read must be as it is by default, since it would be ignored.
Status check_read(const Options& options, bool says_warmup) {
  const bool quantises = options.method == Method::bytes || options.method == Method::bits;
  const bool power = options.method == Method::power;
  const std::tuple<const char*, bool, const char*> ignored[] = {
      {"block", !quantises && options.block != kBlock, "8bit and 1bit"},
      {"rank", !power && options.rank != kRank, "powersgd"},
      {"min_gain", !power && options.least_gain != kGain, "powersgd"},
      {"warmup_steps", !options.keeps_states() && says_warmup, "1bit and powersgd"},
  };
  for (const auto& [name, unread, of] : ignored)
    if (unread)
      return invalid("`" + std::string(name) + "` is of " + of + ", and the method is " + options.word +
                     "; leave it out");
  if (options.block % 32 != 0)
    return invalid("`block` is " + std::to_string(options.block) + "; take a multiple of 32, such as " +
                   std::to_string((options.block + 31) / 32 * 32));
  return {};
}

Result<Options> options_of(const Settings& settings, MeshView mesh) {
  static const std::map<std::string_view, Method> methods{{"bf16", Method::bf16},
                                                          {"fp16", Method::fp16},
                                                          {"8bit", Method::bytes},
                                                          {"1bit", Method::bits},
                                                          {"powersgd", Method::power}};
  Options options;
  options.word = settings.text("method");
  options.method = methods.at(options.word);
  BALEEN_TRY_ASSIGN(options.axis, axis_named(settings.text("axis"), mesh, "compress"));
  options.least = settings.integer("min_elements");
  for (const std::string_view pattern : settings.list("skip")) options.skip.emplace_back(pattern);
  options.block = settings.integer("block");
  options.rank = settings.integer("rank");
  options.least_gain = settings.number("min_gain");
  const bool says_warmup = settings.text("warmup_steps") != "auto";
  options.warmup = says_warmup                      ? static_cast<std::int64_t>(settings.number("warmup_steps"))
                   : options.method == Method::bits ? kBitsWarmup
                                                    : 0;
  options.bucket_bytes = static_cast<std::uint64_t>(settings.number("bucket_mb") * 1048576.0);
  BALEEN_TRY(check_read(options, says_warmup));
  if (says_warmup && settings.number("warmup_steps") != static_cast<double>(options.warmup))
    return invalid("`warmup_steps` is " + std::to_string(settings.number("warmup_steps")) + "; take a whole number");
  return options;
}

class Compress : public Strategy {
 public:
  static Result<std::unique_ptr<Compress>> create(const Host&, const Settings& settings, MeshView mesh) {
    BALEEN_TRY_ASSIGN(Options options, options_of(settings, mesh));
    return std::make_unique<Compress>(std::move(options), mesh);
  }
  Compress(Options options, MeshView mesh) : options_(std::move(options)), along_{mesh, options_.axis} {}

  /// It helps whoever divides the batch along the axis.
  bool claims(std::uint32_t) const override { return false; }

  std::uint64_t begin(std::uint64_t step) override {
    const auto warmup = static_cast<std::uint64_t>(divides() ? options_.warmup : 0);
    warm_ = step >= warmup;
    return warm_ ? 0 : warmup;
  }

  Status gradients(GraphView graph, Gradients gradients) override {
    states_.clear();
    BALEEN_TRY(check_skipped(gradients));
    if (!divides() || gradients.dtype() != BALEEN_F32) return {};
    const std::vector<baleen_gradient_t> all = gradients.all();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const baleen_value_info_t value = graph.value(all[i].parameter);
      const std::vector<std::int64_t> shape(value.shape, value.shape + value.rank);
      if (!is_compressed(view(all[i].name), shape)) continue;
      const bool narrows = !options_.halves() || graph.value(all[i].gradient).dtype == BALEEN_F32;
      if (warm_ && narrows) gradients.approximate(i, options_.error());
      if (options_.keeps_states())
        states_[std::string(view(all[i].name))] = add_states(graph, gradients, all[i], shape);
    }
    return {};
  }

  Status place(GraphView graph, Placing placing) override {
    along_.micro_batches = placing.micro_batches();
    parameters_.clear();
    for (const baleen_trained_t& trained : placing.trained())
      parameters_[trained.gradient] = view(graph.value(trained.parameter).name);
    if (warm_ && !parameters_.empty())
      for (const auto& [name, states] : states_)
        for (const Kept& kept : {states.error, states.behind})
          if (kept) placing.set_storage_sharding(kept.state, options_.axis, shard(0));
    return {};
  }

  Status lower(GraphView graph) override {
    compressed_ = 0;
    dtype_ = BALEEN_F32;
    const std::vector<Reduction> found = reductions_of(graph, along_, parameters_);
    found_ = found.size();
    for (const Reduction& one : found) {
      const baleen_dtype_t dtype = graph.value(one.input).dtype;
      if (dtype != BALEEN_F32) dtype_ = dtype;
      const bool narrow = options_.halves() ? dtype == BALEEN_F32 : dtype != BALEEN_F64;
      if (!warm_ || !narrow || !is_compressed(one.name, one.whole)) continue;
      if (options_.halves()) {
        lower_halves(graph, one, options_.half());
      } else {
        BALEEN_TRY(check_reduction(graph, one, along_, options_));
        lower(graph, one);
      }
      ++compressed_;
    }
    if (found_ > 0 || !learns(graph) || !divides()) return {};
    return invalid("no gradient is summed along the mesh axis `" + axis_name() +
                   "` alone, so nothing travels there in fewer bits; name the axis of `data` or `zero` with the option "
                   "`axis`, or leave the strategy out");
  }

  Status schedule(GraphView graph, Scheduling scheduling) override {
    if (found_ > 0 && warm_) scheduling.note(told());
    std::map<std::pair<std::string, std::string>, std::vector<ListedCollective>> alike;
    for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
      const auto op = graph.op(id);
      if (!op || graph.tag(id, kTag).empty() || !graph.tag(id, "bucket").empty()) continue;
      const baleen_value_t input = op->inputs()[0], output = op->outputs()[0];
      const std::string kind(op->kind()), tag(graph.tag(id, kTag));
      if (kind == "pointwise") continue;
      alike[{kind, tag}].push_back({id, input, output, scheduling.position(id),
                                    std::max(scheduling.local_bytes(input), scheduling.local_bytes(output)),
                                    graph.value(input).dtype});
    }
    for (auto& [kind, list] : alike) {
      std::ranges::sort(list, {}, &ListedCollective::position);
      bound_in_flight(scheduling, coalesce_by_size(scheduling, list, options_.bucket_bytes));
    }
    return {};
  }

 private:
  bool divides() const { return options_.axis != kNoAxis && along_.mesh.size(options_.axis) > 1; }
  std::string axis_name() const { return std::string(along_.mesh.name(options_.axis)); }

  bool is_compressed(std::string_view name, std::span<const std::int64_t> shape) const {
    const auto fits = [&](const std::string& pattern) { return matches(pattern, name); };
    if (elements(shape) < options_.least || std::ranges::any_of(options_.skip, fits)) return false;
    // Bits of one number and the block's scale are longer than the number.
    if (options_.method == Method::bits && elements(shape) == 1) return false;
    return options_.method != Method::power || power_shape(shape, options_.rank).gain() >= options_.least_gain;
  }

  /// Each pattern stands for a parameter.
  Status check_skipped(const Gradients& gradients) const {
    const std::vector<baleen_gradient_t> all = gradients.all();
    for (const std::string& pattern : options_.skip) {
      const auto fits = [&](const baleen_gradient_t& one) { return matches(pattern, view(one.name)); };
      if (std::ranges::none_of(all, fits))
        return invalid("`skip` names `" + pattern +
                       "`, and no parameter that is trained is called so; take names as `" +
                       (all.empty() ? std::string() : std::string(view(all.front().name))) + "`, with * for any text");
    }
    return {};
  }

  static bool learns(GraphView& graph) {
    for (baleen_op_t id = 0; id < graph.op_count(); ++id)
      if (graph.op(id) && graph.info(id).phase == BALEEN_PHASE_BACKWARD) return true;
    return false;
  }

  /// Until `lower` knows better a state stays as it is; while nothing is compressed nobody reads it.
  Kept keep(GraphView& graph, baleen_value_t state) const {
    if (!warm_) return {};
    const baleen_value_t next = graph.cast(state, BALEEN_F32);
    graph.assign(state, next);
    return {state, next};
  }

  States add_states(GraphView& graph, Gradients& gradients, const baleen_gradient_t& one,
                    std::span<const std::int64_t> shape) const {
    const std::string name = axis_name() + "." + std::string(view(one.name)) + ".";
    const std::int64_t ranks = along_.mesh.size(options_.axis), count = elements(shape);
    States states;
    states.error = keep(graph, gradients.add_terms(name + "error", std::array{ranks, count}));
    if (options_.method == Method::bits) {
      states.behind = keep(graph, graph.add_state(name + "sum_error", BALEEN_F32, 0, std::array{count}));
      const baleen_value_t square = graph.add_state(name + "square", BALEEN_F32, 0, shape);
      states.square = keep(graph, square);
      states.mean = keep(graph, graph.add_state(name + "mean", BALEEN_F32, 0, shape));
      if (!warm_) measure(graph, square, one.gradient);
    }
    if (options_.method == Method::power) {
      const PowerShape power = power_shape(shape, options_.rank);
      states.factor =
          keep(graph, graph.add_state(name + "factor", BALEEN_F32, 0, std::array{power.columns, power.rank}));
    }
    return states;
  }

  /// In the warm-up: a running mean of squares of the whole sum.
  static void measure(GraphView& graph, baleen_value_t square, baleen_value_t gradient) {
    const Value before(graph.table(), square), sum(graph.table(), gradient);
    const Value wide = sum.info().dtype == BALEEN_F32 ? sum : cast(sum, BALEEN_F32);
    graph.assign(square, (0.99 * before + 0.01 * (wide * wide)).id());
  }

  void lower(GraphView& graph, const Reduction& reduction) const {
    const auto found = states_.find(reduction.name);
    States states = found == states_.end() ? States() : found->second;
    if (options_.method == Method::power)
      lower_power(graph, reduction, options_, states);
    else
      lower_quantised(graph, reduction, options_, states);
  }

  std::string told() const {
    if (dtype_ == BALEEN_F64) return "fp64 checks the plan: gradients travel as they are";
    if (dtype_ != BALEEN_F32 && compressed_ == 0) return "gradients have 16 bits already and travel as they are";
    const std::string what = options_.method == Method::power   ? "as factors of rank " + std::to_string(options_.rank)
                             : options_.method == Method::bits  ? "in 1 bit per element"
                             : options_.method == Method::bytes ? "in 8 bits per element"
                                                                : "in " + std::string(dtype_name(options_.half()));
    return std::to_string(compressed_) + " of " + std::to_string(found_) + " gradients travel " + what + " along `" +
           axis_name() + "`" +
           (options_.warmup > 0 ? " from step " + std::to_string(options_.warmup) + " on, counted from 0" : "");
  }

  const Options options_;
  Along along_;
  bool warm_ = true;                                  ///< the graph at hand is of steps behind the warm-up
  std::map<std::string, States> states_;              ///< by parameter, of the graph at hand
  std::map<baleen_value_t, std::string> parameters_;  ///< by gradient, of the graph at hand
  std::size_t found_ = 0, compressed_ = 0;            ///< sums along the axis in the graph that was lowered last
  baleen_dtype_t dtype_ = BALEEN_F32;                 ///< of those that are not fp32
};

}  // namespace
}  // namespace baleen::compress

BALEEN_STRATEGY(baleen::compress::Compress);
