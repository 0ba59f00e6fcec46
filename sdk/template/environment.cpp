/// \file A launcher of processes that something else starts. The environment tells each its RANK, the WORLD_SIZE, its
/// LOCAL_RANK and the LOCAL_WORLD_SIZE, as torchrun does, and a JOB that no other run has. What ranks tell each other
/// are files in a folder that all hosts see.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "baleen/launcher.hpp"

BALEEN_DESCRIPTOR("launcher", "environment", "1.0.0", "Apache-2.0", "ranks that the environment tells of", -1, "",
                  BALEEN_OPTION("folder", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED, 0, 1, "", "", "",
                                "folder that all hosts see; each job makes one of its own in it"),
                  BALEEN_OPTION("wait", BALEEN_OPTION_FLOAT, 0, 0.001, 1e6, "600", "", "",
                                "longest wait for another rank, in seconds"));

namespace {

namespace fs = std::filesystem;
using namespace baleen;
using namespace baleen::sdk;
using Clock = std::chrono::steady_clock;

Result<std::string> word_of(const char* name) {
  const char* const text = std::getenv(name);
  if (text && *text) return std::string(text);
  return invalid(std::string("RANK is in the environment, but ") + name + " is not");
}

Result<int> number_of(const char* name, int least, int most) {
  BALEEN_TRY_ASSIGN(const std::string text, word_of(name));
  int value = least - 1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc() && end == text.data() + text.size() && value >= least && value <= most) return value;
  return invalid(std::string(name) + " is `" + text + "` in the environment; it must be a number from " +
                 std::to_string(least) + " to " + std::to_string(most));
}

std::string quoted(std::string_view key) {
  std::string text = "`";
  return text.append(key) += '`';
}

/// Keys as files. A file appears whole or not at all.
class Folder {
 public:
  Status open(const fs::path& path) {
    std::error_code code;
    fs::create_directories(path, code);
    path_ = path;
    return code ? Error{BALEEN_IO, "cannot make the folder: " + code.message(), path.string()} : Status();
  }
  /// False where it is there already.
  Result<bool> write(std::string_view key, std::string_view value) {
    const std::string own = path_ / ("part " + std::to_string(getpid()) + " " + std::to_string(++parts_));
    std::ofstream file(own, std::ios::binary);
    file << value;
    file.close();
    if (!file) return Error{BALEEN_IO, "cannot be written", own};
    const bool is_first = link(own.c_str(), name(key).c_str()) == 0;
    unlink(own.c_str());
    return is_first;
  }
  std::optional<std::string> read(std::string_view key) const {
    std::ifstream file(name(key), std::ios::binary);
    if (!file) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

 private:
  /// No key can leave the folder, and none is a part.
  std::string name(std::string_view key) const {
    std::string text = "key ";
    for (const char c : key) text += c == '/' ? std::string("%2f") : c == '%' ? std::string("%25") : std::string(1, c);
    return path_ / text;
  }
  fs::path path_;
  std::atomic<int> parts_{0};
};

constexpr const char* kLost = "!lost";  // why the run ends

class EnvironmentLauncher final : public Launcher {
 public:
  static bool fits(const LaunchView&) { return std::getenv("RANK") != nullptr; }

  static Result<std::unique_ptr<Launcher>> create(const Host&, const Settings& settings, const LaunchView&) {
    auto made = std::make_unique<EnvironmentLauncher>();
    made->wait_ = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(settings.number("wait")));
    if (std::getenv("RANK")) BALEEN_TRY(made->open(fs::path(settings.folder()) / settings.text("folder")));
    return std::unique_ptr<Launcher>(std::move(made));
  }
  ~EnvironmentLauncher() override {
    over_ = true;
    if (watcher_.joinable()) watcher_.join();
  }

  LaunchPlace place() override { return place_; }

  Status put(std::string_view key, std::string_view value) override {
    BALEEN_TRY_ASSIGN(const bool is_first, folder_.write(key, value));
    return is_first ? Status() : invalid(quoted(key) + " is set already");
  }

  Result<std::string> get(std::string_view key) override {
    for (const Clock::time_point until = Clock::now() + wait_;;) {
      if (auto value = folder_.read(key)) return *std::move(value);
      if (const auto why = folder_.read(kLost)) return Error{BALEEN_PEER_LOST, *why, {}};
      if (Clock::now() >= until) return Error{BALEEN_TIMEOUT, "no rank has set " + quoted(key), {}};
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  Status fence(std::string_view name) override {
    std::unique_lock lock(mutex_);
    const std::string turn = std::string(name) + " " + std::to_string(++turns_[std::string(name)]);
    lock.unlock();
    BALEEN_TRY(put("!fence " + turn + " " + std::to_string(place_.rank), ""));
    for (int rank = 0; rank < place_.ranks; ++rank) BALEEN_TRY(get("!fence " + turn + " " + std::to_string(rank)));
    return {};
  }

  /// The rank shows its error itself.
  bool fail(const Error& error, const std::vector<std::string>&) override {
    const std::string who = error.code == BALEEN_PEER_LOST ? "" : "rank " + std::to_string(place_.rank) + ": ";
    const auto is_first = folder_.write(kLost, who + error.text());
    return is_first && !*is_first && error.code == BALEEN_PEER_LOST;  // another has said why
  }

  Status finish() override {
    finished_ = true;
    return fence("!finish");
  }

  void watch(std::function<void(const std::string& reason)> lost) override {
    watcher_ = std::thread([this, lost = std::move(lost)] {
      for (; !over_ && !finished_; std::this_thread::sleep_for(std::chrono::milliseconds(20)))
        if (const auto why = folder_.read(kLost)) return lost(*why);
    });
  }

 private:
  Status open(const fs::path& folder) {
    BALEEN_TRY_ASSIGN(place_.ranks, number_of("WORLD_SIZE", 1, 1 << 20));
    BALEEN_TRY_ASSIGN(place_.rank, number_of("RANK", 0, place_.ranks - 1));
    BALEEN_TRY_ASSIGN(place_.local_ranks, number_of("LOCAL_WORLD_SIZE", 1, place_.ranks));
    BALEEN_TRY_ASSIGN(place_.local_rank, number_of("LOCAL_RANK", 0, place_.local_ranks - 1));
    for (int rank = 0; rank < place_.ranks; ++rank) place_.host_of_rank.push_back(rank / place_.local_ranks);
    place_.host_index = place_.rank / place_.local_ranks;
    BALEEN_TRY_ASSIGN(std::string job, word_of("JOB"));
    std::replace(job.begin(), job.end(), '/', '_');
    return folder_.open(folder / ("job " + job));
  }

  LaunchPlace place_;
  Clock::duration wait_{};
  Folder folder_;
  std::mutex mutex_;  // of the next
  std::map<std::string, int> turns_;
  std::atomic<bool> over_{false}, finished_{false};
  std::thread watcher_;
};

}  // namespace

BALEEN_LAUNCHER(EnvironmentLauncher);
