/// \file `baleen graph --dot` is Graphviz's language, read here by its grammar, and draws what `baleen graph` prints.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "parity/parity_run.hpp"

namespace baleen::test {
namespace {

/// What a file of the language says; the part of its grammar that a directed graph needs.
struct Drawing {
  std::map<std::string, std::string> labels;               ///< of nodes, by name
  std::vector<std::pair<std::string, std::string>> edges;  ///< names of nodes
};

/// Reads words one by one: names, numbers, texts in quotes, and `{ } [ ] ; , = ->`. Throws at what is none.
class DotReader {
 public:
  explicit DotReader(const std::string& text) : text_(text) { next(); }

  Drawing read() {
    expect("digraph");
    expect("{");
    while (word_ != "}" || quoted_) statement();
    next();
    if (!word_.empty() || quoted_) throw std::runtime_error("more after the graph: " + word_);
    return std::move(drawing_);
  }

 private:
  void statement() {
    const std::string from = name();
    if (word_ == "->" && !quoted_) {
      next();
      drawing_.edges.emplace_back(from, name());
      attributes();
    } else {
      const auto found = attributes();
      if (from != "node" && !drawing_.labels.emplace(from, found.contains("label") ? found.at("label") : from).second)
        throw std::runtime_error("node " + from + " twice");
    }
    expect(";");
  }
  std::map<std::string, std::string> attributes() {
    std::map<std::string, std::string> all;
    if (word_ != "[" || quoted_) return all;
    next();
    while (word_ != "]" || quoted_) {
      const std::string key = name();
      expect("=");
      all[key] = name();
      if (word_ == "," && !quoted_) next();
    }
    next();
    return all;
  }
  std::string name() {
    if (!quoted_ && !std::regex_match(word_, std::regex("[A-Za-z_][A-Za-z_0-9]*|-?[0-9.]+")))
      throw std::runtime_error("no name: `" + word_ + "` before " + text_.substr(at_, 60));
    std::string found = word_;
    next();
    return found;
  }
  void expect(const std::string& word) {
    if (quoted_ || word_ != word)
      throw std::runtime_error("`" + word_ + "` in place of `" + word + "` before " + text_.substr(at_, 60));
    next();
  }
  void next() {
    word_.clear();
    quoted_ = false;
    while (at_ < text_.size() &&
           (std::isspace(static_cast<unsigned char>(text_[at_])) || text_.compare(at_, 2, "//") == 0))
      at_ = std::isspace(static_cast<unsigned char>(text_[at_])) ? at_ + 1 : text_.find('\n', at_);
    if (at_ >= text_.size()) return;
    if (text_[at_] == '"') return quoted();
    if (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_') {
      while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
        word_ += text_[at_++];
      return;
    }
    word_ = text_.substr(at_, text_.compare(at_, 2, "->") == 0 ? 2 : 1);
    at_ += word_.size();
  }
  void quoted() {
    quoted_ = true;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
      word_ += text_.at(at_);
    }
    if (at_ >= text_.size()) throw std::runtime_error("a text without its end");
    ++at_;
  }

  const std::string& text_;
  std::size_t at_ = 0;
  std::string word_;
  bool quoted_ = false;
  Drawing drawing_;
};

/// What the printed graph says: ops, operands that they read, and results of the whole.
struct Counts {
  std::size_t ops = 0, operands = 0, results = 0;
};

Counts counts_of(const std::string& printed) {
  Counts counts;
  const std::regex op("^(?:%\\d+(?:, %\\d+)* = )?[a-z_0-9]+\\(([^)]*)\\)");
  const std::regex operand("%\\d+");
  std::istringstream lines(printed);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("return ")) ++counts.results;
    if (!std::regex_search(line, match, op)) continue;
    ++counts.ops;
    const std::string inputs = match[1];
    counts.operands += static_cast<std::size_t>(
        std::distance(std::sregex_iterator(inputs.begin(), inputs.end(), operand), std::sregex_iterator()));
  }
  return counts;
}

class Graphviz : public testing::TestWithParam<std::string> {};

TEST_P(Graphviz, ReadsTheDrawingOfAGraph) {
  const std::string manifest = manifest_of({{"data", 2}}, "[[plan]]\nstrategy = \"data\"\n");
  const ProcessResult dot = run_parity({"graph", "--dot", "--graph", GetParam()}, "gpt", manifest, {"layers=1"});
  const ProcessResult printed = run_parity({"graph", "--ops", "--graph", GetParam()}, "gpt", manifest, {"layers=1"});
  ASSERT_EQ(dot.exit_code, 0) << dot.err;
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  Drawing drawing;
  ASSERT_NO_THROW(drawing = DotReader(dot.out).read()) << dot.out;
  const Counts counts = counts_of(printed.out);
  ASSERT_GT(counts.ops, 20u) << printed.out;
  EXPECT_EQ(drawing.labels.size(), counts.ops + counts.results);
  EXPECT_EQ(drawing.edges.size(), counts.operands + counts.results);
  for (const auto& [from, to] : drawing.edges)
    EXPECT_TRUE(drawing.labels.contains(from) && drawing.labels.contains(to)) << from << " -> " << to;
}

INSTANTIATE_TEST_SUITE_P(Graphs, Graphviz, testing::Values("train", "evaluate"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace baleen::test
