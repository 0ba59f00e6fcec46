/// \file A sound data set of numbers in order, which the option `defect` makes wrong in one way, and WRONG_ALONE where
/// it is asked without a data set.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <thread>

#include "baleen/data.hpp"
#include "baleen/permutation.hpp"

BALEEN_DESCRIPTOR("data", PLANTED_NAME, "1.0.0", "Apache-2.0", "Wrong on request", -1, "",
                  BALEEN_OPTION("rows", BALEEN_OPTION_INT, 0, 8, 1e9, "100", "", "", "in an epoch"),
                  BALEEN_OPTION("one_hot", BALEEN_OPTION_BOOL, 0, 0, 1, "false", "", "", "of nothing"),
                  BALEEN_OPTION("defect", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "", "what is wrong"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

class Planted : public Dataset, public Digested, public Tokens, public Ragged {
 public:
  static Result<std::unique_ptr<Planted>> create(const Host&, const Settings& settings) {
    return std::make_unique<Planted>(settings);
  }
  explicit Planted(const Settings& settings)
      : defect(settings.text("defect")),
        rows_(settings.integer("rows")),
        one_hot_(settings.boolean("one_hot")),
        seed_(settings.seed()) {}
  bool is(std::string_view word) const { return defect == word; }

  Result<baleen_dataset_info_t> info() const override {
    baleen_dataset_info_t info{};
    info.size = sizeof info;
    info.field_count = is("many_fields") ? 17 : 5;
    info.fields[0] = make_field("number", BALEEN_I64, {2}, {""});
    info.fields[1] = make_field("feature", BALEEN_F32, {}, {});
    info.fields[2] = make_field("tokens", BALEEN_I32, {3}, {""});
    info.fields[3] = make_field("list", BALEEN_I64, {4}, {""});
    info.fields[kLengths] = make_field("list_length", BALEEN_I32, {}, {});
    info.classes = kLetters;
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
    auto* const features = static_cast<float*>(buffers[1]);
    auto* const tokens = static_cast<std::int32_t*>(buffers[2]);
    const bool held_out = split == BALEEN_HELD_OUT;
    const std::uint64_t before = calls_++;
    if (held_out && is("held_out_from_zero")) first = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t position = first + i;
      if (is("narrow_positions")) position = static_cast<std::int32_t>(position);
      std::uint64_t row = row_at(split, static_cast<std::uint64_t>(position));
      if (is("hangs_on_calls")) row += before;
      if (is("hangs_on_pieces")) row += static_cast<std::uint64_t>(i);
      if (is("other_thread") && std::this_thread::get_id() != made_by_) row += 1000;
      numbers[2 * i] = static_cast<std::int64_t>(row);
      if (!is("half_rows")) numbers[2 * i + 1] = -numbers[2 * i];
      if (!held_out || !is("held_out_unwritten")) features[i] = static_cast<float>(row % 2);
      if (is("nan_features") && row == 7) features[i] = std::numeric_limits<float>::quiet_NaN();
      for (std::uint64_t k = 0; k < 3; ++k)
        tokens[3 * i + static_cast<std::int64_t>(k)] =
            static_cast<std::int32_t>((row + k) % (is("wide_labels") ? kLetters + 1 : kLetters));
      make_list(row, static_cast<std::int64_t*>(buffers[3]) + 4 * i, static_cast<std::int32_t*>(buffers[kLengths]) + i);
    }
    if (is("one_too_many")) features[count] = 0;
    if (is("one_hot_overruns") && one_hot_) static_cast<std::int32_t*>(buffers[kLengths])[count] = 1;
    if (is("one_before")) numbers[-1] = 0;
    if (held_out && is("held_out_rounds_up") && count % 8 != 0) features[count] = 0;
    return {};
  }

  Result<std::vector<std::int32_t>> encode(std::string_view text) const override {
    std::vector<std::int32_t> ids;
    for (const char letter : text) {
      if (letter < 'a' || letter >= 'a' + kLetters) return invalid("a letter that it does not know");
      ids.push_back(letter - 'a');
    }
    return ids;
  }
  Result<std::string> decode(std::span<const std::int32_t> ids) const override {
    if (is("decode_aborts")) std::abort();
    std::string text;
    for (const std::int32_t id : ids) text.push_back(static_cast<char>('a' + id));
    return text;
  }
  std::int32_t length_field(std::uint32_t field) const override {
    if (field != 3) return -1;
    return is("length_field_77") ? 77 : is("lengths_elsewhere") ? 1 : kLengths;
  }

  std::uint64_t digest() const override { return is("digest_of_seed") ? seed_ : 7; }

  std::string defect;

 private:
  static constexpr int kLetters = 16, kLengths = 4;

  void make_list(std::uint64_t row, std::int64_t* list, std::int32_t* length) const {
    const auto count = static_cast<std::int32_t>(row % 5);
    for (std::int32_t k = 0; k < 4; ++k) list[k] = k < count || is("dirty_tails") ? 5 : 0;
    *length = is("long_lists") ? count + 1 : count;
  }

  std::uint64_t row_at(baleen_split_t split, std::uint64_t at) const {
    const auto rows = static_cast<std::uint64_t>(rows_);
    if (split == BALEEN_HELD_OUT && is("held_out_by_seed")) return 1'000'000 + Permutation(8, seed_)(at % 8);
    if (split == BALEEN_HELD_OUT && !is("shuffles_held_out")) return 1'000'000 + at % 8;
    if (split == BALEEN_HELD_OUT) return 1'000'000 + mix_key(seed_, at) % 8;
    if (is("draws_with_replacement")) return mix_key(seed_, at) % rows;
    const std::uint64_t seed = is("same_seeds") ? 0 : seed_, epoch = is("same_epochs") ? 0 : at / rows;
    return Permutation(rows, mix_key(seed, epoch))(at % rows);
  }

  std::int64_t rows_;
  bool one_hot_;
  std::uint64_t seed_;
  std::thread::id made_by_ = std::this_thread::get_id();
  mutable std::atomic<std::uint64_t> calls_ = 0;
};

const Planted& member(void* self) { return dynamic_cast<const Planted&>(*Instance<Dataset>::of(self).member); }

/// Writes one id more than there is room for.
const baleen_data_tokens_t overrunning_tokens = {
    sizeof overrunning_tokens,
    [](void* self, baleen_string_t text, std::int32_t* ids, std::int64_t capacity) -> std::int64_t {
      const std::int64_t count = sdk::detail::tokens_table()->encode(self, text, ids, capacity);
      if (count > capacity) ids[capacity] = 0;
      return count;
    },
    [](void* self, const std::int32_t* ids, std::int64_t count, char* text, std::int64_t capacity) -> std::int64_t {
      return sdk::detail::tokens_table()->decode(self, ids, count, text, capacity);
    }};

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
    if (WRONG_ALONE && !self) std::raise(SIGSEGV);
    if (self && member(self).is("knows_all")) return "all";
    if (self && member(self).is("encode_overruns") && view(name) == BALEEN_DATA_TOKENS) return &overrunning_tokens;
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
