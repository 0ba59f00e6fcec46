/// \file The data plugin `table`: rows of features, ids and a label, from a CSV file or from Lua arrays.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "baleen/data.hpp"
#include "baleen/permutation.hpp"
#include "doubts.hpp"
#include "encoding.hpp"
#include "ids.hpp"

BALEEN_DESCRIPTOR(
    "data", "table", "1.0.0", "Apache-2.0", "Rows of a CSV file or of Lua arrays, to classify or regress", 0, "csv",
    BALEEN_OPTION("path", BALEEN_OPTION_STRING, BALEEN_OPTION_PATH, 1, 0, "", "", "", "the CSV file; this or rows"),
    BALEEN_OPTION("rows", BALEEN_OPTION_TABLE, 0, 1, 0, "", "", "", "the numbers themselves, row by row; this or path"),
    BALEEN_OPTION("separator", BALEEN_OPTION_STRING, 0, 1, 0, "comma", "comma|semicolon|tab", "",
                  "what stands between fields"),
    BALEEN_OPTION("header", BALEEN_OPTION_STRING, 0, 1, 0, "auto", "auto|true|false", "",
                  "the first row names the columns; auto: where it holds no number and the next, if any, does"),
    BALEEN_OPTION("label", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "",
                  "the column to predict, by name or number from 1; none: the last"),
    BALEEN_OPTION("features", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "",
                  "the columns to predict from; none: all others"),
    BALEEN_OPTION("ids", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "",
                  "columns of ids, whole numbers of 64 bits: each an int64 field of the column's name"),
    BALEEN_OPTION("lists", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "",
                  "columns of lists of ids: int64 fields with zeros behind each list, lengths in NAME_length"),
    BALEEN_OPTION("list_separator", BALEEN_OPTION_STRING, 0, 1, 0, "bar", "bar|space|comma|semicolon", "",
                  "what stands between the ids of a list"),
    BALEEN_OPTION("most", BALEEN_OPTION_INT, 0, 0, 1 << 20, "0", "", "", "the most ids that a list may have"),
    BALEEN_OPTION("longer", BALEEN_OPTION_STRING, 0, 1, 0, "error", "error|cut", "",
                  "a list of more than `most` ids: refuse; keep the first ones"),
    BALEEN_OPTION("task", BALEEN_OPTION_STRING, 0, 1, 0, "classify", "classify|regress", "",
                  "classify: labels become class numbers; regress: they are numbers"),
    BALEEN_OPTION("normalize", BALEEN_OPTION_BOOL, 0, 0, 1, "false", "", "",
                  "shift and scale numeric features to mean 0 and deviation 1 over the train part"),
    BALEEN_OPTION("missing", BALEEN_OPTION_STRING, 0, 1, 0, "error", "error|mean|category", "",
                  "an empty field, ? or NA: refuse; fill with mean or most frequent; fill and mark"),
    BALEEN_OPTION("max_categories", BALEEN_OPTION_INT, 0, 2, 1 << 20, "256", "", "",
                  "a text column with more is refused, as are more classes"),
    BALEEN_OPTION("held_out", BALEEN_OPTION_FLOAT, 0, 0, 0.9, "0.2", "", "",
                  "share of the rows kept back; which ones depends on their number alone"),
    BALEEN_OPTION("shuffle", BALEEN_OPTION_BOOL, 0, 0, 1, "true", "", "", "draw a new order for each epoch"));

namespace baleen::table {

using namespace sdk;

namespace {

/// Which rows are held out must not change with the job's seed, or runs could not be compared.
constexpr std::uint64_t kSplitKey = 0x7461626c65;

/// `source`: a file in place of what the settings name; empty: theirs. `known`: columns that are to be there.
Result<Table> load(const Settings& settings, std::string_view source = {}, const std::vector<std::string>& known = {}) {
  const std::string_view given = source.empty() ? settings.text("path") : source;
  const baleen_setting_t& rows = settings.at("rows");
  const bool has_rows = source.empty() && rows.rows > 0 && rows.columns > 0;
  if (given.empty() == !has_rows)
    return invalid(has_rows ? "table: give `path` or `rows`, not both"
                            : "table: give `path`, a CSV file, or `rows`, a list of lists of numbers");
  if (has_rows) return table_from_numbers(rows);
  const std::string path = (std::filesystem::path(settings.folder()) / given).lexically_normal().string();
  const std::string_view word = settings.text("separator");
  BALEEN_TRY_ASSIGN(const std::string text, read_text_file(path));
  BALEEN_TRY_ASSIGN(auto parsed, parse_csv(text, word == "tab" ? '\t' : word == "semicolon" ? ';' : ',', path));
  return table_from_csv(std::move(parsed), settings.text("header"), path, known);
}

void take_words(const Settings& settings, EncodingOptions& options) {
  const std::string_view missing = settings.text("missing");
  options.missing = missing == "mean" ? Missing::kMean : missing == "category" ? Missing::kCategory : Missing::kError;
  options.classify = settings.text("task") == "classify";
  options.normalize = settings.boolean("normalize");
  options.max_categories = static_cast<std::size_t>(settings.integer("max_categories"));
}

/// What to do about a file that was read as one column, where its first line looks like several.
std::string other_separator(const Table& table) {
  const std::string& line = table.named || table.csv.empty() ? table.columns[0].name : table.csv.front().fields.front();
  const std::pair<char, const char*> separators[] = {{'\t', "tab"}, {';', "semicolon"}, {',', "comma"}};
  for (const auto& [character, word] : separators)
    if (line.find(character) != line.npos)
      return std::string("; its first line has others between its fields: set `separator` = \"") + word + "\"";
  return {};
}

Result<EncodingOptions> choose(const Table& table, const Settings& settings, const IdOptions& ids) {
  EncodingOptions options;
  if (table.columns.size() < 2)
    return invalid("a table needs two columns: a feature and a label" + other_separator(table), table.where);
  options.label = table.columns.size() - 1;
  if (!settings.text("label").empty()) {
    BALEEN_TRY_ASSIGN(options.label, table.find(settings.text("label")));
  }
  if (ids.holds(options.label))
    return invalid("`ids` or `lists` names the label, `" + table.columns[options.label].name + "`", table.where);
  for (std::string_view name : settings.list("features")) {
    BALEEN_TRY_ASSIGN(const std::size_t number, table.find(name));
    if (number == options.label) return invalid("`features` names the label, `" + std::string(name) + "`", table.where);
    if (std::find(options.features.begin(), options.features.end(), number) != options.features.end())
      return invalid("`features` names `" + std::string(name) + "` twice", table.where);
    if (ids.holds(number))
      return invalid("`features` names `" + std::string(name) + "`, which `ids` or `lists` names too", table.where);
    options.features.push_back(number);
  }
  if (options.features.empty())
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (i != options.label && !ids.holds(i)) options.features.push_back(i);
  take_words(settings, options);
  return options;
}

/// The columns that a model was trained on, read as what they held then.
Result<EncodingOptions> choose_known(Table& table, const Settings& settings, const Facts& facts, bool needs_label) {
  EncodingOptions options;
  take_words(settings, options);
  if (options.classify != facts.classify)
    return invalid(std::string("the job has `task` = \"") + (options.classify ? "classify" : "regress") +
                   "\", and what is loaded was trained with the other one");
  for (const FeatureFacts& feature : facts.features) {
    BALEEN_TRY_ASSIGN(const std::size_t number, table.find(feature.name));
    BALEEN_TRY(table.read_as(number, feature.numeric));
    options.features.push_back(number);
  }
  options.has_label = needs_label;
  if (!needs_label) return options;
  BALEEN_TRY_ASSIGN(options.label, table.find(facts.label));
  BALEEN_TRY(table.read_as(options.label, !facts.classify || !facts.class_values.empty()));
  return options;
}

std::vector<std::string> names_in(const Facts& facts) {
  std::vector<std::string> names;
  for (const FeatureFacts& feature : facts.features)
    if (facts.named) names.push_back(feature.name);
  return names;
}

std::vector<std::size_t> in_order(std::size_t rows) {
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

/// The train rows, then the held-out ones, both in the table's order.
std::vector<std::size_t> split(std::size_t rows, std::size_t held_out) {
  const Permutation drawn(rows, kSplitKey);
  std::vector<std::size_t> train, kept;
  for (std::size_t row = 0; row < rows; ++row) (drawn(row) < held_out ? kept : train).push_back(row);
  train.insert(train.end(), kept.begin(), kept.end());
  return train;
}

class TableDataset : public Dataset, public Ragged, public Digested, public Learned {
 public:
  static Result<std::unique_ptr<TableDataset>> create(const Host& host, const Settings& settings) {
    BALEEN_TRY_ASSIGN(Table table, load(settings));
    BALEEN_TRY_ASSIGN(const IdOptions ids, id_options(table, settings));
    BALEEN_TRY_ASSIGN(const EncodingOptions options, choose(table, settings, ids));
    BALEEN_TRY(check_names(table, options));
    table.read(options.label);
    for (const std::size_t number : options.features) table.read(number);
    auto dataset = std::make_unique<TableDataset>();
    const std::vector<std::size_t> order = dataset->split_rows(table, settings);
    const auto train = static_cast<std::size_t>(dataset->rows_[BALEEN_TRAIN]);
    BALEEN_TRY_ASSIGN(dataset->facts_, learn(table, options, order, train));
    for (const std::string& doubt : doubts_of(table, options, dataset->facts_, order, train))
      host.log(BALEEN_WARNING, table.where + ": " + doubt);
    BALEEN_TRY(dataset->fill(table, settings, options, ids, order));
    return dataset;
  }

  static Result<std::unique_ptr<TableDataset>> take(const Host&, const Settings& settings, const LearnedFacts& given) {
    BALEEN_TRY_ASSIGN(Facts facts, Facts::parse(given.text));
    BALEEN_TRY_ASSIGN(Table table, load(settings, given.source, names_in(facts)));
    BALEEN_TRY_ASSIGN(const IdOptions ids, id_options(table, settings));
    BALEEN_TRY_ASSIGN(const EncodingOptions options,
                      choose_known(table, settings, facts, given.use != BALEEN_LEARNED_NO_TARGET));
    BALEEN_TRY(check_names(table, options));
    auto dataset = std::make_unique<TableDataset>();
    std::vector<std::size_t> order = dataset->split_rows(table, settings);
    if (given.takes_all_rows()) {
      order = in_order(table.rows);
      dataset->rows_[BALEEN_TRAIN] = dataset->rows_[BALEEN_HELD_OUT] = static_cast<std::int64_t>(table.rows);
      dataset->first_held_out_ = 0;
    }
    dataset->facts_ = std::move(facts);
    BALEEN_TRY(dataset->fill(table, settings, options, ids, order));
    if (given.takes_all_rows()) dataset->shuffle_ = false;
    return dataset;
  }

  std::string learned() const override { return facts_.text(); }
  std::string label(std::int64_t number) const override {
    return number >= 0 && number < static_cast<std::int64_t>(facts_.classes.size())
               ? facts_.classes[static_cast<std::size_t>(number)]
               : "";
  }

  Result<baleen_dataset_info_t> info() const override {
    baleen_dataset_info_t info{};
    info.size = sizeof(info);
    const auto add = [&](const baleen_field_t& field) {
      if (info.field_count < BALEEN_MAX_FIELDS) info.fields[info.field_count] = field;
      ++info.field_count;
    };
    if (encoded_.width > 0) add(make_field("features", BALEEN_F32, {static_cast<std::int64_t>(encoded_.width)}, {""}));
    for (const IdField& ids : ids_) {
      add(ids.most > 0 ? make_field(ids.name, BALEEN_I64, {ids.most}, {""}) : make_field(ids.name, BALEEN_I64, {}, {}));
      if (ids.most > 0) add(make_field(ids.name + "_length", BALEEN_I32, {}, {}));
    }
    add(make_field("label", classify_ ? BALEEN_I32 : BALEEN_F32, {}, {}));
    if (info.field_count > BALEEN_MAX_FIELDS)
      return invalid("the columns of `ids` and `lists` make " + std::to_string(info.field_count) +
                         " fields (a list makes two); there can be " + std::to_string(BALEEN_MAX_FIELDS),
                     name_);
    for (const baleen_split_t part : {BALEEN_TRAIN, BALEEN_HELD_OUT}) info.rows[part] = rows_[part];
    info.classes = static_cast<std::int64_t>(facts_.classes.size());
    info.units_per_row = 1;
    copy_text(info.unit, "rows");
    copy_text(info.summary, summary());
    return info;
  }

  Status read(baleen_split_t part, std::int64_t first, std::int64_t count, void* const* buffers) const override {
    if (rows_[part] == 0) return invalid("no row is held out; raise `held_out`");
    for (std::int64_t i = 0; i < count; ++i) {
      const std::size_t row = row_at(part, first + i), to = static_cast<std::size_t>(i);
      void* const* buffer = buffers;
      const auto put = [&](const auto& values, std::size_t width) {
        using Value = typename std::decay_t<decltype(values)>::value_type;
        std::copy_n(values.data() + row * width, width, static_cast<Value*>(*buffer++) + to * width);
      };
      if (encoded_.width > 0) put(encoded_.features, encoded_.width);
      for (const IdField& ids : ids_) {
        put(ids.values, ids.most > 0 ? static_cast<std::size_t>(ids.most) : 1);
        if (ids.most > 0) put(ids.lengths, 1);
      }
      classify_ ? put(encoded_.classes, 1) : put(encoded_.targets, 1);
    }
    return {};
  }

  std::uint64_t digest() const override {
    std::uint64_t all = 0;
    const auto add = [&](const auto& values) {
      all = XXH3_64bits_withSeed(values.data(), values.size() * sizeof values[0], all);
    };
    add(encoded_.features);
    add(encoded_.classes);
    add(encoded_.targets);
    for (const IdField& ids : ids_) {
      add(ids.values);
      add(ids.lengths);
    }
    return all;
  }

  /// Lengths stand behind their lists.
  std::int32_t length_field(std::uint32_t field) const override {
    std::uint32_t at = encoded_.width > 0 ? 1 : 0;
    for (const IdField& ids : ids_) {
      if (at == field) return ids.most > 0 ? static_cast<std::int32_t>(at + 1) : -1;
      at += ids.most > 0 ? 2 : 1;
    }
    return -1;
  }

 private:
  /// Decides which rows are held out; their order, the train part first.
  std::vector<std::size_t> split_rows(const Table& table, const Settings& settings) {
    const auto held_out =
        static_cast<std::size_t>(std::floor(static_cast<double>(table.rows) * settings.number("held_out")));
    rows_[BALEEN_TRAIN] = first_held_out_ = static_cast<std::int64_t>(table.rows - held_out);
    rows_[BALEEN_HELD_OUT] = static_cast<std::int64_t>(held_out);
    return split(table.rows, held_out);
  }

  Status fill(const Table& table, const Settings& settings, const EncodingOptions& options, const IdOptions& ids,
              const std::vector<std::size_t>& order) {
    BALEEN_TRY_ASSIGN(encoded_, encode(table, options, facts_, order));
    BALEEN_TRY_ASSIGN(ids_, id_fields(table, ids, order));
    classify_ = options.classify;
    shuffle_ = settings.boolean("shuffle");
    seed_ = settings.seed();
    name_ = std::filesystem::path(table.where).filename().string();
    return {};
  }

  std::size_t row_at(baleen_split_t part, std::int64_t position) const {
    const auto rows = static_cast<std::uint64_t>(rows_[part]), at = static_cast<std::uint64_t>(position);
    if (part == BALEEN_HELD_OUT) return static_cast<std::size_t>(first_held_out_) + at % rows;
    return shuffle_ ? Permutation(rows, mix_key(seed_, at / rows))(at % rows) : at % rows;
  }

  std::string summary() const {
    std::string text = name_ + ": " + std::to_string(rows_[BALEEN_TRAIN]) + " train, " +
                       std::to_string(rows_[BALEEN_HELD_OUT]) + " held-out rows; ";
    if (encoded_.width > 0) text += std::to_string(encoded_.width) + (encoded_.width == 1 ? " feature" : " features");
    for (const IdField& ids : ids_)
      text += (text.ends_with("; ") ? "" : ", ") + std::string(ids.most > 0 ? "lists `" : "ids `") + ids.name + "`" +
              (ids.most > 0 ? " of at most " + std::to_string(ids.most) : "");
    if (!classify_) return text + ", a number to predict";
    text += ", " + std::to_string(facts_.classes.size()) + " classes: ";
    for (std::size_t i = 0; i < facts_.classes.size(); ++i) text += (i ? ", " : "") + facts_.classes[i];
    return text;
  }

  Facts facts_;
  Encoded encoded_;
  std::vector<IdField> ids_;
  std::int64_t rows_[2] = {0, 0};
  std::int64_t first_held_out_ = 0;  // among the encoded rows
  bool classify_ = true, shuffle_ = true;
  std::uint64_t seed_ = 0;
  std::string name_;
};

}  // namespace
}  // namespace baleen::table

BALEEN_DATA(baleen::table::TableDataset);
