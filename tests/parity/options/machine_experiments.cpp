/// \file Options of compute plugins, transports and monitors: what the machine sees of a run, since no number may
/// change.
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "parity/options/experiment.hpp"

namespace baleen::test::options {
namespace {

namespace fs = std::filesystem;

/// What each rank may plan for, where that is a number of the manifest's or of the emulated device.
std::string memory(const Job& job) {
  const TemporaryFolder folder;
  const ProcessResult result = run(job, {"plan", "--json"}, folder.path());
  if (result.exit_code != 0 && result.out.empty()) return result.err;
  std::string all;
  const double much = 2.0 * (1 << 30);  // more than these tests give: the machine's own, which comes and goes
  const auto plan = nlohmann::json::parse(result.out);
  for (const auto& each : plan.at("classes")) {
    const double bytes = each.at("memory_bytes");
    all += each.at("count").dump() + ": " + (bytes > much ? "much" : std::to_string(bytes)) + " " +
           each.at("fits").dump() + "\n";
  }
  return all;
}

/// The threads that compute, each with the cores it may use; empty where none was seen.
std::string threads_of(const RunningJob& running) {
  std::multiset<std::string> all;
  for (const pid_t process : running.processes())
    for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
      if (!read_file(task.path() / "comm").starts_with("baleen-cpu")) continue;
      const std::string status = read_file(task.path() / "status"), key = "Cpus_allowed_list:";
      const auto at = status.find(key);
      all.insert(status.substr(at, status.find('\n', at) - at));
    }
  std::string text;
  for (const std::string& one : all) text += one + "\n";
  return text;
}

/// The same of a run; every one here has threads beside the first.
std::string threads(const Job& job) {
  return seen_of_a_run(job, [](const RunningJob& running) -> std::string {
    std::string seen;
    if (!holds_within(std::chrono::seconds(30), [&] { return !(seen = threads_of(running)).empty(); }))
      return "no thread computes beside the first";
    return seen;
  });
}

/// What the emulated libraries were asked for, in order.
std::string device(Job job) {
  const TemporaryFolder folder;
  job.environment.push_back("EMULATED_CUDA_LOG=" + (folder / "device.txt"));
  const ProcessResult result = run(job, {"run"}, folder.path());
  return result.exit_code == 0 ? read_file(folder / "device.txt") : result.err;
}

std::string files_below(const std::string& root) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.is_regular_file()) names.insert(fs::relative(entry.path(), root));
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return text;
}

/// The files that a run leaves in its folder.
std::string left_files(const Job& job) {
  const TemporaryFolder folder;
  const ProcessResult result = run(job, {"run"}, folder.path());
  return result.exit_code == 0 ? files_below(folder.path()) : result.err;
}

/// The compiled kernels that a run leaves in this folder.
std::string cached_kernels(const Job& job, const std::string& cache) {
  fs::remove_all(cache);
  fs::create_directories(cache);
  const TemporaryFolder folder;
  const ProcessResult result = run(job, {"run"}, folder.path());
  return result.exit_code == 0 ? files_below(cache) : result.err;
}

/// What stands on the terminal, without numbers that change.
std::string shown(const Job& job, bool terminal) {
  const TemporaryFolder folder;
  std::vector<std::string> words = command_of(job, {"run"}, folder.path());
  std::string command = build_dir() + "/bin/baleen";
  for (const std::string& word : words) command += " '" + word + "'";
  ProcessOptions options;
  options.folder = folder.path();
  const std::vector<std::string> shell = terminal ? std::vector<std::string>{"script", "-qec", command, "/dev/null"}
                                                  : std::vector<std::string>{"sh", "-c", command};
  const ProcessResult result = run_process(shell, options);
  if (result.exit_code != 0) return result.err;
  std::string kinds;  // of a live line, that there is one: how often it is drawn depends on the time
  if (result.out.find("\x1b[") != std::string::npos || result.out.find('\r', 0) < result.out.find('\n') - 1)
    kinds = "live\n";
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = result.out.find("step ", at)) != std::string::npos; ++at) ++lines;
  return kinds.empty() ? std::to_string(lines) + " lines of steps" : kinds;
}
std::string on_pipe(const Job& job) { return shown(job, false); }
std::string on_terminal(const Job& job) { return shown(job, true); }

/// A table of what ops took; no numbers.
std::string profiled(const Job& job) {
  const TemporaryFolder folder;
  const ProcessResult result = run(job, {"run"}, folder.path());
  return std::to_string(result.exit_code) +
         (result.out.find("matmul") != std::string::npos ? " with a table" : " without");
}

/// The device that a plan is made for, as it says it.
std::string planned_device(const Job& job) {
  const TemporaryFolder folder;
  const ProcessResult result = run(job, {"plan"}, folder.path());
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);)
    if (line.find("compute capability") != line.npos) return line;
  return "exit " + std::to_string(result.exit_code) + ": " + result.err;
}

/// What ucx says of a patience that somebody asked for; what it does: fault.training_on_hosts.
std::string told_of_patience(const Job& job) {
  const TemporaryFolder folder;
  const ProcessResult result = run(job, {"run"}, folder.path());
  const std::string mark = "ucx: a peer that acknowledges nothing ";
  const std::size_t at = result.err.find(mark);
  return std::to_string(result.exit_code) +
         (at == std::string::npos ? "" : result.err.substr(at, result.err.find('\n', at) - at));
}

/// What UCX is asked for by rank 0: its configuration, and how many messages of which length.
std::string messages(Job job) {
  const TemporaryFolder folder;
  job.environment.push_back("BALEEN_TEST_UCX_LOG=" + (folder / "ucx"));
  job.environment.push_back(std::string("LD_PRELOAD=") + UCX_LISTENER);
  const ProcessResult result = run(job, {"run"}, folder.path());
  if (result.exit_code != 0) return "exit " + std::to_string(result.exit_code);
  std::multiset<std::string> ranks;
  for (const auto& entry : fs::directory_iterator(folder.path()))
    if (entry.path().filename().string().starts_with("ucx.")) ranks.insert(read_file(entry.path()));
  std::string text;
  for (const std::string& one : ranks) text += one + "--\n";
  return text;
}

Job small_gpt(MeshAxes mesh = {{"data", 1}}) {
  Job job;
  job.script = "gpt";
  job.arguments = {"layers=1", "dim=12", "heads=2", "batch=4", "context=8"};
  job.mesh = std::move(mesh);
  job.steps = 2;
  return job;
}

Trial of_cpu(View view, std::vector<std::string> values, Options around = {}) {
  return {small_gpt(), std::move(view), std::move(values), std::move(around)};
}

Trial of_cuda(View view, std::vector<std::string> values, Options around = {}, MeshAxes mesh = {{"data", 1}}) {
  around["libraries"] = list({emulated_folder()});
  around.emplace("cache", text(emulated_folder() + "/cache"));
  Trial trial{small_gpt(std::move(mesh)), std::move(view), std::move(values), std::move(around)};
  trial.job.environment = {"EMULATED_CUDA_DEVICES=2", "EMULATED_CUDA_MEMORY=64"};
  return trial;
}

Trial of_ucx(std::vector<std::string> values, Options around = {}) {
  Trial trial{small_gpt({{"data", 2}}), messages, std::move(values), std::move(around)};
  trial.job.arguments[1] = "dim=96";  // long messages
  return trial;
}

/// Its lines in the order of the alphabet: ranks that write at the same time do it in any order.
std::string sorted_lines(const std::string& text) {
  std::istringstream in(text);
  std::multiset<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.insert(line + "\n");
  std::string sorted;
  for (const std::string& line : lines) sorted += line;
  return sorted;
}

/// What NCCL's double is asked for, rank by rank; or why there is no run.
std::string asked_of_nccl(Job job) {
  const TemporaryFolder folder;
  job.environment.push_back("NCCL_DOUBLE_LOG=" + (folder / "asked"));
  const ProcessResult result = run(job, {"run"}, folder.path());
  if (result.exit_code != 0) return "exit " + std::to_string(result.exit_code) + ": " + sorted_lines(result.err);
  std::string text;
  for (int rank = 0; rank < 3; ++rank) text += read_file(folder / ("asked." + std::to_string(rank))) + "--\n";
  return text;
}

/// What rank 0 says of it.
std::string told_of_nccl(const Job& job) {
  const TemporaryFolder folder;
  const ProcessResult result = run(job, {"run"}, folder.path());
  const std::string mark = "transport `nccl`: NCCL ";
  const std::size_t at = result.err.find(mark);
  return at == std::string::npos ? result.err : result.err.substr(at, result.err.find('\n', at) - at);
}

/// Three ranks on emulated devices; NCCL and the driver are found as on a machine that has them.
Trial of_nccl(View view, std::vector<std::string> values, Options around = {}) {
  Trial trial{small_gpt({{"data", 3}}), std::move(view), std::move(values), std::move(around)};
  trial.job.compute = "cuda";
  trial.job.compute_options = {{"libraries", list({emulated_folder()})}, {"cache", text(emulated_folder() + "/cache")}};
  trial.job.arguments[3] = "batch=6";
  trial.job.environment = {"EMULATED_CUDA_DEVICES=3", "LD_LIBRARY_PATH=" + emulated_folder()};
  return trial;
}

Experiments nccl_experiments() {
  Trial many_sums = of_nccl(asked_of_nccl, {kUnset, "1"});  // of more than a MiB
  many_sums.job.arguments[1] = "dim=160";
  Trial replayed = of_nccl(asked_of_nccl, {});
  replayed.job.steps = 6;                         // from the third on NCCL is asked for less
  Trial on_one_gpu = of_nccl(asked_of_nccl, {});  // refused, or trained
  on_one_gpu.job.environment.front() = "EMULATED_CUDA_DEVICES=1";
  return {
      {"transport.nccl.share_gpu", {on_one_gpu}},
      {"transport.nccl.library", {of_nccl(asked_of_nccl, {kUnset, text("/nowhere/libnccl.so.2")})}},
      {"transport.nccl.driver", {of_nccl(asked_of_nccl, {kUnset, text("/nowhere/libcuda.so.1")})}},
      {"transport.nccl.interface", {of_nccl(asked_of_nccl, {kUnset, text("eth0")})}},
      {"transport.nccl.algorithm", {of_nccl(asked_of_nccl, {})}},
      {"transport.nccl.protocol", {of_nccl(asked_of_nccl, {})}},
      {"transport.nccl.min_channels", {of_nccl(asked_of_nccl, {kUnset, "2"})}},
      {"transport.nccl.max_channels", {of_nccl(asked_of_nccl, {kUnset, "3"})}},
      {"transport.nccl.timeout", {of_nccl(told_of_nccl, {kUnset, "7"})}},  // what it ends: conformance.nccl
      {"transport.nccl.scratch_mb", {many_sums}},
      {"transport.nccl.register", {of_nccl(asked_of_nccl, {})}},
      {"transport.nccl.memory", {of_nccl(told_of_nccl, {})}},
      {"transport.nccl.windows", {of_nccl(asked_of_nccl, {})}},
      {"transport.nccl.copy_engine", {of_nccl(asked_of_nccl, {}, {{"windows", "true"}})}},
      {"transport.nccl.graphs", {replayed}},
      {"transport.nccl.debug", {of_nccl(asked_of_nccl, {})}},
  };
}

/// Which transport joins what, as the first rank says it.
std::string joined(const Job& job) {
  const TemporaryFolder folder;
  const ProcessResult result = run(job, {"run"}, folder.path());
  const std::string mark = "transport `hierarchy`: ";
  const std::size_t at = result.err.find(mark);
  return at == std::string::npos ? result.err : result.err.substr(at, result.err.find('\n', at) - at);
}

/// A transport that joins threads only is named all the same, before it fails.
Trial of_hierarchy(std::vector<std::string> values, Options around) {
  return {small_gpt({{"data", 4}}), joined, std::move(values), std::move(around)};
}

Trial of_monitor(View view, std::vector<std::string> values, Options around = {}) {
  Trial trial{small_gpt(), std::move(view), std::move(values), std::move(around)};
  trial.job.steps = 6;
  return trial;
}

Experiments device_experiments() {
  const Options bf16{{"dtype", text("bf16")}};
  Trial precise = of_cuda(device, {});
  precise.job.plan["precision"] = bf16;
  precise.job.arguments = {"layers=1", "dim=32", "heads=2", "batch=4", "context=8"};  // as wide as cuDNN wants heads
  Trial precise_numbers = precise;
  precise_numbers.view = numbers;
  const std::string cache = files() / "kernels";
  Trial cached = of_cuda([cache](const Job& job) { return cached_kernels(job, cache); }, {kUnset, text(cache)},
                         {{"cache", kUnset}});
  cached.job.script.clear();  // a few kernels
  cached.job.data_options = {{"rows", "[[1, 2, 0], [3, 5, 1], [2, 2, 0], [7, 5, 1], [1, 4, 0], [6, 8, 1]]"},
                             {"held_out", "0"}};
  return {
      {"compute.cpu.threads", {of_cpu(threads, {"2", "5"})}},
      {"compute.cpu.pin", {of_cpu(threads, {}, {{"threads", "2"}})}},
      {"compute.cpu.memory", {of_cpu(memory, {kUnset, "1", "2"})}},
      {"compute.cuda.architecture", {of_cuda(planned_device, {kUnset, text("8.0"), text("9.0")}, {{"memory", "60"}})}},
      {"compute.cuda.index", {of_cuda(memory, {kUnset, "1"}, {}, {{"data", 2}})}},
      {"compute.cuda.memory", {of_cuda(memory, {kUnset, "7"})}},
      {"compute.cuda.fraction", {of_cuda(memory, {kUnset, "0.5"})}},
      {"compute.cuda.tf32", {of_cuda(device, {})}},
      {"compute.cuda.deterministic", {precise}},
      {"compute.cuda.half_logits", {precise_numbers}},
      {"compute.cuda.checked", {of_cuda(device, {})}},
      {"compute.cuda.graphs", {of_cuda(device, {})}},
      {"compute.cuda.cache", {cached}},
      {"compute.cuda.libraries", {of_cuda(memory, {kUnset, list({emulated_folder()})})}},
  };
}

Experiments transport_experiments() {
  Trial patient = of_ucx({kUnset, "30"});
  patient.view = told_of_patience;
  // Three ranks add by a ring where they may add in any order.
  Trial by_ring = of_ucx({}, {{"direct", "false"}, {"deterministic", "false"}});
  by_ring.job.mesh = {{"data", 3}};
  by_ring.job.arguments[3] = "batch=6";
  return {
      {"transport.hierarchy.intra_host",
       {of_hierarchy({text("shm"), text("loopback")}, {{"inter_host", text("shm")}, {"ranks_per_host", "2"}})}},
      {"transport.hierarchy.inter_host",
       {of_hierarchy({text("shm"), text("loopback")}, {{"intra_host", text("shm")}, {"ranks_per_host", "2"}})}},
      {"transport.hierarchy.ranks_per_host",
       {of_hierarchy({kUnset, "2", "1"}, {{"intra_host", text("shm")}, {"inter_host", text("shm")}})}},
      {"transport.ucx.tls", {of_ucx({kUnset, list({"tcp"})})}},
      {"transport.ucx.devices", {of_ucx({kUnset, list({"all"})}, {{"tls", list({"tcp"})}})}},
      {"transport.ucx.segment", {of_ucx({kUnset, "1024"}, {{"direct", "false"}})}},
      {"transport.ucx.algorithm",
       {of_ucx({kUnset, list({"all_reduce=recursive_doubling"}), list({"all_reduce=ring"})}, {{"direct", "false"}}),
        by_ring}},
      {"transport.ucx.integrity", {of_ucx({}, {{"direct", "false"}})}},
      {"transport.ucx.direct", {of_ucx({})}},
      {"transport.ucx.encrypt", {of_ucx({}, {{"direct", "false"}})}},
      {"transport.ucx.patience", {patient}},
  };
}

Experiments monitor_experiments() {
  return {
      {"monitor.console.live", {of_monitor(on_pipe, {}), of_monitor(on_terminal, {})}},
      {"monitor.console.every", {of_monitor(on_pipe, {kUnset, "3"})}},
      {"monitor.jsonl.path", {of_monitor(left_files, {text("one.jsonl"), text("two.jsonl")})}},
      {"monitor.trace.path", {of_monitor(left_files, {text("one.json"), text("two.json")})}},
      {"monitor.trace.profile", {of_monitor(profiled, {}, {{"path", text("trace.json")}})}},
  };
}

}  // namespace

Experiments machine_experiments() {
  Experiments all = device_experiments();
  all.merge(transport_experiments());
  all.merge(monitor_experiments());
  all.merge(nccl_experiments());
  return all;
}

}  // namespace baleen::test::options
