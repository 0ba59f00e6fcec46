/// \file Commands for another host's shell, tried in this one's.
#include "ssh/starter.hpp"

#include <gtest/gtest.h>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::launchers {
namespace {

test::ProcessResult in_shell(const RemoteStart& start) { return test::run_process({"sh", "-c", shell_line(start)}); }

TEST(ShellLine, KeepsEveryWord) {
  const std::vector<std::string> words = {
      "plain", "two words", "it's", "$HOME `id` \\ \"q\" ; | & * ? # ~", "", "-n", "{name}", "'", "line\nbreak"};
  std::vector<std::string> command = {"/usr/bin/printf", "<%s>"};
  command.insert(command.end(), words.begin(), words.end());
  std::string expected;
  for (const std::string& word : words) expected += "<" + word + ">";
  const auto result = in_shell({{}, command, "/"});
  EXPECT_EQ(result.out, expected);
  EXPECT_EQ(result.exit_code, 0);
}

TEST(ShellLine, GoesToTheFolder) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "it's a folder";
  std::filesystem::create_directory(path);
  EXPECT_EQ(in_shell({{}, {"/bin/pwd"}, path}).out, path + "\n");
}

TEST(ShellLine, SaysWhatIsMissing) {
  EXPECT_EQ(in_shell({{}, {"/bin/pwd"}, "/no/such/folder"}).exit_code, 121);
  EXPECT_EQ(in_shell({{}, {"/no/such/program"}, "/"}).exit_code, 122);
}

/// Lines that a starter passes on.
struct Lines : LineSink {
  std::string text;
  void add(std::string_view whole_lines) override { text += whole_lines; }
  bool is_full() const override { return false; }
};

/// Runs it to its end.
std::string lines_of(const RemoteStart& what, const StartWord& word, std::string* why = nullptr) {
  sigset_t none;
  sigemptyset(&none);
  Lines lines;
  const auto starter = Starter::start(what, {"node7", 1, "10.0.0.7"}, 3, word, none);
  if (!starter) return starter.error().text();
  while ((*starter)->is_running(lines)) (*starter)->read_output(lines);
  if (why) *why = (*starter)->why().text();
  return lines.text;
}

TEST(Starter, PassesTheSecretThroughTheInputAlone) {
  const StartWord word{Secret::fresh(), 4711};
  const RemoteStart what{{"sh", "-c"}, {"/bin/sh", "-c", "read line; echo \"$line\"; cat /proc/$$/cmdline; env"}, "/"};
  const std::string text = lines_of(what, word);
  EXPECT_TRUE(text.starts_with("[node7] " + word.line())) << text;
  EXPECT_EQ(text.find(word.secret.text(), 10), text.rfind(word.secret.text()) == 8 ? std::string::npos : 0) << text;
}

TEST(Starter, FillsInTheHost) {
  const RemoteStart what{{"echo", "{name}", "{address}", "{index}:{index}"}, {"/bin/true"}, "/"};
  EXPECT_TRUE(lines_of(what, {}).starts_with("[node7] node7 10.0.0.7 3:3 exec sh -c ")) << lines_of(what, {});
}

TEST(Starter, TellsWhyNobodyJoined) {
  std::string why;
  lines_of({{"sh", "-c"}, {"/bin/true"}, "/no/such/folder"}, {}, &why);
  EXPECT_EQ(why, "has no folder /no/such/folder; every host needs the same paths as the first");
  lines_of({{"sh", "-c"}, {"/no/such/program"}, "/"}, {}, &why);
  EXPECT_EQ(why, "has no program /no/such/program; every host needs the same paths as the first");
  lines_of({{"sh", "-c"}, {"/bin/sh", "-c", "exit 255"}, "/"}, {}, &why);
  EXPECT_EQ(why, "`sh` could not reach it (exit code 255); what it said is above");
  lines_of({{"sh", "-c"}, {"/bin/sh", "-c", "exit 2"}, "/"}, {}, &why);
  EXPECT_EQ(why, "`sh` ended with exit code 2 before the host joined; what was said there is above");
  EXPECT_TRUE(lines_of({{"no-such-program"}, {"/bin/true"}, "/"}, {}).starts_with("there is no program `no-such-"));
}

}  // namespace
}  // namespace baleen::launchers
