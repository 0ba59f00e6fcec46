/// \file Secrets in files and pipes.
#include "ssh/secret.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "support/temporary_folder.hpp"

namespace baleen::launchers {
namespace {

class SecretFile : public testing::Test {
 protected:
  std::string file(const std::string& text, mode_t mode) const {
    std::string path = folder.write("secret", text);
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  const test::TemporaryFolder folder;
};

TEST_F(SecretFile, IsWrittenForItsUserAlone) {
  const Secret secret = Secret::fresh();
  const std::string path = folder / "new";
  ASSERT_TRUE(secret.write(path));
  struct stat status = {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  const auto read = Secret::read(path);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->text(), secret.text());
  EXPECT_EQ(secret.text().size(), 64u);
  EXPECT_NE(secret.text(), Secret::fresh().text());
}

TEST_F(SecretFile, IsNotOverwritten) {
  const std::string path = file("something", 0600);
  const Status status = Secret::fresh().write(path);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().text(), path + ": is there already; a secret is not overwritten");
  EXPECT_EQ(test::read_file(path), "something");
}

TEST_F(SecretFile, IsRefusedWhereOthersMayReadIt) {
  for (const mode_t mode : {0644, 0640, 0604, 0622}) {
    const auto read = Secret::read(file(Secret::fresh().text(), mode));
    ASSERT_FALSE(read) << mode;
    EXPECT_EQ(read.error().code, BALEEN_INVALID);
    EXPECT_NE(read.error().message.find("others may use this file (its mode is 06"), std::string::npos)
        << read.error().message;
    EXPECT_NE(read.error().message.find("chmod 600"), std::string::npos);
  }
}

TEST_F(SecretFile, IsRefusedWhereItIsShortOrAbsent) {
  EXPECT_EQ(Secret::read(folder / "absent").error().code, BALEEN_NOT_FOUND);
  EXPECT_FALSE(Secret::read(folder.path()));
  const auto brief = Secret::read(file("  hunter2\n", 0600));
  ASSERT_FALSE(brief);
  EXPECT_NE(brief.error().message.find("a secret of 7 characters; it needs 32 or more"), std::string::npos);
  EXPECT_EQ(brief.error().message.find("hunter2"), std::string::npos);
}

TEST_F(SecretFile, MayHoldBlanksAroundAndInIt) {
  const auto read = Secret::read(file("\n  correct horse battery staple, and more of it \r\n", 0600));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->text(), "correct horse battery staple, and more of it");
}

Result<StartWord> word_from(const std::string& line) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  EXPECT_EQ(write(ends[1], line.data(), line.size()), static_cast<ssize_t>(line.size()));
  close(ends[1]);
  auto word = StartWord::read(ends[0]);
  close(ends[0]);
  return word;
}

TEST(StartWord, ComesThroughAPipe) {
  const StartWord word{Secret::fresh(), 54321};
  const auto read = word_from(word.line());
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->secret.text(), word.secret.text());
  EXPECT_EQ(read->port, 54321);
}

TEST(StartWord, RefusesWhatTheFirstHostDoesNotSay) {
  const std::string secret = Secret::fresh().text();
  for (const std::string& line : {std::string(), std::string("\n"), secret + "\n", secret + " 0\n", secret + " 65536\n",
                                  secret + " x\n", secret + " 1x\n", std::string("short 5\n"), std::string(" 5\n")})
    EXPECT_FALSE(word_from(line)) << line;
}

}  // namespace
}  // namespace baleen::launchers
