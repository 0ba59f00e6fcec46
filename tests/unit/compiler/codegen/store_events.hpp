/// \file Graphs whose sources lie in an offload store, and when a program moves them.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "unit/compiler/codegen/graphs.hpp"
#include "unit/compiler/codegen/workbench.hpp"

namespace baleen::test {

inline constexpr std::int64_t kElements = 512;  // of a state; 4096 bytes

/// A source lies in the store, and is got so many uses ahead.
inline void offload(Graph& graph, const std::string& name, std::uint32_t ahead) {
  for (const OpId id : graph.ops())
    if (const Op& op = graph.op(id); op.inputs.empty() && op.outputs.size() == 1)
      if (graph.value(op.outputs[0]).name == name) graph.value(op.outputs[0]).offloaded_ahead = ahead;
}

/// Beginnings and ends of puts and gets by their labels, and launches, in the order of the program.
inline std::vector<std::string> events(const Program& program) {
  std::vector<std::string> list;
  const Executable& e = program.executable();
  for (const Segment& segment : e.segments)
    for (const Instruction& i : segment.instructions) {
      if (i.kind == Instruction::Kind::transfer) list.push_back("begin " + e.labels[i.label]);
      if (i.kind == Instruction::Kind::settle) list.push_back("end " + e.labels[i.label]);
      if (i.kind == Instruction::Kind::launch) list.push_back("launch");
    }
  return list;
}

/// Where it stands in a list; the test fails where it does not.
inline std::ptrdiff_t position(const std::vector<std::string>& list, const std::string& word) {
  const auto found = std::ranges::find(list, word);
  EXPECT_NE(found, list.end()) << word;
  return found - list.begin();
}

}  // namespace baleen::test
