/// \file Scripts and manifests of small jobs, and what their runs show.
#include "parity/options/job.hpp"

#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

namespace baleen::test::options {
namespace {

/// A literal as Lua writes it.
std::string lua(std::string literal) {
  if (literal.starts_with('[')) {
    for (char& c : literal) c = c == '[' ? '{' : c == ']' ? '}' : c;
  }
  return literal;
}

std::string lua_table(const Options& options) {
  std::string text = "{ ";
  for (const auto& [name, value] : options)
    if (value != kUnset) text += name + " = " + lua(value) + ", ";
  return text + "}";
}

std::string toml_lines(const Options& options) {
  std::string text;
  for (const auto& [name, value] : options)
    if (value != kUnset) text += name + " = " + value + "\n";
  return text;
}

std::string section(const std::string& name, const std::string& plugin, const Options& options) {
  if (plugin.empty()) return {};
  return "[" + name + "]\nplugin = \"" + plugin + "\"\n" + toml_lines(options);
}

std::string manifest(const Job& job) {
  std::string text;
  for (const auto& [name, options] : job.plan) text += "[[plan]]\nstrategy = \"" + name + "\"\n" + toml_lines(options);
  text += section("compute", job.compute, job.compute_options);
  text += section("transport", job.transport, job.transport_options);
  text += section("offload", job.offload, job.offload_options);
  text += section("launcher", job.launcher, job.launcher_options);
  for (const auto& [name, options] : job.monitors) text += "[monitors." + name + "]\n" + toml_lines(options);
  text = manifest_of(job.mesh, text);
  return job.hosts.empty() ? text : std::regex_replace(text, std::regex("hosts = .*"), "hosts = " + job.hosts);
}

/// Predicts the next token from this one, or a label from a row's numbers.
std::string script(const Job& job) {
  const bool tokens = job.data == "text" || job.data_options.contains("context");
  const auto task = job.data_options.find("task");
  const bool regression = task != job.data_options.end() && task->second == text("regress");
  Options options = job.optimizer_options;
  if (!job.groups.empty()) options["groups"] = job.groups;
  const bool documents = job.data_options.contains("separator") || job.data_options.contains("separator_token");
  const std::string block =
      documents ? "nn.transformer_block { dim = 6, heads = 1, causal = true, documents = 'documents' }, " : "";
  const std::string model = tokens
                                ? "nn.sequential { nn.embedding { vocab = corpus.vocab, dim = 6, positions = 512 }, " +
                                      block + "nn.linear { out = corpus.vocab } }"
                                : std::string("nn.linear { out = ") + (regression ? "1" : "corpus.classes") + " }";
  return "local baleen = require 'baleen'\nlocal nn = baleen.nn\nlocal corpus = baleen.data." + job.data + " " +
         lua_table(job.data_options) + "\nreturn baleen.job {\n  model = " + model +
         ",\n  loss = " + (regression ? "nn.mse {}" : "nn.cross_entropy { ignore_index = -1 }") +
         (documents ? ", target = 'targets'" : "") +
         ", data = corpus, batch = 4, steps = " + std::to_string(job.steps) +
         ", gradient_accumulation_steps = " + std::to_string(job.accumulate) + ",\n  optimizer = baleen.optimizer('" +
         job.optimizer + "', " + lua_table(options) + "),\n  evaluate = { every = 2, batches = 1 },\n}\n";
}

/// Without what the clock, the system and the place of files decide.
nlohmann::json without_noise(nlohmann::json record) {
  static const std::regex noise("second|_ms|elapsed|resident|process_bytes|peak|^script$|^rank ");
  for (auto it = record.begin(); it != record.end();)
    it = std::regex_search(it.key(), noise) ? record.erase(it) : std::next(it);
  return record;
}

std::string without_folder(const std::string& text, const std::string& folder) {
  return std::regex_replace(text, std::regex(folder), "FOLDER");
}

/// A refusal as one sees it, without the names of temporary files.
std::string refusal(const ProcessResult& result, const std::string& folder) {
  return "exit " + std::to_string(result.exit_code) + ": " + without_folder(result.err, folder);
}

}  // namespace

std::string list(const std::vector<std::string>& texts) {
  std::string all = "[";
  for (const std::string& one : texts) all += (all.size() > 1 ? ", " : "") + text(one);
  return all + "]";
}

Job Job::with(const std::string& kind, const std::string& name, const Options& options) const {
  Job job = *this;
  const auto put = [&](std::string& member, Options& own) {
    member = name;
    own = options;
  };
  if (kind == "optimizer") put(job.optimizer, job.optimizer_options);
  if (kind == "data") put(job.data, job.data_options);
  if (kind == "compute") put(job.compute, job.compute_options);
  if (kind == "transport") put(job.transport, job.transport_options);
  if (kind == "offload") put(job.offload, job.offload_options);
  if (kind == "launcher") put(job.launcher, job.launcher_options);
  if (kind == "strategy") job.plan[name] = options;
  if (kind == "monitor") job.monitors[name] = options;
  return job;
}

Job Job::with_group(const Options& options) const {
  Job job = *this;
  Options group = options;
  group["match"] = "{ '*weight' }";
  job.groups = "{ " + lua_table(group) + " }";
  return job;
}

std::vector<std::string> command_of(const Job& job, const std::vector<std::string>& command,
                                    const std::string& folder) {
  const auto write = [&](const std::string& name, const std::string& contents) {
    std::ofstream(folder + "/" + name) << contents;
    return folder + "/" + name;
  };
  const std::string path =
      job.script.empty() ? write("train.lua", script(job)) : source_dir() + "/tests/parity/" + job.script + ".lua";
  std::vector<std::string> words{command[0], path, "--manifest", write("ranks.toml", manifest(job))};
  words.insert(words.end(), command.begin() + 1, command.end());
  if (command[0] == "run") words.insert(words.end(), {"--steps", std::to_string(job.steps)});
  if (job.script.empty()) return words;
  words.emplace_back("--");
  if (job.script.ends_with("gpt")) words.insert(words.end(), {"--data", source_dir() + "/tests/golden/whales.txt"});
  for (const std::string& argument : job.arguments) words.push_back("--" + argument);
  return words;
}

ProcessResult run(const Job& job, const std::vector<std::string>& command, const std::string& folder) {
  ProcessOptions options;
  options.folder = folder;
  options.environment = job.environment;
  options.environment.push_back("XDG_CACHE_HOME=" + folder + "/home");
  return run_baleen(command_of(job, command, folder), options);
}

std::string seen_of_a_run(Job job, const std::function<std::string(const RunningJob&)>& look) {
  job.steps = 1'000'000;
  const TemporaryFolder folder;
  const std::string log = folder / "log.jsonl";
  std::vector<std::string> words = command_of(job, {"run", "--log-json", log}, folder.path());
  words.insert(words.begin(), build_dir() + "/bin/baleen");
  RunningJob running(words);
  const auto trains = [&] { return read_file(log).find("\"step\":3") != std::string::npos; };
  bool ended = false;
  holds_within(std::chrono::seconds(30), [&] { return trains() || (ended = running.ends({}).has_value()); });
  if (ended || !trains()) return "it does not train: " + without_folder(running.err(), folder.path());
  return look(running);
}

std::string numbers(const Job& job) {
  const TemporaryFolder folder;
  const ProcessResult result = run(job, {"run", "--log-json", folder / "log.jsonl"}, folder.path());
  if (result.exit_code != 0) return refusal(result, folder.path());
  std::istringstream lines(read_file(folder / "log.jsonl"));
  std::string all;
  for (std::string line; std::getline(lines, line);) all += without_noise(nlohmann::json::parse(line)).dump() + "\n";
  return all;
}

std::string counts(const Job& job) {
  const TemporaryFolder folder;
  const ProcessResult result = run(job, {"plan", "--json"}, folder.path());
  if (result.exit_code != 0) return refusal(result, folder.path());
  auto plan = nlohmann::json::parse(result.out);
  plan.erase("script");
  plan.erase("device");
  for (auto& each : plan.at("classes"))
    for (const char* of_the_moment : {"memory_bytes", "process_bytes", "program_bytes", "unread_file_bytes"})
      each.erase(of_the_moment);
  return plan.dump(1);
}

std::string program(const Job& job) {
  const TemporaryFolder folder;
  const ProcessResult result = run(job, {"graph", "--ops"}, folder.path());
  return result.exit_code == 0 ? without_folder(result.out, folder.path()) : refusal(result, folder.path());
}

}  // namespace baleen::test::options
