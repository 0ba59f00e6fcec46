/// \file Cutting at matches, by what becomes of them.
#include <algorithm>

#include "pre_tokenizer_steps.hpp"

namespace baleen::text {
namespace {

struct Part {
  Span span;
  bool matches;
};

/// The text as parts that match or do not.
std::vector<Part> parts_of(std::size_t size, const std::vector<Span>& matches, bool inverts) {
  std::vector<Part> parts;
  std::size_t at = 0;
  for (const Span& match : matches) {
    if (match.first > at) parts.push_back({{at, match.first}, inverts});
    parts.push_back({match, !inverts});
    at = match.last;
  }
  if (at < size) parts.push_back({{at, size}, inverts});
  return parts;
}

/// A match after one that is none joins it; of matches in a row the first alone.
std::vector<Span> merged_with_previous(const std::vector<Part>& parts) {
  std::vector<Span> spans;
  bool previous = false;
  for (const Part& part : parts) {
    if (part.matches && !previous && !spans.empty())
      spans.back().last = part.span.last;
    else
      spans.push_back(part.span);
    previous = part.matches;
  }
  return spans;
}

std::vector<Span> merged_with_next(const std::vector<Part>& parts) {
  std::vector<Span> spans;
  bool previous = false;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->matches && !previous && !spans.empty())
      spans.back().first = part->span.first;
    else
      spans.push_back(part->span);
    previous = part->matches;
  }
  std::reverse(spans.begin(), spans.end());
  return spans;
}

std::vector<Span> spans_of(const std::vector<Part>& parts, Behaviour behaviour) {
  if (behaviour == Behaviour::with_previous) return merged_with_previous(parts);
  if (behaviour == Behaviour::with_next) return merged_with_next(parts);
  std::vector<Span> spans;
  bool previous = false;
  for (const Part& part : parts) {
    if (behaviour == Behaviour::removed && part.matches) continue;
    if (behaviour == Behaviour::contiguous && part.matches == previous && !spans.empty())
      spans.back().last = part.span.last;
    else
      spans.push_back(part.span);
    previous = part.matches;
  }
  return spans;
}

}  // namespace

Status Cut::apply(Pieces& pieces) const {
  Pieces cut;
  cut.reserve(pieces.size());
  std::vector<Span> matches;
  for (Piece& piece : pieces) {
    matches.clear();
    BALEEN_TRY(find(piece.text, matches));
    if (matches.empty() && !(inverts_ && behaviour_ == Behaviour::removed)) {
      if (!piece.text.empty()) cut.push_back(std::move(piece));
      continue;
    }
    for (const Span& span : spans_of(parts_of(piece.text.size(), matches, inverts_), behaviour_))
      cut.push_back({piece.text.substr(span.first, span.last - span.first), piece.at_start && span.first == 0});
  }
  pieces = std::move(cut);
  return {};
}

}  // namespace baleen::text
