/// \file The formulas of closed_forms.hpp.
#include "parity/plan/costs/closed_forms.hpp"

#include <algorithm>
#include <cmath>

namespace baleen::test {
namespace {

double cut_of(const std::vector<std::string>& grids, double one, double square, double cube) {
  double ranks = 1;
  for (const std::string& grid : grids) ranks *= grid == "1d" ? one : grid == "3d" ? cube : square;
  return ranks;
}

/// Of one mix and one model.
class Formulas {
 public:
  Formulas(const CostMix& mix, const ModelSizes& sizes) : mix_(mix), m_(sizes), grids_(mix.grids()) {
    if (mix.has("megatron") && grids_.empty()) grids_ = {"1d"};
    const double cut = std::pow(2, static_cast<double>(mix.batches().size() + mix.sequences().size()));
    tokens_ = m_.batch * m_.context / cut;
    x_ = tokens_ * m_.width;
    shards_ = std::pow(2, static_cast<double>(mix.zeros().size()));
    gathered_shards_ = mix.has("zero3") ? 2 : 1;
    const double l = m_.layers, h = m_.width;
    weights_ = (12 * l * h * h + m_.vocabulary * h) / cut_of(grids_, 2, 4, 8);
    outer_biases_ = 2 * l * h / cut_of(grids_, 1, 2, 2);
    biases_ = 7 * l * h / cut_of(grids_, 2, 2, 2) + outer_biases_;
    norms_ = (4 * l + 2) * h / cut_of(grids_, 1, 2, 2);
  }

  ClosedForms all() const {
    ClosedForms forms;
    const double cast = weights_ + biases_;
    forms.optimizer = 8 * (cast + norms_) / shards_;
    forms.parameters = 4 * cast / (is_half() ? shards_ : gathered_shards_) + 4 * norms_ / gathered_shards_;
    if (is_half()) forms.copies = 2 * cast / gathered_shards_;
    if (is_half() && mix_.has("zero1") && mix_.has("zero2")) forms.copies += 2 * 4 * m_.width * m_.width / 2;
    const bool is_cut = mix_.has("zero2") || mix_.has("zero3"), is_whole_along_depth = mix_.has("3d") && !is_cut;
    forms.gradients = (bytes() * (weights_ * (is_whole_along_depth ? 2 : 1) + biases_) + 4 * norms_) / held_cut();
    forms.layer = activations();
    along_batch(forms);
    along_tokens(forms);
    along_grids(forms);
    return forms;
  }

 private:
  bool is_half() const { return mix_.has("precision"); }
  double bytes() const { return is_half() ? 2 : 4; }
  bool has(const char* mode) const { return std::ranges::find(grids_, mode) != grids_.end(); }
  bool has_summa() const { return has("2d") || has("2.5d"); }
  bool is_megatron() const { return mix_.has("megatron"); }
  double depth() const { return has("2.5d") ? 2 : 1; }
  double gradients() const { return bytes() * (weights_ + biases_) + 4 * norms_; }
  /// Ranks over which activations between products are cut: by SUMMA, by a cube, by all.
  double summa() const { return has_summa() ? 4 * depth() : 1; }
  double cube() const { return has("3d") ? 8 : 1; }
  double grid() const { return (has("1d") ? 2 : 1) * summa() * cube(); }

  double activations() const {
    const double inner = 12 * x_ / grid(), rows = m_.heads * tokens_ / grid();
    double outer = 4 * x_ / grid(), statistics = 4 * tokens_;
    if (has("1d") && !is_megatron()) outer *= 2;
    if (is_megatron()) statistics /= 2;
    statistics /= cut_of_rows();
    if (mix_.has("ulysses") && !has("3d")) outer += x_ / grid();
    return bytes() * (inner + outer) + 4 * (statistics + rows);
  }
  /// Of one number a token.
  double cut_of_rows() const { return (has_summa() ? 2 * depth() : 1) * (has("3d") ? 4 : 1); }

  /// Axes of ZeRO as their cuts nest: stage 3's is outermost, then they come in the order of the plan.
  std::vector<std::pair<std::string, std::string>> chain() const {
    std::vector<std::string> axes{"data", "shard", "other_shard"};
    if (mix_.has("data")) axes.erase(axes.begin());
    std::vector<std::pair<std::string, std::string>> stages;
    for (const std::string& zero : mix_.zeros()) {
      stages.emplace_back(zero, axes.front());
      axes.erase(axes.begin());
    }
    std::ranges::stable_partition(stages, [](const auto& one) { return one.first == "zero3"; });
    return stages;
  }

  /// Over several micro-batches gradients are cut along the axes of stages 2 and 3 and those further out.
  double held_cut() const {
    double cut = 1, last = 1;
    for (const auto& [stage, axis] : chain()) {
      cut *= 2;
      if (stage != "zero1") last = cut;
    }
    return last;
  }

  void along_batch(ClosedForms& forms) const {
    if (mix_.has("data")) forms.sent["data"] = 2 * gradients() / 2 / shards_;
    double outer = 1;
    for (const auto& [stage, axis] : chain()) {
      const double updated = gradients(), again = updated - bytes() * biases_ - 2 * norms_;
      forms.sent[axis] = (gradients() + updated + (stage == "zero3" ? again : 0)) / 2 / outer;
      outer *= 2;
    }
  }

  void along_tokens(ClosedForms& forms) const {
    const double kept = bytes() * m_.layers * 2 * x_ / grid();  // X' of two ranks
    const auto sequences = mix_.sequences();
    if (mix_.has("ring")) forms.sent["sequence"] = 6 * kept / 2 + 2 * gradients() / 2 / shards_;
    if (mix_.has("ulysses"))
      forms.sent[sequences.size() == 2 ? "heads" : "sequence"] =
          (has("3d") ? 9 : 8) * kept / 2 / 2 + 2 * gradients() / 2 / shards_;
  }

  void along_grids(ClosedForms& forms) const {
    std::vector<std::string> axes{"tensor", "grid", "third"};
    for (const std::string& mode : grids_) {
      forms.sent[axes.front()] = mode == "1d" ? along_columns() : mode == "3d" ? along_cube() : along_summa();
      axes.erase(axes.begin());
    }
  }

  double along_columns() const {
    const double l = m_.layers, others = grid() / 2, own = 2 * (4 * norms_ + bytes() * outer_biases_) / 2;
    if (is_megatron()) return bytes() * (10 * l + (others > 1 ? 6 : 5)) * x_ / others / 2 + own;
    return 2 * (bytes() * (4 * l + 2) * x_ / others + 4 * 3 * tokens_ / cut_of_rows()) / 2;
  }

  // Of all products of a layer, in X: the operands MK and the results MN, where columns and rows are cut too.
  double operands() const { return has("1d") ? 4.5 : 7; }
  double results() const { return has("1d") ? 5.5 : 9; }
  double columns() const { return has("1d") ? 2 : 1; }

  double along_summa() const {
    const double l = m_.layers, h = m_.width, v = m_.vocabulary, d = depth(), t = columns();
    const double gathered = has("3d") ? 4 : 1, embedding = is_megatron() ? 1.5 : 2;
    const double panels =
        bytes() * (l * (3 * operands() * x_ / d + 36 * h * h / t) + 2 * tokens_ * v / d / t + 3 * v * h / t);
    const double scattered = bytes() * embedding * x_ / d,
                 exchanged = has("3d") ? bytes() * 4 * x_ / 2 / grid() * t : 0;
    const double sums = (5 * (2 * l + 1) / (is_megatron() ? 2 : 1) + 3) * 4 * tokens_ / cut_of_rows();
    return (panels + scattered) / 4 / gathered + exchanged + sums + 2 * (bytes() * biases_ + 4 * norms_) / 2 +
           (d > 1 ? 2 * gradients() / 2 / shards_ : 0);
  }

  double along_cube() const {
    const double l = m_.layers, h = m_.width, v = m_.vocabulary, t = columns();
    const double layer = (3 * operands() + 2 * results()) * x_ + 36 * h * h / t;
    const double head = 3 * x_ + (3 * v * h + 2 * tokens_ * v) / t, sums = (5 * (2 * l + 1) + 3) * 4 * tokens_;
    return bytes() * (l * layer + head + 2 * x_) / 8 / summa() + sums / cut_of_rows();
  }

  const CostMix& mix_;
  const ModelSizes& m_;
  std::vector<std::string> grids_;
  double tokens_, x_, shards_, gathered_shards_;
  double weights_, biases_, norms_;  ///< elements of a rank beside ZeRO
  double outer_biases_;              ///< of biases_, of what leaves a pair of products
};

}  // namespace

ClosedForms closed_forms(const CostMix& mix, const ModelSizes& sizes) { return Formulas(mix, sizes).all(); }

}  // namespace baleen::test
