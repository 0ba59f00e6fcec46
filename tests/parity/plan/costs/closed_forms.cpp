/// \file The formulas of closed_forms.hpp.
#include "parity/plan/costs/closed_forms.hpp"

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
    biases_ = 7 * l * h / cut_of(grids_, 2, 2, 2) + 2 * l * h / cut_of(grids_, 1, 2, 2);
    norms_ = (4 * l + 2) * h / cut_of(grids_, 1, 2, 2);
  }

  ClosedForms all() const {
    ClosedForms forms;
    const double cast = weights_ + biases_;
    forms.optimizer = 8 * (cast + norms_) / shards_;
    forms.parameters = 4 * cast / (is_half() ? shards_ : gathered_shards_) + 4 * norms_ / gathered_shards_;
    if (is_half()) forms.copies = 2 * cast / gathered_shards_;
    const bool is_cut = mix_.has("zero2") || mix_.has("zero3"), is_whole_along_depth = mix_.has("3d") && !is_cut;
    forms.gradients = (bytes() * (weights_ * (is_whole_along_depth ? 2 : 1) + biases_) + 4 * norms_) / (is_cut ? 2 : 1);
    forms.layer = activations();
    along_batch(forms);
    along_tokens(forms);
    if (!grids_.empty()) forms.sent["tensor"] = along_grid();
    return forms;
  }

 private:
  bool is_half() const { return mix_.has("precision"); }
  double bytes() const { return is_half() ? 2 : 4; }
  bool is_mode(const char* mode) const { return !grids_.empty() && grids_.front() == mode; }
  bool is_summa() const { return is_mode("2d") || is_mode("2.5d"); }
  double depth() const { return is_mode("2.5d") ? 2 : 1; }
  double gradients() const { return bytes() * (weights_ + biases_) + 4 * norms_; }
  /// Ranks over which activations between products are cut.
  double grid() const { return is_mode("1d") ? 2 : is_summa() ? 4 * depth() : is_mode("3d") ? 8 : 1; }

  double activations() const {
    const double inner = 12 * x_ / grid(), rows = m_.heads * tokens_ / grid();
    double outer = 4 * x_ / grid(), statistics = 4 * tokens_;
    if (is_mode("1d") && !mix_.has("megatron")) outer = 4 * x_;
    if (mix_.has("megatron")) statistics /= 2;
    if (is_summa()) statistics /= 2 * depth();
    if (is_mode("3d")) statistics /= 4;
    if (mix_.has("ulysses") && !is_mode("3d")) outer += x_ / grid();
    return bytes() * (inner + outer) + 4 * (statistics + rows);
  }

  void along_batch(ClosedForms& forms) const {
    const auto zeros = mix_.zeros();
    if (zeros.empty()) {
      if (mix_.has("data")) forms.sent["data"] = 2 * gradients() / 2;
      return;
    }
    const double updated = bytes() * (weights_ + biases_) + 4 * norms_,
                 again = updated - bytes() * biases_ - 2 * norms_;
    forms.sent[mix_.has("data") ? "shard" : "data"] =
        gradients() / 2 + updated / 2 + (zeros.front() == "zero3" ? again / 2 : 0);
    if (mix_.has("data")) forms.sent["data"] = 2 * gradients() / 2 / 2;
  }

  void along_tokens(ClosedForms& forms) const {
    const double kept = bytes() * m_.layers * 2 * x_ / grid();  // X' of two ranks
    const auto sequences = mix_.sequences();
    if (mix_.has("ring")) forms.sent["sequence"] = 6 * kept / 2 + 2 * gradients() / 2 / shards_;
    if (mix_.has("ulysses"))
      forms.sent[sequences.size() == 2 ? "heads" : "sequence"] =
          (is_mode("3d") ? 9 : 8) * kept / 2 / 2 + 2 * gradients() / 2 / shards_;
  }

  double along_grid() const {
    const double l = m_.layers, h = m_.width, v = m_.vocabulary, sums = (5 * (2 * l + 1) + 3) * 4 * tokens_;
    if (is_mode("1d")) {
      if (!mix_.has("megatron")) return 2 * (bytes() * (4 * l + 2) * x_ + 4 * 3 * tokens_) / 2;
      return bytes() * (10 * l + 5) * x_ / 2 + 2 * (4 * norms_ + bytes() * 2 * l * h) / 2;
    }
    if (is_mode("3d"))
      return bytes() * (l * (39 * x_ + 36 * h * h) + 3 * x_ + 3 * v * h + 2 * tokens_ * v + 2 * x_) / 8 + sums / 4;
    const double d = depth();
    return bytes() * (l * (21 * x_ / d + 36 * h * h) + 2 * tokens_ * v / d + 3 * v * h + 2 * x_ / d) / 4 +
           sums / 2 / d + 2 * (bytes() * biases_ + 4 * norms_) / 2 + (d > 1 ? 2 * gradients() / 2 / shards_ : 0);
  }

  const CostMix& mix_;
  const ModelSizes& m_;
  std::vector<std::string> grids_;
  double tokens_, x_, shards_, gathered_shards_;
  double weights_, biases_, norms_;  ///< elements of a rank beside ZeRO
};

}  // namespace

ClosedForms closed_forms(const CostMix& mix, const ModelSizes& sizes) { return Formulas(mix, sizes).all(); }

}  // namespace baleen::test
