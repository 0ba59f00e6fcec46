/// \file A sound data set of numbers in order, which the option `defect` makes wrong in one way.
#include <atomic>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>

#include "baleen/data.hpp"
#include "baleen/permutation.hpp"

BALEEN_DESCRIPTOR("data", "planted", "1.0.0", "Apache-2.0", "Wrong on request", -1, "",
                  BALEEN_OPTION("rows", BALEEN_OPTION_INT, 0, 8, 1e9, "100", "", "", "in an epoch"),
                  BALEEN_OPTION("defect", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "", "what is wrong"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

class Planted : public Dataset, public Digested {
 public:
  static Result<std::unique_ptr<Planted>> create(const Host&, const Settings& settings) {
    return std::make_unique<Planted>(settings);
  }
  explicit Planted(const Settings& settings)
      : defect(settings.text("defect")), rows_(settings.integer("rows")), seed_(settings.seed()) {}
  bool is(std::string_view word) const { return defect == word; }

  Result<baleen_dataset_info_t> info() const override {
    baleen_dataset_info_t info{};
    info.size = sizeof info;
    info.field_count = is("many_fields") ? 17 : 2;
    info.fields[0] = make_field("number", BALEEN_I64, {2}, {""});
    info.fields[1] = make_field("label", BALEEN_F32, {}, {});
    if (is("wide_rank")) info.fields[1].rank = 9;
    if (is("endless_name")) std::memset(info.fields[1].name, 'x', sizeof info.fields[1].name);
    if (is("fp64")) info.fields[1].dtype = BALEEN_F64;
    if (is("same_names")) info.fields[1] = info.fields[0];
    info.rows[BALEEN_TRAIN] = rows_;
    info.rows[BALEEN_HELD_OUT] = is("negative_rows") ? -1 : 8;
    info.units_per_row = 1;
    copy_text(info.unit, "rows");
    return info;
  }

  Status read(baleen_split_t split, std::int64_t first, std::int64_t count, void* const* buffers) const override {
    auto* const numbers = static_cast<std::int64_t*>(buffers[0]);
    auto* const labels = static_cast<float*>(buffers[1]);
    const std::uint64_t before = calls_++;
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t position = first + i;
      if (is("narrow_positions")) position = static_cast<std::int32_t>(position);
      std::uint64_t row = row_at(split, static_cast<std::uint64_t>(position));
      if (is("hangs_on_calls")) row += before;
      if (is("hangs_on_pieces")) row += static_cast<std::uint64_t>(i);
      if (is("other_thread") && std::this_thread::get_id() != made_by_) row += 1000;
      numbers[2 * i] = static_cast<std::int64_t>(row);
      if (!is("half_rows")) numbers[2 * i + 1] = -numbers[2 * i];
      labels[i] = static_cast<float>(row % 2);
    }
    if (is("one_too_many")) labels[count] = 0;
    if (is("one_before")) numbers[-1] = 0;
    return {};
  }

  std::uint64_t digest() const override { return is("digest_of_seed") ? seed_ : 7; }

  std::string defect;

 private:
  std::uint64_t row_at(baleen_split_t split, std::uint64_t at) const {
    const auto rows = static_cast<std::uint64_t>(rows_);
    if (split == BALEEN_HELD_OUT && !is("shuffles_held_out")) return 1'000'000 + at % 8;
    if (split == BALEEN_HELD_OUT) return 1'000'000 + mix_key(seed_, at) % 8;
    if (is("draws_with_replacement")) return mix_key(seed_, at) % rows;
    return Permutation(rows, mix_key(seed_, at / rows))(at % rows);
  }

  std::int64_t rows_;
  std::uint64_t seed_;
  std::thread::id made_by_ = std::this_thread::get_id();
  mutable std::atomic<std::uint64_t> calls_ = 0;
};

const Planted& member(void* self) { return dynamic_cast<const Planted&>(*Instance<Dataset>::of(self).member); }

baleen_data_t planted_table() {
  baleen_data_t table = data_table<Planted>();
  table.info = [](void* self, baleen_dataset_info_t* out) -> baleen_status_t {
    if (member(self).is("whole_info")) {
      *out = *member(self).info();
      return BALEEN_OK;
    }
    return data_table<Planted>().info(self, out);
  };
  table.query = [](void* self, baleen_string_t name) -> const void* {
    if (self && member(self).is("knows_all")) return "all";
    return data_table<Planted>().query(self, name);
  };
  table.destroy = [](void* self) {
    if (member(self).is("destroy_crashes")) std::raise(SIGABRT);
    data_table<Planted>().destroy(self);
  };
  return table;
}

}  // namespace

BALEEN_EXPORT_TABLE(planted_table());
