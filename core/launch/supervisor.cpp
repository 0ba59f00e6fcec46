/// \file What the launcher does each time that something happens.
#include "core/launch/supervisor.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "core/launch/cpu_sets.hpp"

namespace baleen {
namespace {

constexpr int kTickMilliseconds = 50;
/// A longer pause between two turns means that this process itself was stopped or starved: then silence proves nothing.
constexpr std::chrono::seconds kOwnPause{1};

Error stopped(Clock::duration silence) {
  return {BALEEN_PEER_LOST, "stopped by a signal (as by kill -STOP) and silent for " + seconds_text(silence), {}};
}

}  // namespace

Supervisor::Supervisor(const LaunchOptions& options)
    : options_(options),
      out_(STDOUT_FILENO),
      err_(STDERR_FILENO),
      store_(options.ranks),
      cause_(options.ranks, options.host),
      last_turn_(Clock::now()),
      progress_(options.ranks, last_turn_) {}

Status Supervisor::start() {
  BALEEN_TRY_ASSIGN(signals_, Signals::open());
  const CpuShares shares = share_cpus(usable_cpus(), options_.ranks, options_.threads);
  for (int rank = 0; rank < options_.ranks; ++rank) {
    const Place place{rank, options_.ranks, rank, options_.ranks, options_.host, shares.threads};
    ProcessStart start;
    start.command = options_.command;
    start.signals = signals_->before();
    if (!shares.sets.empty()) start.cpus = shares.sets[static_cast<std::size_t>(rank)];
    BALEEN_TRY_ASSIGN(auto process, RankProcess::start(place, std::move(start)));
    ranks_.push_back(std::move(process));
  }
  return {};
}

Outcome Supervisor::run() {
  while (!is_over()) {
    wait();
    const Clock::time_point now = Clock::now();
    if (now - last_turn_ > kOwnPause) {
      for (const auto& rank : ranks_) rank->forgive(now);
      progress_.forgive(now);
    }
    last_turn_ = now;
    turn(now);
  }
  for (const std::string& line : cause_.consequences()) options_.log.debug(line);
  return cause_.outcome();
}

bool Supervisor::is_over() const {
  return out_.empty() && err_.empty() && std::ranges::none_of(ranks_, &RankProcess::is_running);
}

void Supervisor::wait() {
  std::vector<pollfd> all = {{signals_->descriptor(), POLLIN, 0},
                             {out_.empty() ? -1 : out_.descriptor(), POLLOUT, 0},
                             {err_.empty() ? -1 : err_.descriptor(), POLLOUT, 0}};
  for (const auto& rank : ranks_) {
    all.push_back({rank->link(), static_cast<short>(rank->has_rest() ? POLLIN | POLLOUT : POLLIN), 0});
    all.push_back({out_.is_full() ? -1 : rank->out(), POLLIN, 0});
    all.push_back({err_.is_full() ? -1 : rank->err(), POLLIN, 0});
  }
  if (poll(all.data(), all.size(), kTickMilliseconds) < 0) return;
  out_ready_ = all[1].revents != 0;
  err_ready_ = all[2].revents != 0;
}

void Supervisor::turn(Clock::time_point now) {
  if (std::exchange(out_ready_, false)) out_.flush();
  if (std::exchange(err_ready_, false)) err_.flush();
  take_signals();
  for (const auto& rank : ranks_) {
    rank->send_rest();
    serve(*rank, now);
    rank->read_output(out_, err_);
    reap(*rank, now);
    watch(*rank, now);
  }
  watch_rendezvous(now);
  watch_progress(now);
  watch_ending(now);
}

void Supervisor::take_signals() {
  for (const Arrived& arrived : signals_->take()) {
    if (!Signals::is_passed_on(arrived.signal)) continue;
    passed_on_.insert(arrived.signal);
    if (arrived.to_all) continue;
    for (const auto& rank : ranks_) rank->signal(arrived.signal);
  }
}

void Supervisor::serve(RankProcess& rank, Clock::time_point now) {
  auto messages = rank.receive(now);
  if (!messages) return condemn(rank, messages.error());
  for (Message& message : *messages) serve(rank, message);
}

void Supervisor::serve(RankProcess& rank, Message& message) {
  const int number = rank.place().rank;
  switch (message.kind) {
    case MessageKind::put: return answer(store_.put(number, message.request, message.key, message.value));
    case MessageKind::get: return answer(store_.get(number, message.request, message.key));
    case MessageKind::barrier: return answer(store_.barrier(number, message.request, message.key));
    case MessageKind::done: rank.done = true; return answer(store_.leave(number));
    case MessageKind::fail:
      if (Result<Failure> failure = failure_from(message.value)) return cause_.failed(number, *std::move(failure));
      [[fallthrough]];
    default: return condemn(rank, internal("a message on the control channel makes no sense"));
  }
}

void Supervisor::answer(const Store::Answers& answers) {
  for (const Store::Answer& each : answers)
    ranks_[static_cast<std::size_t>(each.rank)]->send({MessageKind::reply, each.request, each.code, {}, each.value});
}

void Supervisor::reap(RankProcess& rank, Clock::time_point now) {
  const auto status = rank.take_end();
  if (!status) return;
  serve(rank, now);  // its last words may have come after we looked
  rank.finish_output(out_, err_);
  // Rank 0 may have been cut off within a line of its terminal, such as a progress bar.
  if (rank.place().rank == 0 && WIFSIGNALED(*status) && isatty(STDERR_FILENO)) err_.add("\n");
  if (!rank.was_killed()) judge_end(rank, *status);
  answer(store_.leave(rank.place().rank));
}

void Supervisor::judge_end(RankProcess& rank, int status) {
  const int number = rank.place().rank;
  if (WIFEXITED(status)) {
    if (WEXITSTATUS(status) != 0 || !rank.done) cause_.exited(number, WEXITSTATUS(status), rank.moment());
  } else if (passed_on_.contains(WTERMSIG(status))) {
    cause_.told_to_end(number, WTERMSIG(status));
  } else {
    cause_.killed(number, WTERMSIG(status), rank.moment());
  }
}

void Supervisor::condemn(RankProcess& rank, Error error) {
  cause_.judged(rank.place().rank, std::move(error), rank.moment());
  rank.kill();
}

void Supervisor::watch(RankProcess& rank, Clock::time_point now) {
  if (!rank.is_running() || rank.was_killed()) return;
  const Patience& patience = options_.patience;
  const Clock::duration silence = now - rank.last_heard();
  if (rank.link() < 0) return watch_leaving(rank, silence);
  if (silence < std::min(patience.stopped, patience.silent)) return;
  const char state = process_state(rank.process());
  if (state == 't') {
    if (!std::exchange(rank.debugger_seen, true))
      options_.log.warning("rank " + std::to_string(rank.place().rank) + " is held by a debugger; waiting for it");
  } else if (state == 'T') {
    if (silence >= patience.stopped) condemn(rank, stopped(silence));
  } else if (silence >= (rank.has_greeted() ? patience.silent : patience.greeting)) {
    condemn(rank, {BALEEN_PEER_LOST, "silent for " + seconds_text(silence) + " though its process lives", {}});
  }
}

void Supervisor::watch_leaving(RankProcess& rank, Clock::duration silence) {
  if (silence < options_.patience.leaving) return;
  if (!rank.done) return condemn(rank, internal("closed its control channel and went on"));
  options_.log.warning("rank " + std::to_string(rank.place().rank) + " was done but did not end for " +
                       seconds_text(silence) + "; it is killed");
  rank.kill();
}

void Supervisor::watch_rendezvous(Clock::time_point now) {
  const auto wait = store_.oldest_wait();
  if (!wait || cause_.any()) return watched_.reset();
  if (!watched_ || watched_->wait != *wait) watched_ = {*wait, now, options_.patience.remind};
  const Clock::duration waited = now - watched_->since;
  if (waited >= options_.patience.give_up) {
    const std::string text = "gave up after " + seconds_text(waited) + ": " + store_.waiting_text();
    return cause_.judged(wait->rank, {BALEEN_TIMEOUT, text, {}}, {});
  }
  if (waited < watched_->remind_after) return;
  options_.log.warning(store_.waiting_text() + " (" + seconds_text(waited) + ")");
  watched_->remind_after *= 2;
}

/// Nothing tells a rank that computes for long from one that never comes back; the limit is as that of the rendezvous.
void Supervisor::watch_progress(Clock::time_point now) {
  bool held = false;
  for (const auto& rank : ranks_) {
    progress_.see(rank->place().rank, rank->moment(), now);
    held = held || rank->debugger_seen;
  }
  const auto since = progress_.stalled_since();
  const Patience& patience = options_.patience;
  if (!since || held || cause_.any() || now - *since < patience.stalled) return remind_of_stall_after_.reset();
  const Clock::duration stall = now - *since;
  if (stall >= patience.give_up) {
    const int rank = progress_.last();
    const std::string text = "gave up after " + seconds_text(stall) + " without a collective: " + progress_.text();
    return cause_.judged(rank, {BALEEN_TIMEOUT, text, {}}, {});
  }
  if (stall < remind_of_stall_after_.value_or(patience.stalled)) return;
  options_.log.warning(progress_.text() + " (" + seconds_text(stall) + ")");
  remind_of_stall_after_ = stall * 2;
}

void Supervisor::watch_ending(Clock::time_point now) {
  if (!cause_.any()) return;
  if (!kill_at_) {
    kill_at_ = now + options_.patience.grace;
    for (const auto& rank : ranks_) rank->send({MessageKind::abort, 0, BALEEN_PEER_LOST, {}, cause_.reason()});
  }
  if (now < *kill_at_) return;
  for (const auto& rank : ranks_) {
    if (!rank->is_running() || rank->was_killed()) continue;
    // Others may have lost patience with it before the launcher did.
    if (process_state(rank->process()) == 'T') {
      condemn(*rank, stopped(now - rank->last_heard()));
    } else {
      options_.log.debug("rank " + std::to_string(rank->place().rank) + " did not leave in time; it is killed");
      rank->kill();
    }
  }
}

}  // namespace baleen
