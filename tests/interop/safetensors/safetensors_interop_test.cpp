/// \file Files exchanged with the official `safetensors` package of Python, both ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "support/checkpoint_run.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace baleen::test;

TEST(SafetensorsInterop, PythonReadsWhatWeWriteAndWeReadWhatPythonWrites) {
  if (std::system("python3 -c 'import numpy, safetensors.numpy' 2> /dev/null") != 0)
    GTEST_SKIP() << "python3 has no packages `safetensors` and `numpy`";
  CheckpointRun run(built_plugin("checkpoint", "safetensors"));
  TemporaryFolder folder;
  const std::vector<NamedTensor> tensors = {
      some_tensor("a.weight", BALEEN_F32, {3, 4}), some_tensor("b", BALEEN_F64, {5}),
      some_tensor("c.half", BALEEN_F16, {3}),      some_tensor("d", BALEEN_I64, {}),
      some_tensor("e.ids", BALEEN_I32, {2, 2}),    some_tensor("f", BALEEN_U8, {9}),
      some_tensor("empty", BALEEN_F32, {0, 3})};
  const std::string ours = folder / "ours.safetensors", theirs = folder / "theirs.safetensors";
  ASSERT_EQ(run.write(ours, tensors, {{"baleen.step", "7"}}), BALEEN_OK) << run.plugin.host->failure();
  const std::string command =
      "python3 '" + source_dir() + "/tests/interop/safetensors/round_trip.py' '" + ours + "' '" + theirs + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  TestFacts facts;
  auto read = run.read(theirs, &facts);
  std::sort(read.begin(), read.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  auto sorted = tensors;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  EXPECT_EQ(read, sorted);
  EXPECT_EQ(facts, (TestFacts{{"from", "python"}}));
}

}  // namespace
