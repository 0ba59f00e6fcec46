/// \file Reads schemas from plugins, checks them, and holds single attributes against them.
#include "core/plugin/op_schema.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <set>
#include <span>

#include "baleen/dtype.hpp"
#include "baleen/plugin.hpp"
#include "core/input/nearest.hpp"
#include "core/input/user_value.hpp"

namespace baleen {
namespace {

const char* type_text(baleen_rule_type_t type) {
  switch (type) {
    case BALEEN_RULE_INTEGER: return "an integer";
    case BALEEN_RULE_INTEGERS: return "a list of integers";
    case BALEEN_RULE_NUMBER: return "a number";
    case BALEEN_RULE_BOOLEAN: return "true or false";
    case BALEEN_RULE_TEXT: return "a text";
    case BALEEN_RULE_DIMENSION: return "a dimension";
    case BALEEN_RULE_DIMENSIONS: return "a list of dimensions";
    case BALEEN_RULE_EXPRESSION: return "an expression";
    case BALEEN_RULE_DTYPE: return "a floating dtype";
    case BALEEN_RULE_DTYPES: return "a list of dtypes";
    default: return nullptr;
  }
}

/// Calls `visit` with each of the words between '|'.
template <class Visit>
void for_each_choice(std::string_view choices, Visit&& visit) {
  for (std::size_t begin = 0; begin <= choices.size();) {
    const std::size_t end = std::min(choices.find('|', begin), choices.size());
    visit(choices.substr(begin, end - begin));
    begin = end + 1;
  }
}

bool is_word(const std::string& name) {
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::ranges::all_of(name, [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '_'; });
}

bool is_dtype(std::int64_t number) { return dtype_size(static_cast<baleen_dtype_t>(number)) > 0; }

bool holds_one(const Attribute& attribute, baleen_rule_type_t type) {
  const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute);
  switch (type) {
    case BALEEN_RULE_INTEGER:
    case BALEEN_RULE_DIMENSION: return list && list->size() == 1;
    case BALEEN_RULE_BOOLEAN: return list && list->size() == 1 && ((*list)[0] == 0 || (*list)[0] == 1);
    case BALEEN_RULE_DTYPE: return list && list->size() == 1 && is_floating(static_cast<baleen_dtype_t>((*list)[0]));
    case BALEEN_RULE_DTYPES: return list && std::ranges::all_of(*list, is_dtype);
    case BALEEN_RULE_INTEGERS:
    case BALEEN_RULE_DIMENSIONS: return list;
    case BALEEN_RULE_NUMBER: {
      const auto* numbers = std::get_if<std::vector<double>>(&attribute);
      return numbers && numbers->size() == 1;
    }
    case BALEEN_RULE_TEXT: return std::holds_alternative<std::string>(attribute);
    case BALEEN_RULE_EXPRESSION: return std::holds_alternative<Expression>(attribute);
    default: return false;
  }
}

bool in_range(const AttributeSpec& spec, double number) {
  return !spec.has_range() || (number >= spec.minimum && number <= spec.maximum);
}

/// The first value that the rule does not allow, as text; nothing where all are allowed.
std::string refused_value(const AttributeSpec& spec, const Attribute& attribute) {
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute))
    for (const std::int64_t number : *list)
      if (!in_range(spec, static_cast<double>(number))) return std::to_string(number);
  if (const auto* list = std::get_if<std::vector<double>>(&attribute))
    for (const double number : *list)
      if (!in_range(spec, number)) return number_text(number);
  if (const auto* text = std::get_if<std::string>(&attribute); text && !spec.choices.empty()) {
    bool allowed = false;
    for_each_choice(spec.choices, [&](std::string_view word) { allowed |= word == *text; });
    if (!allowed) return "\"" + *text + "\"";
  }
  return {};
}

Status check_names(const OpSchema& schema, const std::string& who) {
  std::set<std::string> seen;
  const auto take = [&](const std::string& what, const std::string& name) -> Status {
    if (!is_word(name))
      return invalid(who + ": the name of " + what + " is \"" + name +
                     "\"; a name has small letters, digits and '_', and begins with a letter");
    if (!seen.insert(name).second) return invalid(who + ": the name `" + name + "` of " + what + " stands twice");
    return {};
  };
  for (const OperandSpec& operand : schema.operands) BALEEN_TRY(take("an operand", operand.name));
  for (const AttributeSpec& attribute : schema.attributes) BALEEN_TRY(take("an attribute", attribute.name));
  return {};
}

/// One that stands for any number is the last, the only optional one, and of a kind that scripts do not call.
Status check_many(const std::vector<OperandSpec>& list, bool derived, const std::string& what, const std::string& who) {
  for (const OperandSpec& one : list) {
    if (!one.many()) continue;
    const auto optional = std::ranges::count_if(list, &OperandSpec::optional);
    if (&one != &list.back() || optional > 1)
      return invalid(who + ": " + what + " `" + one.name +
                     "` stands for any number; it must be the last, and no other may be left out");
    if (!derived)
      return invalid(who + ": " + what + " `" + one.name +
                     "` stands for any number, which no function of scripts can have; the kind must be derived");
  }
  return {};
}

/// Which operands an op has must follow from their number.
Status check_order(const OpSchema& schema, const std::string& who) {
  const OperandSpec* before = nullptr;
  bool run_is_over = false;
  for (const OperandSpec& operand : schema.operands) {
    if (operand.optional() && run_is_over)
      return invalid(who + ": operand `" + operand.name +
                     "` may be left out, and so may others before required ones; optional operands stand in one run");
    if (operand.has(BALEEN_OPERAND_TOGETHER) && !(operand.optional() && before && before->optional()))
      return invalid(who + ": operand `" + operand.name +
                     "` comes together with the one before; both must be optional");
    run_is_over |= before && before->optional() && !operand.optional();
    before = &operand;
  }
  before = nullptr;
  for (const OperandSpec& result : schema.results) {
    if (before && before->optional() && !result.optional())
      return invalid(who + ": result `" + result.name + "` is always there, but stands behind one that is not");
    before = &result;
  }
  return {};
}

/// A typed kind has the attribute that says so.
Status check_typed(const OpSchema& schema, baleen_kind_traits_t traits, const std::string& who) {
  const AttributeSpec* dtype = schema.find("dtype");
  const bool names = dtype && (dtype->type == BALEEN_RULE_DTYPE || dtype->type == BALEEN_RULE_DTYPES);
  const bool has = names && !dtype->required();
  if (!(traits & BALEEN_KIND_TYPED) || has) return {};
  return invalid(who + " is typed, and has no optional attribute `dtype` of type dtype");
}

template <class T>
std::span<const T> list(const T* first, std::uint64_t count) {
  return {first, first ? count : 0};
}

Result<AttributeSpec> read_attribute(const baleen_attribute_rule_t& rule, const std::string& who) {
  AttributeSpec spec;
  spec.name = view(rule.name);
  spec.help = view(rule.help);
  spec.type = rule.type;
  spec.default_value = view(rule.default_value);
  spec.choices = view(rule.choices);
  spec.minimum = rule.minimum;
  spec.maximum = rule.maximum;
  spec.optional = rule.optional != 0;
  if (!type_text(spec.type))
    return invalid(who + ": attribute `" + spec.name + "` has the unknown type " + std::to_string(spec.type));
  if (spec.default_value.empty()) return spec;
  auto parsed = parse_attribute(spec, spec.default_value);
  Status fits = parsed ? check_attribute(spec, who, *parsed) : Status(parsed.error());
  if (!fits)
    return invalid(who + ": the default \"" + spec.default_value + "\" of `" + spec.name + "` is not " +
                   spec.expected());
  return spec;
}

}  // namespace

std::string AttributeSpec::expected() const {
  if (!choices.empty()) {
    std::string words;
    for_each_choice(choices, [&](std::string_view word) { words += (words.empty() ? "" : ", ") + std::string(word); });
    return "one of " + words;
  }
  std::string text = type_text(type) ? type_text(type) : "?";
  if (has_range()) text += " of " + number_text(minimum) + " to " + number_text(maximum);
  return text;
}

std::optional<std::vector<const OperandSpec*>> OpSchema::given(std::size_t count) const {
  const auto required = static_cast<std::size_t>(std::ranges::count_if(operands, std::not_fn(&OperandSpec::optional)));
  std::size_t left = count - required;  // of the optional ones
  const bool many = !operands.empty() && operands.back().many();
  if (count < required || (count > operands.size() && !many)) return std::nullopt;
  std::vector<const OperandSpec*> found;
  for (const OperandSpec& operand : operands) {
    if (operand.optional() && left == 0) {
      if (operand.has(BALEEN_OPERAND_TOGETHER) && !found.empty() && found.back() == &operand - 1) return std::nullopt;
      continue;
    }
    const std::size_t times = operand.many() ? left : 1;
    left -= operand.optional() ? times : 0;
    found.insert(found.end(), times, &operand);
  }
  return found;
}

std::string OpSchema::signature() const {
  std::string text;
  bool open = false;
  for (const OperandSpec& operand : operands) {
    if (open && !operand.has(BALEEN_OPERAND_TOGETHER)) {
      text += "]";
      open = false;
    }
    const bool first = text.empty();
    if (operand.optional() && !open) {
      text += first ? "[" : " [";
      open = true;
    }
    text += (first ? "" : ", ") + operand.name + (operand.many() ? ", .." : "");
  }
  return text + (open ? "]" : "");
}

std::size_t OpSchema::least_results() const {
  return static_cast<std::size_t>(std::ranges::count_if(results, std::not_fn(&OperandSpec::optional)));
}

const OperandSpec* OpSchema::result(std::size_t index) const {
  if (index < results.size()) return &results[index];
  return !results.empty() && results.back().many() ? &results.back() : nullptr;
}

const AttributeSpec* OpSchema::find(const std::string& attribute) const {
  const auto it = std::ranges::find(attributes, attribute, &AttributeSpec::name);
  return it == attributes.end() ? nullptr : &*it;
}

Result<OpSchema> read_schema(const baleen_op_kind_t& kind, const std::string& plugin) {
  const std::string name(view(kind.name)), who = "op kind `" + name + "` of the plugin `" + plugin + "`";
  if (!is_word(name))
    return invalid("the plugin `" + plugin + "` has an op kind named \"" + name +
                   "\"; a name has small letters, digits and '_', and begins with a letter");
  OpSchema schema;
  schema.help = view(kind.help);
  schema.plugin = plugin;
  for (const baleen_operand_t& o : list(kind.operands, kind.operand_count))
    schema.operands.push_back({std::string(view(o.name)), std::string(view(o.help)), o.flags});
  for (const baleen_operand_t& r : list(kind.results, kind.result_count))
    schema.results.push_back({std::string(view(r.name)), std::string(view(r.help)), r.flags});
  for (const baleen_attribute_rule_t& rule : list(kind.attributes, kind.attribute_count)) {
    BALEEN_TRY_ASSIGN(AttributeSpec spec, read_attribute(rule, who));
    schema.attributes.push_back(std::move(spec));
  }
  if (schema.results.empty()) return invalid(who + " has no results");
  if (!kind.infer) return invalid(who + " has no rule `infer`, which gives the results' types");
  BALEEN_TRY(check_names(schema, who));
  BALEEN_TRY(check_order(schema, who));
  BALEEN_TRY(check_typed(schema, kind.traits, who));
  schema.derived = (kind.traits & BALEEN_KIND_DERIVED) != 0;
  BALEEN_TRY(check_many(schema.operands, schema.derived, "operand", who));
  BALEEN_TRY(check_many(schema.results, schema.derived, "result", who));
  return schema;
}

Status check_attribute(const AttributeSpec& spec, const std::string& kind, const Attribute& attribute) {
  if (!holds_one(attribute, spec.type))
    return invalid(kind + ": attribute `" + spec.name + "` must be " + spec.expected());
  if (const std::string bad = refused_value(spec, attribute); !bad.empty())
    return invalid(kind + ": `" + spec.name + "` is " + bad + "; it must be " + spec.expected());
  return {};
}

Result<Attribute> parse_attribute(const AttributeSpec& spec, const std::string& text) {
  const auto wrong = [&] { return invalid("\"" + text + "\" is not " + spec.expected()); };
  const auto number = [&](auto& out, const char* begin, const char* end) {
    const auto [rest, error] = std::from_chars(begin, end, out);
    return error == std::errc() && rest == end;
  };
  using Integers = std::vector<std::int64_t>;
  switch (spec.type) {
    case BALEEN_RULE_TEXT: return Attribute(text);
    case BALEEN_RULE_BOOLEAN:
      if (text != "true" && text != "false") return wrong();
      return Attribute(Integers{text == "true"});
    case BALEEN_RULE_NUMBER: {
      double value = 0;
      if (!number(value, text.data(), text.data() + text.size())) return wrong();
      return Attribute(std::vector<double>{value});
    }
    case BALEEN_RULE_EXPRESSION:
    case BALEEN_RULE_DTYPES: return wrong();
    case BALEEN_RULE_DTYPE:
      for (const baleen_dtype_t dtype : {BALEEN_F32, BALEEN_F64, BALEEN_F16, BALEEN_BF16})
        if (dtype_name(dtype) == text) return Attribute(Integers{dtype});
      return wrong();
    default: break;
  }
  std::vector<std::int64_t> values;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (!number(values.emplace_back(), text.data() + begin, text.data() + end)) return wrong();
    begin = end + 1;
  }
  const bool single = spec.type == BALEEN_RULE_INTEGER || spec.type == BALEEN_RULE_DIMENSION;
  if (single && values.size() != 1) return wrong();
  return Attribute(std::move(values));
}

}  // namespace baleen
