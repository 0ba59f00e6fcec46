/// \file Tables as text: "F3" is the forward pass of micro-batch 3, "B3" the backward pass, "W3" the gradients of
/// weights; of chunk 1 of the model "F3.1".
#pragma once
#include <string_view>

#include "timing.hpp"

namespace baleen::pipeline {

/// With the chunk where the table has several.
std::string to_text(const Action& action, const Table& table);

/// A line per rank as columns of equal time, each pass as wide as it lasts in forward passes (a backward pass twice as
/// long, half of it gradients of weights): "F0 F1 B0 -- ...".
Result<std::string> draw(const Table& table);

/// One line of a table, actions separated by spaces or commas. Errors quote the word.
Result<Actions> parse_actions(std::string_view line);

}  // namespace baleen::pipeline
