/// \file Normalisation, one-hot categories, missing fields, classes.
#include "encoding.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace baleen::table {
namespace {

/// What the train part says about a numeric column.
void take_moments(const Column& column, const std::vector<std::size_t>& order, std::size_t train, FeatureFacts& out) {
  double sum = 0, squares = 0, count = 0;
  for (std::size_t i = 0; i < train; ++i)
    if (!column.is_missing(order[i])) sum += column.numbers[order[i]], ++count;
  if (count == 0) return;
  out.mean = sum / count;
  for (std::size_t i = 0; i < train; ++i)
    if (!column.is_missing(order[i])) squares += std::pow(column.numbers[order[i]] - out.mean, 2);
  const double deviation = std::sqrt(squares / count);
  out.deviation = deviation > 0 ? deviation : 1;
}

std::int32_t most_frequent(const Column& column, const std::vector<std::size_t>& order, std::size_t train) {
  std::vector<std::size_t> counts(column.names.size());
  for (std::size_t i = 0; i < train; ++i)
    if (!column.is_missing(order[i])) ++counts[static_cast<std::size_t>(column.categories[order[i]])];
  return static_cast<std::int32_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
}

Status check_feature(const Column& column, const EncodingOptions& options, const std::string& where) {
  const std::string who = "column `" + column.name + "` ";
  if (options.missing == Missing::kError && !column.first_missing.empty())
    return invalid(who + "lacks a value; set `missing` = \"mean\" or \"category\" to fill it", column.first_missing);
  if (column.numeric) return {};
  const std::size_t most = options.max_categories;
  std::string bound = "`max_categories` = " + std::to_string(most);
  std::string remedy = "; mend the value, or leave the column out of `features`";
  if (column.names.size() <= most) {
    // Where nearly all are numbers, one that is none is a mistake rather than a name.
    constexpr std::size_t kFewer = 8;
    const bool nearly = 10 * column.numbers_among >= 9 * column.categories.size();
    if (!nearly || column.names.size() <= most / kFewer) return {};
    bound = "an eighth of " + bound + ", which counts where 9 of 10 fields are numbers";
    remedy = "; mend the value, leave the column out of `features`, or set `max_categories` higher";
  }
  return invalid(who + "is not numeric because of " + column.first_text + ", and as categories it has " +
                     std::to_string(column.names.size()) + ", above " + bound + remedy,
                 where);
}

void number_classes(const Column& label, Facts& out) {
  if (!label.numeric) {
    out.classes = label.names;
    return;
  }
  std::vector<double>& values = out.class_values = label.numbers;
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  for (double value : values) {
    std::string name = std::to_string(value);
    name.erase(name.find_last_not_of('0') + 1);
    if (name.ends_with('.')) name.pop_back();
    out.classes.push_back(name);
  }
}

Status learn_label(const Table& table, const EncodingOptions& options, Facts& out) {
  const Column& label = table.columns[options.label];
  const std::string who = "the label column `" + label.name + "` ";
  if (!label.first_missing.empty()) return invalid(who + "lacks a value", label.first_missing);
  if (!options.classify) {
    if (label.numeric) return {};
    return invalid(who + "must be numeric for `task` = \"regress\", but holds " + label.first_text, table.where);
  }
  number_classes(label, out);
  // Every row its own class is a measured number, not a class.
  if (out.classes.size() > options.max_categories)
    return invalid(who + "has " + std::to_string(out.classes.size()) + " classes, above `max_categories` = " +
                       std::to_string(options.max_categories) + "; for a number to predict, set `task` = \"regress\"",
                   table.where);
  return {};
}

/// For each category of the column its number among `known`. Fails where one is not there.
Result<std::vector<std::int32_t>> numbers_of(const Column& column, const std::vector<std::string>& known,
                                             const Table& table, const char* what) {
  std::vector<std::int32_t> numbers;
  for (std::size_t i = 0; i < column.names.size(); ++i) {
    const auto found = std::find(known.begin(), known.end(), column.names[i]);
    if (found == known.end()) {
      const auto first = std::find(column.categories.begin(), column.categories.end(), static_cast<std::int32_t>(i));
      return invalid("`" + column.names[i] + "` is no " + what + " of column `" + column.name +
                         "` that was there in training; there were " + std::to_string(known.size()),
                     table.place(static_cast<std::size_t>(first - column.categories.begin())));
    }
    numbers.push_back(static_cast<std::int32_t>(found - known.begin()));
  }
  return numbers;
}

/// As fp32, in which models read it.
Result<float> narrowed(double number, const std::string& name, const std::string& place) {
  const auto narrow = static_cast<float>(number);
  if (std::isfinite(narrow)) return narrow;
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return invalid("column `" + name + "` holds " + text + ", above what fp32 can hold; scale the column", place);
}

/// Writes the features of one column, beside those of the others, for all rows.
Status write_feature(const Table& table, const Column& column, const FeatureFacts& facts, bool normalize,
                     const std::vector<std::size_t>& order, float* out, std::size_t stride) {
  const std::size_t width = facts.width();
  std::vector<std::int32_t> numbers;
  if (!facts.numeric) {
    BALEEN_TRY_ASSIGN(numbers, numbers_of(column, facts.categories, table, "category"));
  }
  for (const std::size_t row : order) {
    const bool missing = column.is_missing(row);
    if (facts.numeric) {
      const double number = missing ? facts.mean : column.numbers[row];
      const double shown = normalize ? (number - facts.mean) / facts.deviation : number;
      BALEEN_TRY_ASSIGN(out[0], narrowed(shown, column.name, table.place(row)));
      if (facts.marks_missing) out[1] = missing ? 1.0F : 0.0F;
    } else {
      const auto missed = facts.marks_missing ? facts.categories.size() : static_cast<std::size_t>(facts.most_frequent);
      std::fill_n(out, width, 0.0F);
      out[missing ? missed : static_cast<std::size_t>(numbers[static_cast<std::size_t>(column.categories[row])])] = 1;
    }
    out += stride;
  }
  return {};
}

Status encode_label(const Table& table, const EncodingOptions& options, const Facts& facts,
                    const std::vector<std::size_t>& order, Encoded& out) {
  if (!options.has_label) {
    if (options.classify)
      out.classes.assign(order.size(), 0);
    else
      out.targets.assign(order.size(), 0);
    return {};
  }
  const Column& label = table.columns[options.label];
  if (!label.first_missing.empty())
    return invalid("the label column `" + label.name + "` lacks a value", label.first_missing);
  if (!options.classify) {
    for (std::size_t row : order) {
      BALEEN_TRY_ASSIGN(const float target, narrowed(label.numbers[row], label.name, table.place(row)));
      out.targets.push_back(target);
    }
    return {};
  }
  if (!label.numeric) {
    BALEEN_TRY_ASSIGN(const auto numbers, numbers_of(label, facts.classes, table, "class"));
    for (std::size_t row : order) out.classes.push_back(numbers[static_cast<std::size_t>(label.categories[row])]);
    return {};
  }
  const std::vector<double>& values = facts.class_values;
  for (std::size_t row : order) {
    const auto found = std::lower_bound(values.begin(), values.end(), label.numbers[row]);
    if (found == values.end() || *found != label.numbers[row])
      return invalid("column `" + label.name + "` holds a class that was not there in training", table.place(row));
    out.classes.push_back(static_cast<std::int32_t>(found - values.begin()));
  }
  return {};
}

}  // namespace

Result<Facts> learn(const Table& table, const EncodingOptions& options, const std::vector<std::size_t>& order,
                    std::size_t train) {
  Facts facts;
  facts.named = table.named;
  facts.normalize = options.normalize;
  facts.classify = options.classify;
  facts.label = table.columns[options.label].name;
  BALEEN_TRY(learn_label(table, options, facts));
  for (std::size_t number : options.features) {
    const Column& column = table.columns[number];
    BALEEN_TRY(check_feature(column, options, table.where));
    FeatureFacts& feature = facts.features.emplace_back();
    feature.name = column.name;
    feature.numeric = column.numeric;
    feature.categories = column.names;
    feature.marks_missing = options.missing == Missing::kCategory && !column.first_missing.empty();
    if (column.numeric)
      take_moments(column, order, train, feature);
    else
      feature.most_frequent = most_frequent(column, order, train);
  }
  return facts;
}

Result<Encoded> encode(const Table& table, const EncodingOptions& options, const Facts& facts,
                       const std::vector<std::size_t>& order) {
  Encoded out;
  BALEEN_TRY(encode_label(table, options, facts, order, out));
  for (const FeatureFacts& feature : facts.features) out.width += feature.width();
  out.features.resize(order.size() * out.width);
  float* next = out.features.data();
  for (std::size_t i = 0; i < facts.features.size(); ++i) {
    const Column& column = table.columns[options.features[i]];
    if (options.missing == Missing::kError && !column.first_missing.empty())
      return invalid("column `" + column.name + "` lacks a value; set `missing` = \"mean\" or \"category\" to fill it",
                     column.first_missing);
    BALEEN_TRY(write_feature(table, column, facts.features[i], facts.normalize, order, next, out.width));
    next += facts.features[i].width();
  }
  return out;
}

}  // namespace baleen::table
