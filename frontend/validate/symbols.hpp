/// \file What a shared library shows to others and wants from them, read from its file.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "baleen/result.hpp"

namespace baleen::validate {

struct Symbols {
  std::vector<std::string> exported, imported;  ///< by mangled name, without versions
  std::vector<std::string> libraries;           ///< that it needs: "libm.so.6"
};

/// Nothing is loaded. The error says what is damaged.
Result<Symbols> read_symbols(const std::filesystem::path& file);

}  // namespace baleen::validate
