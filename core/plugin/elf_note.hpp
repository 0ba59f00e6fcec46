/// \file Finds one section of a shared library in its file. Nothing is loaded, no byte outside the file is touched.
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "baleen/result.hpp"

namespace baleen {

/// The contents of section `name`; nothing where the library has no such section. The error says whether the file is
/// missing, unreadable, empty, truncated, not ELF, not a shared library, or for another architecture than this program.
Result<std::optional<std::vector<std::byte>>> read_elf_section(const std::filesystem::path& file,
                                                               std::string_view name);

}  // namespace baleen
