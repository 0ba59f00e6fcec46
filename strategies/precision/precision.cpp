/// \file The strategy `precision`: products, attention and what flows between them in 16 bits, over fp32 parameters
/// (Micikevicius et al., arXiv 1710.03740); products with weights in 8 bits, where they are asked for.
#include <set>
#include <string>
#include <utility>

#include "baleen/closed_forms.hpp"
#include "casts.hpp"
#include "fp8.hpp"
#include "scaler.hpp"

BALEEN_DESCRIPTOR(
    "strategy", "precision", "1.0.0", "Apache-2.0", "bf16 or fp16 beside fp32 master weights, with loss scaling", 0, "",
    BALEEN_OPTION("dtype", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED, 1, 0, "", "bf16|fp16", "",
                  "of products, of what flows between them, and of their copies of parameters"),
    BALEEN_OPTION("gradients", BALEEN_OPTION_STRING, 0, 1, 0, "same", "same|fp32", "",
                  "in what gradients are summed over ranks and micro-batches"),
    BALEEN_OPTION("keep", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 0, 0, "", "", "",
                  "names of parameters that stay fp32 where they are used; * stands for any text"),
    BALEEN_OPTION("products", BALEEN_OPTION_STRING, 0, 1, 0, "same", "same|fp8", "",
                  "in what products with weights read their operands: as `dtype`, or in 8 bits with delayed scaling"),
    BALEEN_OPTION("fp8_history", BALEEN_OPTION_INT, 0, 1, 1e6, "1024", "", "",
                  "fp8: steps whose largest numbers give a tensor's scale"),
    BALEEN_OPTION("fp8_margin", BALEEN_OPTION_INT, 0, 0, 16, "0", "", "",
                  "fp8: powers of two that scales stay below the largest possible"),
    BALEEN_OPTION("fp8_keep", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 0, 0, "", "", "",
                  "fp8: names of parameters whose products stay in 16 bits; * stands for any text"),
    BALEEN_OPTION("loss_scale", BALEEN_OPTION_FLOAT, 0, 1e-12, 1e30, "auto", "auto|none|dynamic", "",
                  "a number, dynamic, or none; auto: dynamic with fp16, none with bf16"),
    BALEEN_OPTION("initial_scale", BALEEN_OPTION_FLOAT, 0, 1e-12, 1e30, "65536", "", "", "dynamic: the first scale"),
    BALEEN_OPTION("growth_factor", BALEEN_OPTION_FLOAT, 0, 1, 1e6, "2", "", "", "dynamic: of the scale when it grows"),
    BALEEN_OPTION("growth_interval", BALEEN_OPTION_INT, 0, 1, 1e9, "2000", "", "",
                  "dynamic: good steps in a row before the scale grows"),
    BALEEN_OPTION("backoff_factor", BALEEN_OPTION_FLOAT, 0, 1e-6, 0.999999, "0.5", "", "",
                  "dynamic: of the scale after a skipped step"),
    BALEEN_OPTION("hysteresis", BALEEN_OPTION_INT, 0, 1, 1e9, "1", "", "",
                  "dynamic: skipped steps that it takes for the first backoff since the scale grew"),
    BALEEN_OPTION("min_scale", BALEEN_OPTION_FLOAT, 0, 1e-12, 1e30, "1", "", "", "dynamic: the scale falls no lower"),
    BALEEN_OPTION("patience", BALEEN_OPTION_INT, 0, 1, 1e9, "20", "", "",
                  "steps in a row that may be skipped at the smallest scale before the run ends"));

namespace baleen::precision {
namespace {

Scaling scaling_of(const Settings& settings, baleen_dtype_t dtype) {
  const std::string_view word = settings.text("loss_scale");
  if (word == "auto") return dtype == BALEEN_F16 ? Scaling::dynamic : Scaling::none;
  return word == "none" ? Scaling::none : word == "dynamic" ? Scaling::dynamic : Scaling::fixed;
}

/// What `scaling` does not read must be as it is by default, since it would be ignored.
Status check_read(const ScalerOptions& given, const Settings& settings) {
  const ScalerOptions usual;
  const bool dynamic = given.scaling == Scaling::dynamic, none = given.scaling == Scaling::none;
  const std::pair<const char*, bool> ignored[] = {
      {"initial_scale", !dynamic && given.initial != usual.initial},
      {"growth_factor", !dynamic && given.growth != usual.growth},
      {"growth_interval", !dynamic && given.interval != usual.interval},
      {"backoff_factor", !dynamic && given.backoff != usual.backoff},
      {"hysteresis", !dynamic && given.hysteresis != usual.hysteresis},
      {"min_scale", !dynamic && given.least != usual.least},
      {"patience", none && given.patience != usual.patience},
  };
  for (const auto& [name, unread] : ignored)
    if (unread)
      return invalid(
          "`" + std::string(name) + "` is of " +
          (none ? "loss scaling, and the loss is not scaled"
                : "dynamic loss scaling, and `loss_scale` is the number " + text(settings.number("loss_scale"))) +
          "; leave it out, or take loss_scale = \"dynamic\"");
  return {};
}

Result<ScalerOptions> scaler_options(const Settings& settings, baleen_dtype_t dtype) {
  ScalerOptions options;
  options.scaling = scaling_of(settings, dtype);
  options.initial = settings.number("initial_scale");
  options.growth = settings.number("growth_factor");
  options.interval = settings.integer("growth_interval");
  options.backoff = settings.number("backoff_factor");
  options.hysteresis = settings.integer("hysteresis");
  options.least = settings.number("min_scale");
  options.patience = settings.integer("patience");
  BALEEN_TRY(check_read(options, settings));
  if (options.scaling == Scaling::fixed) options.initial = options.least = settings.number("loss_scale");
  if (options.scaling == Scaling::dynamic && options.initial < options.least)
    return invalid("`initial_scale` is " + text(options.initial) + ", below `min_scale`, " + text(options.least) +
                   "; begin at it or above");
  return options;
}

Result<Fp8Options> fp8_options(const Settings& settings, MeshView mesh) {
  Fp8Options options;
  const Fp8Options usual;
  options.on = settings.text("products") == "fp8";
  options.history = settings.integer("fp8_history");
  options.margin = settings.integer("fp8_margin");
  for (const std::string_view pattern : settings.list("fp8_keep")) options.keep.emplace_back(pattern);
  const std::pair<const char*, bool> given[] = {{"fp8_history", options.history != usual.history},
                                                {"fp8_margin", options.margin != usual.margin},
                                                {"fp8_keep", !options.keep.empty()}};
  for (const auto& [name, unread] : given)
    if (unread && !options.on)
      return invalid("`" + std::string(name) +
                     "` is of products in 8 bits, and there are none; leave it out, or take products = \"fp8\"");
  for (std::uint32_t axis = 0; options.on && axis < mesh.count(); ++axis)
    if (mesh.name(axis).ends_with(".row"))
      return invalid("products = \"fp8\" does not work where `tensor` cuts products on a grid (`" +
                     std::string(mesh.name(axis)) + "`), which sends and sums blocks in 16 bits; take mode = \"1d\"");
  return options;
}

class Precision : public Strategy {
 public:
  static Result<std::unique_ptr<Precision>> create(const Host&, const Settings& settings, MeshView mesh) {
    CastOptions casts;
    casts.dtype = settings.text("dtype") == "fp16" ? BALEEN_F16 : BALEEN_BF16;
    for (const std::string_view pattern : settings.list("keep")) casts.keep.emplace_back(pattern);
    BALEEN_TRY_ASSIGN(const ScalerOptions scaler, scaler_options(settings, casts.dtype));
    BALEEN_TRY_ASSIGN(Fp8Options fp8, fp8_options(settings, mesh));
    const auto gradients = settings.text("gradients") == "fp32" ? GradientDtype::fp32 : GradientDtype::same;
    return std::make_unique<Precision>(std::move(casts), std::move(fp8), scaler, gradients);
  }

  Precision(CastOptions casts, Fp8Options fp8, const ScalerOptions& scaler, GradientDtype gradients)
      : casts_(std::move(casts)), fp8_(std::move(fp8)), scaler_(scaler), gradients_(gradients) {}

  bool claims(std::uint32_t) const override { return false; }

  Status rewrite(GraphView graph) override {
    Casts casts(graph, casts_);
    BALEEN_TRY(casts.check());
    exact_ = is_exact(graph);
    if (!exact_) casts.run();
    return {};
  }

  Status gradients(GraphView graph, Gradients gradients) override {
    Fp8 fp8(graph, gradients, fp8_, casts_.dtype);
    const bool narrows = fp8_.on && !exact_;
    if (narrows) {
      BALEEN_TRY(fp8.check());
      fp8.rewrite();
    }
    const Value applied = Scaler(graph, gradients, scaler_, gradients_).run();
    if (narrows) fp8.update(applied);
    return {};
  }

  /// Lays out nothing: says how wide copies and gradients are, whatever they were made.
  Status place(GraphView graph, Placing placing) override {
    if (exact_) return {};
    const auto expect = [&](baleen_value_t id, double bytes, std::string_view formula) {
      const auto made = static_cast<double>(dtype_size(graph.value(id).dtype));
      placing.expect(BALEEN_FORM_HELD, id, {}, bytes / made, formula);
    };
    std::set<baleen_value_t> cast;
    for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
      if (graph.value(id).role != BALEEN_ROLE_PARAMETER || graph.master_parameter(id) == id) continue;
      expect(id, 2, "2 bytes an element (arXiv 1710.03740)");
      cast.insert(graph.master_parameter(id));
    }
    for (const baleen_trained_t& trained : placing.trained())
      if (cast.contains(trained.parameter))
        expect(trained.gradient, gradients_ == GradientDtype::same ? 2 : 4,
               gradients_ == GradientDtype::same ? "2 bytes an element (arXiv 1710.03740)" : "4 bytes an element");
    return {};
  }

  Status schedule(GraphView graph, Scheduling scheduling) override {
    if (fp8_.on && !exact_) coalesce_largest(graph, scheduling);
    if (exact_)
      scheduling.note("fp64 checks the plan: nothing is cast to 16 bits" + std::string(fp8_.on ? " or 8" : ""));
    return {};
  }

 private:
  /// A job of fp64 is there to compare plans to many digits, which casts would drown.
  static bool is_exact(GraphView& graph) {
    for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
      const baleen_value_info_t value = graph.value(id);
      if (value.role == BALEEN_ROLE_PARAMETER && value.dtype == BALEEN_F64) return true;
    }
    return false;
  }

  CastOptions casts_;
  Fp8Options fp8_;
  ScalerOptions scaler_;
  GradientDtype gradients_;
  bool exact_ = false;
};

}  // namespace
}  // namespace baleen::precision

BALEEN_STRATEGY(baleen::precision::Precision);
