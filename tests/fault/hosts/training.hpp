/// \file A real training on two hosts: shared memory inside, TCP between them.
#pragma once
#include <fstream>

#include "support/damaging_cable.hpp"
#include "support/losses.hpp"
#include "two_hosts.hpp"

namespace baleen::test {

class TrainingOnTwoHosts : public TwoHosts {
 protected:
  explicit TrainingOnTwoHosts(const TwoNetworks::Lay& lay) : TwoHosts(lay) {}
  TrainingOnTwoHosts() = default;

  /// A model of 100,000 parameters, and rows that are never the same.
  std::string script() const {
    return folder.write("train.lua",
                        "local baleen = require 'baleen'\nlocal nn, rows = baleen.nn, {}\nfor i = 1, 256 do\n"
                        "  local row = {}\n  for j = 1, 200 do row[j] = math.random() - 0.5 end\n"
                        "  row[201] = row[1] * row[2] > 0 and 1 or 0\n  rows[i] = row\nend\n"
                        "local points = baleen.data.table { rows = rows, held_out = 0 }\n"
                        "return baleen.job { model = nn.sequential { nn.linear { out = 500 }, nn.tanh {},\n"
                        "  nn.linear { out = 2 } }, loss = nn.cross_entropy {}, data = points, batch = 32,\n"
                        "  steps = 4, optimizer = baleen.optimizer('adamw', { lr = 0.01 }) }\n");
  }
  std::vector<std::string> run(const std::string& hosts, const std::string& transport, int steps) const {
    const std::string cluster =
        folder.write("cluster.toml", "[cluster]\nhosts = [" + hosts + "]\n[mesh]\ndata = 4\n" + transport);
    return networks.on(0, {build_dir() + "/bin/baleen", "run", script(), "--manifest", cluster, "--steps",
                           std::to_string(steps), "--log-json", folder / "log.jsonl"});
  }
  /// On both hosts.
  /// `options` of ucx, further `tables` of the manifest.
  void train(int steps, const std::string& options = "", const std::string& tables = "") {
    const auto host = [&](int index) {
      return "{ name = \"" + networks.name(index) + "\", ranks = 2, address = \"" + TwoNetworks::address(index) +
             "\" }";
    };
    const std::string through = "]\nstart = [\"ip\", \"netns\", \"exec\", \"{name}\", \"sh\", \"-c\"";
    job = std::make_unique<RunningJob>(
        run(host(0) + ", " + host(1) + through,
            "[transport]\ninside = \"shm\"\nbetween = { plugin = \"ucx\", tls = [\"tcp\"]" + options + " }\n" + tables,
            steps));
  }
  void train_for_ever(const std::string& options = "") {
    train(1'000'000'000, options);
    ASSERT_TRUE(job->prints("step 1/")) << job->err();
    since = std::chrono::steady_clock::now();
  }
  Losses losses() const { return losses_in(folder / "log.jsonl"); }
  /// What four ranks of one host compute.
  Losses losses_of_one_host(int steps) const {
    const ProcessResult one = run_process(run("{ name = \"localhost\", ranks = 4 }", "", steps));
    EXPECT_EQ(one.exit_code, 0) << one.err;
    return losses();
  }
  /// By the name that it gives itself.
  pid_t process_called(int host, const std::string& wanted) const {
    for (const pid_t process : networks.processes(host)) {
      std::string name;
      std::getline(std::ifstream("/proc/" + std::to_string(process) + "/comm"), name);
      if (name == wanted) return process;
    }
    return -1;
  }
};

}  // namespace baleen::test
