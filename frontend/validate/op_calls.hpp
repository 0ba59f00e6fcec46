/// \file Which calls of a kind of op are tried: operands that its own rule takes, with each attribute at another value,
/// and with each operand as the only one that is learnt.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "baleen/op_kind.h"
#include "core/plugin/op_schema.hpp"
#include "frontend/validate/subject.hpp"

namespace baleen::validate {

/// An attribute as the job `op` is told it: a number, a boolean or a text.
struct AttributeWord {
  char letter = 'n';  ///< 'n', 'b', 't'
  std::string text;
  bool operator==(const AttributeWord&) const = default;
};
using AttributeWords = std::map<std::string, AttributeWord>;

/// One call, as the job `op` is told of it.
struct OpCall {
  std::vector<std::size_t> shapes;  ///< of each operand, by number
  AttributeWords attributes;
  std::size_t along = 0;  ///< the one operand that has a direction, counted from 1; 0: each has
  int ids = kFewIds;      ///< class numbers are below it

  /// Shapes have no smaller extent.
  static constexpr int kFewIds = 2, kManyIds = 5;
};

/// A kind and what it takes.
class OpCalls {
 public:
  /// All are borrowed. Throws Skip for kinds that scripts cannot call, and where an attribute has values that nobody
  /// here knows; Failure where the schema is none.
  OpCalls(const Opened& opened, const baleen_op_kind_t& kind, const Descriptor& descriptor);

  /// As the job reads it: "f8x6,i8;scale:n:0.5;0;5".
  std::string text(const OpCall& call) const;
  /// For messages: "of operands f8x6, with scale = 0.5: ".
  std::string of(const OpCall& call) const;
  /// Calls that the kind's own rule takes, in the order in which they are tried; shapes of each rank, equal ones and
  /// others. The rule is asked about many more.
  const std::vector<OpCall>& taken() const { return taken_; }
  /// `base` with each attribute at each of some other values, where the rule takes it.
  std::vector<OpCall> with_other_attributes(const OpCall& base) const;
  /// `base` with each of its floating operands as the only one that is learnt; none where there is one.
  std::vector<OpCall> with_one_direction(const OpCall& base) const;

 private:
  bool is_ids(std::size_t operand) const { return kind_.operands[operand].flags & BALEEN_OPERAND_IDS; }
  bool is_taken(const OpCall& call) const;
  std::vector<AttributeWord> other_values(const AttributeSpec& spec, const OpCall& base) const;
  void ask_all();

  const Opened& opened_;
  const baleen_op_kind_t& kind_;
  OpSchema schema_;
  std::size_t operands_ = 0;  ///< that are always there
  AttributeWords required_;
  std::vector<OpCall> taken_;
};

}  // namespace baleen::validate
