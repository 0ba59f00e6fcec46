/// \file Starts a command on another host: quoting, pipes, exit codes.
#include "starter.hpp"

#include <fcntl.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "common/failure.hpp"
#include "common/process.hpp"

namespace baleen::launchers {
namespace {

// Codes that neither shells, ssh nor this program end with.
constexpr int kNoFolder = 121, kNoProgram = 122;
constexpr int kOfSsh = 255;

/// As one word of a POSIX shell.
std::string in_quotes(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string filled(std::string word, const LaunchHost& host, int index) {
  const std::array<std::pair<std::string, std::string>, 3> all = {
      {{"{name}", host.name}, {"{address}", host.reached_at()}, {"{index}", std::to_string(index)}}};
  for (const auto& [mark, text] : all)
    for (std::size_t at = 0; (at = word.find(mark, at)) != std::string::npos; at += text.size())
      word.replace(at, mark.size(), text);
  return word;
}

Result<std::array<FileHandle, 2>> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Error{BALEEN_IO, std::string("no pipe: ") + std::strerror(errno), {}};
  return std::array{FileHandle(ends[0]), FileHandle(ends[1])};
}

}  // namespace

std::string shell_line(const RemoteStart& start) {
  std::string line = "cd " + in_quotes(start.folder) + " 2>/dev/null || exit " + std::to_string(kNoFolder) +
                     "; test -x " + in_quotes(start.command.front()) + " || exit " + std::to_string(kNoProgram) +
                     "; exec";
  for (const std::string& word : start.command) line += ' ' + in_quotes(word);
  // The user's shell over there may be no POSIX shell.
  return "exec sh -c " + in_quotes(line);
}

Starter::Starter(const RemoteStart& what, const LaunchHost& host)
    : program_(what.through.front()),
      folder_(what.folder),
      file_(what.command.front()),
      lines_("[" + host.name + "] ") {}

Result<std::unique_ptr<Starter>> Starter::start(const RemoteStart& what, const LaunchHost& host, int index,
                                                const StartWord& word, const sigset_t& signals) {
  auto made = std::unique_ptr<Starter>(new Starter(what, host));
  ProcessStart start;
  for (const std::string& part : what.through) start.command.push_back(filled(part, host, index));
  start.command.push_back(shell_line(what));
  start.program = find_program(start.command.front());
  if (start.program.empty())
    return Error{BALEEN_NOT_FOUND,
                 "there is no program `" + start.command.front() +
                     "` to start hosts with; install it, name another in `cluster.start`, or start each host by hand "
                     "with --host-index",
                 {}};
  BALEEN_TRY_ASSIGN(auto in, make_pipe());
  BALEEN_TRY_ASSIGN(auto out, make_pipe());
  fcntl(out[0].get(), F_SETFL, O_NONBLOCK);
  start.in = in[0].get();
  start.out = start.err = out[1].get();
  start.own_session = true;
  start.signals = signals;
  BALEEN_TRY_ASSIGN(made->process_, start_process(start));
  made->running_ = true;
  made->in_ = std::move(in[1]);
  made->out_ = std::move(out[0]);
  const std::string line = word.line();
  // A new pipe takes a line at once; if the process has gone already, its end tells why.
  if (write(made->in_.get(), line.data(), line.size()) < 0) made->in_.close();
  return made;
}

Starter::~Starter() {
  if (!running_) return;
  ::kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void Starter::add_polls(std::vector<pollfd>& all) const { all.push_back({out_.get(), POLLIN, 0}); }

void Starter::read_output(LineSink& err) {
  std::array<char, 4096> bytes;
  for (int blocks = 0; out_ && !err.is_full() && blocks < 64; ++blocks) {
    const ssize_t got = read(out_.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return out_.close();
    lines_.add(std::string_view(bytes.data(), static_cast<std::size_t>(got)), err);
  }
}

bool Starter::is_running(LineSink& err) {
  if (!running_ || waitpid(process_, &status_, WNOHANG) != process_) return running_;
  running_ = false;
  read_output(err);
  lines_.end(err);
  out_.close();
  return false;
}

void Starter::kill() {
  if (running_) ::kill(process_, SIGKILL);
}

Error Starter::why() const {
  if (!WIFEXITED(status_))
    return {BALEEN_PEER_LOST, "`" + program_ + "` was killed by " + signal_name(WTERMSIG(status_)), {}};
  const int code = WEXITSTATUS(status_);
  if (code == kNoFolder)
    return {BALEEN_NOT_FOUND, "has no folder " + folder_ + "; every host needs the same paths as the first", {}};
  if (code == kNoProgram)
    return {BALEEN_NOT_FOUND, "has no program " + file_ + "; every host needs the same paths as the first", {}};
  if (code == kOfSsh)
    return {BALEEN_IO, "`" + program_ + "` could not reach it (exit code 255); what it said is above", {}};
  return {BALEEN_INVALID,
          "`" + program_ + "` ended with exit code " + std::to_string(code) +
              " before the host joined; what was said there is above",
          {}};
}

}  // namespace baleen::launchers
