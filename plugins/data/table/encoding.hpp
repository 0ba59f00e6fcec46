/// \file From columns to what a model reads: a matrix of features and a list of labels.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "column.hpp"
#include "facts.hpp"

namespace baleen::table {

enum class Missing { kError, kMean, kCategory };

struct EncodingOptions {
  std::size_t label = 0;  // column numbers
  bool has_label = true;  // else there are no numbers or classes to predict: they are 0
  std::vector<std::size_t> features;
  bool classify = true;
  bool normalize = false;
  Missing missing = Missing::kError;
  std::size_t max_categories = 256;
};

/// Row-major, in the order of `order`.
struct Encoded {
  std::size_t width = 0;  // features per row
  std::vector<float> features;
  std::vector<std::int32_t> classes;  // classify: each row's class
  std::vector<float> targets;         // regress: each row's number
};

/// What the table teaches, of whose rows in the given order the first `train` are the train part: means, deviations and
/// most frequent categories are theirs alone. Classes and categories are numbered over all rows.
Result<Facts> learn(const Table& table, const EncodingOptions& options, const std::vector<std::size_t>& order,
                    std::size_t train);

/// Encodes the table's rows in the given order, as `facts` say, whose features are the columns of `options`. Fails,
/// with the place, on a category or a class that they do not have.
Result<Encoded> encode(const Table& table, const EncodingOptions& options, const Facts& facts,
                       const std::vector<std::size_t>& order);

}  // namespace baleen::table
