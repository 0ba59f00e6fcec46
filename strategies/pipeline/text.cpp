#include "text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace baleen::pipeline {
namespace {

constexpr std::string_view kLetters = "FBW";

/// Takes a number off the front of a word.
bool take_number(std::string_view& word, std::uint32_t& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc()) return false;
  word.remove_prefix(static_cast<std::size_t>(end - word.data()));
  return true;
}

Result<Action> parse_action(std::string_view word) {
  const Error bad = invalid("`" + std::string(word) +
                            "` is no action; write F3 for the forward pass of micro-batch 3, B3 for the backward pass, "
                            "W3 for gradients of weights, and F3.1 of chunk 1");
  const auto letter = kLetters.find(word.front());
  if (letter == std::string_view::npos) return bad;
  Action action{static_cast<baleen_pass_t>(letter), 0, 0, 0};
  word.remove_prefix(1);
  if (!take_number(word, action.micro_batch)) return bad;
  if (word.starts_with('.')) {
    word.remove_prefix(1);
    if (!take_number(word, action.chunk)) return bad;
  }
  if (!word.empty()) return bad;
  return action;
}

}  // namespace

std::string to_text(const Action& action, const Table& table) {
  std::string text = kLetters[static_cast<std::size_t>(action.pass)] + std::to_string(action.micro_batch);
  if (table.extents.chunks > 1) text += "." + std::to_string(action.chunk);
  return text;
}

Result<std::string> draw(const Table& table) {
  BALEEN_TRY_ASSIGN(const Timing timing, time_table(table, {}));
  std::size_t width = 0;
  for (const Actions& actions : table.ranks)
    for (const Action& action : actions) width = std::max(width, to_text(action, table).size());
  const auto column = [&](double time) {
    return static_cast<std::size_t>(std::lround(time * table.extents.chunks)) * (width + 1);
  };
  std::string all;
  for (std::size_t rank = 0; rank < table.ranks.size(); ++rank) {
    std::string line(column(timing.makespan), ' ');
    for (std::size_t i = 0; i < table.ranks[rank].size(); ++i) {
      const Span& span = timing.spans[rank][i];
      const std::size_t begin = column(span.begin), end = column(span.end);
      const std::string word = to_text(table.ranks[rank][i], table);
      line.replace(begin, end - begin - 1, std::string(end - begin - 1, '-'));
      line.replace(begin, word.size(), word);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    all += "\n  rank " + std::to_string(rank) + "  " + line;
  }
  return all;
}

Result<Actions> parse_actions(std::string_view line) {
  Actions actions;
  constexpr std::string_view kGaps = " ,\t\n";
  for (std::size_t at = line.find_first_not_of(kGaps); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kGaps, at), line.size());
    BALEEN_TRY_ASSIGN(const Action action, parse_action(line.substr(at, end - at)));
    actions.push_back(action);
    at = line.find_first_not_of(kGaps, end);
  }
  return actions;
}

}  // namespace baleen::pipeline
