/// \file What rank 0 of a run does in its first step, in order: from the trace that it writes.
#pragma once
#include <algorithm>
#include <set>
#include <sstream>

#include "parity/parity_run.hpp"

namespace baleen::test {

struct TracedSpan {
  std::string category;  ///< "compute", "begin" and "wait" of a call
  std::string op, kind;  ///< "blocks.0.mlp.up", "matmul"
  int call = 0;          ///< its number, of begin and wait
};

namespace detail {

/// The text between `before` and `after`, of which the last stands before any other `before`.
inline std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const auto begin = text.find(before);
  if (begin == std::string::npos) return {};
  const auto from = begin + before.size();
  return text.substr(from, text.find(after, from) - from);
}

inline TracedSpan read_span(const std::string& line) {
  const std::string name = between(line, "\"name\":\"", "\"");
  const auto bracket = name.find(" (");
  TracedSpan span{between(line, "\"cat\":\"", "\""), name.substr(0, bracket), between(name, " (", ")"), 0};
  if (const std::string number = between(name, "#", ","); !number.empty()) span.call = std::stoi(number);
  return span;
}

}  // namespace detail

/// Of a job without micro-batches: each call begins once in a step.
inline std::vector<TracedSpan> trace_of(const std::string& script, const std::string& manifest,
                                        const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const std::string file = folder / "trace.json";
  const ProcessResult result = run_parity({"run", "--steps", "1", "--trace", file}, script, manifest, arguments);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  std::vector<TracedSpan> spans;
  std::set<int> begun;
  std::istringstream lines(read_file(file));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\"ph\":\"X\"") == std::string::npos) continue;
    spans.push_back(detail::read_span(line));
    if (spans.back().category != "begin" || begun.insert(spans.back().call).second) continue;
    spans.pop_back();  // of an evaluation
    break;
  }
  EXPECT_FALSE(spans.empty()) << result.err;
  return spans;
}

/// Where a call begins or is waited for; the number of spans where it does not.
inline std::size_t place_of(const std::vector<TracedSpan>& spans, const std::string& category, int call) {
  const auto found = std::find_if(spans.begin(), spans.end(),
                                  [&](const TracedSpan& s) { return s.category == category && s.call == call; });
  return static_cast<std::size_t>(found - spans.begin());
}

/// The calls of one kind, in the order in which they begin.
inline std::vector<int> calls_of(const std::vector<TracedSpan>& spans, const std::string& kind) {
  std::vector<int> calls;
  for (const TracedSpan& span : spans)
    if (span.category == "begin" && span.kind == kind) calls.push_back(span.call);
  return calls;
}

/// Launches between the beginning of a call and the wait for it.
inline std::size_t hidden_behind(const std::vector<TracedSpan>& spans, int call, const std::string& kind = "") {
  std::size_t count = 0;
  for (std::size_t i = place_of(spans, "begin", call); i < place_of(spans, "wait", call); ++i)
    count += spans[i].category == "compute" && (kind.empty() || spans[i].kind == kind);
  return count;
}

}  // namespace baleen::test
