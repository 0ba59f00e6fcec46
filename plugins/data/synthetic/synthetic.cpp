/// \file The data plugin `synthetic`: rows that are computed from their number, so that nothing lies on a disk.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "made_field.hpp"

BALEEN_DESCRIPTOR(
    "data", "synthetic", "1.0.0", "Apache-2.0", "Computed rows of any shape, to plan, to time and to try", 0, "",
    BALEEN_OPTION("context", BALEEN_OPTION_INT, 0, 0, 1 << 24, "0", "", "",
                  "tokens in a row, and those that follow, as `text` has them; needs vocab"),
    BALEEN_OPTION("vocab", BALEEN_OPTION_INT, 0, 0, 1 << 30, "0", "", "", "how many tokens there are"),
    BALEEN_OPTION("features", BALEEN_OPTION_INT, 0, 0, 1 << 30, "0", "", "",
                  "numbers in a row, and a label, as `table` has them"),
    BALEEN_OPTION("classes", BALEEN_OPTION_INT, 0, 0, 1 << 30, "0", "", "",
                  "how many labels there are, with features; 0: the label is a number"),
    BALEEN_OPTION("fields", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "",
                  "other fields, each NAME DTYPE [EXTENT x EXTENT ...] [< BOUND]; an extent may be AXIS=NUMBER"),
    BALEEN_OPTION("rows", BALEEN_OPTION_INT, 0, 1, 1e15, "65536", "", "", "rows of an epoch"),
    BALEEN_OPTION("held_out", BALEEN_OPTION_INT, 0, 0, 1e15, "1024", "", "",
                  "rows beside them to evaluate on; 0: none"),
    BALEEN_OPTION("noise", BALEEN_OPTION_FLOAT, 0, 0, 1, "0.1", "", "",
                  "share of tokens and of labels that nothing foretells; 1: there is nothing to learn"),
    BALEEN_OPTION("shuffle", BALEEN_OPTION_BOOL, 0, 0, 1, "true", "", "", "draw a new order for each epoch"));

namespace baleen::synthetic {

using namespace sdk;

namespace {

/// Rows are the same for every seed, which gives their order alone, so that runs can be compared.
constexpr std::uint64_t kWorld = 0x73796e7468;

/// In [0, 1).
double uniform(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// Makes the buffers of one row, of which it has one pointer each.
struct Maker {
  virtual ~Maker() = default;
  virtual void make(std::uint64_t key, std::uint64_t row, void* const* out) const = 0;
};

/// A walk over the vocabulary: after token t comes a t + c, but for the share of noise, after which it goes on from
/// anywhere. `targets` are the tokens that follow.
class TokenMaker : public Maker {
 public:
  TokenMaker(std::int64_t context, std::int64_t vocab, double noise)
      : context_(context), vocab_(vocab), noise_(noise) {}

  void make(std::uint64_t key, std::uint64_t row, void* const* out) const override {
    auto* tokens = static_cast<std::int32_t*>(out[0]);
    auto* targets = static_cast<std::int32_t*>(out[1]);
    std::int64_t token = below(bits_at(key, row, 0), vocab_);
    for (std::int64_t i = 0; i < context_; ++i) {
      tokens[i] = static_cast<std::int32_t>(token);
      const std::uint64_t bits = bits_at(key, row, static_cast<std::uint64_t>(i) + 1);
      token = uniform(bits) < noise_ ? below(mix_bits(bits), vocab_) : (5 * token + 1) % vocab_;
      targets[i] = static_cast<std::int32_t>(token);
    }
  }

 private:
  std::int64_t context_, vocab_;
  double noise_;
};

/// Features about normal; each has a direction per class, or a weight, that tells of the label.
class FeatureMaker : public Maker {
 public:
  FeatureMaker(std::int64_t features, std::int64_t classes, double noise)
      : features_(features), classes_(classes), noise_(noise) {}

  void make(std::uint64_t key, std::uint64_t row, void* const* out) const override {
    auto* features = static_cast<float*>(out[0]);
    const std::uint64_t bits = bits_at(key, row, 0);
    const std::int64_t label = classes_ > 0 ? below(bits, classes_) : 0;
    double sum = 0;
    for (std::int64_t i = 0; i < features_; ++i) {
      const auto feature = static_cast<std::uint64_t>(i);
      features[i] = about_normal(bits_at(key, row, feature + 1));
      const bool up = mix_key(kWorld, static_cast<std::uint64_t>(label), feature) & 1;
      if (classes_ > 0)
        features[i] += up ? 1.0f : -1.0f;
      else
        sum += up ? features[i] : -features[i];
    }
    const bool is_noise = uniform(mix_bits(bits)) < noise_;
    if (classes_ > 0)
      *static_cast<std::int32_t*>(out[1]) =
          static_cast<std::int32_t>(is_noise ? below(mix_bits(bits + 1), classes_) : label);
    else
      *static_cast<float*>(out[1]) = is_noise ? about_normal(mix_bits(bits + 1)) : static_cast<float>(sum / 8);
  }

 private:
  std::int64_t features_, classes_;
  double noise_;
};

class OtherMaker : public Maker {
 public:
  explicit OtherMaker(MadeField made) : made_(made) {}
  void make(std::uint64_t key, std::uint64_t row, void* const* out) const override { made_.make(key, row, out[0]); }

 private:
  MadeField made_;
};

std::uint64_t row_bytes(const baleen_field_t& field) {
  std::uint64_t bytes = field.dtype == BALEEN_U8 ? 1 : field.dtype == BALEEN_I64 ? 8 : 4;
  for (std::uint32_t d = 0; d < field.rank; ++d) bytes *= static_cast<std::uint64_t>(field.shape[d]);
  return bytes;
}

class Synthetic : public Dataset {
 public:
  static Result<std::unique_ptr<Synthetic>> create(const Host&, const Settings& settings) {
    auto made = std::make_unique<Synthetic>();
    made->seed_ = settings.seed();
    made->shuffles_ = settings.boolean("shuffle");
    made->rows_[BALEEN_TRAIN] = settings.integer("rows");
    made->rows_[BALEEN_HELD_OUT] = settings.integer("held_out");
    BALEEN_TRY(made->add_tokens(settings));
    BALEEN_TRY(made->add_features(settings));
    for (const std::string_view text : settings.list("fields")) {
      BALEEN_TRY_ASSIGN(const MadeField field, parse_field(text));
      BALEEN_TRY(made->add(field.field));
      made->classes_ = std::max(made->classes_, field.bound);
      made->makers_.push_back({std::make_unique<OtherMaker>(field), made->fields_.size() - 1});
    }
    if (made->fields_.empty())
      return invalid("synthetic: say what a row has: `context` and `vocab`, `features`, or `fields`");
    return made;
  }

  Result<baleen_dataset_info_t> info() const override {
    baleen_dataset_info_t info{};
    info.size = sizeof info;
    info.field_count = static_cast<std::uint32_t>(fields_.size());
    std::ranges::copy(fields_, info.fields);
    std::ranges::copy(rows_, info.rows);
    info.classes = classes_;
    info.units_per_row = context_ > 0 ? static_cast<double>(context_) : 1;
    copy_text(info.unit, context_ > 0 ? "tokens" : "rows");
    std::string summary = std::to_string(rows_[0]) + " computed rows, " + std::to_string(rows_[1]) + " held out";
    for (const baleen_field_t& field : fields_)
      summary += (&field == fields_.data() ? ": " : ", ") + std::string(field.name);
    copy_text(info.summary, summary);
    return info;
  }

  Status read(baleen_split_t split, std::int64_t first, std::int64_t count, void* const* buffers) const override {
    if (rows_[split] == 0) return invalid("synthetic: no rows are held out; set `held_out` above 0");
    for (const Part& part : makers_) {
      const std::uint64_t key = mix_key(kWorld, static_cast<std::uint64_t>(split), part.first_field + 1);
      for (std::int64_t i = 0; i < count; ++i) {
        void* out[2] = {};
        for (std::size_t f = 0; f < 2 && part.first_field + f < fields_.size(); ++f)
          out[f] = static_cast<std::byte*>(buffers[part.first_field + f]) +
                   row_bytes(fields_[part.first_field + f]) * static_cast<std::uint64_t>(i);
        part.maker->make(key, row_at(split, first + i), out);
      }
    }
    return {};
  }

 private:
  struct Part {
    std::unique_ptr<Maker> maker;
    std::size_t first_field = 0;
  };

  Status add(const baleen_field_t& field) {
    if (fields_.size() == BALEEN_MAX_FIELDS)
      return invalid("synthetic: a row has at most " + std::to_string(BALEEN_MAX_FIELDS) + " fields");
    for (const baleen_field_t& other : fields_)
      if (std::string_view(other.name) == field.name)
        return invalid("synthetic: there are two fields `" + std::string(field.name) + "`; call one otherwise");
    fields_.push_back(field);
    return {};
  }

  Status add_tokens(const Settings& settings) {
    context_ = settings.integer("context");
    const std::int64_t vocab = settings.integer("vocab");
    if ((context_ > 0) != (vocab > 0)) return invalid("synthetic: `context` and `vocab` are given both, or neither");
    if (context_ == 0) return {};
    BALEEN_TRY(add(make_field("tokens", BALEEN_I32, {context_}, {"seq"})));
    BALEEN_TRY(add(make_field("targets", BALEEN_I32, {context_}, {"seq"})));
    classes_ = vocab;
    makers_.push_back({std::make_unique<TokenMaker>(context_, vocab, settings.number("noise")), fields_.size() - 2});
    return {};
  }

  Status add_features(const Settings& settings) {
    const std::int64_t features = settings.integer("features"), classes = settings.integer("classes");
    if (features == 0)
      return classes == 0 ? Status() : Status(invalid("synthetic: `classes` are those of the label beside `features`"));
    if (classes == 1) return invalid("synthetic: one class is nothing to tell apart; `classes` is 0 or at least 2");
    BALEEN_TRY(add(make_field("features", BALEEN_F32, {features}, {""})));
    BALEEN_TRY(add(make_field("label", classes > 0 ? BALEEN_I32 : BALEEN_F32, {}, {})));
    classes_ = std::max(classes_, classes);
    makers_.push_back(
        {std::make_unique<FeatureMaker>(features, classes, settings.number("noise")), fields_.size() - 2});
    return {};
  }

  std::uint64_t row_at(baleen_split_t split, std::int64_t position) const {
    const auto rows = static_cast<std::uint64_t>(rows_[split]), at = static_cast<std::uint64_t>(position);
    if (split == BALEEN_HELD_OUT || !shuffles_) return at % rows;
    return Permutation(rows, mix_key(seed_, at / rows))(at % rows);
  }

  std::vector<baleen_field_t> fields_;
  std::vector<Part> makers_;
  std::int64_t rows_[2] = {};
  std::int64_t context_ = 0, classes_ = 0;
  std::uint64_t seed_ = 0;
  bool shuffles_ = true;
};

}  // namespace

BALEEN_DATA(Synthetic);

}  // namespace baleen::synthetic
