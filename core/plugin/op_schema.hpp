/// \file What a plugin says of its kinds of ops: names of operands and results, attributes with types, ranges and
/// defaults.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "baleen/expression_builder.hpp"
#include "baleen/op_kind.h"
#include "baleen/result.hpp"

namespace baleen {

/// The value of an op's attribute.
using Attribute = std::variant<std::vector<std::int64_t>, std::vector<double>, std::string, Expression>;

struct OperandSpec {
  std::string name, help;
  baleen_operand_flags_t flags = 0;

  bool has(baleen_operand_flags_t flag) const { return (flags & flag) != 0; }
  bool many() const { return has(BALEEN_OPERAND_MANY); }
  bool optional() const { return has(BALEEN_OPERAND_OPTIONAL) || many(); }
};

struct AttributeSpec {
  std::string name, help;
  baleen_rule_type_t type = BALEEN_RULE_INTEGER;
  std::string default_value;  ///< as a script writes it; "": none
  std::string choices;        ///< of a text, separated by '|'
  double minimum = 1, maximum = 0;
  bool optional = false;

  bool required() const { return default_value.empty() && !optional; }
  bool has_range() const { return minimum <= maximum; }
  /// "an integer of 1 to 8", "one of layer, rms".
  std::string expected() const;
};

struct OpSchema {
  std::string help;
  std::string plugin;  ///< that brought the kind, for messages
  std::vector<OperandSpec> operands, results;
  std::vector<AttributeSpec> attributes;

  bool derived = false;  ///< made by rules of other kinds; scripts have no function for it

  /// Those that are there where an op has `count` operands; nothing where no op may have so many.
  std::optional<std::vector<const OperandSpec*>> given(std::size_t count) const;
  /// "q, k, v [, ids_q, ids_k]", "x [, others, ..]".
  std::string signature() const;
  /// Results that an op always has.
  std::size_t least_results() const;
  /// The result number `index` of an op; null where none has so many.
  const OperandSpec* result(std::size_t index) const;
  const AttributeSpec* find(const std::string& attribute) const;
};

/// The schema in C++, or what is wrong with it: a name that is no word or stands twice, optional operands in two runs,
/// a default that its own rule refuses.
Result<OpSchema> read_schema(const baleen_op_kind_t& kind, const std::string& plugin);

/// Fails where the attribute is of another type or out of range; `kind` is the op kind's name.
Status check_attribute(const AttributeSpec& spec, const std::string& kind, const Attribute& attribute);

/// A default, or what else was written as text, as the attribute that it stands for. Nothing but what `expected` says.
Result<Attribute> parse_attribute(const AttributeSpec& spec, const std::string& text);

}  // namespace baleen
