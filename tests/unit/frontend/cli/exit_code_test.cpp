/// \file Exit codes, and what is said beside them.
#include "frontend/cli/exit_code.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>

#include "frontend/cli/command_line.hpp"
#include "support/places.hpp"

namespace baleen::app {
namespace {

TEST(ExitCode, TellsWhoseFaultItIs) {
  EXPECT_EQ(exit_code(BALEEN_OK), 0);
  for (const baleen_status_t status : {BALEEN_INVALID, BALEEN_UNSUPPORTED, BALEEN_NOT_FOUND, BALEEN_IO})
    EXPECT_EQ(exit_code(status), 2);
  EXPECT_EQ(exit_code(BALEEN_NO_MEMORY), 3);
  EXPECT_EQ(exit_code(BALEEN_PEER_LOST), 4);
  EXPECT_EQ(exit_code(BALEEN_INTERNAL), 70);
  EXPECT_EQ(exit_code(1234), 70);
}

std::string text_of(const std::string& path) {
  std::ifstream file(test::source_dir() + "/" + path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// The codes that exit_code.hpp names.
std::vector<std::string> all_codes() {
  const std::string header = text_of("frontend/cli/exit_code.hpp");
  const std::regex constant("constexpr int k\\w+ = (\\d+);");
  std::vector<std::string> codes;
  for (std::sregex_iterator at(header.begin(), header.end(), constant), end; at != end; ++at) codes.push_back((*at)[1]);
  return codes;
}

std::string help_of(const std::vector<std::string>& words) {
  const auto command = parse_command_line(words, {});
  return command ? std::get<TextOnly>(*command).text : command.error().text();
}

TEST(ExitCode, IsInTheHelpOfEveryCommand) {
  EXPECT_GE(all_codes().size(), 8u);
  for (const char* name : {"", "run", "verify", "infer", "evaluate", "predict", "generate", "graph", "plan", "bench",
                           "plugins", "validate", "new", "checkpoint", "secret", "tokenizer", "doctor"}) {
    const std::string help =
        help_of(*name ? std::vector<std::string>{name, "--help"} : std::vector<std::string>{"--help"});
    const std::size_t list = help.find("Exit codes: ");
    ASSERT_NE(list, std::string::npos) << name << ": " << help;
    for (const std::string& code : all_codes())
      EXPECT_TRUE(std::regex_search(help.substr(list), std::regex("[:,]\\s+" + code + "\\s"))) << name << ": " << code;
  }
}

TEST(ExitCode, IsInTheDocumentation) {
  const std::string design = text_of("docs/design.md"), limits = text_of("docs/limits.md");
  const std::string list = design.substr(design.find("- Exit codes: "));
  const std::string sentence = list.substr(0, list.find("\n\n"));
  for (const std::string& code : all_codes()) {
    EXPECT_NE(limits.find("\n| " + code + " | "), std::string::npos) << "docs/limits.md lacks " << code;
    EXPECT_TRUE(std::regex_search(sentence, std::regex("[:,]\\s+" + code + "\\s"))) << "docs/design.md lacks " << code;
  }
}

std::string reported(const Error& error) {
  testing::internal::CaptureStderr();
  const Log log = Log::to_stderr();
  log.debug("what came before");
  report(log, error);
  return testing::internal::GetCapturedStderr();
}

TEST(Report, IsOneLineForAUsersMistake) {
  EXPECT_EQ(reported(invalid("bad value 3", "a.lua:1:2")), "error: a.lua:1:2: bad value 3\n");
}

TEST(Report, AddsTheFlightRecorderToOurOwnBug) {
  const std::string text = reported(internal("impossible"));
  EXPECT_TRUE(text.starts_with("error: impossible (this is a bug of")) << text;
  EXPECT_NE(text.find("debug: what came before"), std::string::npos) << text;
}

}  // namespace
}  // namespace baleen::app
