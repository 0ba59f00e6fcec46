/// \file A dataset: points of the plane around two rings, to be told apart. Every row is computed, none is stored.
#include <cmath>
#include <cstdint>

#include "baleen/data.hpp"
#include "baleen/permutation.hpp"

BALEEN_DESCRIPTOR("data", "rings", "1.0.0", "Apache-2.0", "Points on two rings, an example", -1, "",
                  BALEEN_OPTION("rows", BALEEN_OPTION_INT, 0, 8, 1e12, "1024", "", "",
                                "points in an epoch; an eighth as many are held out"),
                  BALEEN_OPTION("noise", BALEEN_OPTION_FLOAT, 0, 0, 1, "0.1", "", "", "spread of the radius"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

constexpr double kTurn = 6.283185307179586;

class Rings : public Dataset {
 public:
  static Result<std::unique_ptr<Rings>> create(const Host&, const Settings& settings) {
    return std::make_unique<Rings>(settings.integer("rows"), settings.number("noise"), settings.seed());
  }
  Rings(std::int64_t rows, double noise, std::uint64_t seed) : rows_(rows), noise_(noise), seed_(seed) {}

  Result<baleen_dataset_info_t> info() const override {
    baleen_dataset_info_t info{};
    info.size = sizeof info;
    info.field_count = 2;
    info.fields[0] = make_field("features", BALEEN_F32, {2}, {""});
    info.fields[1] = make_field("label", BALEEN_I32, {}, {});
    info.rows[BALEEN_TRAIN] = rows_;
    info.rows[BALEEN_HELD_OUT] = rows_ / 8;
    info.classes = 2;
    info.units_per_row = 1;
    copy_text(info.unit, "rows");
    copy_text(info.summary, std::to_string(rows_) + " points on two rings");
    return info;
  }

  /// A pure function of the seed and the position: rank 3 of 8 reads its rows without having read the others'.
  Status read(baleen_split_t split, std::int64_t first, std::int64_t count, void* const* buffers) const override {
    auto* features = static_cast<float*>(buffers[0]);
    auto* labels = static_cast<std::int32_t*>(buffers[1]);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t row = row_at(split, first + i);
      const double angle = kTurn * uniform(split, row, 0);
      const std::int32_t label = uniform(split, row, 1) < 0.5 ? 0 : 1;
      const double radius = 1 + label + noise_ * (2 * uniform(split, row, 2) - 1);
      features[2 * i] = static_cast<float>(radius * std::cos(angle));
      features[2 * i + 1] = static_cast<float>(radius * std::sin(angle));
      labels[i] = label;
    }
    return {};
  }

 private:
  /// Each epoch of the train part has a new order; the held-out part keeps its own.
  std::uint64_t row_at(baleen_split_t split, std::int64_t position) const {
    const auto rows = static_cast<std::uint64_t>(split == BALEEN_TRAIN ? rows_ : rows_ / 8);
    const auto at = static_cast<std::uint64_t>(position);
    if (split == BALEEN_HELD_OUT) return at % rows;
    return Permutation(rows, mix_key(seed_, at / rows))(at % rows);
  }
  /// In [0, 1): number `which` of a row.
  double uniform(baleen_split_t split, std::uint64_t row, std::uint64_t which) const {
    const std::uint64_t bits = mix_key(mix_key(seed_, static_cast<std::uint64_t>(split)), row, which);
    return static_cast<double>(bits >> 11) * 0x1p-53;
  }

  std::int64_t rows_;
  double noise_;
  std::uint64_t seed_;
};

}  // namespace

BALEEN_DATA(Rings);
