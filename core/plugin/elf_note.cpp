/// \file A bounds-checked reader of ELF64 section headers.
#include "core/plugin/elf_note.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "baleen/file_handle.hpp"

namespace baleen {
namespace {

static_assert(std::endian::native == std::endian::little, "the reader compares headers in place");
#if defined(__x86_64__)
constexpr std::uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kMachine = EM_AARCH64;
#else
#error "name this processor's ELF machine number here"
#endif

std::string machine_name(std::uint16_t machine) {
  switch (machine) {
    case EM_386: return "x86 (32 bit)";
    case EM_X86_64: return "x86-64";
    case EM_ARM: return "ARM (32 bit)";
    case EM_AARCH64: return "AArch64";
    case EM_PPC64: return "PowerPC 64";
    case EM_RISCV: return "RISC-V";
    default: return "ELF machine " + std::to_string(machine);
  }
}

/// A file whose every read is checked against its size. Its beginning is kept: headers and the note are mostly there.
class CheckedFile {
 public:
  static Result<CheckedFile> open(const std::filesystem::path& path) {
    CheckedFile file;
    file.path_ = path.string();
    file.handle_ = FileHandle(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file.handle_ && (errno == ENOENT || errno == ENOTDIR))
      return Error{BALEEN_NOT_FOUND, "no such file", path.string()};
    struct stat facts;
    if (!file.handle_ || ::fstat(file.handle_.get(), &facts) != 0) return file.unreadable();
    if (!S_ISREG(facts.st_mode)) return invalid("not a file", path.string());
    file.size_ = static_cast<std::uint64_t>(facts.st_size);
    std::vector<char> head(std::min(file.size_, kHead));
    BALEEN_TRY(file.read(0, head.data(), head.size()));
    file.head_ = std::move(head);
    return file;
  }

  Status read(std::uint64_t offset, void* to, std::uint64_t bytes) {
    if (offset > size_ || bytes > size_ - offset) return truncated(offset, bytes);
    if (offset + bytes <= head_.size()) {
      std::copy_n(head_.data() + offset, bytes, static_cast<char*>(to));
      return {};
    }
    for (std::uint64_t done = 0; done < bytes;) {
      const ssize_t got =
          ::pread(handle_.get(), static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return unreadable();
      if (got == 0) return Error{BALEEN_IO, "it became shorter while it was read", path_};
      done += static_cast<std::uint64_t>(got);
    }
    return {};
  }

  Error unreadable() const { return {BALEEN_IO, std::string("cannot be read: ") + std::strerror(errno), path_}; }
  Error truncated(std::uint64_t offset, std::uint64_t bytes) const {
    return invalid("truncated: its headers point at bytes " + std::to_string(offset) + " to " +
                       std::to_string(offset + bytes) + ", but it has only " + std::to_string(size_) +
                       "; copy or build it again",
                   path_);
  }
  std::uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  static constexpr std::uint64_t kHead = 16384;

  std::string path_;
  FileHandle handle_;
  std::uint64_t size_ = 0;
  std::vector<char> head_;
};

Result<Elf64_Ehdr> read_header(CheckedFile& file) {
  unsigned char ident[EI_NIDENT] = {};
  if (file.size() < SELFMAG) return invalid("not ELF: only " + std::to_string(file.size()) + " bytes", file.path());
  BALEEN_TRY(file.read(0, ident, SELFMAG));
  if (std::memcmp(ident, ELFMAG, SELFMAG) != 0) return invalid("not ELF: it is no shared library", file.path());
  BALEEN_TRY(file.read(0, ident, sizeof ident));
  const std::string mend = "; build the plugin for " + machine_name(kMachine);
  if (ident[EI_CLASS] != ELFCLASS64) return invalid("wrong architecture: not 64 bit" + mend, file.path());
  if (ident[EI_DATA] != ELFDATA2LSB) return invalid("wrong architecture: big endian" + mend, file.path());
  Elf64_Ehdr header;
  BALEEN_TRY(file.read(0, &header, sizeof header));
  if (header.e_machine != kMachine)
    return invalid("wrong architecture: built for " + machine_name(header.e_machine) + mend, file.path());
  if (header.e_type != ET_DYN) return invalid("an ELF file, but no shared library", file.path());
  return header;
}

Result<std::vector<Elf64_Shdr>> read_sections(CheckedFile& file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Shdr> sections;
  if (header.e_shoff == 0) return sections;
  if (header.e_shentsize != sizeof(Elf64_Shdr))
    return invalid("damaged: section headers of " + std::to_string(header.e_shentsize) + " bytes", file.path());
  sections.resize(header.e_shnum);
  BALEEN_TRY(file.read(header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr)));
  return sections;
}

Result<std::vector<char>> read_names(CheckedFile& file, const Elf64_Ehdr& header,
                                     const std::vector<Elf64_Shdr>& sections) {
  if (header.e_shstrndx >= sections.size()) return invalid("damaged: no section names", file.path());
  const Elf64_Shdr& section = sections[header.e_shstrndx];
  if (section.sh_size > file.size()) return file.truncated(section.sh_offset, section.sh_size);
  std::vector<char> names(section.sh_size + 1, '\0');  // the added byte ends the last name, whatever the file says
  BALEEN_TRY(file.read(section.sh_offset, names.data(), section.sh_size));
  return names;
}

}  // namespace

Result<std::optional<std::vector<std::byte>>> read_elf_section(const std::filesystem::path& path,
                                                               std::string_view name) {
  using Contents = std::optional<std::vector<std::byte>>;
  BALEEN_TRY_ASSIGN(CheckedFile file, CheckedFile::open(path));
  BALEEN_TRY_ASSIGN(const Elf64_Ehdr header, read_header(file));
  BALEEN_TRY_ASSIGN(const std::vector<Elf64_Shdr> sections, read_sections(file, header));
  if (sections.empty()) return Contents();
  BALEEN_TRY_ASSIGN(const std::vector<char> names, read_names(file, header, sections));
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_name >= names.size() || name != names.data() + section.sh_name) continue;
    if (section.sh_type == SHT_NOBITS) return invalid("damaged: its descriptor has no bytes", file.path());
    if (section.sh_size > file.size()) return file.truncated(section.sh_offset, section.sh_size);
    std::vector<std::byte> contents(section.sh_size);
    BALEEN_TRY(file.read(section.sh_offset, contents.data(), contents.size()));
    return Contents(std::move(contents));
  }
  return Contents();
}

}  // namespace baleen
