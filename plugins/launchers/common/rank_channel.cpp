/// \file Requests from any thread, answers through the link's own.
#include "common/rank_channel.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <csignal>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "baleen/file_handle.hpp"
#include "common/process.hpp"
#include "common/timeouts.hpp"
#include "common/wire.hpp"

namespace baleen::launchers {
namespace {

constexpr int kGreetingMilliseconds = 10'000;

/// Receives something, waiting at most that long. False at the end of the stream, or if nothing came.
bool receive(int socket, Frames& into, int milliseconds) {
  pollfd ready{socket, POLLIN, 0};
  if (poll(&ready, 1, milliseconds) <= 0) return false;
  char bytes[16384];
  const ssize_t got = recv(socket, bytes, sizeof bytes, 0);
  if (got > 0) into.add(std::string_view(bytes, static_cast<std::size_t>(got)));
  return got > 0;
}

/// Threads made while this lives leave every signal to the main thread.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

struct RankChannel::Impl {
  FileHandle socket, stop_event;
  Place place;
  Frames frames;
  std::mutex sending;

  std::mutex mutex;  ///< of the four below
  std::condition_variable changed;
  std::map<std::uint32_t, Message> replies;
  std::uint32_t last_request = 0;
  Status state;

  std::mutex calling;  ///< held while it is called
  std::function<void(const std::string&)> lost;

  std::atomic<std::int64_t> step{-1};
  std::atomic<const char*> phase{""};
  std::atomic<std::int64_t> collective{-1};
  std::atomic<const char*> program{""}, stands_in{""};
  std::atomic<std::uint64_t> runs{0};    ///< how many, and their hash above: one number, since only both together tell
  std::atomic<std::uint64_t> passed{0};  ///< as of the last beat
  std::thread thread;
  Clock::time_point launcher_ran = Clock::now();  ///< when it was last seen not to be stopped

  ProgressSnapshot moment() const {
    const std::uint64_t both = runs;
    return {step,
            phase.load(),
            collective,
            static_cast<std::uint32_t>(both),
            static_cast<std::uint32_t>(both >> 32),
            program.load(),
            stands_in.load(),
            passed};
  }
  bool send_bytes(std::string_view bytes, int flags);
  void send(const Message& message);
  void beat();
  Result<std::string> request(MessageKind kind, const std::string& key, std::string value);

  void listen();
  bool take_messages();
  void abort(const std::string& reason);
  bool misses_launcher(Clock::time_point now);
  void end_without_launcher(const std::string& why);
  bool stops_within(int milliseconds) const;
};

bool RankChannel::Impl::send_bytes(std::string_view bytes, int flags) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), flags | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
    flags = 0;  // half a message must not stay half
  }
  return true;
}

void RankChannel::Impl::send(const Message& message) {
  const std::string frame = to_frame(message);  // throws, where memory is short, while nothing is locked
  const std::lock_guard lock(sending);
  send_bytes(frame, 0);  // if the launcher is gone, listening finds out
}

void RankChannel::Impl::beat() {
  passed = bytes_passed() / ProgressSnapshot::kPassedUnit;
  const std::string frame = to_frame({MessageKind::beat, 0, BALEEN_OK, {}, to_bytes(moment())});
  // Who holds the lock is sending, which the launcher hears as well. A full channel means that it is behind.
  const std::unique_lock lock(sending, std::try_to_lock);
  if (lock) send_bytes(frame, MSG_DONTWAIT);
}

Result<std::string> RankChannel::Impl::request(MessageKind kind, const std::string& key, std::string value) {
  std::uint32_t number = 0;
  {
    const std::lock_guard lock(mutex);
    if (!state) return state.error();
    number = ++last_request;
  }
  send({kind, number, BALEEN_OK, key, std::move(value)});
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return !state || replies.contains(number); });
  const auto reply = replies.extract(number);
  if (!reply) return state.error();
  if (reply.mapped().code != BALEEN_OK) return Error{reply.mapped().code, reply.mapped().value, {}};
  return std::move(reply.mapped().value);
}

bool RankChannel::Impl::stops_within(int milliseconds) const {
  pollfd stop{stop_event.get(), POLLIN, 0};
  return poll(&stop, 1, milliseconds) > 0;
}

void RankChannel::Impl::listen() {
  auto next_beat = Clock::now();
  for (;;) {
    const auto now = Clock::now();
    if (now >= next_beat) {
      if (misses_launcher(now)) return end_without_launcher("the launcher of this host is stopped");
      beat();
      next_beat = now + Timeouts::kBeat;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_beat - now);
    std::array<pollfd, 2> ready = {{{socket.get(), POLLIN, 0}, {stop_event.get(), POLLIN, 0}}};
    poll(ready.data(), ready.size(), static_cast<int>(left.count()));
    if (ready[1].revents) return;
    if (ready[0].revents && !(receive(socket.get(), frames, 0) && take_messages()))
      return end_without_launcher("the launcher is gone");
  }
}

bool RankChannel::Impl::take_messages() {
  for (;;) {
    auto next = frames.next();
    if (!next) return false;
    if (!*next) return true;
    Message& message = **next;
    if (message.kind == MessageKind::abort) abort(message.value);
    if (message.kind != MessageKind::reply) continue;
    const std::lock_guard lock(mutex);
    replies.emplace(message.request, std::move(message));
    changed.notify_all();
  }
}

void RankChannel::Impl::abort(const std::string& reason) {
  {
    const std::lock_guard lock(mutex);
    if (!state) return;
    state = Error{BALEEN_PEER_LOST, reason, {}};
    changed.notify_all();
  }
  const std::lock_guard lock(calling);
  if (lost) lost(reason);
}

/// On one host a stopped launcher is waited for, since all the job is here. On several the others go on without it.
bool RankChannel::Impl::misses_launcher(Clock::time_point now) {
  const std::vector<int>& hosts = place.host_of_rank;
  if (hosts.empty() || hosts.front() == hosts.back()) return false;
  if (process_state(getppid()) != 'T') launcher_ran = now;
  return now - launcher_ran >= Timeouts().heartbeat_timeout;
}

void RankChannel::Impl::end_without_launcher(const std::string& why) {
  abort(why);
  // Normally the system has killed this process by now (PR_SET_PDEATHSIG).
  const Timeouts timeouts;
  if (!stops_within(static_cast<int>(timeouts.grace.count()))) kill(getpid(), SIGKILL);
}

RankChannel::RankChannel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RankChannel::~RankChannel() {
  const std::uint64_t one = 1;
  if (write(impl_->stop_event.get(), &one, sizeof one) == static_cast<ssize_t>(sizeof one)) impl_->thread.join();
}

Result<std::unique_ptr<RankChannel>> RankChannel::inherited(std::string_view word) {
  int socket = -1;
  const char* const last = word.data() + word.size();
  const auto [end, code] = std::from_chars(word.data(), last, socket);
  if (code != std::errc() || end != last || socket <= STDERR_FILENO)
    return invalid("`" + std::string(word) + "` is no word of a launcher");
  BALEEN_TRY_ASSIGN(auto link, over(socket));
  // The launcher started /proc/self/exe, whose last part would be this process's name.
  prctl(PR_SET_NAME, ("baleen rank " + std::to_string(link->place().rank)).c_str());
  return link;
}

Result<std::unique_ptr<RankChannel>> RankChannel::over(int socket) {
  auto impl = std::make_unique<Impl>();
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  std::optional<Message> welcome;
  while (!welcome) {
    if (!receive(socket, impl->frames, kGreetingMilliseconds)) return invalid("no launcher at the other end");
    BALEEN_TRY_ASSIGN(welcome, impl->frames.next());
  }
  if (welcome->kind != MessageKind::welcome || welcome->key != kGreeting)
    return invalid("no launcher of this version at the other end");
  BALEEN_TRY_ASSIGN(impl->place, place_from(welcome->value));
  impl->socket = FileHandle(socket);
  impl->stop_event = made_file(eventfd(0, EFD_CLOEXEC), "an event");
  const SignalsBlocked blocked;
  impl->thread = std::thread([impl = impl.get()] {
    prctl(PR_SET_NAME, "rank link");
    impl->listen();
  });
  return std::unique_ptr<RankChannel>(new RankChannel(std::move(impl)));
}

const Place& RankChannel::place() const { return impl_->place; }

Status RankChannel::put(const std::string& key, std::string value) {
  BALEEN_TRY(impl_->request(MessageKind::put, key, std::move(value)));
  return {};
}

Result<std::string> RankChannel::get(const std::string& key) { return impl_->request(MessageKind::get, key, {}); }

Status RankChannel::barrier(const std::string& name) {
  BALEEN_TRY(impl_->request(MessageKind::barrier, name, {}));
  return {};
}

Status RankChannel::state() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->state;
}

void RankChannel::at(std::int64_t step, const char* phase) {
  impl_->step.store(step, std::memory_order_relaxed);
  impl_->phase.store(phase, std::memory_order_relaxed);
}

void RankChannel::begins(std::int64_t collective) { impl_->collective.store(collective, std::memory_order_relaxed); }

void RankChannel::runs(std::uint32_t count, std::uint32_t order, const char* program) {
  impl_->program.store(program, std::memory_order_relaxed);
  impl_->runs.store(static_cast<std::uint64_t>(order) << 32 | count, std::memory_order_relaxed);
}

void RankChannel::stands_in(const char* collective) { impl_->stands_in.store(collective, std::memory_order_relaxed); }

void RankChannel::fail(const Error& error, std::vector<std::string> recorded) {
  fail(Failure{error, impl_->moment(), std::move(recorded)});
}

void RankChannel::fail(const Failure& failure) {
  impl_->send({MessageKind::fail, 0, BALEEN_OK, {}, to_bytes(failure)});
}

void RankChannel::finish() { impl_->send({MessageKind::done}); }

void RankChannel::watch(std::function<void(const std::string& reason)> lost) {
  const std::lock_guard lock(impl_->calling);
  if (const Status lost_already = state(); !lost_already) return lost(lost_already.error().message);
  impl_->lost = std::move(lost);
}

}  // namespace baleen::launchers
