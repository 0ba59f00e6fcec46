/// \file A script that means ill, run by the program itself: how it ended, how long it took and how much memory.
#pragma once
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "support/hostile_scripts.hpp"
#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {

/// A started `baleen run`.
class HostileRun {
 public:
  HostileRun(const std::string& script, int ranks) : begin_(Clock::now()) {
    for (const auto& [name, text] : kHostileModules) folder_.write(name, text);
    std::vector<std::string> words{build_dir() + "/bin/baleen", "run", folder_.write("job.lua", script)};
    if (ranks > 1) words.insert(words.end(), {"--set", "mesh.data=" + std::to_string(ranks)});
    const std::string said = folder_ / "said";
    process_ = fork();
    if (process_ != 0) return;
    const int file = open(said.c_str(), O_WRONLY | O_CREAT, 0666);
    detail::become(words, {}, file, file);
  }
  HostileRun(const HostileRun&) = delete;
  ~HostileRun() {
    if (process_ <= 0) return;
    kill(-process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

  struct End {
    int status;
    double seconds;
    long most_kib;  ///< of the largest process
    std::string text;
  };
  /// Waits for it; after `most` it is killed.
  End end(std::chrono::seconds most) {
    End end{};
    rusage used{};
    while (wait4(process_, &end.status, WNOHANG, &used) == 0) {
      if (Clock::now() - begin_ > most) kill(-process_, SIGKILL);
      usleep(20'000);
    }
    process_ = -1;
    end.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    end.most_kib = used.ru_maxrss;
    end.text = read_file(folder_ / "said");
    return end;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const TemporaryFolder folder_;
  const Clock::time_point begin_;
  pid_t process_ = -1;
};

/// It is refused as the user's, within the time and below a gibibyte, saying `says` in a line of sane length.
inline void expect_refused(HostileRun& run, const Hostile& script, std::chrono::seconds most) {
  constexpr long kMostKiB = 1024 * 1024;
  const HostileRun::End end = run.end(most);
  EXPECT_TRUE(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 2)
      << script.name << ": status " << end.status << ": " << end.text.substr(0, 1000);
  EXPECT_NE(end.text.find("error: "), std::string::npos) << script.name << ": " << end.text.substr(0, 1000);
  EXPECT_NE(end.text.find(script.says), std::string::npos) << script.name << ": " << end.text.substr(0, 1000);
  EXPECT_LT(end.text.size(), 10'000u) << script.name << ": " << end.text.substr(0, 1000);
  EXPECT_LT(end.seconds, static_cast<double>(most.count())) << script.name;
  EXPECT_LT(end.most_kib, kMostKiB) << script.name;
}

}  // namespace baleen::test
