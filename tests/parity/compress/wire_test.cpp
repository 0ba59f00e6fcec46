/// \file Bytes on the wire, as a transport counts them, against the closed forms: gradients in n bits with a header per
/// block, in two exchanges (arXiv 2102.02888), and as factors of rank r (arXiv 1905.13727).
#include <nlohmann/json.hpp>
#include <sstream>

#include "parity/mixes/mix.hpp"

namespace baleen::test {
namespace {

/// A gradient of this model as a matrix.
struct Sizes {
  double rows, columns;
  double elements() const { return rows * columns; }
};

constexpr double kDim = 64, kLayers = 2, kContext = 32, kVocabulary = 256;

/// Those of 1024 elements or more.
std::vector<Sizes> large() {
  std::vector<Sizes> all{{kVocabulary, kDim}, {kContext, kDim}, {kDim, kVocabulary}};
  for (int layer = 0; layer < kLayers; ++layer)
    all.insert(all.end(), {{kDim, 3 * kDim}, {kDim, kDim}, {kDim, 4 * kDim}, {4 * kDim, kDim}});
  return all;
}
/// Elements of the others: biases and norms of each layer, and the last norm.
double small() { return kLayers * (3 * kDim + kDim + 4 * kDim + kDim + 4 * kDim) + 2 * kDim; }

struct Case {
  std::string name, method;
  int ranks = 2;
  int stage = 0;  ///< of zero; 0: data
  int accumulate = 1;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Wire : public testing::TestWithParam<Case> {
 protected:
  std::string manifest(const std::string& method) const {
    const Case& c = GetParam();
    std::string plan =
        c.stage > 0
            ? plan_entry("zero", "stage = " + std::to_string(c.stage) + "\nreduce_gradients = \"once_per_step\"\n")
            : plan_entry("data");
    if (!method.empty())
      plan += plan_entry("compress", "method = \"" + method + "\"\n" + (method == "1bit" ? "warmup_steps = 1\n" : ""));
    return manifest_of({{"data", c.ranks}}, plan);
  }

  /// Of a step and a rank: what three steps send more than one, of which the warm-up may be.
  double sent(const std::string& method) const {
    const TemporaryFolder folder;
    double bytes = 0;
    for (const int steps : {1, 3}) {
      const std::string ledger = folder / "ledger" + std::to_string(steps);
      const ProcessResult result = run_parity(
          {"run", "--steps", std::to_string(steps), "--plugin-path", COUNTING_FOLDER}, "gpt",
          manifest(method) + "[transport]\nplugin = \"counting\"\nledger = \"" + ledger + "\"\n",
          {"dim=64", "heads=4", "context=32", "batch=16", "accumulate=" + std::to_string(GetParam().accumulate)});
      EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
      for (int rank = 0; rank < GetParam().ranks; ++rank) {
        std::istringstream lines(read_file(ledger + "." + std::to_string(rank)));
        std::string kind;
        for (double count = 0; lines >> kind >> count;) bytes += steps == 1 ? -count : count;
      }
    }
    return bytes / 2 / GetParam().ranks;
  }

  /// Bytes of the optimizer's states and of strategies', as planned for a rank.
  double states(const std::string& method) const {
    const ProcessResult result = run_parity(
        {"plan", "--json"}, "gpt", manifest(method),
        {"dim=64", "heads=4", "context=32", "batch=16", "accumulate=" + std::to_string(GetParam().accumulate)});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out).at("classes").at(0).at("planned_bytes").at("optimizer");
  }

  double others() const { return static_cast<double>(GetParam().ranks) - 1; }
  /// Of `elements` fp32 numbers that all ranks sum, or that each gets a part of the sum of.
  double summed(double elements) const {
    return (GetParam().stage > 0 ? 1 : 2) * others() / GetParam().ranks * 4 * elements;
  }
  double words(double elements, double per_word, double header) const {
    const double part = std::ceil(elements / GetParam().ranks);
    return std::ceil(part / 1024) * header + std::ceil(part / per_word);
  }
  /// Of all large gradients.
  double compressed() const {
    double bytes = 0;
    for (const Sizes& one : large()) {
      if (GetParam().method == "powersgd")
        bytes += 2 * others() / GetParam().ranks * 4 * 4 * (one.rows + one.columns);
      else
        bytes += (GetParam().stage > 0 ? 1 : 2) * others() * 4 *
                 (GetParam().method == "8bit" ? words(one.elements(), 4, 2) : words(one.elements(), 32, 1));
    }
    return bytes;
  }
  double plain() const {
    double bytes = 0;
    for (const Sizes& one : large()) bytes += summed(one.elements());
    return bytes;
  }
};

/// With ZeRO the updated parameters travel too, as they do without.
TEST_P(Wire, SendsWhatTheClosedFormSays) {
  double parameters = small();
  for (const Sizes& one : large()) parameters += one.elements();
  const double gathered = GetParam().stage > 0 ? others() / GetParam().ranks * 4 * parameters : 0;
  const double rest = summed(small()) + gathered;
  EXPECT_NEAR(sent("") / (plain() + rest), 1, 0.01);
  EXPECT_NEAR(sent(GetParam().method) / (compressed() + rest), 1, 0.01);
}

/// Of a rank, n elements, N ranks (strategies/compress/README.md): errors n; 1bit also squares n, means n, and the
/// error of the part that it adds up n / N; powersgd the right factor, columns times rank 4.
TEST_P(Wire, HoldsTheStatesThatTheClosedFormSays) {
  double bytes = 0;
  for (const Sizes& one : large()) {
    if (GetParam().method == "1bit") bytes += 4 * (3 * one.elements() + std::ceil(one.elements() / GetParam().ranks));
    if (GetParam().method == "powersgd") bytes += 4 * (one.elements() + 4 * one.columns);
  }
  EXPECT_NEAR(states(GetParam().method) - states(""), bytes, 0.01 * bytes);
}

/// Of the gradients that are compressed.
TEST_P(Wire, FallsByTheStatedFactor) {
  const double without = sent(""), with = sent(GetParam().method), saved = without - with;
  const double factor = plain() / (plain() - saved), form = plain() / compressed();
  EXPECT_NEAR(factor / form, 1, 0.03) << "the numbers that are not gradients are in what was counted";
  const double least = GetParam().method == "8bit"   ? 3.9
                       : GetParam().method == "1bit" ? 26
                       : GetParam().stage > 0        ? 5
                                                     : 10;
  EXPECT_GT(factor, least) << "1 bit: small parts have a header each; factors are summed on all ranks";
}

INSTANTIATE_TEST_SUITE_P(Methods, Wire,
                         testing::Values(Case{"Bytes2", "8bit"}, Case{"Bytes4", "8bit", 4}, Case{"Bits2", "1bit"},
                                         Case{"Bits4", "1bit", 4}, Case{"Power2", "powersgd"},
                                         Case{"Power4", "powersgd", 4}, Case{"BytesZero1", "8bit", 2, 1},
                                         Case{"BitsZero1", "1bit", 2, 1}, Case{"PowerZero1", "powersgd", 2, 1},
                                         Case{"BytesZero2Accumulating", "8bit", 2, 2, 2},
                                         Case{"BitsAccumulating", "1bit", 2, 0, 2}),
                         [](const auto& info) { return info.param.name; });

/// Sums begin where gradients are made, and are waited for where the update reads them. Least part of what is sent: as
/// without compression; of two exchanges of one gradient the first is waited for between them.
TEST(Overlap, OfCompressedSumsWithTheBackwardPass) {
  const auto part = [](int stage, const std::string& method) {
    std::string plan = stage > 0 ? plan_entry("zero", "stage = " + std::to_string(stage) + "\n")
                                 : plan_entry("data", "bucket_mb = 0.25\n");
    if (!method.empty())
      plan += plan_entry("compress", "method = \"" + method + "\"\nbucket_mb = 0.05\nmin_elements = 16\n");
    const ProcessResult result = run_parity({"plan", "--json"}, "gpt", manifest_of({{"data", 2}}, plan), {"dim=96"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const nlohmann::json one = nlohmann::json::parse(result.out).at("classes").at(0);
    double sent = 0;
    for (const auto& [kind, bytes] : one.at("sent_bytes").items())
      if (stage == 0 || !kind.starts_with("all_gather")) sent += bytes.get<double>();  // of updated parameters
    return one.at("sent_while_computing_bytes").get<double>() / sent;
  };
  EXPECT_GT(part(0, ""), 0.75);
  for (const auto& [method, least] : {std::pair("bf16", 0.75), {"fp16", 0.75}, {"8bit", 0.3}, {"powersgd", 0.5}})
    EXPECT_GT(part(0, method), least) << method;
  EXPECT_GT(part(1, "bf16"), 0.5);
}

}  // namespace
}  // namespace baleen::test
