/// \file The strategy `recompute`: activations that the backward pass reads are computed again rather than kept (Chen
/// et al., arXiv 1604.06174; Korthikanti et al., arXiv 2205.05198).
#include <cmath>
#include <string>
#include <utility>

#include "budget_search.hpp"
#include "selection.hpp"

BALEEN_DESCRIPTOR(
    "strategy", "recompute", "1.0.0", "Apache-2.0", "Activations computed again in the backward pass, not kept", 0, "",
    BALEEN_OPTION("mode", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED, 1, 0, "", "full|selective|every|auto", "",
                  "full: all blocks; selective: cheap ops; every: some blocks; auto: what a budget takes"),
    BALEEN_OPTION("blocks", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "",
                  "full, every, auto: paths of the layers that are blocks; none: those of nn.repeated"),
    BALEEN_OPTION("interval", BALEEN_OPTION_INT, 0, 1, 1e6, "2", "", "",
                  "every: each block whose number it divides, from 1"),
    BALEEN_OPTION("ops", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "",
                  "selective: kinds of ops, or paths of layers, that run again; none: attention"),
    BALEEN_OPTION("flops_per_byte", BALEEN_OPTION_FLOAT, 0, 0, 1e9, "10", "", "",
                  "selective: so do ops that compute at most so much per byte that they make"),
    BALEEN_OPTION("budget_mb", BALEEN_OPTION_FLOAT, 0, 0, 1e9, "0", "", "",
                  "auto: MiB that a rank may hold at once beside model states; 0: the manifest's activations_mb"));

namespace baleen::recompute {

using namespace sdk;

namespace {

constexpr double kMebibyte = 1048576;
/// Forward ops times plans that are tried: a second or two, since trying one takes about 50 us for each op.
constexpr std::size_t kPatience = 30'000;

struct Options {
  std::string mode;
  std::vector<std::string> blocks;
  int interval = 2;
  CheapOps cheap;
  std::uint64_t budget = 0;  ///< bytes
  double budget_mb = 0;      ///< as it was given
};

std::vector<std::string> texts(const std::vector<std::string_view>& list) { return {list.begin(), list.end()}; }

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", number);
  return text;
}

/// "1234567 bytes (1.178 MiB)": what is written as an option is enough.
std::string bytes_text(std::uint64_t bytes) {
  return std::to_string(bytes) + " bytes (" +
         number_text(std::ceil(static_cast<double>(bytes) / kMebibyte * 1000) / 1000) + " MiB)";
}

/// What a mode does not read must be as it is by default, since it would be ignored.
Status check_read(const Options& given, const Settings& settings) {
  const auto is = [&](const char* mode) { return given.mode == mode; };
  const std::pair<const char*, bool> of_others[] = {
      {"blocks", is("selective") && !given.blocks.empty()},
      {"interval", !is("every") && settings.integer("interval") != 2},
      {"ops", !is("selective") && !given.cheap.patterns.empty()},
      {"flops_per_byte", !is("selective") && given.cheap.flops_per_byte != 10},
      {"budget_mb", !is("auto") && given.budget_mb != 0},
  };
  constexpr const char* kModes[] = {"mode = \"full\", \"every\" and \"auto\"", "mode = \"every\"",
                                    "mode = \"selective\"", "mode = \"selective\"", "mode = \"auto\""};
  for (std::size_t i = 0; i < std::size(of_others); ++i)
    if (of_others[i].second)
      return invalid("`" + std::string(of_others[i].first) + "` is of " + kModes[i] + ", and the mode is \"" +
                     given.mode + "\"; leave it out, or take another mode");
  return {};
}

class Recompute : public Strategy {
 public:
  static Result<std::unique_ptr<Recompute>> create(const Host&, const Settings& settings, MeshView) {
    Options options;
    options.mode = settings.text("mode");
    options.blocks = texts(settings.list("blocks"));
    options.interval = static_cast<int>(settings.integer("interval"));
    options.cheap = {texts(settings.list("ops")), settings.number("flops_per_byte")};
    options.budget_mb = settings.number("budget_mb");
    options.budget = static_cast<std::uint64_t>(options.budget_mb * kMebibyte);
    BALEEN_TRY(check_read(options, settings));
    return std::make_unique<Recompute>(std::move(options));
  }
  explicit Recompute(Options options) : options_(std::move(options)) {}

  bool claims(std::uint32_t) const override { return false; }

  /// The train graph comes first. A program of the script that learns beside it need not have what options name.
  Status recompute(GraphView graph, Recomputing recompute) override {
    const ForwardPass pass = ForwardPass::of(graph, recompute);
    if (pass.size() == 0) return {};
    const Result<Chosen> chosen = choose(pass, recompute);
    if (!chosen && (!seen_ || chosen.error().code != BALEEN_INVALID)) return chosen.error();
    seen_ = true;
    if (!chosen) return {};
    const std::vector<baleen_op_t> ops = pass.ids(*chosen);
    recompute.note(told(pass, *chosen, recompute.peak({}), recompute.peak(ops)));
    recompute.recompute(ops);
    return {};
  }

 private:
  Result<Chosen> choose(const ForwardPass& pass, Recomputing& recompute) const {
    if (options_.mode == "selective") return cheap_ops(pass, options_.cheap);
    BALEEN_TRY_ASSIGN(const Blocks blocks, find_blocks(pass, options_.blocks));
    if (options_.mode == "auto") return within_budget(pass, blocks, recompute);
    if (blocks.count() == 0)
      return invalid("mode = \"" + options_.mode +
                     "\" is about blocks, and the model has none: make its layers with nn.repeated, or name them with "
                     "the option `blocks`, by their paths");
    if (options_.mode == "full") return whole_blocks(pass, blocks, 1);
    if (options_.interval > blocks.count())
      return invalid("`interval` is " + std::to_string(options_.interval) + ", and the model has " +
                     std::to_string(blocks.count()) + (blocks.count() == 1 ? " block" : " blocks") +
                     ": none would run again; take at most as many");
    return whole_blocks(pass, blocks, options_.interval);
  }

  Result<Chosen> within_budget(const ForwardPass& pass, const Blocks& blocks, Recomputing& recompute) const {
    // The manifest's bound counts scratch too, which is known when kernels have been compiled.
    const std::uint64_t budget = options_.budget > 0 ? options_.budget : recompute.budget() / 8 * 7;
    if (budget == 0)
      return invalid(
          "mode = \"auto\" needs a budget: give `budget_mb`, or `activations_mb` in the manifest's [memory]");
    BudgetSearch::Limits limits;
    limits.tries = std::clamp<std::size_t>(kPatience / pass.size(), 80, 2000);
    BudgetSearch search(
        pass, blocks, [&](const Chosen& needed) { return recompute.peak(pass.ids(needed)); }, limits);
    if (const auto plan = search.within(budget)) return plan->needed;
    const std::string name = options_.budget > 0 ? "`budget_mb` is " + number_text(options_.budget_mb)
                                                 : "seven eighths of the manifest's `activations_mb` are " +
                                                       number_text(static_cast<double>(budget) / kMebibyte);
    return Error{BALEEN_NO_MEMORY,
                 name + ", and the forward and backward pass hold at least " + bytes_text(search.least().bytes) +
                     " at once whatever runs again, " + bytes_text(search.without()) +
                     " where nothing does; give that much, more micro-batches or more ranks along an axis that cuts "
                     "the batch",
                 {}};
  }

  std::string told(const ForwardPass& pass, const Chosen& chosen, std::uint64_t before, std::uint64_t after) const {
    double all = 0;
    for (const ForwardOp& op : pass.ops()) all += op.flops;
    const double flops = pass.flops(chosen);
    if (flops == 0 && before == after)
      return "nothing runs again: at most " + bytes_text(before) + " at once beside model states";
    char share[32];
    std::snprintf(share, sizeof share, "%.1f %%", all > 0 ? 100 * flops / all : 0.0);
    return std::to_string(pass.ids(chosen).size()) + " of " + std::to_string(pass.size()) + " forward ops run again, " +
           share + " of the forward pass: at most " + bytes_text(after) + " at once beside model states in place of " +
           bytes_text(before);
  }

  const Options options_;
  bool seen_ = false;  ///< a graph that learns
};

}  // namespace
}  // namespace baleen::recompute

BALEEN_STRATEGY(baleen::recompute::Recompute);
