/// \file Gradients in 16 bits on the wire: what is sent, to the byte; losses close to those of fp32; the same bits in
/// every run; and where nothing is compressed.
#include <cmath>

#include "parity/mixes/mix.hpp"
#include "support/losses.hpp"

namespace baleen::test {
namespace {

std::string compress_entry(const std::string& method, const std::string& more = {}) {
  return method.empty() ? "" : plan_entry("compress", "method = \"" + method + "\"\n" + more);
}

struct Case {
  std::string name;
  Mix mix;
  int accumulate = 1;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Compressed : public ::testing::TestWithParam<Case> {
 protected:
  std::vector<std::string> arguments(std::vector<std::string> more = {}) const {
    more.push_back("accumulate=" + std::to_string(GetParam().accumulate));
    return more;
  }
  Losses losses(const std::string& entry, int steps) const {
    const TemporaryFolder folder;
    const std::string log = folder / "log";
    const ProcessResult result = run_parity({"run", "--steps", std::to_string(steps), "--log-json", log}, "gpt",
                                            manifest_of(GetParam().mix) + entry, arguments());
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return losses_in(log);
  }
  /// Bytes of gradients that a rank sends in a step.
  double sent(const std::string& entry) const {
    double bytes = 0;
    const auto accounts = account_of("gpt", manifest_of(GetParam().mix) + entry, GetParam().mix.ranks(), arguments());
    for (const auto& [name, number] : accounts.at(0))
      if (name == "sent_bytes.all_reduce.data" || name == "sent_bytes.reduce_scatter.data") bytes += number;
    return bytes;
  }
};

/// All gradients but nothing else: the loss, its weight and the norm stay.
TEST_P(Compressed, SendsHalf) {
  const double whole = sent(""), all = sent(compress_entry("bf16", "min_elements = 0\n")),
               some = sent(compress_entry("bf16")), none = sent(compress_entry("bf16", "min_elements = 1000000\n"));
  const double scalars = GetParam().mix.stage > 0 ? 8 : 4;
  EXPECT_NEAR(all - scalars, (whole - scalars) / 2, 64) << "shards of odd numbers of elements are rounded up";
  EXPECT_EQ(none, whole);
  EXPECT_GT(some, all);
  EXPECT_LT(some, 0.55 * whole) << "matrices alone";
  EXPECT_EQ(sent(compress_entry("fp16")), some);
}

TEST_P(Compressed, TrainsAsFp32Does) {
  const Losses exact = losses("", 20);
  for (const char* method : {"bf16", "fp16"}) {
    const Losses rounded = losses(compress_entry(method), 20);
    ASSERT_EQ(rounded.size(), exact.size());
    for (std::size_t i = 0; i < exact.size(); ++i)
      EXPECT_NEAR(std::stod(rounded[i]), std::stod(exact[i]), 0.02) << method << " step " << i;
    EXPECT_NE(rounded, exact) << "something is rounded";
    EXPECT_EQ(rounded, losses(compress_entry(method), 20)) << "the same bits again";
  }
}

/// A plan is checked in fp64, which is not compressed.
TEST_P(Compressed, IsVerified) {
  const ProcessResult result =
      run_parity({"verify", "--steps", "4"}, "gpt", manifest_of(GetParam().mix) + compress_entry("fp16"), arguments());
  expect_equal(result, 4);
}

INSTANTIATE_TEST_SUITE_P(Compress, Compressed,
                         ::testing::Values(Case{"Data2", {.data = 2}}, Case{"Data4", {.data = 4}},
                                           Case{"Data2Accumulating", {.data = 2}, 2},
                                           Case{"Zero1", {.data = 2, .stage = 1}},
                                           Case{"Zero2Accumulating", {.data = 2, .stage = 2}, 2},
                                           Case{"Zero3", {.data = 2, .stage = 3}, 2}),
                         [](const auto& info) { return info.param.name; });

/// Embedding, head, and of each layer qkv, up and down have 1024 elements or more; positions, `out`, biases and norms
/// not.
TEST(Compress, SaysWhatItDoes) {
  const auto said = [](const std::string& more, std::vector<std::string> command) {
    const ProcessResult result = run_parity(std::move(command), "gpt", manifest_of(Mix{.data = 2}) + more, {});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out + result.err;
  };
  EXPECT_NE(said(compress_entry("bf16"), {"plan"})
                .find("strategy `compress`: 8 of 29 gradients travel in bf16 along "
                      "`data`"),
            std::string::npos)
      << said(compress_entry("bf16"), {"plan"});
  EXPECT_NE(said(plan_entry("precision", "dtype = \"bf16\"\n") + compress_entry("bf16"), {"plan"})
                .find("gradients have 16 bits already and travel as they are"),
            std::string::npos);
  EXPECT_NE(said(compress_entry("fp16"), {"plan", "--dtype", "fp64"}).find("fp64 checks the plan"), std::string::npos);
}

/// One rank sends nothing.
TEST(Compress, DoesNothingOnOneRank) {
  const ProcessResult with = run_parity({"graph", "--ops"}, "gpt", compress_entry("bf16"), {}),
                      without = run_parity({"graph", "--ops"}, "gpt", "", {});
  EXPECT_EQ(with.exit_code, 0) << with.err;
  EXPECT_EQ(with.out, without.out);
}

}  // namespace
}  // namespace baleen::test
