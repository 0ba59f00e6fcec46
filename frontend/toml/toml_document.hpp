/// \file A TOML document whose every key and value knows where it came from, a file or a `--set`. Private to this
/// folder.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "baleen/result.hpp"
#include "frontend/toml/toml_include.hpp"

namespace baleen {

/// Parses `text` (`name` stands in messages), then puts in each of `sets`, "KEY=VALUE".
Result<toml::table> read_document(std::string_view text, const std::string& name, std::span<const std::string> sets);

/// "file:line:column", or "--set key=value". Empty for what was made without a source.
std::string where_of(const toml::source_region& source);

/// A line for each value, "cluster.hosts[0].ranks = 2", in order of keys.
std::string flat_text(const toml::table& root);

/// True for what stands on the command line, not in the file.
bool from_set(std::string_view where);

}  // namespace baleen
