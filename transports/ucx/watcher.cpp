/// \file The thread that polls a file when it is asked to.
#include "watcher.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace baleen::ucx {

std::thread quiet_thread(const char* name, std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

Watcher::Watcher(int file, std::function<void()> ring)
    : file_(file), ring_(std::move(ring)), woken_(made_file(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "an event")) {
  thread_ = quiet_thread("baleen-ucx-poll", [this] { watch(); });
}

Watcher::~Watcher() {
  leaving_ = true;
  wake();
  thread_.join();
}

void Watcher::ask() {
  if (!asked_.exchange(true)) wake();
}

void Watcher::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(woken_.get(), &one, sizeof one);  // fails only where it is awake anyway
}

void Watcher::watch() {
  while (!leaving_) {
    pollfd ends[] = {{woken_.get(), POLLIN, 0}, {asked_ ? file_ : -1, POLLIN, 0}};
    if (poll(ends, 2, -1) < 0) continue;
    std::uint64_t count = 0;
    if (ends[0].revents && read(woken_.get(), &count, sizeof count) < 0) continue;
    if (!ends[1].revents) continue;
    asked_ = false;
    ring_();
  }
}

}  // namespace baleen::ucx
