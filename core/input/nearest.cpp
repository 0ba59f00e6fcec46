/// \file Edit distance and the wording of "did you mean".
#include "core/input/nearest.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

namespace baleen {
namespace {

// Case and the choice between '-' and '_' are slips too, and cost nothing when the nearest word is sought.
std::string folded(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::size_t tolerance(std::string_view a, std::string_view b) {
  return std::max<std::size_t>(1, (std::max(a.size(), b.size()) + 1) / 3);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t columns = b.size() + 1;
  std::vector<std::size_t> before(columns), last(columns), now(columns);
  for (std::size_t j = 0; j < columns; ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j < columns; ++j) {
      const std::size_t substitution = last[j - 1] + (a[i - 1] != b[j - 1] ? 1 : 0);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, substitution});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known) {
  const std::string meant = folded(word);
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const std::string& candidate : known) {
    const std::string target = folded(candidate);
    const std::size_t distance = edit_distance(meant, target);
    if (distance > tolerance(meant, target) || (best && distance >= best_distance)) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::string unknown_word(std::string_view what, std::string_view word, std::span<const std::string> known) {
  std::string text = "unknown " + std::string(what) + " `" + std::string(word) + "`";
  if (const auto near = nearest(word, known)) return text + "; did you mean `" + *near + "`?";
  if (known.empty()) return text + "; there are none";
  text += "; known: ";
  for (std::size_t i = 0; i < known.size(); ++i) text += (i ? ", `" : "`") + known[i] + "`";
  return text;
}

}  // namespace baleen
