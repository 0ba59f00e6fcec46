/// \file Signals through a signalfd.
#include "common/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace baleen::launchers {
namespace {

constexpr std::array kPassedOn = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

bool is_ignored(int signal) {
  struct sigaction now = {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

Result<Signals> Signals::open(bool stops) {
  Signals signals;
  sigset_t ours;
  sigemptyset(&ours);
  sigaddset(&ours, SIGCHLD);
  sigaddset(&ours, SIGPIPE);
  for (const int signal : kPassedOn)
    if (!is_ignored(signal)) sigaddset(&ours, signal);
  if (stops && !is_ignored(SIGTSTP)) sigaddset(&ours, SIGTSTP);
  signals.source_ = FileHandle(signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!signals.source_) return Error{BALEEN_IO, std::string("cannot watch signals: ") + std::strerror(errno), {}};
  pthread_sigmask(SIG_BLOCK, &ours, &signals.before_);
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;  // a parent's SIG_IGN would let the system forget how our children ended
  sigaction(SIGCHLD, &standard, &signals.child_);
  return signals;
}

Signals::~Signals() {
  if (!source_) return;
  take();  // what is still unread would otherwise arrive now
  sigaction(SIGCHLD, &child_, nullptr);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::vector<Arrived> Signals::take() {
  std::vector<Arrived> all;
  signalfd_siginfo info{};
  while (read(source_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
    all.push_back({static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL});
  return all;
}

bool Signals::is_passed_on(int signal) { return std::ranges::count(kPassedOn, signal) > 0; }

}  // namespace baleen::launchers
