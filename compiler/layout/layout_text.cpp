/// \file Shapes, placements and layouts as text, and back.
#include <charconv>

#include "compiler/layout/layout.hpp"

namespace baleen {

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string to_string(const Placement& placement) {
  const std::string depth = placement.depth ? "." + std::to_string(placement.depth) : "";
  switch (placement.kind) {
    case Placement::Kind::replicate: return "R";
    case Placement::Kind::shard: return "S" + std::to_string(placement.argument) + depth;
    case Placement::Kind::shard_balanced: return "B" + std::to_string(placement.argument) + depth;
    case Placement::Kind::shard_flat: return "F" + depth;
    case Placement::Kind::partial_sum: return "P";
    case Placement::Kind::partial_max: return "Pmax";
    case Placement::Kind::at: return "@" + std::to_string(placement.argument);
  }
  return "?";
}

std::string in_words(const Placement& placement) {
  const std::string dimension = "along dimension " + std::to_string(placement.argument + 1);
  switch (placement.kind) {
    case Placement::Kind::replicate: return "whole";
    case Placement::Kind::shard: return "cut " + dimension;
    case Placement::Kind::shard_balanced: return "cut in balanced chunks " + dimension;
    case Placement::Kind::shard_flat: return "cut into even runs of its elements";
    case Placement::Kind::partial_sum: return "in sums that are still to be added up";
    case Placement::Kind::partial_max: return "in maxima that are still to be compared";
    case Placement::Kind::at: return "with coordinate " + std::to_string(placement.argument) + " alone";
  }
  return "?";
}

std::string to_string(const Layout& layout) {
  std::string text;
  for (std::size_t i = 0; i < layout.size(); ++i) text += (i ? "," : "") + to_string(layout[i]);
  return text;
}

namespace {

/// Reads a number without sign and moves `at` behind it.
bool read_number(const std::string& text, std::size_t& at, int& number) {
  if (at >= text.size() || text[at] < '0' || text[at] > '9') return false;
  const char* begin = text.data() + at;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  at += static_cast<std::size_t>(end - begin);
  return error == std::errc();
}

}  // namespace

Result<Placement> parse_placement(const std::string& text) {
  if (text == "R") return Placement::replicate();
  if (text == "P") return Placement::partial();
  if (text == "Pmax") return Placement::partial_max();
  const Error error = invalid("`" + text + "` is no placement; one is R, P, Pmax, S<dimension>, B<dimension>, F or " +
                              "@<coordinate>, the cutting ones with .<depth>");
  if (text.empty()) return error;
  Placement placement;
  switch (text[0]) {
    case 'S': placement = Placement::shard(0); break;
    case 'B': placement = Placement::balanced(0); break;
    case 'F': placement = Placement::flat(); break;
    case '@': placement = Placement::at(0); break;
    default: return error;
  }
  std::size_t at = 1;
  if (text[0] != 'F' && !read_number(text, at, placement.argument)) return error;
  if (at == text.size()) return placement;
  if (text[0] == '@' || text[at] != '.' || !read_number(text, ++at, placement.depth) || at != text.size()) return error;
  return placement;
}

Result<Layout> parse_layout(const std::string& text) {
  Layout layout;
  if (text.empty()) return layout;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    BALEEN_TRY_ASSIGN(const Placement placement, parse_placement(text.substr(begin, end - begin)));
    layout.push_back(placement);
    begin = end + 1;
  }
  return layout;
}

}  // namespace baleen
