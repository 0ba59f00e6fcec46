/// \file What the strategy `compress` cannot be asked for: each with file, line, the bad value and the fix.
#include "parity/mixes/mix.hpp"

namespace baleen::test {
namespace {

struct Bad {
  std::string name;
  MeshAxes mesh;
  std::string entry;
  std::vector<std::string> says;
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }

class BadCompress : public testing::TestWithParam<Bad> {};

TEST_P(BadCompress, IsRefusedWithThePlaceAndTheFix) {
  const std::string manifest = manifest_of(GetParam().mesh, GetParam().entry);
  if (const std::string missing = missing_strategy(manifest); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const ProcessResult result = run_parity({"run", "--steps", "1"}, "gpt", manifest, {});
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  EXPECT_NE(result.err.find("ranks.toml:"), std::string::npos) << result.err;
  for (const std::string& words : GetParam().says) EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  EXPECT_EQ(result.out.find("step 1/"), std::string::npos) << result.out;
}

std::vector<Bad> all() {
  const MeshAxes data{{"data", 2}}, both{{"data", 2}, {"tensor", 2}};
  const auto compress = [](const std::string& options) { return plan_entry("compress", options); };
  return {
      {"NoMethod", data, compress(""), {"option `method` is required"}},
      {"UnknownMethod", data, compress("method = \"fp8\"\n"), {"unknown choice `fp8`"}},
      {"NoSuchAxis",
       data,
       compress("method = \"bf16\"\naxis = \"dat\"\n"),
       {"strategy `compress` works along the mesh axis `dat`, and the mesh has none; name one of `data` with its "
        "option "
        "`axis`"}},
      {"AxisWithoutSums",
       both,
       plan_entry("tensor") + compress("method = \"bf16\"\naxis = \"tensor\"\n"),
       {"strategy `compress`, lower: no gradient is summed along the mesh axis `tensor` alone, so nothing travels "
        "there "
        "in fewer bits; name the axis of `data` or `zero` with the option `axis`"}},
      {"FewerThanNoElements",
       data,
       compress("method = \"bf16\"\nmin_elements = -1\n"),
       {"option `min_elements` must be"}},
  };
}

INSTANTIATE_TEST_SUITE_P(All, BadCompress, testing::ValuesIn(all()), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
