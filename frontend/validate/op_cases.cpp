/// \file What every kind of op must do: a gradient that is the slope, the same numbers on several ranks and in another
/// precision. Operands are found by asking the kind which types it takes.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "baleen/host.hpp"
#include "baleen/op_kind.h"
#include "baleen/sized.hpp"
#include "frontend/validate/cases.hpp"
#include "frontend/validate/trainings.hpp"

namespace baleen::validate {
namespace {

constexpr std::int64_t kBatch = 8;
/// Of operands, in the order in which they are tried; the first dimension of 8 is the batch.
const std::vector<std::vector<std::int64_t>> kShapes = {
    {kBatch, 6}, {kBatch, 4, 6}, {6}, {kBatch}, {kBatch, 5}, {5, 6}, {6, 5}, {kBatch, 2, 4, 6}, {kBatch, 4}, {4}};

/// What a job is told of one kind.
struct Call {
  std::string operands, attributes;
  bool differentiable = false;
};

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

/// A value for an attribute that has no default. Nothing: none is known.
std::optional<std::string> needed_value(const baleen_attribute_rule_t& rule) {
  const std::string name(view(rule.name));
  const double least = rule.minimum <= rule.maximum ? rule.minimum : 1;
  switch (rule.type) {
    case BALEEN_RULE_INTEGER: return name + ":n:" + std::to_string(static_cast<std::int64_t>(std::max(1.0, least)));
    case BALEEN_RULE_NUMBER: return name + ":n:" + std::to_string(std::max(0.5, least));
    case BALEEN_RULE_BOOLEAN: return name + ":b:true";
    case BALEEN_RULE_DIMENSION: return name + ":n:-1";
    case BALEEN_RULE_TEXT: {
      const std::string words(view(rule.choices));
      if (words.empty()) return std::nullopt;
      return name + ":t:" + words.substr(0, words.find('|'));
    }
    default: return std::nullopt;
  }
}

/// The words for attributes that are required. Throws Skip where one has values that nobody here knows.
std::string attributes_of(const baleen_op_kind_t& kind) {
  std::string words;
  for (std::uint64_t i = 0; i < kind.attribute_count; ++i) {
    const baleen_attribute_rule_t& rule = kind.attributes[i];
    if (rule.optional || rule.default_value.size > 0) continue;
    const auto value = needed_value(rule);
    if (!value) throw Skip("no value is known here for its attribute `" + std::string(view(rule.name)) + "`");
    words += (words.empty() ? "" : ",") + *value;
  }
  return words;
}

/// The job `op` with these words.
Ended run_op(const Subject& subject, Mark& mark, std::string_view command, const std::string& kind, const Call& call,
             const std::string& manifest, const std::string& dtype) {
  std::vector<std::string> words = {"--dtype", dtype};
  if (command == "graph") words.insert(words.end(), {"--graph", "value"});
  words.insert(words.end(), {"--", "--kind", kind, "--operands", call.operands, "--attributes", call.attributes,
                             "--gradient", call.differentiable ? "true" : "false"});
  return run_program(subject, mark, command, "op", manifest, words);
}

/// Calls `visit` with each choice of shapes for so many operands until it returns true.
template <class Visit>
bool any_choice(std::size_t operands, const Visit& visit) {
  std::vector<std::size_t> choice(operands, 0);
  while (true) {
    if (visit(choice)) return true;
    std::size_t at = 0;
    while (at < operands && ++choice[at] == kShapes.size()) choice[at++] = 0;
    if (at == operands) return false;
  }
}

struct Taken {
  std::uint64_t results = 0;
  bool floating = true;
  static void result(void* self, const baleen_value_type_t* type) {
    auto& taken = *static_cast<Taken*>(self);
    ++taken.results;
    taken.floating &= type->dtype == BALEEN_F32 || type->dtype == BALEEN_F64;
  }
};

/// Whether the kind's own rule takes operands of these shapes and gives floating results.
bool is_taken(const Opened& opened, const baleen_op_kind_t& kind, const std::vector<std::size_t>& choice) {
  std::vector<baleen_value_type_t> types;
  for (std::size_t i = 0; i < choice.size(); ++i) {
    baleen_value_type_t type{};
    type.size = sizeof type;
    type.dtype = kind.operands[i].flags & BALEEN_OPERAND_IDS ? BALEEN_I32 : BALEEN_F32;
    type.rank = static_cast<std::uint32_t>(kShapes[choice[i]].size());
    std::ranges::copy(kShapes[choice[i]], type.shape);
    types.push_back(type);
  }
  Taken taken;
  const baleen_infer_t context{sizeof context, types.data(),  types.size(), sizeof(baleen_value_type_t), nullptr, 0,
                               &taken,         &Taken::result};
  const baleen_status_t status = opened.call("`infer`", kind.infer, kind.self, &context);
  if (status != BALEEN_OK) opened.refusal("`infer`", status);
  return status == BALEEN_OK && taken.floating && taken.results == kind.result_count;
}

/// Operands that the kind takes. Throws Skip where none of those that are known here are taken.
Call call_of(const Subject& subject, Mark& mark, const baleen_op_kind_t& kind, const Opened& opened) {
  if (kind.traits & BALEEN_KIND_DERIVED) throw Skip("other kinds' rules make it; scripts cannot");
  Call call{{}, attributes_of(kind), kind.gradient != nullptr};
  std::uint64_t needed = 0;
  while (needed < kind.operand_count &&
         !(kind.operands[needed].flags & (BALEEN_OPERAND_OPTIONAL | BALEEN_OPERAND_MANY)))
    ++needed;
  const std::string name(view(kind.name));
  const auto words = [&](const std::vector<std::size_t>& choice) {
    std::string text;
    for (std::size_t i = 0; i < choice.size(); ++i)
      text += std::string(i == 0 ? "" : ",") + (kind.operands[i].flags & BALEEN_OPERAND_IDS ? "i" : "f") +
              shape_text(kShapes[choice[i]]);
    return text;
  };
  // The kind's own rule knows no attributes here; with some, the program is asked, which takes longer.
  int asked = 0;
  const bool found = any_choice(needed, [&](const std::vector<std::size_t>& choice) {
    constexpr int kMostAsked = 60;
    if (kind.attribute_count == 0 && !is_taken(opened, kind, choice)) return false;
    if (asked++ == kMostAsked) throw Skip("none of the operands that were tried are taken");
    call.operands = words(choice);
    return run_op(subject, mark, "graph", name, call, "", "fp64").code == 0;
  });
  if (!found) throw Skip("none of the operands that were tried are taken");
  return call;
}

double number_behind(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(word + " ");
  if (at == std::string::npos) throw Failure("a run of it says no `" + word + "`: " + text.substr(0, 300));
  return std::strtod(text.c_str() + at + word.size() + 1, nullptr);
}

const baleen_op_kind_t* kind_at(const Opened& opened, std::uint64_t number) {
  return opened.call("`kind`", opened.table<baleen_ops_t>().kind, number);
}

void check_kind(const Subject& subject, Mark& mark, std::uint64_t number) {
  const Opened opened(subject, mark);
  const baleen_op_kind_t& kind = *kind_at(opened, number);
  const std::string name(view(kind.name));
  const Call call = call_of(subject, mark, kind, opened);
  const std::string of = "of operands " + call.operands + ": ";
  const Ended alone = run_op(subject, mark, "run", name, call, "", "fp64");
  if (alone.code != 0) throw Failure(of + "a run " + alone.text());
  const double total = number_behind(alone.out, "total");
  if (call.differentiable) {
    const double slope = number_behind(alone.out, "slope"), gradient = number_behind(alone.out, "gradient");
    if (!(std::abs(slope - gradient) <= 1e-5 * (std::abs(slope) + std::abs(gradient)) + 1e-7))
      throw Failure(of + "along a random direction its results have the slope " + digits_of(slope) +
                    ", and by its gradient " + digits_of(gradient));
  }
  const auto compare = [&](const std::string& manifest, const std::string& dtype, double tolerance,
                           const std::string& where) {
    const Ended other = run_op(subject, mark, "run", name, call, manifest, dtype);
    if (other.is_refusal()) return;  // a layout or a precision that it does not take
    if (other.code != 0) throw Failure(of + "a run " + where + " " + other.text());
    const double found = number_behind(other.out, "total");
    if (!(std::abs(found - total) <= tolerance * (1 + std::abs(total))))
      throw Failure(of + "the sum over its results is " + digits_of(total) + ", and " + where + " " + digits_of(found));
  };
  compare("", "fp32", 1e-4, "in fp32");
  compare(beside_on(subject, 2), "fp64", 1e-9, "on two ranks");
}

/// The names of the kinds, asked for in a process of its own.
std::vector<std::string> kinds_of(const Subject& subject) {
  const Outcome told = run_apart(
      [&](Mark& mark) {
        const Opened opened(subject, mark);
        std::string names;
        for (std::uint64_t i = 0; const baleen_op_kind_t* const kind = kind_at(opened, i); ++i)
          names += std::string(view(kind->name)) + '\n';
        throw Skip(names);
      },
      std::chrono::seconds(10));
  std::vector<std::string> names;
  if (told.state != Outcome::State::skipped) return names;  // `start.runs` says why
  std::istringstream lines(told.reason);
  for (std::string name; std::getline(lines, name);) names.push_back(name);
  return names;
}

}  // namespace

std::vector<Case> op_cases(const Subject& subject) {
  std::vector<Case> all;
  std::uint64_t number = 0;
  for (const std::string& name : kinds_of(subject)) {
    all.push_back({"op." + name, "the gradient is the slope; fp32, fp64 and two ranks give the same sum",
                   [number](const Subject& each, Mark& mark) { check_kind(each, mark, number); }});
    ++number;
  }
  return all;
}

}  // namespace baleen::validate
