/// \file The program as a child of a case; what it says is kept in files of the case's folder.
#include "frontend/validate/trainings.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace baleen::validate {
namespace {

std::string read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_all(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw Failure("cannot write " + path.string());
}

/// In a forked process: this program, which ends where its parent does.
[[noreturn]] void become_program(char* const* words, const char* out, const char* err, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it has ended before
  constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  ::dup2(::open(out, kNew, 0600), STDOUT_FILENO);
  ::dup2(::open(err, kNew, 0600), STDERR_FILENO);
  ::execv("/proc/self/exe", words);
  ::_exit(127);
}

int code_of(std::vector<std::string>& words, const std::string& out, const std::string& err) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t self = ::getpid(), process = ::fork();
  if (process < 0) throw Failure(std::string("this program cannot be started: ") + std::strerror(errno));
  if (process == 0) become_program(arguments.data(), out.c_str(), err.c_str(), self);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0)
    if (errno != EINTR) throw Failure(std::string("waiting for this program: ") + std::strerror(errno));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Behind `"name":` in a line of a log.
std::optional<double> number_in(const std::string& line, const std::string& name) {
  const std::string key = "\"" + name + "\":";
  const std::size_t at = line.find(key);
  if (at == std::string::npos) return std::nullopt;
  return std::strtod(line.c_str() + at + key.size(), nullptr);
}

}  // namespace

std::string Ended::complaint() const {
  const std::string& said = err.empty() ? out : err;
  return said.substr(0, said.find('\n'));
}

std::string Ended::text() const {
  const std::string how =
      code > 128 ? "is killed by signal " + std::to_string(code - 128) : "ends with exit code " + std::to_string(code);
  return how + ": " + complaint();
}

Ended run_program(const Subject& subject, Mark& mark, std::string_view command, std::string_view job,
                  const std::string& manifest, const std::vector<std::string>& words) {
  const std::filesystem::path file = subject.scratch / "manifest.toml", out = subject.scratch / "out",
                              err = subject.scratch / "err";
  write_all(file, manifest);
  std::vector<std::string> all = {
      "baleen",      std::string(command), (subject.jobs / job).string() + ".lua", "--manifest",
      file.string(), "--plugin-path",      subject.descriptor.file.string()};
  all.insert(all.end(), words.begin(), words.end());
  mark.set("`baleen " + std::string(command) + "` of the job `" + std::string(job) + "`");
  Ended ended{code_of(all, out.string(), err.string()), read_all(out), read_all(err)};
  mark.set({});
  return ended;
}

std::string text_of_file(const Subject& subject, std::string_view name) {
  std::string text = read_all(subject.jobs / name);
  if (text.empty()) throw Failure("cannot read " + (subject.jobs / name).string() + "; install Baleen again");
  return text;
}

std::string beside_on(const Subject& subject, int ranks) {
  std::string text = text_of_file(subject, "beside.toml");
  const std::string place = "@RANKS@";
  if (const auto at = text.find(place); at != std::string::npos) text.replace(at, place.size(), std::to_string(ranks));
  return text;
}

std::string digits_of(double number) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.9g", number);
  return digits;
}

std::string manifest_lines(const Subject& subject, std::string_view key) {
  std::string lines = std::string(key) + " = \"" + subject.descriptor.name + "\"\n";
  for (const auto& [name, value] : subject.values) lines += name + " = " + value.text() + "\n";
  return lines;
}

std::vector<double> steps_of(const Subject& subject, Mark& mark, std::string_view job, const std::string& manifest,
                             const std::vector<std::string>& words) {
  const std::filesystem::path log = subject.scratch / "log";
  std::vector<std::string> all = {"--log-json", log.string()};
  all.insert(all.end(), words.begin(), words.end());
  if (const Ended planned = run_program(subject, mark, "plan", job, manifest, words); planned.is_refusal())
    throw Skip("refused: " + planned.complaint());
  const Ended ended = run_program(subject, mark, "run", job, manifest, all);
  if (ended.code != 0) throw Failure("a training " + ended.text());
  std::vector<double> losses;
  std::istringstream lines(read_all(log));
  for (std::string line; std::getline(lines, line);)
    if (line.find("\"kind\":\"step\"") != std::string::npos)
      if (const auto loss = number_in(line, "loss")) losses.push_back(*loss);
  if (losses.empty()) throw Failure("a training wrote no losses into its log");
  return losses;
}

}  // namespace baleen::validate
