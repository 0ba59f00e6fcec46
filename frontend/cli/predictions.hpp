/// \file Outputs of a model as rows of text: CSV or JSON lines.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/runtime/host_tensor.hpp"

namespace baleen::app {

enum class PredictionFormat { csv, jsonl };

/// What numbers of classes mean.
struct ClassNames {
  std::function<Result<std::string>(std::int64_t number)> label = {};  ///< "": the number itself
  /// Ids of a sequence as text; none where the data is no text.
  std::function<Result<std::string>(const std::vector<std::int32_t>& ids)> text = {};
};

/// Rows of the outputs of one program, whose first dimension is the batch. `logits` [batch, ..., classes] become
/// `class`, the likeliest one (its label, or its number), and `probability`, its softmax; of a sequence these are
/// lists, with `text` beside where ids have one. Any other output is its numbers: one, or a list; in CSV a list of one
/// dimension is columns NAME_1, NAME_2, ..., one of more dimensions is JSON.
class Predictions {
 public:
  Predictions(PredictionFormat format, ClassNames names) : format_(format), names_(std::move(names)) {}

  /// The line of names of CSV; "" of JSON lines. INVALID where two values of a row would have one name.
  Result<std::string> header(const HostTensors& outputs);
  /// Rows `first` ... `first + count - 1` of a batch, a line each.
  Result<std::string> rows(const HostTensors& outputs, std::int64_t first, std::int64_t count) const;
  /// What of a row of a batch is no prediction, as in "NaN for `logits`": a number that is not finite, and of the
  /// logits of a class the largest one, or NaN. Else "".
  static std::string not_finite(const HostTensors& outputs, std::int64_t row);

 private:
  struct Cell {
    std::string name, json;
    std::string plain;  ///< of CSV, unquoted
  };
  Result<std::vector<Cell>> cells(const HostTensors& outputs, std::int64_t row) const;
  Status add_classes(const HostTensor& logits, const std::vector<double>& numbers, std::vector<Cell>& to) const;
  void add_numbers(const std::string& name, const HostTensor& tensor, std::int64_t row, std::vector<Cell>& to) const;

  PredictionFormat format_;
  ClassNames names_;
};

}  // namespace baleen::app
