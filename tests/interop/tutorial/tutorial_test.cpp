/// \file The tutorial works as it stands: files are written as it shows them, its commands run in order, and they print
/// the lines that it shows, but for the numbers.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "support/places.hpp"
#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

struct Block {
  int line = 0;
  std::string kind, text;
};

/// The fenced blocks of a page, in order.
std::vector<Block> blocks_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<Block> blocks;
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.push_back({number, line.substr(3), {}});
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

/// A line without numbers and with single spaces: "step 1/3  loss 0.5" becomes "step #/# loss #".
std::string shape_of(const std::string& line) {
  static const std::regex number("[0-9][0-9,.]*(e[-+][0-9]+)?( [kM]\\b)?"), spaces(" +"), ends("^ | $");
  return std::regex_replace(std::regex_replace(std::regex_replace(line, number, "#"), spaces, " "), ends, "");
}

TEST(Tutorial, WorksAsItStands) {
  const TemporaryFolder folder;
  ProcessOptions options;
  options.folder = folder.path();
  options.limit = std::chrono::seconds(100);
  options.environment = {"PATH=" + build_dir() + "/bin:" + std::getenv("PATH")};
  std::string printed;
  int commands = 0, shown = 0;
  for (const Block& block : blocks_of(source_dir() + "/docs/tutorial.md")) {
    const std::string at = "docs/tutorial.md:" + std::to_string(block.line) + ": ";
    if (block.kind == "lua" || block.kind == "toml") {
      static const std::regex named("(?:--|#) ([a-z.]+)\n[^]*");
      std::smatch found;
      ASSERT_TRUE(std::regex_match(block.text, found, named)) << at << "the first line names the file";
      folder.write(found[1].str(), block.text);
    } else if (block.kind == "sh") {
      const ProcessResult result = run_process({"bash", "-euc", block.text}, options);
      ASSERT_EQ(result.exit_code, 0) << at << result.out << result.err;
      ++commands;
      printed = "\n";
      std::istringstream lines(result.out + result.err);
      for (std::string line; std::getline(lines, line);) printed += shape_of(line) + "\n";
    } else {
      ASSERT_EQ(block.kind, "text") << at;
      std::istringstream lines(block.text);
      for (std::string line; std::getline(lines, line); ++shown)
        EXPECT_NE(printed.find("\n" + shape_of(line) + "\n"), std::string::npos)
            << at << "not printed: " << line << "\nbut, without numbers:" << printed;
    }
  }
  EXPECT_GE(commands, 6);
  EXPECT_GE(shown, 10);
}

}  // namespace
}  // namespace baleen::test
