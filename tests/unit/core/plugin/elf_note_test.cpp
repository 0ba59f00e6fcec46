/// \file Whatever bytes a file holds, reading it ends in a note or an error.
#include "core/plugin/elf_note.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "core/plugin/descriptor.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace baleen {
namespace {

using test::read_file;
using test::TemporaryFolder;

std::string message(const std::string& file) {
  const auto result = read_elf_section(file, BALEEN_NOTE_SECTION);
  if (!result) return result.error().message;
  return *result ? "a note" : "no note";
}

class ElfNote : public testing::Test {
 protected:
  std::string changed(std::size_t offset, std::string_view bytes) {
    std::string copy = sample_;
    copy.replace(offset, bytes.size(), bytes);
    return folder_.write("x.so", copy);
  }
  const std::string sample_ = read_file(SAMPLE);
  TemporaryFolder folder_;
};

TEST_F(ElfNote, IsFound) { EXPECT_EQ(message(SAMPLE), "a note"); }

TEST_F(ElfNote, IsMissedInAnotherLibrary) {
  const auto result = read_elf_section(SAMPLE, ".note.nobody");
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->has_value());
}

TEST_F(ElfNote, RefusesWhatIsNoFile) {
  EXPECT_EQ(message(folder_ / "absent.so"), "no such file");
  EXPECT_EQ(message(folder_.path()), "not a file");
}

TEST_F(ElfNote, RefusesWhatIsNotElf) {
  EXPECT_EQ(message(folder_.write("x.so", "")), "not ELF: only 0 bytes");
  EXPECT_EQ(message(folder_.write("x.so", "#!/bin/sh\n")), "not ELF: it is no shared library");
}

TEST_F(ElfNote, RefusesOtherArchitectures) {
  const auto starts = [](const std::string& text, std::string_view begin) { return text.starts_with(begin); };
  EXPECT_TRUE(starts(message(changed(EI_CLASS, "\x01")), "wrong architecture: not 64 bit"));
  EXPECT_TRUE(starts(message(changed(EI_DATA, "\x02")), "wrong architecture: big endian"));
  const std::size_t machine = offsetof(Elf64_Ehdr, e_machine);
  EXPECT_TRUE(starts(message(changed(machine, {"\xf3\x00", 2})), "wrong architecture: built for RISC-V"));
  EXPECT_EQ(message(changed(offsetof(Elf64_Ehdr, e_type), "\x02")), "an ELF file, but no shared library");
}

TEST_F(ElfNote, RefusesEveryTruncation) {
  for (std::size_t size = 0; size < sample_.size(); size += size < 200 ? 1 : 397) {
    const std::string text = message(folder_.write("x.so", sample_.substr(0, size)));
    EXPECT_TRUE(text.starts_with(size < SELFMAG ? "not ELF" : "truncated")) << size << " bytes: " << text;
  }
}

TEST_F(ElfNote, SurvivesAnyByteOfItsHeadersBeingWrong) {
  Elf64_Ehdr header;
  std::memcpy(&header, sample_.data(), sizeof header);
  const unsigned seed = 11;
  std::mt19937 random(seed);
  for (int i = 0; i < 500; ++i) {
    std::string copy = sample_;
    const bool in_header = random() % 4 == 0;
    const std::size_t begin = in_header ? 0 : header.e_shoff;
    const std::size_t size = in_header ? sizeof header : copy.size() - begin;
    for (int j = 0; j < 3; ++j) copy[begin + random() % size] = static_cast<char>(random());
    const auto result = read_descriptor(folder_.write("x.so", copy));
    if (!result) {
      EXPECT_FALSE(result.error().message.empty()) << "seed " << seed << ", case " << i;
    }
  }
}

TEST_F(ElfNote, SurvivesAnyByteOfTheNoteBeingWrong) {
  const auto note = read_elf_section(SAMPLE, BALEEN_NOTE_SECTION);
  ASSERT_TRUE(note && *note);
  const unsigned seed = 12;
  std::mt19937 random(seed);
  for (int i = 0; i < 5000; ++i) {
    auto copy = **note;
    for (int j = 0; j < 3; ++j) copy[random() % copy.size()] = static_cast<std::byte>(random());
    const auto result = parse_note(copy, "x.so");
    if (!result) {
      EXPECT_EQ(result.error().where, "x.so") << "seed " << seed << ", case " << i;
    }
  }
}

}  // namespace
}  // namespace baleen
