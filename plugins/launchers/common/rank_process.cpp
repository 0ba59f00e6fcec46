/// \file The launcher's end of a rank's channel and pipes.
#include "common/rank_process.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "common/left_behind.hpp"
#include "common/rank_channel.hpp"

namespace baleen::launchers {
namespace {

/// What the rank holds until its program runs.
struct FarEnds {
  FileHandle link, out, err;
};

Error no_channel() { return {BALEEN_IO, std::string("cannot make a channel to a rank: ") + std::strerror(errno), {}}; }

Status open_pipe(FileHandle& near, FileHandle& far) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return no_channel();
  near = FileHandle(ends[0]);
  far = FileHandle(ends[1]);
  fcntl(near.get(), F_SETFL, O_NONBLOCK);
  return {};
}

/// Reads what there is, up to about 1 MiB (more than a pipe holds); closes `from` at its end.
template <class Take>
void read_some(FileHandle& from, Take take) {
  std::array<char, 16384> bytes;
  for (int blocks = 0; from && blocks < 64; ++blocks) {
    const ssize_t got = read(from.get(), bytes.data(), bytes.size());
    if (got > 0) take(std::string_view(bytes.data(), static_cast<std::size_t>(got)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) from.close();
  }
}

}  // namespace

RankProcess::RankProcess(const Place& place)
    : place_(place),
      out_lines_("[rank " + std::to_string(place.rank) + "] "),
      err_lines_(out_lines_),
      last_heard_(Clock::now()) {}

RankProcess::~RankProcess() {
  if (!running_) return;
  ::kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

Result<std::unique_ptr<RankProcess>> RankProcess::start(const Place& place, ProcessStart start,
                                                        const std::string& mark) {
  auto rank = std::unique_ptr<RankProcess>(new RankProcess(place));
  BALEEN_TRY(rank->spawn(std::move(start), mark));
  rank->send({MessageKind::welcome, 0, BALEEN_OK, std::string(RankChannel::kGreeting), to_bytes(place)});
  return rank;
}

Status RankProcess::spawn(ProcessStart start, const std::string& mark) {
  FarEnds far;
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return no_channel();
  link_ = FileHandle(ends[0]);
  far.link = FileHandle(ends[1]);
  fcntl(link_.get(), F_SETFL, O_NONBLOCK);
  start.keeps_input = place_.rank == 0;
  if (place_.rank != 0) {
    BALEEN_TRY(open_pipe(out_, far.out));
    BALEEN_TRY(open_pipe(err_, far.err));
  }
  start.link = far.link.get();
  start.out = far.out.get();
  start.err = far.err.get();
  start.command.insert(start.command.begin() + 1, mark + std::to_string(start.link));
  begin_ = std::time(nullptr);
  BALEEN_TRY_ASSIGN(process_, start_process(start));
  running_ = true;
  return {};
}

void RankProcess::send(const Message& message) {
  if (!link_) return;
  rest_ += to_frame(message);
  send_rest();
}

void RankProcess::send_rest() {
  while (link_ && !rest_.empty()) {
    const ssize_t sent = ::send(link_.get(), rest_.data(), rest_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) return rest_.clear();  // the other end is closed; reading tells
    rest_.erase(0, static_cast<std::size_t>(sent));
  }
}

Result<std::vector<Message>> RankProcess::receive(Clock::time_point now) {
  read_some(link_, [&](std::string_view bytes) {
    frames_.add(bytes);
    last_heard_ = now;
  });
  std::vector<Message> messages;
  for (;;) {
    BALEEN_TRY_ASSIGN(std::optional<Message> message, frames_.next());
    if (!message) return messages;
    greeted_ = true;
    if (message->kind == MessageKind::beat) {
      BALEEN_TRY_ASSIGN(moment_, moment_from(message->value));
    } else {
      messages.push_back(std::move(*message));
    }
  }
}

void RankProcess::read_output(LineSink& out, LineSink& err) {
  if (!out.is_full()) read_some(out_, [&](std::string_view bytes) { out_lines_.add(bytes, out); });
  if (!err.is_full()) read_some(err_, [&](std::string_view bytes) { err_lines_.add(bytes, err); });
}

void RankProcess::finish_output(LineSink& out, LineSink& err) {
  // A process that the rank left behind may hold the other ends open; what the rank itself wrote is all there.
  read_some(out_, [&](std::string_view bytes) { out_lines_.add(bytes, out); });
  read_some(err_, [&](std::string_view bytes) { err_lines_.add(bytes, err); });
  out_lines_.end(out);
  err_lines_.end(err);
  out_.close();
  err_.close();
}

std::optional<int> RankProcess::take_end() {
  int status = 0;
  if (!running_ || waitpid(process_, &status, WNOHANG) != process_) return std::nullopt;
  running_ = false;
  remove_shared_memory_of(process_, begin_);
  return status;
}

void RankProcess::signal(int signal) const {
  if (running_) ::kill(process_, signal);
}

void RankProcess::kill() {
  killed_ = true;
  signal(SIGKILL);
}

}  // namespace baleen::launchers
