/// \file Normalisation, one-hot categories, missing fields, classes.
#include "encoding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace baleen::table {
namespace {

/// What the train part says about a numeric column; the deviation is the population's.
struct Moments {
  double mean = 0, deviation = 1;
};

Moments moments_of(const Column& column, const std::vector<std::size_t>& order, std::size_t train) {
  double sum = 0, squares = 0, count = 0;
  for (std::size_t i = 0; i < train; ++i)
    if (!column.is_missing(order[i])) sum += column.numbers[order[i]], ++count;
  if (count == 0) return {};
  const double mean = sum / count;
  for (std::size_t i = 0; i < train; ++i)
    if (!column.is_missing(order[i])) squares += std::pow(column.numbers[order[i]] - mean, 2);
  const double deviation = std::sqrt(squares / count);
  return {mean, deviation > 0 ? deviation : 1};
}

std::int32_t most_frequent(const Column& column, const std::vector<std::size_t>& order, std::size_t train) {
  std::vector<std::size_t> counts(column.names.size());
  for (std::size_t i = 0; i < train; ++i)
    if (!column.is_missing(order[i])) ++counts[static_cast<std::size_t>(column.categories[order[i]])];
  return static_cast<std::int32_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
}

/// The columns of the matrix that a table's column becomes.
class FeatureWriter {
 public:
  FeatureWriter(const Column& column, const EncodingOptions& options, const std::vector<std::size_t>& order,
                std::size_t train)
      : column_(column), normalize_(options.normalize) {
    const bool marks_missing = options.missing == Missing::kCategory && !column.first_missing.empty();
    if (column.numeric) {
      moments_ = moments_of(column, order, train);
      width_ = marks_missing ? 2 : 1;
    } else {
      missing_category_ =
          marks_missing ? static_cast<std::int32_t>(column.names.size()) : most_frequent(column, order, train);
      width_ = column.names.size() + (marks_missing ? 1 : 0);
    }
  }

  std::size_t width() const { return width_; }

  void write(std::size_t row, float* out) const {
    const bool missing = column_.is_missing(row);
    if (column_.numeric) {
      const double number = missing ? moments_.mean : column_.numbers[row];
      out[0] = static_cast<float>(normalize_ ? (number - moments_.mean) / moments_.deviation : number);
      if (width_ == 2) out[1] = missing ? 1.0F : 0.0F;
      return;
    }
    std::fill_n(out, width_, 0.0F);
    out[missing ? missing_category_ : column_.categories[row]] = 1.0F;
  }

 private:
  const Column& column_;
  bool normalize_;
  Moments moments_;
  std::int32_t missing_category_ = 0;
  std::size_t width_ = 1;
};

Status check_feature(const Column& column, const EncodingOptions& options, const std::string& where) {
  const std::string who = "column `" + column.name + "` ";
  if (options.missing == Missing::kError && !column.first_missing.empty())
    return invalid(who + "lacks a value; set `missing` = \"mean\" or \"category\" to fill it", column.first_missing);
  if (!column.numeric && column.names.size() > options.max_categories)
    return invalid(who + "is not numeric because of " + column.first_text + ", and as categories it has " +
                       std::to_string(column.names.size()) +
                       ", above `max_categories` = " + std::to_string(options.max_categories) +
                       "; mend the value, or leave the column out of `features`",
                   where);
  return {};
}

void number_classes(const Column& label, const std::vector<std::size_t>& order, Encoded& out) {
  if (!label.numeric) {
    out.class_names = label.names;
    for (std::size_t row : order) out.classes.push_back(label.categories[row]);
    return;
  }
  std::vector<double> values = label.numbers;
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  for (double value : values) {
    std::string name = std::to_string(value);
    name.erase(name.find_last_not_of('0') + 1);
    if (name.ends_with('.')) name.pop_back();
    out.class_names.push_back(name);
  }
  for (std::size_t row : order) {
    const auto found = std::lower_bound(values.begin(), values.end(), label.numbers[row]);
    out.classes.push_back(static_cast<std::int32_t>(found - values.begin()));
  }
}

Status encode_label(const Table& table, const EncodingOptions& options, const std::vector<std::size_t>& order,
                    Encoded& out) {
  const Column& label = table.columns[options.label];
  const std::string who = "the label column `" + label.name + "` ";
  if (!label.first_missing.empty()) return invalid(who + "lacks a value", label.first_missing);
  if (!options.classify) {
    if (!label.numeric)
      return invalid(who + "must be numeric for `task` = \"regress\", but holds " + label.first_text, table.where);
    for (std::size_t row : order) out.targets.push_back(static_cast<float>(label.numbers[row]));
    return {};
  }
  number_classes(label, order, out);
  // Every row its own class is a measured number, not a class.
  if (out.class_names.size() > options.max_categories)
    return invalid(who + "has " + std::to_string(out.class_names.size()) + " classes, above `max_categories` = " +
                       std::to_string(options.max_categories) + "; for a number to predict, set `task` = \"regress\"",
                   table.where);
  return {};
}

}  // namespace

Result<Encoded> encode(const Table& table, const EncodingOptions& options, const std::vector<std::size_t>& order,
                       std::size_t train) {
  Encoded out;
  BALEEN_TRY(encode_label(table, options, order, out));
  std::vector<FeatureWriter> writers;
  for (std::size_t number : options.features) {
    const Column& column = table.columns[number];
    BALEEN_TRY(check_feature(column, options, table.where));
    writers.emplace_back(column, options, order, train);
    out.width += writers.back().width();
  }
  out.features.resize(order.size() * out.width);
  float* next = out.features.data();
  for (std::size_t row : order) {
    for (const FeatureWriter& writer : writers) {
      writer.write(row, next);
      next += writer.width();
    }
  }
  return out;
}

}  // namespace baleen::table
