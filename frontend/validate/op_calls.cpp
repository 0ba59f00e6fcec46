/// \file Asks the kind's own rule for the types of results.
#include "frontend/validate/op_calls.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "baleen/attribute_list.hpp"
#include "baleen/host.hpp"

namespace baleen::validate {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t kBatch = 8;
/// Of operands, in the order in which they are tried; the first dimension of 8 is the batch.
const std::vector<Shape> kShapes = {{kBatch, 6}, {kBatch, 4, 6},    {6},         {kBatch}, {kBatch, 5}, {5, 6},
                                    {6, 5},      {kBatch, 2, 4, 6}, {kBatch, 4}, {4}};

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

std::vector<std::string> words_of(const std::string& choices) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= choices.size() && !choices.empty();) {
    const std::size_t end = std::min(choices.find('|', begin), choices.size());
    words.push_back(choices.substr(begin, end - begin));
    begin = end + 1;
  }
  std::erase_if(words, [](const std::string& word) { return word.find_first_of(",:;") != word.npos; });
  return words;
}

std::string integer_text(double number) { return std::to_string(static_cast<std::int64_t>(number)); }

/// A value for an attribute that has no default. Nothing: none is known.
std::optional<AttributeWord> needed_value(const AttributeSpec& spec) {
  const double least = spec.has_range() ? spec.minimum : 1;
  switch (spec.type) {
    case BALEEN_RULE_INTEGER: return AttributeWord{'n', integer_text(std::max(1.0, least))};
    case BALEEN_RULE_NUMBER: return AttributeWord{'n', number_text(std::max(0.5, least))};
    case BALEEN_RULE_BOOLEAN: return AttributeWord{'b', "true"};
    case BALEEN_RULE_DIMENSION: return AttributeWord{'n', "-1"};
    case BALEEN_RULE_TEXT: {
      const std::vector<std::string> words = words_of(spec.choices);
      if (words.empty()) return std::nullopt;
      return AttributeWord{'t', words.front()};
    }
    default: return std::nullopt;
  }
}

/// What an op has of what a script says; `rank` is the first operand's. Scripts count dimensions from 1, -1 is the
/// last.
void add_word(sdk::AttributeList& list, const AttributeSpec& spec, const AttributeWord& word, std::size_t rank) {
  const auto number = std::strtod(word.text.c_str(), nullptr);
  const auto integer = static_cast<std::int64_t>(number);
  switch (spec.type) {
    case BALEEN_RULE_INTEGER: list.integer(spec.name, integer); break;
    case BALEEN_RULE_NUMBER: list.number(spec.name, number); break;
    case BALEEN_RULE_BOOLEAN: list.integer(spec.name, word.text == "true" ? 1 : 0); break;
    case BALEEN_RULE_DIMENSION:
      list.integer(spec.name, integer < 0 ? static_cast<std::int64_t>(rank) + integer : integer - 1);
      break;
    default: list.text(spec.name, word.text);
  }
}

void add_default(sdk::AttributeList& list, const AttributeSpec& spec) {
  const Result<Attribute> value = parse_attribute(spec, spec.default_value);
  if (!value) throw Failure(value.error().text());
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&*value)) list.integers(spec.name, *integers);
  if (const auto* numbers = std::get_if<std::vector<double>>(&*value)) list.number(spec.name, numbers->at(0));
  if (const auto* text = std::get_if<std::string>(&*value)) list.text(spec.name, *text);
}

/// Whether each dimension that an attribute names is one of the first operand.
bool are_dimensions(const OpSchema& schema, const std::vector<baleen_attribute_t>& attributes, std::size_t rank) {
  for (const baleen_attribute_t& attribute : attributes) {
    const AttributeSpec* const spec = schema.find(std::string(view(attribute.name)));
    if (!spec || (spec->type != BALEEN_RULE_DIMENSION && spec->type != BALEEN_RULE_DIMENSIONS)) continue;
    const auto* const dims = static_cast<const std::int64_t*>(attribute.data);
    if (std::any_of(dims, dims + attribute.count,
                    [&](std::int64_t dim) { return dim < 0 || dim >= static_cast<std::int64_t>(rank); }))
      return false;
  }
  return true;
}

struct TakenTypes {
  std::uint64_t results = 0;
  static void result(void* self, const baleen_value_type_t*) { ++static_cast<TakenTypes*>(self)->results; }
};

/// How the operands' shapes relate: their ranks, and whether each is the first one's, begins as it, or neither. Calls
/// of the same form are alike; what has fewer differences comes first.
std::tuple<int, int, std::string> form_of(const std::vector<std::size_t>& shapes) {
  int others = 0, beginnings = 0;
  std::string text;
  for (const std::size_t number : shapes) {
    const Shape &first = kShapes[shapes[0]], &shape = kShapes[number];
    const char relation = shape == first ? '=' : shape[0] == first[0] ? '^' : '/';
    others += relation == '/';
    beginnings += relation == '^';
    text += std::to_string(shape.size()) + relation;
  }
  return {others, beginnings, text};
}

}  // namespace

OpCalls::OpCalls(const Opened& opened, const baleen_op_kind_t& kind, const Descriptor& descriptor)
    : opened_(opened), kind_(kind) {
  if (kind.traits & BALEEN_KIND_DERIVED) throw Skip("other kinds' rules make it; scripts cannot");
  Result<OpSchema> schema = read_schema(kind, descriptor.name);
  if (!schema) throw Failure(schema.error().text());
  schema_ = *std::move(schema);
  for (const AttributeSpec& spec : schema_.attributes) {
    if (!spec.required()) continue;
    const auto value = needed_value(spec);
    if (!value) throw Skip("no value is known here for its attribute `" + spec.name + "`");
    required_[spec.name] = *value;
  }
  while (operands_ < schema_.operands.size() && !schema_.operands[operands_].optional()) ++operands_;
  ask_all();
}

void OpCalls::ask_all() {
  constexpr int kMostAsked = 20'000;
  constexpr std::size_t kMostForms = 24;
  std::map<std::tuple<int, int, std::string>, OpCall> forms;
  OpCall call{std::vector<std::size_t>(operands_, 0), required_};
  for (int asked = 0; asked < kMostAsked; ++asked) {
    if (is_taken(call)) {
      if (taken_.empty()) {
        taken_.push_back(call);
        taken_.front().ids = OpCall::kManyIds;
      }
      if (operands_ > 0) forms.try_emplace(form_of(call.shapes), call);
    }
    std::size_t at = 0;
    while (at < operands_ && ++call.shapes[at] == kShapes.size()) call.shapes[at++] = 0;
    if (at == operands_) break;
  }
  for (const auto& [form, one] : forms)
    if (one.shapes != taken_.front().shapes && taken_.size() < kMostForms) taken_.push_back(one);
}

std::string OpCalls::text(const OpCall& call) const {
  std::string text;
  for (std::size_t i = 0; i < call.shapes.size(); ++i)
    text += std::string(i == 0 ? "" : ",") + (is_ids(i) ? "i" : "f") + shape_text(kShapes[call.shapes[i]]);
  text += ";";
  for (const auto& [name, word] : call.attributes)
    text += (text.back() == ';' ? "" : ",") + name + ":" + word.letter + ":" + word.text;
  return text + ";" + std::to_string(call.along) + ";" + std::to_string(call.ids);
}

std::string OpCalls::of(const OpCall& call) const {
  const std::string whole = text(call);
  std::string words = "of operands " + whole.substr(0, whole.find(';'));
  for (const auto& [name, word] : call.attributes) words += ", with " + name + " = " + word.text;
  if (call.along > 0) words += ", where only `" + schema_.operands[call.along - 1].name + "` is learnt";
  return words + ": ";
}

/// Whether the kind's own rule takes operands of these shapes.
bool OpCalls::is_taken(const OpCall& call) const {
  const std::size_t rank = call.shapes.empty() ? 0 : kShapes[call.shapes[0]].size();
  sdk::AttributeList list;
  for (const AttributeSpec& spec : schema_.attributes) {
    const auto word = call.attributes.find(spec.name);
    if (word != call.attributes.end())
      add_word(list, spec, word->second, rank);
    else if (!spec.default_value.empty())
      add_default(list, spec);
  }
  const std::vector<baleen_attribute_t> attributes = list.list();
  if (!are_dimensions(schema_, attributes, rank)) return false;
  std::vector<baleen_value_type_t> types;
  for (std::size_t i = 0; i < call.shapes.size(); ++i) {
    baleen_value_type_t type{};
    type.size = sizeof type;
    type.dtype = is_ids(i) ? BALEEN_I32 : BALEEN_F32;
    type.rank = static_cast<std::uint32_t>(kShapes[call.shapes[i]].size());
    std::ranges::copy(kShapes[call.shapes[i]], type.shape);
    types.push_back(type);
  }
  TakenTypes taken;
  const baleen_infer_t context{sizeof context,    types.data(),      types.size(), sizeof(baleen_value_type_t),
                               attributes.data(), attributes.size(), &taken,       &TakenTypes::result};
  const baleen_status_t status = opened_.call("`infer`", kind_.infer, kind_.self, &context);
  if (status != BALEEN_OK) opened_.refusal("`infer`", status);
  return status == BALEEN_OK && taken.results >= schema_.least_results();
}

std::vector<AttributeWord> OpCalls::other_values(const AttributeSpec& spec, const OpCall& base) const {
  const auto given = base.attributes.find(spec.name);
  const std::string now = given == base.attributes.end() ? spec.default_value : given->second.text;
  const double number = std::strtod(now.c_str(), nullptr);
  std::vector<AttributeWord> all;
  const auto add_number = [&](double value, bool integer) {
    const bool fits = !spec.has_range() || (value >= spec.minimum && value <= spec.maximum);
    if (fits && (now.empty() || value != number))
      all.push_back({'n', integer ? integer_text(value) : number_text(value)});
  };
  switch (spec.type) {
    case BALEEN_RULE_NUMBER:
      for (const double value : {0.5, 2.0, 0.25, spec.minimum, spec.maximum}) add_number(value, false);
      break;
    case BALEEN_RULE_INTEGER:
      for (const double value : {number + 1, number - 1, 2.0, 3.0}) add_number(value, true);
      break;
    case BALEEN_RULE_BOOLEAN: all.push_back({'b', now == "true" ? "false" : "true"}); break;
    case BALEEN_RULE_DIMENSION:
      for (const double value : {1.0, 2.0}) add_number(value, true);
      break;
    case BALEEN_RULE_TEXT:
      for (const std::string& word : words_of(spec.choices))
        if (word != now) all.push_back({'t', word});
      break;
    default: break;
  }
  return all;
}

std::vector<OpCall> OpCalls::with_other_attributes(const OpCall& base) const {
  std::vector<OpCall> calls;
  for (const AttributeSpec& spec : schema_.attributes)
    for (const AttributeWord& value : other_values(spec, base)) {
      OpCall call = base;
      call.attributes[spec.name] = value;
      call.ids = OpCall::kFewIds;
      if (!is_taken(call)) continue;
      calls.push_back(call);
      if (spec.type != BALEEN_RULE_TEXT) break;  // of a text each word
    }
  return calls;
}

std::vector<OpCall> OpCalls::with_one_direction(const OpCall& base) const {
  std::vector<OpCall> calls;
  for (std::size_t i = 0; i < base.shapes.size(); ++i) {
    if (is_ids(i)) continue;
    calls.push_back(base);
    calls.back().along = i + 1;
  }
  if (calls.size() < 2) calls.clear();
  return calls;
}

}  // namespace baleen::validate
