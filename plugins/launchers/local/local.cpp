/// \file The launcher `local`: ranks as processes of this host.
#include "common/channel_launcher.hpp"
#include "common/supervisor.hpp"

BALEEN_DESCRIPTOR("launcher", "local", "1.0.0", "Apache-2.0", "processes of this host", 10, "", BALEEN_NO_OPTIONS);

namespace baleen::launchers {
namespace {

class LocalLauncher final : public ChannelLauncher {
 public:
  static bool fits(const LaunchView& launch) { return launch.host_count() <= 1; }

  static Result<std::unique_ptr<Launcher>> create(const Host& host, const Settings&, const LaunchView& launch) {
    if (launch.host_count() > 1)
      return invalid("it starts the ranks of one host, and the manifest has " + std::to_string(launch.host_count()) +
                     "; name a launcher for several in [launcher], or none");
    auto launcher = std::make_unique<LocalLauncher>();
    BALEEN_TRY(launcher->open(host, launch));
    return std::unique_ptr<Launcher>(std::move(launcher));
  }

  Status start(const baleen_launch_start_t& what, baleen_outcome_t& outcome) {
    LaunchOptions options;
    fill(options, what);
    const Topology topology(options.hosts);
    Supervisor supervisor(options, topology);
    BALEEN_TRY(supervisor.start());
    tell(supervisor.run(), outcome);
    return {};
  }
};

}  // namespace
}  // namespace baleen::launchers

BALEEN_LAUNCHER(baleen::launchers::LocalLauncher);
