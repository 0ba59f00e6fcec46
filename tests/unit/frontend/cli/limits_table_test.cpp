/// \file Each row of docs/limits.md is of a limit that stands in the sources with that number.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "support/places.hpp"

namespace baleen::app {
namespace {

std::string source(const std::string& path) {
  std::ifstream file(test::source_dir() + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Where a limit stands: a file, and its text there; and the number as its row tells it.
struct Stated {
  const char* file;
  const char* text;
  const char* told;
};

constexpr const char* kTimes = "plugins/launchers/common/timeouts.hpp";
constexpr const char* kScript = "frontend/lua/script.hpp";
constexpr const char* kOffload = "sdk/include/baleen/offload.h";

/// By the beginning of the row.
const std::multimap<std::string, Stated>& stated() {
  static const std::multimap<std::string, Stated> all = {
      {"a script describes its model", {kScript, "time_limit{30'000}", "30 s"}},
      {"a callback (`on_step`", {kScript, "callback_told{2'000}", "2 s"}},
      {"a callback (`on_step`", {kScript, "callback_limit{600'000}", "10 min"}},
      {"a rank's start", {kTimes, "greeting{60'000}", "60 s"}},
      {"a launcher that is stopped", {"plugins/launchers/common/signals.cpp", "SIGTSTP", "SIGTSTP"}},
      {"a rank that is stopped", {kTimes, "stopped{2'000}", "2 s"}},
      {"a rank without heartbeats", {kTimes, "silent{10'000}", "10 s"}},
      {"a rank that waits for others at the rendezvous", {kTimes, "remind{2'000}", "2 s"}},
      {"a rank that waits for others at the rendezvous", {kTimes, "give_up{600'000}", "10 min"}},
      {"ranks that wait for others in a collective", {kTimes, "stalled{2'000}", "2 s"}},
      {"ranks that wait for others in a collective", {kTimes, "stalled_at_most{30'000}", "30 s"}},
      {"ranks that all stand in a collective", {kTimes, "stalled{2'000}", "2 s"}},
      {"ranks that all stand in a collective", {kTimes, "give_up{600'000}", "10 min"}},
      {"a plugin's `encode` or `decode`", {kScript, "callback_told{2'000}", "2 s"}},
      {"a host that has not joined", {kTimes, "arrive{600'000}", "10 min"}},
      {"a host that has not joined", {"frontend/toml/cluster.cpp", "\"wait\"", "`cluster.wait`"}},
      {"another host's launcher", {kTimes, "heartbeat_timeout{5'000}", "5 s"}},
      {"what one launcher has sent another", {kTimes, "unconfirmed{3'000}", "3 s"}},
      {"a rank that does not come to the transport `nccl`",
       {"transports/nccl/plugin.cpp", "\"timeout\", BALEEN_OPTION_FLOAT, 0, 1, 86400, \"300\"", "5 min"}},
      {"UCX between hosts",
       {"transports/ucx/plugin.cpp", "\"patience\", BALEEN_OPTION_FLOAT, 0, 1, 3600, \"3.25\"", "3.25 s"}},
      {"ranks that are left after a failure", {kTimes, "grace{1'500}", "1.5 s"}},
      {"one of them that saves", {kTimes, "rescuing{60'000}", "60 s"}},
      {"a rank after its last word", {kTimes, "leaving{10'000}", "10 s"}},
      {"saving, after a signal", {"frontend/checkpoint/settings.hpp", "grace_seconds = 25;", "25 s"}},
      {"a read or write of a swap file",
       {"plugins/offload/nvme/plugin.cpp", "\"timeout\", BALEEN_OPTION_FLOAT, 0, 0.1, 86400, \"30\"", "30 s"}},
      {"memory that a script holds", {"frontend/lua/lua_state.hpp", "memory_limit = 960ull << 20;", "960 MiB"}},
      {"a script's error message", {"frontend/lua/lua_state.cpp", "kLongest = 2048;", "2048 bytes"}},
      {"ranks that a host starts", {"frontend/cli/launch_run.cpp", "kLeastOfRank = std::uint64_t{2} << 20;", "2 MiB"}},
      {"dimensions of a tensor", {"sdk/include/baleen/base.h", "#define BALEEN_MAX_RANK 8", "8"}},
      {"fields of a data set", {"sdk/include/baleen/data.h", "#define BALEEN_MAX_FIELDS 16", "16"}},
      {"slots of an offload store", {kOffload, "#define BALEEN_OFFLOAD_MAX_SLOTS 1048576", "1,048,576"}},
      {"slots of an offload store", {kOffload, "#define BALEEN_OFFLOAD_MAX_OUTSTANDING 1024", "1024"}},
      {"connections to a launcher's port", {"plugins/launchers/ssh/listener.hpp", "kMostPending = 64;", "64"}},
      {"connections to a launcher's port", {"plugins/launchers/ssh/listener.hpp", "kMostHeard = 4096;", "4096 bytes"}},
      {"connections to a launcher's port", {kTimes, "handshake_timeout{5'000}", "5 s"}},
      {"connections to a rank's port", {"transports/ucx/tls_meeting.cpp", "kMostStrangers = 64;", "64"}},
      {"connections to a rank's port", {"transports/ucx/tls_meeting.cpp", "kStrangersTime = 5s", "5 s"}},
      {"connections to rank 0's port", {"transports/nccl/hub.cpp", "kMostStrangers = 64;", "64"}},
      {"connections to rank 0's port", {"transports/nccl/hub.cpp", "kStrangersTime = 5;", "5 s"}},
      {"digests of data and files", {"frontend/engine/job_facts.cpp", "kFiles = 256ull << 20;", "256 MiB"}},
      {"`memory_mb` of a checkpoint", {"frontend/checkpoint/settings.cpp", "\"memory_mb\"", "`memory_mb`"}},
  };
  return all;
}

/// What both tables of limits tell, without their heads.
std::vector<std::string> rows() {
  std::ifstream file(test::source_dir() + "/docs/limits.md");
  std::vector<std::string> list;
  bool is_limit = false;
  for (std::string line; std::getline(file, line);) {
    is_limit = line.starts_with("## ") ? line.starts_with("## Limits of ") : is_limit;
    if (is_limit && line.starts_with("| ") && !line.starts_with("| what waits ") && !line.starts_with("| what | "))
      list.push_back(line.substr(2));
  }
  return list;
}

TEST(LimitsTable, IsOfLimitsThatAreThere) {
  for (const auto& [row, limit] : stated())
    EXPECT_NE(source(limit.file).find(limit.text), std::string::npos)
        << row << ": " << limit.file << " lacks " << limit.text;
}

TEST(LimitsTable, TellsTheirNumbers) {
  const std::vector<std::string> all = rows();
  EXPECT_GE(all.size(), 29u);
  std::multimap<std::string, Stated> left = stated();
  for (const std::string& row : all) {
    const std::size_t before = left.size();
    std::erase_if(left, [&](const auto& one) {
      if (!row.starts_with(one.first)) return false;
      EXPECT_TRUE(std::regex_search(
          row, std::regex("(^|[^0-9.,])" + std::regex_replace(std::string(one.second.told), std::regex("[.]"), "\\.") +
                          "([^0-9]|$)")))
          << row << " does not tell " << one.second.told;
      return true;
    });
    EXPECT_LT(left.size(), before) << "where is its limit? " << row;
  }
  EXPECT_TRUE(left.empty()) << "docs/limits.md lacks a row: " << left.begin()->first;
}

}  // namespace
}  // namespace baleen::app
