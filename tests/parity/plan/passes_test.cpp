/// \file `--print-passes`: the graph after each pass, a part of it, what a pass changed, and what is refused.
#include <sstream>

#include "parity/parity_run.hpp"

namespace baleen::test {
namespace {

/// What is printed of the passes of a small model on two ranks: the text after each pass's title, in order.
class Passes {
 public:
  explicit Passes(const std::vector<std::string>& words, int ranks = 2) {
    std::vector<std::string> command{"graph", "--print-passes"};
    command.insert(command.end(), words.begin(), words.end());
    result_ = run_parity(command, "mlp", manifest_of({{"data", ranks}}, ""), {});
    std::istringstream lines(result_.out);
    bool is_pass = false;  // behind the last one stands the graph itself
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("--- ")) {
        titles_.push_back(line.substr(4, line.size() - 8));
        is_pass = true;
      } else if (line.empty()) {
        is_pass = false;
      } else if (is_pass) {
        lines_[titles_.back()].push_back(line);
      } else if (titles_.empty()) {
        head_ += line + "\n";
      }
    }
  }

  const ProcessResult& result() const { return result_; }
  const std::string& head() const { return head_; }
  const std::vector<std::string>& titles() const { return titles_; }
  const std::vector<std::string>& of(const std::string& title) const { return lines_.at(title); }
  bool has(const std::string& title, const std::string& text) const {
    for (const std::string& line : of(title))
      if (line.find(text) != std::string::npos) return true;
    return false;
  }

 private:
  ProcessResult result_;
  std::string head_;
  std::vector<std::string> titles_;
  std::map<std::string, std::vector<std::string>> lines_;
};

TEST(PrintedPasses, BeginWithWhatLettersMean) {
  const Passes all({});
  EXPECT_EQ(all.result().exit_code, 0) << all.result().err;
  for (const char* words : {"a letter for each axis of the mesh (data)", "R whole on each", "S0 cut along dimension 0"})
    EXPECT_NE(all.head().find(words), std::string::npos) << all.head();
  EXPECT_EQ(all.titles().front(), "train: describe");
  EXPECT_TRUE(all.has("train: propagate", "{S0}"));
  const Passes alone({}, 1);
  EXPECT_EQ(alone.head().find('{'), std::string::npos) << "one rank has no layouts\n" << alone.head();
}

TEST(PrintedPasses, AreThoseThatAreAskedFor) {
  const Passes by_name({"--pass", "propagate"}), by_graph({"--pass", "train: *"});
  EXPECT_GE(by_name.titles().size(), 2u);
  for (const std::string& title : by_name.titles()) EXPECT_TRUE(title.ends_with(": propagate")) << title;
  EXPECT_GE(by_graph.titles().size(), 4u);
  for (const std::string& title : by_graph.titles()) EXPECT_TRUE(title.starts_with("train: ")) << title;
}

TEST(PrintedPasses, HaveTheOpsThatAreAskedFor) {
  const Passes kinds({"--pass", "train: differentiate", "--op", "matmul"});
  const auto is_product = [](const std::string& line) { return line.find(" = matmul(") != std::string::npos; };
  ASSERT_EQ(kinds.titles(), std::vector<std::string>{"train: differentiate"});
  EXPECT_GE(kinds.of("train: differentiate").size(), 4u);
  for (const std::string& line : kinds.of("train: differentiate")) EXPECT_TRUE(is_product(line)) << line;
  const Passes names({"--pass", "train: update", "--op", "*.weight.update"});
  EXPECT_FALSE(names.of("train: update").empty());
  for (const std::string& line : names.of("train: update"))
    EXPECT_NE(line.find(".weight.update"), std::string::npos) << line;
}

/// A pass that gives gradients adds lines and takes none away; propagation gives the same ops layouts.
TEST(PrintedPasses, TellWhatChanged) {
  const Passes changes({"--changes", "--pass", "train: *"});
  const auto count = [&](const std::string& title, const std::string& sign) {
    std::ptrdiff_t number = 0;
    for (const std::string& line : changes.of(title)) number += line.starts_with(sign);
    return number;
  };
  EXPECT_GT(count("train: describe", "+ "), 0);
  EXPECT_EQ(count("train: describe", "- "), 0);
  EXPECT_GT(count("train: differentiate", "+ "), 0);
  EXPECT_GT(count("train: propagate", "- "), 0);
  EXPECT_GT(count("train: propagate", "+ "), count("train: propagate", "- ")) << "layouts, and collectives";
  EXPECT_TRUE(changes.has("train: propagate", "{S0}"));
  const Passes whole({"--pass", "train: differentiate"});
  EXPECT_LT(changes.of("train: differentiate").size(), whole.of("train: differentiate").size());
}

TEST(PrintedPasses, ThatNobodyKnowsAreRefused) {
  const Passes pass({"--pass", "propagat"}), op({"--op", "matmull"});
  EXPECT_EQ(pass.result().exit_code, 2);
  EXPECT_NE(pass.result().err.find("--pass: no pass that changed a graph matches `propagat`; those that did: `train: "),
            std::string::npos)
      << pass.result().err;
  EXPECT_EQ(op.result().exit_code, 2);
  EXPECT_NE(op.result().err.find("--op: no op has a name or a kind that matches `matmull`"), std::string::npos)
      << op.result().err;
  const ProcessResult alone = run_baleen({"graph", "x.lua", "--pass", "propagate"});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_NE(alone.err.find("--print-passes"), std::string::npos) << alone.err;
}

}  // namespace
}  // namespace baleen::test
