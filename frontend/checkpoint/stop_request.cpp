/// \file Handlers that only note, and set an alarm.
#include "frontend/checkpoint/stop_request.hpp"

#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <cmath>

namespace baleen {
namespace {

// A handler gets no context, so what it notes belongs to the process.
std::atomic<int> noted{0};
std::atomic<long> grace_microseconds{0};
struct sigaction before_int, before_term, before_alarm;

static_assert(std::atomic<int>::is_always_lock_free && std::atomic<long>::is_always_lock_free);

void end_by(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t own;
  sigemptyset(&own);
  sigaddset(&own, signal);
  pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
  raise(signal);
}

void note(int signal) {
  if (noted.exchange(signal) != 0) return end_by(signal);
  const long microseconds = grace_microseconds;
  const itimerval timer{{0, 0}, {microseconds / 1'000'000, microseconds % 1'000'000}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void give_up(int) { end_by(noted); }

void handle(int signal, void (*handler)(int), struct sigaction& before) {
  struct sigaction own = {};
  own.sa_handler = handler;
  own.sa_flags = SA_RESTART;
  sigaction(signal, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(signal, &own, nullptr);
}

}  // namespace

StopRequest::StopRequest(double grace_seconds) {
  noted = 0;
  grace_microseconds = std::lround(grace_seconds * 1e6);
  handle(SIGALRM, &give_up, before_alarm);
  handle(SIGINT, &note, before_int);
  handle(SIGTERM, &note, before_term);
}

StopRequest::~StopRequest() {
  const itimerval none{};
  setitimer(ITIMER_REAL, &none, nullptr);
  sigaction(SIGINT, &before_int, nullptr);
  sigaction(SIGTERM, &before_term, nullptr);
  sigaction(SIGALRM, &before_alarm, nullptr);
}

int StopRequest::signal() { return noted; }

std::string StopRequest::name(int signal) {
  return signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "signal " + std::to_string(signal);
}

}  // namespace baleen
