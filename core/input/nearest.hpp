/// \file "Did you mean": the known word nearest to what a user wrote.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace baleen {

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b` (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The nearest of `known`, unless even that one is too far to be what was meant. Ties: the first.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

/// "unknown key `tranport`; did you mean `transport`?", or, where none is near, "unknown key `x`; known: `a`, `b`".
/// `what` is the noun: "key", "option", "optimizer".
std::string unknown_word(std::string_view what, std::string_view word, std::span<const std::string> known);

}  // namespace baleen
