/// \file Parsing forms, and moving elements by loops over letters.
#include "frontend/exchange/arrangement.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace baleen {
namespace {

Error wrong(const TensorRule& rule, const std::string& what) {
  return invalid("map: `" + rule.ours + "`: form \"" + rule.form + "\": " + what, rule.where);
}

/// "v (h d)": the letters of each dimension; nothing where it is no such text.
std::optional<std::vector<std::string>> parse_side(const std::string& text) {
  std::vector<std::string> side;
  bool inside = false;
  for (const char c : text) {
    if (c == ' ') continue;
    if (c == '(') {
      if (inside) return {};
      inside = true;
      side.emplace_back();
    } else if (c == ')') {
      if (!inside || side.back().empty()) return {};
      inside = false;
    } else if (c < 'a' || c > 'z') {
      return {};
    } else if (inside) {
      side.back() += c;
    } else {
      side.emplace_back(1, c);
    }
  }
  if (inside || side.size() > BALEEN_MAX_RANK) return {};
  return side;
}

std::string letters_of(const std::vector<std::string>& side) {
  std::string all;
  for (const std::string& group : side) all += group;
  std::sort(all.begin(), all.end());
  return all;
}

/// A square piece of a transposition that stays in the first cache.
constexpr std::int64_t kTile = 32;

template <std::size_t Size>
void copy_tiles(const std::byte* from, std::byte* to, std::int64_t rows, std::int64_t from_row, std::int64_t to_row,
                std::int64_t columns, std::int64_t from_column, std::int64_t to_column) {
  for (std::int64_t r0 = 0; r0 < rows; r0 += kTile)
    for (std::int64_t c0 = 0; c0 < columns; c0 += kTile)
      for (std::int64_t r = r0; r < std::min(rows, r0 + kTile); ++r)
        for (std::int64_t c = c0; c < std::min(columns, c0 + kTile); ++c)
          std::memcpy(to + (r * to_row + c * to_column) * static_cast<std::int64_t>(Size),
                      from + (r * from_row + c * from_column) * static_cast<std::int64_t>(Size), Size);
}

/// Strides of what is read and written, per loop; the innermost loop is the last.
struct Walk {
  std::int64_t extent, from, to;
};

void copy_plane(const std::byte* from, std::byte* to, const Walk& rows, const Walk& columns, std::size_t element) {
  const auto copy = element == 8   ? &copy_tiles<8>
                    : element == 4 ? &copy_tiles<4>
                    : element == 2 ? &copy_tiles<2>
                                   : &copy_tiles<1>;
  copy(from, to, rows.extent, rows.from, rows.to, columns.extent, columns.from, columns.to);
}

/// Loops that run on where the inner one ends, in both, are one.
std::vector<Walk> merged(const std::vector<Walk>& walks) {
  std::vector<Walk> result;
  for (const Walk& walk : walks) {
    if (walk.extent == 1) continue;
    Walk* outer = result.empty() ? nullptr : &result.back();
    if (outer && outer->from == walk.extent * walk.from && outer->to == walk.extent * walk.to) {
      *outer = {outer->extent * walk.extent, walk.from, walk.to};
    } else {
      result.push_back(walk);
    }
  }
  return result;
}

void copy_elements(const std::byte* from, std::byte* to, std::vector<Walk> walks, std::size_t element) {
  walks = merged(walks);
  const auto size = static_cast<std::int64_t>(element);
  Walk columns{1, 1, 1}, rows{1, 0, 0};
  bool run = true;  // the innermost loop is one copy
  if (!walks.empty()) {
    columns = walks.back();
    walks.pop_back();
    run = columns.from == 1 && columns.to == 1;
  }
  if (!run) {  // the loop that is innermost where it is read goes beside the one that is where it is written
    const auto inner =
        std::min_element(walks.begin(), walks.end(), [](const Walk& a, const Walk& b) { return a.from < b.from; });
    if (inner != walks.end()) {
      rows = *inner;
      walks.erase(inner);
    }
  }
  std::vector<std::int64_t> at(walks.size(), 0);
  for (;;) {
    if (run)
      std::memcpy(to, from, static_cast<std::size_t>(columns.extent * size));
    else
      copy_plane(from, to, rows, columns, element);
    std::size_t i = walks.size();
    for (; i > 0; --i) {
      const Walk& walk = walks[i - 1];
      from += walk.from * size;
      to += walk.to * size;
      if (++at[i - 1] < walk.extent) break;
      at[i - 1] = 0;
      from -= walk.extent * walk.from * size;
      to -= walk.extent * walk.to * size;
    }
    if (i == 0) return;
  }
}

}  // namespace

Result<Arrangement> Arrangement::of(const TensorRule& rule) {
  Arrangement result;
  result.name_ = rule.ours;
  result.sizes_ = rule.sizes;
  const std::size_t arrow = rule.form.find("->");
  const std::string left = rule.form.substr(0, arrow);
  const auto theirs = parse_side(left),
             ours = arrow == std::string::npos ? theirs : parse_side(rule.form.substr(arrow + 2));
  if (!theirs || !ours) return wrong(rule, "it must be letters and groups in parentheses, as in \"(h d) e -> e h d\"");
  result.theirs_ = *theirs;
  result.ours_ = *ours;
  std::string left_letters = letters_of(*theirs);
  const std::string right_letters = letters_of(*ours);
  if (!rule.stack.empty()) {
    if (rule.stack.size() != 1 || left_letters.find(rule.stack) != std::string::npos)
      return wrong(rule, "`stack` is `" + rule.stack + "`; it must be a letter of the right side alone");
    result.stack_ = rule.stack[0];
    left_letters += rule.stack;
    std::sort(left_letters.begin(), left_letters.end());
  }
  if (std::adjacent_find(right_letters.begin(), right_letters.end()) != right_letters.end())
    return wrong(rule, "a letter stands twice on one side");
  if (left_letters != right_letters) return wrong(rule, "both sides must have the same letters");
  for (const char letter : right_letters)
    if (!rule.sizes.contains(letter)) return wrong(rule, std::string("`sizes` lacks `") + letter + "`");
  const auto parts = static_cast<std::int64_t>(rule.theirs.size());
  if (result.stack_ == 0 && parts != 1)
    return wrong(rule, "there are " + std::to_string(parts) + " tensors and no `stack` that counts them");
  if (result.stack_ != 0 && rule.sizes.at(result.stack_) != parts)
    return wrong(rule, "`" + rule.stack + "` is " + std::to_string(rule.sizes.at(result.stack_)) + ", but there are " +
                           std::to_string(parts) + " tensors");
  if (!rule.padded.empty()) {
    const bool alone = std::ranges::find(*ours, rule.padded) != ours->end();
    if (rule.padded.size() != 1 || !alone || rule.padded == rule.stack)
      return wrong(rule, "`padded` is `" + rule.padded + "`; it must be a letter that is a dimension of its own");
    result.padded_ = rule.padded[0];
  }
  std::int64_t count = 1;
  for (const char letter : right_letters)
    if (__builtin_mul_overflow(count, rule.sizes.at(letter), &count) || count > (std::int64_t{1} << 48))
      return wrong(rule, "its sizes give too many elements");
  return result;
}

std::int64_t Arrangement::extent(char letter, std::int64_t padded) const {
  return letter == padded_ && padded > 0 ? padded : sizes_.at(letter);
}

Shape Arrangement::shape_of(const Side& side, std::int64_t padded) const {
  Shape shape;
  for (const std::string& group : side) {
    shape.push_back(1);
    for (const char letter : group) shape.back() *= extent(letter, padded);
  }
  return shape;
}

std::int64_t Arrangement::stride(const Side& side, char letter, std::int64_t padded) const {
  std::int64_t step = 1;
  for (auto group = side.rbegin(); group != side.rend(); ++group)
    for (auto one = group->rbegin(); one != group->rend(); ++one) {
      if (*one == letter) return step;
      step *= extent(*one, padded);
    }
  return 0;
}

std::int64_t Arrangement::padded_extent(std::int64_t multiple) const {
  if (padded_ == 0) return 0;
  return (sizes_.at(padded_) + multiple - 1) / multiple * multiple;
}

Result<std::int64_t> Arrangement::padded_in(const Shape& shape) const {
  std::int64_t padded = 0;
  for (std::size_t i = 0; i < ours_.size() && shape.size() == ours_.size(); ++i)
    if (padded_ != 0 && ours_[i] == std::string(1, padded_)) padded = shape[i];
  if (shape != ours(padded) || (padded > 0 && padded < sizes_.at(padded_)))
    return invalid("`" + name_ + "` is " + to_string(shape) + "; its rule makes " + to_string(ours()) +
                   (padded_ ? std::string(", with `") + padded_ + "` at least that long" : std::string()));
  return padded;
}

std::vector<Arrangement::Loop> Arrangement::loops(std::int64_t padded) const {
  std::vector<Loop> result;
  for (const std::string& group : ours_)
    for (const char letter : group)
      if (letter != stack_)
        result.push_back({sizes_.at(letter), stride(theirs_, letter, 0), stride(ours_, letter, padded)});
  return result;
}

std::int64_t Arrangement::first(std::size_t part, std::int64_t padded) const {
  return stack_ == 0 ? 0 : static_cast<std::int64_t>(part) * stride(ours_, stack_, padded);
}

void Arrangement::to_ours(std::size_t part, std::span<const std::byte> theirs, std::span<std::byte> ours,
                          std::size_t element, std::int64_t padded) const {
  std::vector<Walk> walks;
  for (const Loop& loop : loops(padded)) walks.push_back({loop.extent, loop.theirs, loop.ours});
  copy_elements(theirs.data(), ours.data() + static_cast<std::size_t>(first(part, padded)) * element, walks, element);
}

void Arrangement::to_theirs(std::size_t part, std::span<const std::byte> ours, std::span<std::byte> theirs,
                            std::size_t element, std::int64_t padded) const {
  std::vector<Loop> order = loops(padded);
  std::ranges::stable_sort(order, std::ranges::greater(), &Loop::theirs);
  std::vector<Walk> walks;
  for (const Loop& loop : order) walks.push_back({loop.extent, loop.ours, loop.theirs});
  copy_elements(ours.data() + static_cast<std::size_t>(first(part, padded)) * element, theirs.data(), walks, element);
}

}  // namespace baleen
