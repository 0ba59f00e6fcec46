/// \file What a table may hold by mistake.
#pragma once
#include <string>
#include <vector>

#include "encoding.hpp"

namespace baleen::table {

/// INVALID where a column that is used shares its name with another one: a model finds its columns by their names.
Status check_names(const Table& table, const EncodingOptions& options);

/// Texts for the user: columns of numbers that are read as categories because of a few fields, and classes that stand
/// in held-out rows alone. Of the rows in the given order the first `train` are the train part.
std::vector<std::string> doubts_of(const Table& table, const EncodingOptions& options, const Facts& facts,
                                   const std::vector<std::size_t>& order, std::size_t train);

}  // namespace baleen::table
