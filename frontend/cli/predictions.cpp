/// \file Numbers, classes and sequences to text.
#include "frontend/cli/predictions.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <set>
#include <span>

#include "baleen/dtype.hpp"
#include "frontend/engine/json.hpp"

namespace baleen::app {
namespace {

constexpr const char* kLogits = "logits";

/// The shortest text that reads back as the same number of its dtype.
std::string number_text(double number, baleen_dtype_t dtype) {
  char text[64];
  const auto print = [&](auto value) { return std::string(text, std::to_chars(text, text + sizeof text, value).ptr); };
  if (!is_floating(dtype)) return print(static_cast<std::int64_t>(number));
  return dtype == BALEEN_F64 ? print(number) : print(static_cast<float>(number));
}

std::string number_json(double number, baleen_dtype_t dtype) {
  return std::isfinite(number) ? number_text(number, dtype) : "null";
}

/// Numbers as lists in lists.
std::string nested(std::span<const std::string> numbers, std::span<const std::int64_t> shape) {
  if (shape.empty()) return numbers.front();
  const auto count = static_cast<std::size_t>(shape.front());
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t part = numbers.size() / count;
    text += (i ? "," : "") + nested(numbers.subspan(i * part, part), shape.subspan(1));
  }
  return text + "]";
}

std::string quoted(const std::string& field) {
  const bool needs =
      field.find_first_of(",\"\r\n") != std::string::npos || field.starts_with(' ') || field.ends_with(' ');
  if (!needs) return field;
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

bool has_classes(const std::string& name, const HostTensor& tensor) {
  return name == kLogits && is_floating(tensor.dtype) && tensor.shape.size() > 1;
}

/// The numbers of one row of a batch.
std::vector<double> row_of(const HostTensor& tensor, std::int64_t row) {
  const auto bytes = static_cast<std::size_t>(element_count(tensor.shape) / tensor.shape[0]) * dtype_size(tensor.dtype);
  const auto from = tensor.bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * bytes);
  return numbers_of({tensor.dtype,
                     {tensor.shape.begin() + 1, tensor.shape.end()},
                     {from, from + static_cast<std::ptrdiff_t>(bytes)}});
}

/// A row's numbers as texts. 64-bit integers are printed from their bytes: a double has 53 bits.
std::vector<std::string> texts_of(const HostTensor& tensor, std::int64_t row, bool is_json) {
  std::vector<std::string> texts;
  if (tensor.dtype == BALEEN_I64) {
    const auto count = static_cast<std::size_t>(element_count(tensor.shape) / tensor.shape[0]);
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t number = 0;
      const std::size_t at = static_cast<std::size_t>(row) * count + i;
      std::memcpy(&number, tensor.bytes.data() + at * sizeof number, sizeof number);
      texts.push_back(std::to_string(number));
    }
    return texts;
  }
  for (const double number : row_of(tensor, row))
    texts.push_back(is_json ? number_json(number, tensor.dtype) : number_text(number, tensor.dtype));
  return texts;
}

struct Likeliest {
  std::int64_t number = 0;
  double probability = 0;
};

Likeliest likeliest(std::span<const double> logits) {
  const auto best = std::ranges::max_element(logits);
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - *best);
  return {best - logits.begin(), 1 / sum};
}

}  // namespace

Status Predictions::add_classes(const HostTensor& logits, const std::vector<double>& numbers,
                                std::vector<Cell>& to) const {
  const auto classes = static_cast<std::size_t>(logits.shape.back());
  const bool is_list = logits.shape.size() > 2;
  std::string found, probabilities;
  std::vector<std::int32_t> ids;
  for (std::size_t at = 0; at < numbers.size(); at += classes) {
    const Likeliest best = likeliest(std::span(numbers).subspan(at, classes));
    std::string label;
    if (names_.label) {
      BALEEN_TRY_ASSIGN(label, names_.label(best.number));
    }
    const std::string own = std::to_string(best.number);
    if (!is_list) {
      to.push_back({"class", label.empty() ? own : json_text(label), label.empty() ? own : label});
      to.push_back(
          {"probability", number_json(best.probability, logits.dtype), number_text(best.probability, logits.dtype)});
      return {};
    }
    ids.push_back(static_cast<std::int32_t>(best.number));
    found += (at ? "," : "[") + (label.empty() ? own : json_text(label));
    probabilities += (at ? "," : "[") + number_json(best.probability, logits.dtype);
  }
  if (names_.text) {
    BALEEN_TRY_ASSIGN(const std::string text, names_.text(ids));
    to.push_back({"text", json_text(text), text});
  }
  to.push_back({"class", found + "]", found + "]"});
  to.push_back({"probability", probabilities + "]", probabilities + "]"});
  return {};
}

void Predictions::add_numbers(const std::string& name, const HostTensor& tensor, std::int64_t row,
                              std::vector<Cell>& to) const {
  const std::span<const std::int64_t> shape = std::span(tensor.shape).subspan(1);
  const std::vector<std::string> plain = texts_of(tensor, row, false), json = texts_of(tensor, row, true);
  if (plain.size() == 1) {
    to.push_back({name, json[0], plain[0]});
  } else if (format_ == PredictionFormat::csv && shape.size() == 1) {
    for (std::size_t i = 0; i < plain.size(); ++i) to.push_back({name + "_" + std::to_string(i + 1), {}, plain[i]});
  } else {
    const std::string text = nested(json, shape);
    to.push_back({name, text, text});
  }
}

Result<std::vector<Predictions::Cell>> Predictions::cells(const HostTensors& outputs, std::int64_t row) const {
  std::vector<Cell> list;
  for (const auto& [name, tensor] : outputs) {
    if (has_classes(name, tensor))
      BALEEN_TRY(add_classes(tensor, row_of(tensor, row), list));
    else
      add_numbers(name, tensor, row, list);
  }
  return list;
}

std::string Predictions::not_finite(const HostTensors& outputs, std::int64_t row) {
  for (const auto& [name, tensor] : outputs) {
    if (!is_floating(tensor.dtype)) continue;
    const std::vector<double> numbers = row_of(tensor, row);
    const std::string of = " for `" + name + "`";
    if (std::ranges::any_of(numbers, [](double number) { return std::isnan(number); })) return "NaN" + of;
    // A model may rule classes out by minus infinity, but not all of them.
    const std::size_t step = has_classes(name, tensor) ? static_cast<std::size_t>(tensor.shape.back()) : 1;
    for (std::size_t at = 0; at < numbers.size(); at += step)
      if (std::isinf(*std::ranges::max_element(std::span(numbers).subspan(at, step)))) return "infinite numbers" + of;
  }
  return {};
}

Result<std::string> Predictions::header(const HostTensors& outputs) {
  BALEEN_TRY_ASSIGN(const std::vector<Cell> list, cells(outputs, 0));
  std::set<std::string> names;
  for (const Cell& cell : list)
    if (!names.insert(cell.name).second)
      return invalid("each row would have two values of the name `" + cell.name +
                     "`; give the model's outputs other "
                     "names" +
                     (outputs.contains(kLogits) ? ": `logits` becomes `class`, `probability` and `text`" : ""));
  if (format_ == PredictionFormat::jsonl) return std::string();
  std::string line;
  for (const Cell& cell : list) line += (line.empty() ? "" : ",") + quoted(cell.name);
  return line + "\n";
}

Result<std::string> Predictions::rows(const HostTensors& outputs, std::int64_t first, std::int64_t count) const {
  const bool is_csv = format_ == PredictionFormat::csv;
  std::string text;
  for (std::int64_t row = first; row < first + count; ++row) {
    BALEEN_TRY_ASSIGN(const std::vector<Cell> list, cells(outputs, row));
    std::string line;
    for (const Cell& cell : list)
      line += (line.empty() ? "" : ",") + (is_csv ? quoted(cell.plain) : json_text(cell.name) + ":" + cell.json);
    text += is_csv ? line + "\n" : "{" + line + "}\n";
  }
  return text;
}

}  // namespace baleen::app
