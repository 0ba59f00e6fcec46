/// \file What launchers share that start processes: a rank of theirs talks over the channel that it has inherited.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/launcher.hpp"
#include "common/first_cause.hpp"
#include "common/launch_options.hpp"
#include "common/rank_channel.hpp"

namespace baleen::launchers {

using namespace sdk;

/// See Launcher.
class ChannelLauncher : public Launcher {
 public:
  LaunchPlace place() override;
  Status put(std::string_view key, std::string_view value) override;
  Result<std::string> get(std::string_view key) override;
  Status fence(std::string_view name) override;
  bool fail(const Error& error, const std::vector<std::string>& recorded) override;
  Status finish() override;
  void beat(const baleen_progress_t& progress) override;
  void watch(std::function<void(const std::string& reason)> lost) override;

 protected:
  /// In a rank, takes up the channel. Else remembers the hosts; `host`: whose log hears of the job.
  Status open(const Host& host, const LaunchView& launch);
  const std::vector<LaunchHost>& hosts() const { return hosts_; }
  /// Adds what the host says. `what` outlives the options.
  void fill(LaunchOptions& options, const baleen_launch_start_t& what) const;
  /// Keeps how the job ended, for as long as the host may read it.
  void tell(Outcome outcome, baleen_outcome_t& out);

 private:
  Result<RankChannel*> channel() const;

  Host host_;
  std::vector<LaunchHost> hosts_;
  std::unique_ptr<RankChannel> channel_;  ///< null where this process is no rank
  Outcome outcome_;
  std::vector<baleen_string_t> recorded_;
};

/// The words of a list that crosses the boundary.
std::vector<std::string> words_of(const baleen_string_t* words, std::uint64_t count);

}  // namespace baleen::launchers
