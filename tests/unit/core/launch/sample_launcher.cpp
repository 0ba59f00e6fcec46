/// \file A launcher for tests of the host's side: says of its process what its options say. Its launchers share one
/// store, which waits for nothing but as long as they say.
#include <unistd.h>

#include <map>
#include <mutex>

#include "baleen/launcher.hpp"

BALEEN_DESCRIPTOR("launcher", "sample", "1.0.0", "Apache-2.0", "says what it is told", -1, "",
                  BALEEN_OPTION("rank", BALEEN_OPTION_INT, 0, -9, 9, "0", "", "", "of this process"),
                  BALEEN_OPTION("ranks", BALEEN_OPTION_INT, 0, 0, 9, "1", "", "", "0: this process is no rank"),
                  BALEEN_OPTION("local_rank", BALEEN_OPTION_INT, 0, -9, 9, "0", "", "", "among those of its host"),
                  BALEEN_OPTION("local_ranks", BALEEN_OPTION_INT, 0, 0, 9, "1", "", "", "of its host"),
                  BALEEN_OPTION("host_index", BALEEN_OPTION_INT, 0, -9, 9, "0", "", "", "of its host"),
                  BALEEN_OPTION("threads", BALEEN_OPTION_INT, 0, 0, 9, "0", "", "", "to compute with"),
                  BALEEN_OPTION("host_of_rank", BALEEN_OPTION_TABLE, 0, 0, 1, "", "", "", "a number for each rank"),
                  BALEEN_OPTION("patience_ms", BALEEN_OPTION_INT, 0, 0, 60000, "0", "", "", "of those who get"),
                  BALEEN_OPTION("hosts", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 0, 1, "", "", "", "their names"),
                  BALEEN_OPTION("address", BALEEN_OPTION_STRING, 0, 0, 1, "", "", "", "of this host"));

namespace baleen::test {

using namespace sdk;

namespace {

class SampleLauncher final : public Launcher {
 public:
  static bool fits(const LaunchView& launch) { return launch.ranks() == 7; }
  static Result<std::unique_ptr<Launcher>> create(const Host&, const Settings& settings, const LaunchView& launch) {
    auto made = std::make_unique<SampleLauncher>();
    const auto number = [&](const char* name) { return static_cast<int>(settings.integer(name)); };
    made->place_ = {number("rank"),
                    number("ranks"),
                    number("local_rank"),
                    number("local_ranks"),
                    number("host_index"),
                    number("threads"),
                    {},
                    {},
                    std::string(settings.text("address"))};
    made->patience_ms_ = settings.integer("patience_ms");
    const baleen_setting_t& hosts = settings.at("host_of_rank");
    for (std::int64_t i = 0; i < hosts.rows * hosts.columns; ++i)
      made->place_.host_of_rank.push_back(static_cast<int>(hosts.table[i]));
    for (const std::string_view host : settings.list("hosts")) made->place_.hosts.emplace_back(host);
    (void)made->put("launch", std::to_string(launch.host_count()) + " hosts, " + std::to_string(launch.ranks()) +
                                  " ranks, index " + std::to_string(launch.host_index()) + ", secret `" +
                                  std::string(launch.secret_file()) + "`, word `" + std::string(launch.word()) + "`");
    return std::unique_ptr<Launcher>(std::move(made));
  }

  LaunchPlace place() override { return place_; }
  /// "lose" tells of a lost rank, "clear" empties the store.
  Status put(std::string_view key, std::string_view value) override {
    const std::lock_guard lock(mutex());
    if (key == "clear") return store().clear(), Status();
    if (key == "launch") store().erase("launch");
    if (key == "lose") lost_(std::string(value));
    if (store().emplace(key, value).second) return {};
    return invalid("`" + std::string(key) + "` is set already");
  }
  Result<std::string> get(std::string_view key) override {
    for (std::int64_t waited = 0; waited < patience_ms_ && !has(key); ++waited) usleep(1000);
    const std::lock_guard lock(mutex());
    const auto found = store().find(std::string(key));
    if (found == store().end()) return Error{BALEEN_TIMEOUT, "`" + std::string(key) + "` is not there", {}};
    return found->second;
  }
  Status fence(std::string_view name) override { return put("fence", name); }
  bool fail(const Error& error, const std::vector<std::string>& recorded) override {
    (void)put("failure", error.text() + " after " + (recorded.empty() ? "nothing" : recorded.back()));
    return error.code != BALEEN_IO;
  }
  Status finish() override { return put("finish", "yes"); }
  void beat(const baleen_progress_t& progress) override {
    const std::lock_guard lock(mutex());
    store()["beat"] = std::to_string(progress.step) + " " + progress.phase + " " + std::to_string(progress.collective);
    store()["stands"] = progress.stands_in;
    store()["order"] = progress.program + (" " + std::to_string(progress.runs)) + " " + std::to_string(progress.order);
  }
  void watch(std::function<void(const std::string& reason)> lost) override { lost_ = std::move(lost); }

 private:
  static bool has(std::string_view key) {
    const std::lock_guard lock(mutex());
    return store().contains(std::string(key));
  }
  static std::map<std::string, std::string>& store() {
    static std::map<std::string, std::string> all;
    return all;
  }
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }

  LaunchPlace place_;
  std::int64_t patience_ms_ = 0;
  std::function<void(const std::string& reason)> lost_;
};

}  // namespace
}  // namespace baleen::test

BALEEN_LAUNCHER(baleen::test::SampleLauncher);
