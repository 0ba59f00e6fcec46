/// \file Creation: without a device, with ranks that differ, where memory of other processes may not be read; and what
/// it leaves as it was.
#include <dlfcn.h>
#include <signal.h>

#include "support/forbidden_calls.hpp"
#include "ucx_run.hpp"

namespace baleen::conformance {
namespace {

// Every rank's failure, where creation fails on all.
std::string failures(std::int32_t ranks, const std::function<test::RankOptions(std::int32_t)>& options) {
  test::SharedRendezvous rendezvous;
  return test::run_bodies(As::kProcesses, ranks, [&](std::int32_t number) {
    Rank rank(ucx_plugin(), rendezvous, number, ranks, options(number));
  });
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "`" << part << "` is not in: " << text;
}

TEST(UcxCreate, WithoutADeviceSaysWhatWasTriedAndWhatThereIs) {
  const std::string rdma = failures(1, [](std::int32_t) { return test::RankOptions{{"tls", "rc_nowhere"}}; });
  expect_in(rdma, "no usable device with tls = \"rc_nowhere\", devices = any");
  expect_in(rdma, "this machine has ");
  expect_in(rdma, "tcp (");
  expect_in(rdma, "leave both out");
  const std::string device = failures(1, [](std::int32_t) {
    return test::RankOptions{{"tls", "tcp"}, {"devices", "eth_nowhere"}};
  });
  expect_in(device, "devices = \"eth_nowhere\"");
  expect_in(device, "'eth_nowhere' is not available");
}

TEST(UcxCreate, UsesTheDeviceThatIsNamed) {
  EXPECT_EQ(run_ucx(2, {{"tls", "tcp"}, {"devices", "lo"}}, [](Rank& rank) { expect_sum(rank, rank.world(), 50'000); }),
            "");
}

TEST(UcxCreate, WrongAlgorithmsAreRefused) {
  expect_in(failures(1,
                     [](std::int32_t) {
                       return test::RankOptions{{"algorithm", "all_reduce=quantum"}};
                     }),
            "`algorithm` has the entry `all_reduce=quantum`");
}

TEST(UcxCreate, RanksWithDifferentSettingsAreToldSo) {
  const std::string text = failures(2, [](std::int32_t rank) {
    return test::RankOptions{{"tls", "tcp"}, {"segment", rank == 0 ? "4096" : "8192"}};
  });
  expect_in(text, "rank 0: ucx: rank 0 (");
  expect_in(text, "rank 1: ucx: rank 1 (");
  expect_in(text, "every rank needs the same manifest");
}

TEST(UcxCreate, RanksWithoutACommonTransportAreNamed) {
  const std::string text = failures(2, [](std::int32_t rank) {
    return test::RankOptions{{"tls", rank == 0 ? "tcp" : "posix"}};
  });
  expect_in(text, "have no transport in common");
}

void forbid_cma() { expect(test::forbid_cma(), "no filter of system calls here"); }

// One rank may not read the other's memory; the other may.
TEST(UcxCreate, DoesWithoutCmaWhereItIsForbiddenAndSaysSo) {
  for (const char* tls : {"posix\ncma", ""}) {
    test::SharedRendezvous rendezvous;
    EXPECT_EQ(test::run_bodies(As::kProcesses, 2,
                               [&](std::int32_t number) {
                                 if (number == 1) forbid_cma();
                                 Rank rank(ucx_plugin(), rendezvous, number, 2, {{"tls", tls}});
                                 expect_sum(rank, rank.world(), 1'000'000);
                                 std::string all;
                                 for (const std::string& line : rank.host().logged()) all += line + "\n";
                                 if (number == 1)
                                   expect_contains(all, "cma is forbidden here (reading memory of rank 0");
                                 if (number == 0) expect(all.find("forbidden") == all.npos, all);
                               }),
              "")
        << tls;
  }
  test::SharedRendezvous rendezvous;
  expect_in(test::run_bodies(As::kProcesses, 2,
                             [&](std::int32_t number) {
                               forbid_cma();
                               Rank rank(ucx_plugin(), rendezvous, number, 2, {{"tls", "cma"}});
                             }),
            "transport 'cma' is not available");
}

/// Of the program or library whose code it is; empty for none. A sanitizer has handlers of its own.
std::string file_of(void (*handler)(int)) {
  Dl_info found{};
  const bool is_code = handler != SIG_DFL && handler != SIG_IGN;
  return is_code && dladdr(reinterpret_cast<void*>(handler), &found) ? found.dli_fname : "";
}

TEST(UcxCreate, LeavesTheHandlersOfSignalsAlone) {
  EXPECT_EQ(run_ucx(1, {{"tls", "tcp"}},
                    [](Rank&) {
                      for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
                        struct sigaction now {};
                        sigaction(signal, nullptr, &now);
                        const std::string file = file_of(now.sa_handler);
                        expect(file.find("/libuc") == file.npos, std::to_string(signal) + " is caught by " + file);
                      }
                    }),
            "");
}

}  // namespace
}  // namespace baleen::conformance
