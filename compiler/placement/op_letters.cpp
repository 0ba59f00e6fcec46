/// \file Reads an op's letters with what they stand for.
#include "compiler/placement/op_letters.hpp"

#include <algorithm>

namespace baleen {
namespace {

template <class T>
void insert_new(std::vector<T>& list, const T& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

void add(std::vector<Letter>& letters, const Value& value, const std::string& names) {
  for (std::size_t d = 0; d < names.size(); ++d) {
    if (names[d] == '.') continue;
    auto it = std::find_if(letters.begin(), letters.end(), [&](const Letter& l) { return l.name == names[d]; });
    if (it == letters.end()) it = letters.insert(letters.end(), Letter{names[d], {}, {}});
    insert_new(it->extents, value.shape[d]);
    if (!value.axis(d).empty()) insert_new(it->axes, value.axis(d));
  }
}

}  // namespace

bool Letter::has_axis(const std::string& axis) const { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

bool Letter::divides(std::int64_t parts) const {
  if (extents.size() == 1) return extents[0] > 1;
  return std::all_of(extents.begin(), extents.end(), [&](std::int64_t n) { return n > 1 && n % parts == 0; });
}

const Letter* OpLetters::find(char name) const {
  auto it = std::find_if(letters.begin(), letters.end(), [&](const Letter& l) { return l.name == name; });
  return it == letters.end() ? nullptr : &*it;
}

bool OpLetters::is_elementwise() const {
  std::string all;
  for (const auto* operands : {&iteration->inputs, &iteration->outputs})
    for (const std::string& letters : *operands) {
      if (letters.empty()) continue;
      if (letters.find('.') != std::string::npos || (!all.empty() && letters != all)) return false;
      all = letters;
    }
  return !all.empty() && iteration->internal.empty();
}

std::string OpLetters::describe(const Letter& letter) {
  std::string text = letter.axes.empty() ? std::string(1, letter.name) : letter.axes[0];
  for (std::size_t i = 0; i < letter.extents.size(); ++i) text += (i ? ", " : " (") + std::to_string(letter.extents[i]);
  return text + ")";
}

OpLetters letters_of(const Graph& graph, const Op& op) {
  OpLetters result;
  if (op.kind->iteration) {
    iteration_of(graph, op);
    result.iteration = op.letters;
  } else {
    Iteration uncut;
    for (ValueId v : op.inputs) uncut.inputs.emplace_back(graph.value(v).rank(), '.');
    for (ValueId v : op.outputs) uncut.outputs.emplace_back(graph.value(v).rank(), '.');
    result.iteration = std::make_shared<const Iteration>(std::move(uncut));
  }
  result.letters.reserve(BALEEN_MAX_RANK);
  for (std::size_t i = 0; i < op.outputs.size(); ++i)
    add(result.letters, graph.value(op.outputs[i]), result.iteration->outputs[i]);
  for (std::size_t i = 0; i < op.inputs.size(); ++i)
    add(result.letters, graph.value(op.inputs[i]), result.iteration->inputs[i]);
  return result;
}

char same_letter(const OpLetters& forward, char letter, const OpLetters& op) {
  const Letter* from = forward.find(letter);
  if (!from) return 0;
  const Letter* same_name = op.find(letter);
  if (from->axes.empty()) return same_name ? letter : char{0};
  auto alike = [&](const Letter& other) {
    return std::any_of(from->axes.begin(), from->axes.end(), [&](const std::string& a) { return other.has_axis(a); });
  };
  if (same_name && alike(*same_name)) return letter;
  auto it = std::find_if(op.letters.begin(), op.letters.end(), alike);
  return it == op.letters.end() ? char{0} : it->name;
}

}  // namespace baleen
