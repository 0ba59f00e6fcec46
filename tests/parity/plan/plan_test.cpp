/// \file `baleen plan` against runs: what is planned for each rank is what the run of the same manifest accounts for,
/// and what a transport that counts is given.
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "parity/plan/planned.hpp"

namespace baleen::test {
namespace {

struct Case {
  const char* name;
  MeshAxes axes;
  std::string plan;
  std::vector<std::string> arguments = {};
  std::string script = "gpt";
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::string strategy(const std::string& name, const std::string& options = "") {
  return "[[plan]]\nstrategy = \"" + name + "\"\n" + options;
}

int ranks_of(const MeshAxes& axes) {
  int ranks = 1;
  for (const auto& [name, size] : axes) ranks *= size;
  return ranks;
}

/// What the transport of a run was given to send, of each rank: bytes by the kind of the collective.
std::vector<std::map<std::string, double>> ledgers_of(const Case& c, int steps,
                                                      const std::vector<std::string>& flags = {}) {
  const TemporaryFolder folder;
  const std::string ledger = folder / "ledger";
  std::vector<std::string> words{"run", "--steps", std::to_string(steps), "--plugin-path", COUNTING_FOLDER};
  words.insert(words.end(), flags.begin(), flags.end());
  const ProcessResult result = run_parity(
      words, c.script,
      manifest_of(c.axes, c.plan) + "[transport]\nplugin = \"counting\"\nledger = \"" + ledger + "\"\n", c.arguments);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  std::vector<std::map<std::string, double>> all(static_cast<std::size_t>(ranks_of(c.axes)));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::istringstream lines(read_file(ledger + "." + std::to_string(rank)));
    std::string name;
    for (double bytes = 0; lines >> name >> bytes;) all[rank][name] = bytes;
  }
  return all;
}

/// Bytes that are planned to be sent, by the kind of the collective, whatever the axes.
std::map<std::string, double> sent_by_kind(const std::map<std::string, double>& numbers) {
  const std::string prefix = "sent_bytes.";
  std::map<std::string, double> sent;
  for (const auto& [name, bytes] : numbers)
    if (name.starts_with(prefix) && bytes > 0)
      sent[name.substr(prefix.size(), name.find('.', prefix.size()) - prefix.size())] += bytes;
  return sent;
}

class PlanEqualsRun : public ::testing::TestWithParam<Case> {};

/// Two plans of one job, made by `plan` and by the run: every number of every rank. What the run allocated is what it
/// planned; what the system gave (the resident bytes) a plan cannot know.
TEST_P(PlanEqualsRun, InEveryNumber) {
  const Case& c = GetParam();
  const std::string manifest = manifest_of(c.axes, c.plan);
  const Planned planned = plan_of(c.script, manifest, c.arguments, {"--exact"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const int ranks = ranks_of(c.axes);
  auto account = account_of(c.script, manifest, ranks, c.arguments);
  double counted = 0;
  for (const PlannedRanks& one : planned.classes) counted += one.numbers.at("count");
  EXPECT_EQ(counted, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    SCOPED_TRACE("rank " + std::to_string(rank));
    auto& own = account[static_cast<std::size_t>(rank)];
    const double allocated = own.at("allocated_bytes");
    own.erase("allocated_bytes");
    own.erase("resident_bytes");
    own.erase("process_bytes");
    auto numbers = planned.of(rank).numbers;
    const double device = numbers.at("planned_bytes.device"), total = numbers.at("planned_bytes.total");
    EXPECT_EQ(allocated + device, total);
    double parts = 0;
    for (const auto& [name, bytes] : numbers)
      if (name.starts_with("planned_bytes.") && name != "planned_bytes.total" &&
          !name.starts_with("planned_bytes.offloaded"))
        parts += bytes;
    EXPECT_EQ(parts, total);
    numbers.erase("count");
    numbers.erase("held_gradients_bytes");
    EXPECT_EQ(numbers, own);
  }
}

class PlannedBytes : public ::testing::TestWithParam<Case> {};

/// Two steps more send what is planned for one, twice; what is sent once is in both runs.
TEST_P(PlannedBytes, AreGivenToTheTransport) {
  const Case& c = GetParam();
  const Planned planned = plan_of(c.script, manifest_of(c.axes, c.plan), c.arguments, {"--exact"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const auto once = ledgers_of(c, 1), thrice = ledgers_of(c, 3);
  for (int rank = 0; rank < ranks_of(c.axes); ++rank) {
    SCOPED_TRACE("rank " + std::to_string(rank));
    std::map<std::string, double> sent = thrice.at(static_cast<std::size_t>(rank));
    for (const auto& [name, bytes] : once.at(static_cast<std::size_t>(rank))) sent[name] -= bytes;
    std::erase_if(sent, [](const auto& one) { return one.second == 0; });
    for (auto& [name, bytes] : sent) bytes /= 2;
    EXPECT_FALSE(sent.empty());
    EXPECT_EQ(sent, sent_by_kind(planned.of(rank).numbers));
  }
}

const std::vector<Case> kCases {
  {"one", {{"data", 1}}, ""},
#ifdef BALEEN_TEST_DATA
      {"data_2", {{"data", 2}}, strategy("data")},
      {"data_3_uneven", {{"data", 3}}, strategy("data"), {"batch=10", "accumulate=2"}},
#endif
#ifdef BALEEN_TEST_ZERO
      {"zero_1", {{"data", 4}}, strategy("zero", "stage = 1\n"), {"clip=1"}},
      {"zero_2", {{"data", 4}}, strategy("zero", "stage = 2\n"), {"accumulate=2"}},
      {"zero_3", {{"data", 4}}, strategy("zero", "stage = 3\n"), {"accumulate=2", "dim=30"}},
      {"zero_3_uneven", {{"data", 4}}, strategy("zero", "stage = 3\n"), {}, "mlp"},
#endif
#ifdef BALEEN_TEST_TENSOR
      {"tensor_1d", {{"data", 2}, {"tensor", 2}}, strategy("data") + strategy("tensor", "mode = \"1d\"\n")},
      {"tensor_2d", {{"tensor", 4}}, strategy("tensor", "mode = \"2d\"\n"), {"heads=4"}},
      {"tensor_25d", {{"tensor", 8}}, strategy("tensor", "mode = \"2.5d\"\ndepth = 2\n"), {"heads=4"}},
      {"tensor_3d", {{"tensor", 8}}, strategy("tensor", "mode = \"3d\"\n"), {"accumulate=2"}},
#ifdef BALEEN_TEST_ZERO
      {"zero_3_tensor_1d",
       {{"data", 2}, {"tensor", 2}},
       strategy("zero", "stage = 3\n") + strategy("tensor", "mode = \"1d\"\n"),
       {"accumulate=2"}},
#endif
#endif
#ifdef BALEEN_TEST_SEQUENCE
      {"sequence_ring", {{"sequence", 4}}, strategy("sequence", "mode = \"ring\"\n"), {"context=16"}},
      {"sequence_ulysses", {{"sequence", 3}}, strategy("sequence", "mode = \"ulysses\"\n")},
#endif
#if defined(BALEEN_TEST_DATA) && defined(BALEEN_TEST_PRECISION)
      {"precision_bf16", {{"data", 2}}, strategy("data") + strategy("precision", "dtype = \"bf16\"\n")},
#endif
#if defined(BALEEN_TEST_ZERO) && defined(BALEEN_TEST_PRECISION)
      {"zero_3_precision_fp16",
       {{"data", 3}},
       strategy("zero", "stage = 3\n") + strategy("precision", "dtype = \"fp16\"\n"),
       {"accumulate=2"}},
#endif
#if defined(BALEEN_TEST_ZERO) && defined(BALEEN_TEST_RECOMPUTE)
      {"zero_3_recompute", {{"data", 2}}, strategy("zero", "stage = 3\n") + strategy("recompute", "mode = \"full\"\n")},
#endif
#ifdef BALEEN_TEST_PIPELINE
      {"pipeline_1f1b", {{"pipeline", 2}}, strategy("pipeline"), {"accumulate=4", "layers=4"}},
      {"pipeline_zero_bubble",
       {{"pipeline", 2}, {"data", 2}},
       strategy("pipeline", "schedule = \"zero_bubble\"\n") + strategy("data"),
       {"accumulate=4", "layers=4"}},
#endif
#if defined(BALEEN_TEST_DATA) && defined(BALEEN_TEST_COMPRESS)
      {"compress_8bit",
       {{"data", 2}},
       strategy("compress", "method = \"8bit\"\nmin_elements = 64\n") + strategy("data"),
       {"dim=48"}},
      {"compress_powersgd",
       {{"data", 3}},
       strategy("compress", "method = \"powersgd\"\nmin_elements = 64\n") + strategy("data"),
       {"dim=48"}},
#endif
#if defined(BALEEN_TEST_ZERO) && defined(BALEEN_TEST_OFFLOAD)
      {"zero_1_offload",
       {{"data", 2}},
       strategy("zero", "stage = 1\n") + strategy("offload", "min_elements = 16\nparameters = [\"*\"]\n")},
#endif
};

INSTANTIATE_TEST_SUITE_P(Manifests, PlanEqualsRun, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// One rank has no transport.
INSTANTIATE_TEST_SUITE_P(Manifests, PlannedBytes, ::testing::ValuesIn(kCases.begin() + 1, kCases.end()),
                         [](const auto& info) { return std::string(info.param.name); });

#ifdef BALEEN_TEST_ZERO
/// Bytes of each tensor in a safetensors file.
std::vector<double> tensor_bytes(const std::string& file) {
  const std::string all = read_file(file);
  std::uint64_t length = 0;
  std::memcpy(&length, all.data(), sizeof length);
  std::vector<double> bytes;
  const nlohmann::json header = nlohmann::json::parse(all.substr(sizeof length, length));
  for (const auto& [name, tensor] : header.items())
    if (name != "__metadata__")
      bytes.push_back(tensor["data_offsets"][1].get<double>() - tensor["data_offsets"][0].get<double>());
  return bytes;
}

/// A rank sends the others its part of each tensor when the model is saved: at most four times as much, and of a small
/// tensor 4 KiB.
TEST(Plan, SavingSendsAboutWhatIsSaved) {
  constexpr int kRanks = 4;
  const Case c{"zero_3", {{"data", kRanks}}, strategy("zero", "stage = 3\n"), {"dim=96"}};
  const TemporaryFolder folder;
  const auto without = ledgers_of(c, 1), with = ledgers_of(c, 1, {"--save", folder / "model.safetensors"});
  double least = 0, most = 0;
  for (const double bytes : tensor_bytes(folder / "model.safetensors")) {
    const double own = bytes / kRanks;
    least += (kRanks - 1) * own;
    most += (kRanks - 1) * (4 * own + 4096);
  }
  EXPECT_GT(least, 100'000);
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    const double sent = with[rank].at("all_gather") - without[rank].at("all_gather");
    EXPECT_GE(sent, least) << "rank " << rank;
    EXPECT_LE(sent, most) << "rank " << rank;
  }
}
#endif

/// Without `--exact` only the padding may differ from a rank's own.
TEST(Plan, JoinsRanksOfEqualShapes) {
  const std::string manifest = manifest_of({{"data", 5}}, strategy("data"));
  const Planned planned = plan_of("gpt", manifest, {"batch=8"});  // 2, 2, 2, 2 rows and none
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  ASSERT_EQ(planned.classes.size(), 2u);
  EXPECT_EQ(planned.classes[0].numbers.at("count"), 4);
  EXPECT_EQ(planned.classes[1].stretches, (std::vector<std::pair<int, int>>{{4, 4}}));
  EXPECT_LT(planned.classes[1].bytes("activations"), planned.classes[0].bytes("activations"));
}

TEST(Plan, RefusesWhatDoesNotFit) {
  const std::string manifest = manifest_of({{"data", 2}}, strategy("data")) + "[compute]\nmemory = 9\n";
  const Planned planned = plan_of("gpt", manifest, {"dim=48"});
  EXPECT_EQ(planned.exit_code, 3);
  ASSERT_EQ(planned.classes.size(), 1u);
  EXPECT_FALSE(planned.classes[0].fits);
  EXPECT_NE(planned.err.find("has 4.5 MiB for each of its 2 ranks"), std::string::npos) << planned.err;
}

std::string on_two_hosts(const std::string& a, const std::string& b) {
  return "[cluster]\nhosts = [{ name = \"a\", ranks = 2, address = \"127.0.0.1\"" + a +
         " },\n  { name = \"b\", ranks = 2, address = \"127.0.0.2\"" + b + " }]\n[mesh]\ndata = 4\n" + strategy("data");
}

TEST(Plan, CountsWithTheOptionsOfEachHost) {
  const Planned planned = plan_of("gpt", on_two_hosts("", ", compute = { memory = 9 }"), {"dim=48"});
  EXPECT_EQ(planned.exit_code, 3);
  ASSERT_EQ(planned.classes.size(), 2u);
  EXPECT_TRUE(planned.classes[0].fits);
  EXPECT_FALSE(planned.classes[1].fits);
  EXPECT_EQ(planned.classes[1].stretches, (std::vector<std::pair<int, int>>{{2, 3}}));
  EXPECT_NE(planned.err.find("ranks 2-3: "), std::string::npos) << planned.err;
  EXPECT_NE(planned.err.find("has 4.5 MiB for each of its 2 ranks"), std::string::npos) << planned.err;
}

TEST(Plan, CountsForTheCoresOfEachHostThoughThisOneHasOthers) {
  const Planned cores = plan_of("gpt", on_two_hosts(", cores = \"0-1\"", ", cores = \"8-15\""), {});
  ASSERT_EQ(cores.exit_code, 0) << cores.err;
  ASSERT_EQ(cores.classes.size(), 2u);
  EXPECT_LT(cores.classes[0].bytes("device"), cores.classes[1].bytes("device"));
  const Planned threads =
      plan_of("gpt", on_two_hosts(", compute = { threads = 1 }", ", compute = { threads = 4 }"), {});
  ASSERT_EQ(threads.classes.size(), 2u);
  for (const std::size_t host : {0u, 1u}) EXPECT_EQ(cores.classes[host].numbers, threads.classes[host].numbers);
}

TEST(Plan, JoinsHostsThatAreAlike) {
  const Planned planned = plan_of("gpt", on_two_hosts(", cores = \"0-1\"", ", cores = \"0-1\""), {});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_EQ(planned.classes.size(), 1u);
}

TEST(Plan, RefusesMistakesInTheOptionsOfAnyHost) {
  const Planned option = plan_of("gpt", on_two_hosts("", ", compute = { threads = -3 }"), {});
  EXPECT_EQ(option.exit_code, 2);
  EXPECT_NE(option.err.find(":3:"), std::string::npos) << option.err;
  const Planned cores = plan_of("gpt", on_two_hosts("", ", cores = \"two\""), {});
  EXPECT_EQ(cores.exit_code, 2);
  EXPECT_NE(cores.err.find("`cores` of host b: `two` is no list of processors"), std::string::npos) << cores.err;
}

TEST(Plan, SaysWhatFitsForPeople) {
  const ProcessResult result = run_parity({"plan"}, "gpt", manifest_of({{"data", 2}}, strategy("data")), {});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* word : {"27,072 parameters on 2 ranks (data 2)", "ranks 0-1 (2 ranks)", "108,288  105.8 KiB",
                           "all_reduce along data", "fits into"})
    EXPECT_NE(result.out.find(word), std::string::npos) << word << "\n" << result.out;
}

}  // namespace
}  // namespace baleen::test
