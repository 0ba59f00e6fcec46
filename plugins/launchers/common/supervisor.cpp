/// \file What the first launcher does each time that something happens.
#include "common/supervisor.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace baleen::launchers {

Supervisor::Supervisor(const LaunchOptions& options, const Topology& topology, const MakeOtherHosts& make_hosts)
    : options_(options),
      topology_(topology),
      out_(STDOUT_FILENO),
      err_(STDERR_FILENO),
      local_(options, topology, *this, out_, err_),
      store_(topology),
      cause_(topology),
      running_(static_cast<std::size_t>(topology.ranks())),
      last_turn_(Clock::now()),
      progress_(topology.ranks(), last_turn_),
      opened_(last_turn_),
      of_hosts_(options.timeouts.remind) {
  HostEvents& events = *this;
  if (topology.hosts() > 1) hosts_ = make_hosts(events, err_);
}

Status Supervisor::start() {
  BALEEN_TRY_ASSIGN(signals_, Signals::open(true));
  if (hosts_) return hosts_->open(signals_->before());
  started_ = true;
  running_.assign(running_.size(), true);
  return local_.start(signals_->before(), {});
}

Outcome Supervisor::run() {
  while (!is_over()) {
    wait();
    const Clock::time_point now = Clock::now();
    if (const Clock::duration pause = own_pause(last_turn_, now); pause > Clock::duration{}) {
      local_.forgive(pause);
      progress_.forgive(pause);
      opened_ += pause;
      if (watched_) watched_->since += pause;
      if (hosts_) hosts_->forgive(pause);
    }
    last_turn_ = now;
    turn(now);
  }
  for (const std::string& line : cause_.consequences()) options_.log.debug(line);
  Outcome outcome = cause_.outcome();
  if (!cause_.any()) outcome.status = out_.taken();
  return outcome;
}

bool Supervisor::any_running() const { return std::ranges::count(running_, true) > 0; }

bool Supervisor::is_over() {
  if (!started_ && !cause_.any()) return false;
  return !any_running() && !local_.any_running() && (!hosts_ || hosts_->is_over()) && out_.empty() && err_.empty();
}

void Supervisor::wait() {
  std::vector<pollfd> all = {{signals_->descriptor(), POLLIN, 0},
                             {out_.empty() ? -1 : out_.descriptor(), POLLOUT, 0},
                             {err_.empty() ? -1 : err_.descriptor(), POLLOUT, 0}};
  local_.add_polls(all);
  if (hosts_) hosts_->add_polls(all);
  if (poll(all.data(), all.size(), kTickMilliseconds) < 0) return;
  out_ready_ = all[1].revents != 0;
  err_ready_ = all[2].revents != 0;
}

void Supervisor::turn(Clock::time_point now) {
  if (std::exchange(out_ready_, false)) out_.flush();
  if (std::exchange(err_ready_, false)) err_.flush();
  take_signals();
  // After a pause of this process: what this host's ranks then say may follow from the loss of another host.
  if (hosts_) hosts_->turn(now);
  local_.turn(now);
  if (hosts_) {
    hold_output();
    watch_hosts(now);
  }
  watch_rendezvous(now);
  watch_progress(now);
  watch_ending(now);
  // The last word comes last: a reason that came behind it would stand for the whole outcome.
  if (hosts_) watch_farewell(now);
}

void Supervisor::take_signals() {
  for (const Arrived& arrived : signals_->take()) {
    if (arrived.signal == SIGTSTP) stop();
    if (!Signals::is_passed_on(arrived.signal)) continue;
    passed_on_.insert(arrived.signal);
    local_.signal(arrived.signal, arrived.to_all);
    if (hosts_) hosts_->send_all({MessageKind::signal, 0, arrived.signal});
    // There is no rank yet that could end by it.
    if (!started_) cause_.told_to_end(0, arrived.signal);
  }
}

/// Ctrl-Z: the ranks stop with this process and go on with it. Other hosts cannot tell it from one that is lost.
void Supervisor::stop() {
  if (hosts_)
    return options_.log.warning(
        "a job on several hosts goes on: it cannot be stopped and continued, because its other hosts would take this "
        "one for lost; end it with Ctrl-C (with checkpoints, `--resume` goes on from the last)");
  local_.signal(SIGSTOP, false);
  ::raise(SIGSTOP);
  local_.signal(SIGCONT, false);
}

void Supervisor::start_ranks() {
  started_ = true;
  if (const Status status = local_.start(signals_->before(), hosts_->own_address()); !status) {
    cause_.lost_host(0, status.error());
    return;
  }
  running_.assign(running_.size(), true);
  hosts_->send_all({MessageKind::start});
}

void Supervisor::send(int rank, const Message& message) {
  const int host = topology_.host_of(rank);
  if (host == options_.host_index) return local_.send(rank, message);
  Message relayed = message;
  relayed.rank = rank;
  hosts_->send(host, relayed);
}

void Supervisor::said(int rank, Message& message) {
  switch (message.kind) {
    case MessageKind::put: return answer(store_.put(rank, message.request, message.key, message.value));
    case MessageKind::get: return answer(store_.get(rank, message.request, message.key));
    case MessageKind::barrier: return answer(store_.barrier(rank, message.request, message.key));
    case MessageKind::done: return answer(store_.leave(rank));
    case MessageKind::fail:
      if (Result<Failure> failure = failure_from(message.value)) return cause_.failed(rank, *std::move(failure));
      [[fallthrough]];
    default: return nonsense(rank);
  }
}

void Supervisor::nonsense(int rank) {
  cause_.judged(rank, internal("a message on the control channel makes no sense"), {});
}

void Supervisor::answer(const Store::Answers& answers) {
  for (const Store::Answer& each : answers)
    send(each.rank, {MessageKind::reply, each.request, each.code, {}, each.value});
}

void Supervisor::moved(int rank, const ProgressSnapshot& moment) {
  progress_.see(rank, moment, last_turn_);
  if (!progress_.divergence() || cause_.any()) return;
  cause_.judged(rank, invalid(*progress_.divergence() + "; a script must do the same on every rank"), {});
}

void Supervisor::held(int rank) { held_.insert(rank); }

void Supervisor::condemned(int rank, const Failure& failure) { cause_.judged(rank, failure.error, failure.moment); }

void Supervisor::ended(int rank, const RankEnd& end) {
  if (!end.killed) judge_end(rank, end);
  leave(rank);
}

void Supervisor::leave(int rank) {
  running_[static_cast<std::size_t>(rank)] = false;
  const Store::Answers answers = store_.leave(rank);
  // Once the run is to end they hear why, and not what follows from it.
  if (!cause_.any()) answer(answers);
  if (!hosts_) return;
  const int host = topology_.host_of(rank);
  const auto runs = [&](int each) { return running_[static_cast<std::size_t>(each)]; };
  if (std::ranges::none_of(topology_.ranks_of(host), runs)) hosts_->excuse(host);
}

void Supervisor::judge_end(int rank, const RankEnd& end) {
  if (WIFEXITED(end.status)) {
    if (WEXITSTATUS(end.status) != 0 || !end.done) cause_.exited(rank, WEXITSTATUS(end.status), end.moment);
  } else if ((end.told && passed_on_.contains(WTERMSIG(end.status))) ||
             (WTERMSIG(end.status) == SIGPIPE && !out_.has_reader())) {
    cause_.told_to_end(rank, WTERMSIG(end.status));
  } else if (end.told) {
    const std::string text = "the launcher there was told to end by " + signal_name(WTERMSIG(end.status));
    cause_.judged(rank, {BALEEN_PEER_LOST, text, {}}, end.moment);
  } else {
    cause_.killed(rank, WTERMSIG(end.status), end.moment);
  }
}

void Supervisor::all_here() { start_ranks(); }

void Supervisor::host_said(int host, Message& message) {
  const int rank = message.rank;
  if (message.kind == MessageKind::broke) return host_lost(host, {message.code, message.value, {}});
  if (message.kind == MessageKind::output) return (message.code ? err_ : out_).add(message.value);
  if (rank < 0) return host_lost(host, internal("its launcher says what makes no sense"));
  switch (message.kind) {
    case MessageKind::held: return held(rank);
    case MessageKind::beat:
      if (const auto moment = moment_from(message.value)) return moved(rank, *moment);
      return nonsense(rank);
    case MessageKind::condemned:
      if (const auto failure = failure_from(message.value)) return condemned(rank, *failure);
      return nonsense(rank);
    case MessageKind::ended:
      if (const auto end = rank_end_from(message.value)) return ended(rank, *end);
      return nonsense(rank);
    default: return said(rank, message);
  }
}

void Supervisor::host_lost(int host, Error error) {
  cause_.lost_host(host, std::move(error));
  for (const int rank : topology_.ranks_of(host)) leave(rank);
}

/// The other hosts' ranks wait for a slow reader as this host's do.
void Supervisor::hold_output() {
  const bool full = out_.is_full() || err_.is_full();
  if (std::exchange(output_held_, full) != full) hosts_->send_all({MessageKind::pause, 0, full ? 1 : 0});
}

}  // namespace baleen::launchers
