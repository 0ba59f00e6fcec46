/// \file What is refused before anything hangs, in one line each with what to do.
#include <fstream>
#include <numeric>

#include "nccl_run.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::conformance {
namespace {

void expect_refusal(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
}

test::RankOptions with(const std::string& name, const std::string& value) {
  test::RankOptions options = test::double_of_nccl();
  std::erase_if(options, [&](const auto& option) { return option.first == name; });
  options.emplace_back(name, value);
  return options;
}

/// A variable of the environment while it lives.
struct Variable {
  const char* name;
  Variable(const char* given, const char* value) : name(given) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name); }
  Variable(const Variable&) = delete;
};

TEST(NcclCreate, SaysWhereThereIsNoNccl) {
  expect_refusal(refusal(with("library", "/nowhere/libnccl.so.2")),
                 {"there is no NCCL on this machine", "/nowhere/libnccl.so.2", "libnccl2", "`shm`"});
  expect_refusal(refusal(with("library", test::emulated_folder() + "/libcuda.so.1")),
                 {"is not NCCL: it does not tell its version"});
}

TEST(NcclCreate, SaysWhichVersionIsTooOld) {
  const Variable version("NCCL_DOUBLE_VERSION", "21605");
  expect_refusal(refusal(test::double_of_nccl()), {"NCCL 2.16.5 is too old: this plugin needs 2.18.0 or later"});
}

TEST(NcclCreate, SaysWhereThereIsNoDriverOrNoDevice) {
  expect_refusal(refusal(with("driver", "/nowhere/libcuda.so.1")),
                 {"there is no CUDA driver on this machine", "/nowhere/libcuda.so.1", "`ucx`"});
  const Variable none("EMULATED_CUDA_DEVICES", "0");
  expect_refusal(refusal(test::double_of_nccl()), {"this machine has none that the CUDA driver can use"});
}

/// The transport may be the first that starts the driver.
TEST(NcclCreate, StartsTheDriverWithAllHardwareQueues) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/queues";
  const Variable told("EMULATED_CUDA_INIT", path.c_str());
  EXPECT_EQ(refusal(test::double_of_nccl()), "");
  std::ifstream file(path);
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_EQ(line, "32");
}

TEST(NcclCreate, RefusesLimitsThatCross) {
  test::RankOptions options = with("min_channels", "8");
  options.emplace_back("max_channels", "4");
  expect_refusal(refusal(options), {"`min_channels` is 8, more than `max_channels`, 4"});
}

TEST(NcclCreate, RefusesWhatThisNcclCannotDo) {
  {
    const Variable version("NCCL_DOUBLE_VERSION", "21805");
    expect_refusal(refusal(with("memory", "nccl")),
                   {"`memory = \"nccl\"` needs NCCL 2.19.0 or later, and this is 2.18.5", "`memory` at \"auto\""});
  }
  {
    const Variable version("NCCL_DOUBLE_VERSION", "22605");
    expect_refusal(refusal(with("windows", "true")),
                   {"`windows` needs NCCL 2.27.0 or later, and this is 2.26.5", "leave out `windows`"});
  }
  const Variable version("NCCL_DOUBLE_VERSION", "22707");
  test::RankOptions options = with("windows", "true");
  options.emplace_back("copy_engine", "true");
  expect_refusal(refusal(options),
                 {"`copy_engine` needs NCCL 2.28.0 or later, and this is 2.27.7", "leave out `copy_engine`"});
}

TEST(NcclCreate, RefusesCopyEnginesWithoutWindows) {
  expect_refusal(refusal(with("copy_engine", "true")), {"`copy_engine` works in windows; say `windows = true` too"});
}

TEST(NcclCreate, RefusesWindowsOfOtherMemoryAndBesideAnAlgorithm) {
  test::RankOptions options = with("windows", "true");
  options.emplace_back("memory", "device");
  expect_refusal(refusal(options), {"`windows` are of NCCL's own memory, and `memory` is \"device\""});
  options.back() = {"algorithm", "ring"};
  expect_refusal(refusal(options), {"in `windows` NCCL has algorithms of its own", "`algorithm` and `protocol`"});
}

TEST(NcclCreate, NamesARankThatIsMissing) {
  test::SharedRendezvous rendezvous;
  const test::RankOptions options = with("timeout", "1");
  const std::string failures = test::run_bodies(As::kProcesses, 3, [&](std::int32_t number) {
    if (number == 1) return;  // it never comes
    try {
      Rank rank(bare_nccl(), rendezvous, number, 3, options);
    } catch (const std::runtime_error& e) {
      return expect_contains(e.what(), "not all ranks have come within 1 s (`timeout`): missing rank 1");
    }
    throw std::runtime_error("it was created");
  });
  EXPECT_EQ(failures, "");
}

TEST(NcclCreate, RefusesDifferentVersions) {
  test::SharedRendezvous rendezvous;
  const std::string failures = test::run_bodies(As::kProcesses, 3, [&](std::int32_t number) {
    if (number == 2) setenv("NCCL_DOUBLE_VERSION", "22706", 1);
    try {
      Rank rank(bare_nccl(), rendezvous, number, 3, test::double_of_nccl());
    } catch (const std::runtime_error& e) {
      return expect_contains(e.what(), "rank 2 has NCCL 2.27.6 where rank 0 has 2.28.9; every rank needs the same one");
    }
    throw std::runtime_error("it was created");
  });
  EXPECT_EQ(failures, "");
}

TEST(NcclCreate, RefusesTwoRanksOnOneGpu) {
  test::SharedRendezvous rendezvous;
  const std::string failures = test::run_bodies(As::kProcesses, 3, [&](std::int32_t number) {
    Rank rank(bare_nccl(), rendezvous, number, 3, test::double_of_nccl());
    const test::EmulatedDevice device(number == 2 ? 0 : number);
    const test::UsedDevice used(rank.get(), rank.table, device);
    try {
      rank.world();
    } catch (const std::runtime_error& e) {
      expect_contains(e.what(), "ranks 0 and 2 are on one GPU");
      return expect_contains(e.what(), "start one rank per GPU, or choose the transport `shm` or `ucx`");
    }
    throw std::runtime_error("it was accepted");
  });
  EXPECT_EQ(failures, "");
}

TEST(NcclCreate, LetsRanksShareAGpuWhereItIsAskedTo) {
  test::RankOptions options = test::double_of_nccl();
  options.emplace_back("share_gpu", "true");
  test::SharedRendezvous rendezvous;
  const std::string failures = test::run_bodies(As::kProcesses, 3, [&](std::int32_t number) {
    Rank rank(bare_nccl(), rendezvous, number, 3, options);
    const test::EmulatedDevice device(0);
    const test::UsedDevice used(rank.get(), rank.table, device);
    std::vector<float> values(3, static_cast<float>(number + 1));
    const OneBuffer sum(BALEEN_ALL_REDUCE, values.data(), values.data(), values.size(), rank);
    rank.run(rank.prepare(rank.world(), sum.spec));
    for (const float value : values) expect(value == 6, "the sum is " + std::to_string(value));
  });
  EXPECT_EQ(failures, "");
}

TEST(NcclCreate, RefusesCollectivesWithoutADevice) {
  const std::string failures = test::run_ranks(
      bare_nccl(), As::kProcesses, 2,
      [](Rank& rank) {
        void* world = rank.world();
        rank.run(rank.prepare(world, barrier_spec()));  // needs none
        std::vector<float> data(4);
        const OneBuffer one(BALEEN_ALL_REDUCE, data.data(), data.data(), 4, rank);
        void* slot = nullptr;
        expect(rank.table.prepare(rank.get(), world, &one.spec, &slot) == BALEEN_UNSUPPORTED, "it was accepted");
        expect_contains(rank.host().failure(), "compute with the plugin `cuda`, or choose the transport `shm`");
      },
      test::double_of_nccl());
  EXPECT_EQ(failures, "");
}

/// Ranks 0 to 31 are as many as one kernel adds, all are one more. The group of all is made before there are devices,
/// so that it needs no communicator.
TEST(NcclCreate, RefusesSumsInOrderOfMoreThan32Members) {
  test::RankOptions options = test::double_of_nccl();
  options.emplace_back("share_gpu", "true");
  const std::string failures = test::run_ranks(
      bare_nccl(), As::kProcesses, 33,
      [](Rank& rank) {
        void* const world = rank.world();
        const test::EmulatedDevice device(0);
        const test::UsedDevice used(rank.get(), rank.table, device);
        std::vector<float> values(40, static_cast<float>(rank.rank));
        OneBuffer sum(BALEEN_ALL_REDUCE, values.data(), values.data(), values.size(), rank);
        sum.spec.deterministic = 1;
        void* slot = nullptr;
        expect(rank.table.prepare(rank.get(), world, &sum.spec, &slot) == BALEEN_UNSUPPORTED, "it was accepted");
        expect_contains(rank.host().failure(),
                        "sums in a fixed order are made for at most 32 members, and these are 33; set `deterministic = "
                        "false` in [transport]");
        if (rank.rank == 32) return;
        std::vector<std::int32_t> most(32);
        std::iota(most.begin(), most.end(), 0);
        rank.run(rank.prepare(rank.group(most), sum.spec));
        for (const float value : values) expect(value == 31 * 32 / 2, "the sum is " + std::to_string(value));
      },
      options);
  EXPECT_EQ(failures, "");
}

TEST(NcclCreate, TellsWhatItUsesOnceAndThatTheDoubleIsNoNccl) {
  const std::string failures = run_nccl(
      2,
      [](Rank& rank) {
        std::string all;
        for (const std::string& line : rank.host().logged()) all += line + "\n";
        if (rank.rank == 1) return expect(all.find("channels") == all.npos, all);
        expect_contains(all, "NCCL 2.28.9 from ");
        expect_contains(all,
                        "interface =lo (default), algorithm Ring (option), protocol Simple (option), channels "
                        "NCCL's (default) to 4 (option), register true (default), memory nccl (default), windows false "
                        "(default), copy_engine false (default), graphs false (default), debug off (default)");
        expect_contains(
            all, "set for NCCL: NCCL_RUNTIME_CONNECT=0, NCCL_SOCKET_IFNAME==lo, NCCL_ALGO=Ring, NCCL_PROTO=Simple");
        expect_contains(all, "this is not NVIDIA's NCCL: the test double");
        expect(std::string(getenv("NCCL_ALGO")) == "Ring", "the variable is not set");
      },
      {{"algorithm", "ring"}, {"protocol", "simple"}, {"max_channels", "4"}});
  EXPECT_EQ(failures, "");
}

/// What no option says NCCL takes from the user's variables, and those of all ranks have to be alike.
TEST(NcclCreate, TellsWhatTheUserHasSetForNccl) {
  const Variable algorithm("NCCL_ALGO", "Tree"), interface("NCCL_SOCKET_IFNAME", "lo"), debug("NCCL_DEBUG", "WARN");
  EXPECT_EQ(run_nccl(2,
                     [](Rank& rank) {
                       if (rank.rank != 0) return;
                       std::string all;
                       for (const std::string& line : rank.host().logged()) all += line + "\n";
                       expect_contains(all,
                                       "interface lo (NCCL_SOCKET_IFNAME in the environment), algorithm Tree "
                                       "(NCCL_ALGO in the environment), protocol Simple (option), ");
                       expect_contains(all, "debug WARN (NCCL_DEBUG in the environment)");
                     },
                     {{"protocol", "simple"}}),
            "");
  test::SharedRendezvous rendezvous;
  const std::string failures = test::run_bodies(As::kProcesses, 2, [&](std::int32_t number) {
    if (number == 1) setenv("NCCL_ALGO", "Ring", 1);
    try {
      Rank rank(bare_nccl(), rendezvous, number, 2, test::double_of_nccl());
    } catch (const std::runtime_error& e) {
      return expect_contains(e.what(),
                             "rank 1 has algorithm Ring where rank 0 has Tree; every rank needs the same one");
    }
    throw std::runtime_error("it was created");
  });
  EXPECT_EQ(failures, "");
}

}  // namespace
}  // namespace baleen::conformance
