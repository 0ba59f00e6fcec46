/// \file Reads `.dynsym` and `.dynamic`.
#include "frontend/validate/symbols.hpp"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "core/plugin/elf_note.hpp"

namespace baleen::validate {
namespace {

using Bytes = std::vector<std::byte>;

Result<Bytes> section_of(const std::filesystem::path& file, const char* name) {
  BALEEN_TRY_ASSIGN(auto found, read_elf_section(file, name));
  if (!found) return invalid("has no section `" + std::string(name) + "`", file.string());
  return *std::move(found);
}

/// The text at `offset`, whether or not the section ends it.
std::string text_at(const Bytes& texts, std::uint64_t offset) {
  const char* const begin = reinterpret_cast<const char*>(texts.data());
  const char* const end = begin + texts.size();
  const char* const at = begin + std::min<std::uint64_t>(offset, texts.size());
  return {at, std::find(at, end, '\0')};
}

template <class Entry, class Each>
void for_each_entry(const Bytes& table, Each each) {
  for (std::size_t at = 0; at + sizeof(Entry) <= table.size(); at += sizeof(Entry)) {
    Entry entry;
    std::memcpy(&entry, table.data() + at, sizeof entry);
    each(entry);
  }
}

}  // namespace

Result<Symbols> read_symbols(const std::filesystem::path& file) {
  BALEEN_TRY_ASSIGN(const Bytes texts, section_of(file, ".dynstr"));
  BALEEN_TRY_ASSIGN(const Bytes symbols, section_of(file, ".dynsym"));
  BALEEN_TRY_ASSIGN(const Bytes dynamic, section_of(file, ".dynamic"));
  Symbols found;
  for_each_entry<Elf64_Sym>(symbols, [&](const Elf64_Sym& symbol) {
    if (symbol.st_name == 0 || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || symbol.st_shndx == SHN_ABS) return;
    auto& list = symbol.st_shndx == SHN_UNDEF ? found.imported : found.exported;
    list.push_back(text_at(texts, symbol.st_name));
  });
  for_each_entry<Elf64_Dyn>(dynamic, [&](const Elf64_Dyn& entry) {
    if (entry.d_tag == DT_NEEDED) found.libraries.push_back(text_at(texts, entry.d_un.d_val));
  });
  return found;
}

}  // namespace baleen::validate
