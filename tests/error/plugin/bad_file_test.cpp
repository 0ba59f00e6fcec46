/// \file Files that are no usable plugin, given to the program as a user would give them.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "baleen/descriptor.h"
#include "support/process.hpp"
#include "support/refusal.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

constexpr int kBadInput = 2;

class BadFile : public testing::Test {
 protected:
  /// The good library with `bytes` at `offset`.
  std::string patched(std::size_t offset, std::string_view bytes) {
    std::string copy = good_;
    copy.replace(offset, bytes.size(), bytes);
    return folder_.write("x.so", copy);
  }
  /// The same with a field of the descriptor changed.
  std::string patched_record(std::size_t field, std::string_view bytes) {
    const std::size_t record = good_.find("BALEEN01");
    EXPECT_NE(record, std::string::npos);
    return patched(record + field, bytes);
  }
  static void expect_refused(const std::string& file, const std::string& why) {
    const ProcessResult result = run_baleen({"plugins", "--plugin-path", file});
    expect_refusal(
        result, {.exit_code = kBadInput, .begins = "--plugin-path: " + file + ": " + why, .before = Before::kNothing});
  }

  const std::string good_ = read_file(BAD_FOLDER + "/baleen_data_other_kind.so");
  TemporaryFolder folder_;
};

TEST_F(BadFile, IsMissing) { expect_refused(folder_ / "absent.so", "no such file"); }

TEST_F(BadFile, IsEmpty) { expect_refused(folder_.write("x.so", ""), "not ELF: only 0 bytes"); }

TEST_F(BadFile, IsNotElf) { expect_refused(folder_.write("x.so", "print('hello')\n"), "not ELF"); }

TEST_F(BadFile, IsTruncated) {
  expect_refused(folder_.write("x.so", good_.substr(0, good_.size() / 2)), "truncated: its headers point at bytes");
}

TEST_F(BadFile, IsForAnotherArchitecture) {
  expect_refused(patched(offsetof(Elf64_Ehdr, e_machine), {"\xf3\x00", 2}), "wrong architecture: built for RISC-V");
  expect_refused(patched(EI_CLASS, "\x01"), "wrong architecture: not 64 bit");
}

TEST_F(BadFile, IsBuiltForAnotherAbi) {
  const std::string minor = std::to_string(BALEEN_ABI_MINOR);
  expect_refused(patched_record(offsetof(baleen_descriptor_t, abi_major), {"\x09\x00", 2}),
                 "built for plugin ABI 9." + minor + ", but this Baleen has 1." + minor + "; build it again");
  expect_refused(patched_record(offsetof(baleen_descriptor_t, abi_minor), {"\x63\x00", 2}),
                 "needs plugin ABI 1.99, but this Baleen has 1." + minor + "; update Baleen");
}

TEST_F(BadFile, HasNoDescriptor) {
  expect_refused(BAD_FOLDER + "/baleen_noteless.so", "no plugin of Baleen: it has no .note.baleen note");
}

TEST_F(BadFile, HasADamagedDescriptor) {
  expect_refused(patched_record(offsetof(baleen_descriptor_t, magic), "X"),
                 "bad plugin descriptor: it does not begin as one");
  expect_refused(patched_record(offsetof(baleen_descriptor_t, kind), "dat@"),
                 "bad plugin descriptor: unknown kind `dat@`");
}

TEST_F(BadFile, IsOnlyListedWhereItLiesInAFolder) {
  const std::string file = patched_record(offsetof(baleen_descriptor_t, abi_major), {"\x09\x00", 2});
  const ProcessResult result = run_baleen({"plugins", "--plugin-path", folder_.path()});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.out.find("not used: " + file + ": built for plugin ABI 9." + std::to_string(BALEEN_ABI_MINOR)),
            std::string::npos)
      << result.out;
}

TEST_F(BadFile, IsNamedWithItsPlaceInTheManifest) {
  const std::string manifest = folder_.write("c.toml", "[plugins]\npaths = [\"absent.so\"]\n");
  const ProcessResult result = run_baleen({"run", "--manifest", manifest, "job.lua"});
  EXPECT_EQ(result.exit_code, kBadInput);
  EXPECT_EQ(result.err, "error: " + manifest + ":2:10: " + (folder_ / "absent.so") + ": no such file\n");
}

}  // namespace
}  // namespace baleen::test
