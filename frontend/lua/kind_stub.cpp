/// \file Writes annotations for editors from schemas.
#include "frontend/lua/kind_stub.hpp"

#include <algorithm>
#include <array>

#include "frontend/lua/bindings.hpp"

namespace baleen {
namespace {

/// A parameter's name, which may be no word of Lua's own.
std::string parameter(const std::string& name) {
  constexpr std::array kReserved = {"and",      "break",  "do",   "else", "elseif", "end",  "false", "for",
                                    "function", "goto",   "if",   "in",   "local",  "nil",  "not",   "or",
                                    "repeat",   "return", "then", "true", "until",  "while"};
  return std::ranges::find(kReserved, name) == kReserved.end() ? name : name + "_";
}

std::string type_of(const AttributeSpec& spec) {
  if (!spec.choices.empty()) {
    std::string words = "\"";
    for (const char c : spec.choices) words += c == '|' ? std::string("\" | \"") : std::string(1, c);
    return words + "\"";
  }
  switch (spec.type) {
    case BALEEN_RULE_INTEGER:
    case BALEEN_RULE_DIMENSION: return "integer";
    case BALEEN_RULE_INTEGERS: return "integer[]";
    case BALEEN_RULE_DIMENSIONS: return "integer | integer[]";
    case BALEEN_RULE_NUMBER: return "number";
    case BALEEN_RULE_BOOLEAN: return "boolean";
    default: return "string";
  }
}

/// The attributes that scripts may write.
std::vector<const AttributeSpec*> options_of(const OpSchema& schema) {
  std::vector<const AttributeSpec*> options;
  for (const AttributeSpec& spec : schema.attributes)
    if (spec.type != BALEEN_RULE_EXPRESSION && spec.type != BALEEN_RULE_DTYPES) options.push_back(&spec);
  return options;
}

std::string options_text(const std::vector<const AttributeSpec*>& options) {
  const bool needed = std::ranges::any_of(options, &AttributeSpec::required);
  std::string text = std::string("---@param options") + (needed ? "" : "?") + " { ";
  for (const AttributeSpec* spec : options)
    text += (spec == options[0] ? "" : ", ") + spec->name + (spec->required() ? "" : "?") + ": " + type_of(*spec);
  return text + " }\n";
}

std::string function_text(const OpKind& kind) {
  const OpSchema& schema = *kind.schema;
  const std::vector<const AttributeSpec*> options = options_of(schema);
  std::string text = "---" + schema.help + "\n", names;
  for (const AttributeSpec* spec : options) {
    text += "--- - " + spec->name + ": " + spec->help;
    text += spec->default_value.empty() ? "\n" : "; " + spec->default_value + " unless given\n";
  }
  for (const OperandSpec& operand : schema.operands) {
    const std::string name = parameter(operand.name);
    text += "---@param " + name + (operand.optional() ? "?" : "") + " baleen.tensor " + operand.help + "\n";
    names += (names.empty() ? "" : ", ") + name;
  }
  if (!options.empty()) {
    text += options_text(options);
    names += names.empty() ? "options" : ", options";
  }
  for (const OperandSpec& result : schema.results)
    if (!result.has(BALEEN_RESULT_INTERNAL))
      text += "---@return baleen.tensor " + result.name + " " + result.help + "\n";
  return text + "function ops." + kind.name + "(" + names + ") end\n";
}

}  // namespace

std::string editor_stub(const OpRegistry& registry) {
  std::string text =
      "---@meta baleen.ops.kinds\n"
      "-- Ops of plugins. Written by `baleen plugins --stub` from their schemas. Never run.\n\n"
      "---@class baleen.ops\n"
      "local ops = {}\n";
  for (const OpKind* kind : registry.all())
    if (kind->schema && !kind->schema->derived && !has_short_form(kind->name)) text += "\n" + function_text(*kind);
  return text;
}

}  // namespace baleen
