/// \file What a launcher does for its ranks each time that something happens.
#include "common/local_ranks.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace baleen::launchers {
namespace {

Error stopped(Clock::duration silence) {
  return {BALEEN_PEER_LOST, "stopped by a signal (as by kill -STOP) and silent for " + seconds_text(silence), {}};
}

}  // namespace

LocalRanks::LocalRanks(const LaunchOptions& options, const Topology& topology, RankEvents& events, LineSink& out,
                       LineSink& err)
    : options_(options),
      topology_(topology),
      events_(events),
      out_(out),
      err_(err),
      first_(topology.ranks_of(options.host_index).front()) {}

Status LocalRanks::start(const sigset_t& signals, const std::string& address) {
  if (!options_.obstacle.empty()) return invalid(options_.obstacle);
  const std::vector<int> numbers = topology_.ranks_of(options_.host_index);
  for (const int rank : numbers) {
    ProcessStart start;
    start.command = options_.command;
    start.signals = signals;
    if (!options_.cpus.empty()) start.cpus = options_.cpus[static_cast<std::size_t>(rank - first_)];
    Place place = topology_.place(rank, options_.threads);
    place.address = address;
    BALEEN_TRY_ASSIGN(auto process, RankProcess::start(place, std::move(start), options_.mark));
    ranks_.push_back(std::move(process));
  }
  return {};
}

void LocalRanks::add_polls(std::vector<pollfd>& all) const {
  for (const auto& rank : ranks_) {
    all.push_back({rank->link(), static_cast<short>(rank->has_rest() ? POLLIN | POLLOUT : POLLIN), 0});
    all.push_back({out_.is_full() ? -1 : rank->out(), POLLIN, 0});
    all.push_back({err_.is_full() ? -1 : rank->err(), POLLIN, 0});
  }
}

void LocalRanks::turn(Clock::time_point now) {
  for (const auto& rank : ranks_) {
    rank->send_rest();
    serve(*rank, now);
    rank->read_output(out_, err_);
    reap(*rank, now);
    watch(*rank, now);
  }
}

void LocalRanks::forgive(Clock::duration pause) {
  for (const auto& rank : ranks_) rank->forgive(pause);
}

void LocalRanks::send(int rank, const Message& message) {
  if (ranks_.empty()) return;
  ranks_[static_cast<std::size_t>(rank - first_)]->send(message);
}

void LocalRanks::send_all(const Message& message) {
  for (const auto& rank : ranks_) rank->send(message);
}

void LocalRanks::signal(int signal, bool came_too) {
  signals_sent_.insert(signal);
  if (came_too) return;
  for (const auto& rank : ranks_) rank->signal(signal);
}

bool LocalRanks::any_running() const { return std::ranges::any_of(ranks_, &RankProcess::is_running); }

void LocalRanks::serve(RankProcess& rank, Clock::time_point now) {
  auto messages = rank.receive(now);
  const int number = rank.place().rank;
  if (rank.last_heard() == now) events_.moved(number, rank.moment());
  if (!messages) return condemn(rank, messages.error());
  for (Message& message : *messages) {
    rank.done = rank.done || message.kind == MessageKind::done;
    events_.said(number, message);
  }
}

void LocalRanks::reap(RankProcess& rank, Clock::time_point now) {
  const auto status = rank.take_end();
  if (!status) return;
  serve(rank, now);  // its last words may have come after we looked
  rank.finish_output(out_, err_);
  // Rank 0 may have been cut off within a line of its terminal, such as a progress bar.
  if (rank.place().rank == 0 && WIFSIGNALED(*status) && isatty(STDERR_FILENO)) err_.add("\n");
  const bool told = WIFSIGNALED(*status) && signals_sent_.contains(WTERMSIG(*status));
  events_.ended(rank.place().rank, {*status, rank.was_killed(), rank.done, told, rank.moment()});
}

void LocalRanks::condemn(RankProcess& rank, Error error) {
  events_.condemned(rank.place().rank, {std::move(error), rank.moment()});
  rank.kill();
}

void LocalRanks::watch(RankProcess& rank, Clock::time_point now) {
  if (!rank.is_running() || rank.was_killed()) return;
  const Timeouts& timeouts = options_.timeouts;
  const Clock::duration silence = now - rank.last_heard();
  if (rank.link() < 0) return watch_leaving(rank, silence);
  if (silence < std::min(timeouts.stopped, timeouts.silent)) return;
  const char state = process_state(rank.process());
  if (state == 't') {
    rank.forgive(silence);  // its next words come some time after the debugger has let it go
    if (std::exchange(rank.debugger_seen, true)) return;
    options_.log.warning("rank " + std::to_string(rank.place().rank) + " is held by a debugger; waiting for it");
    events_.held(rank.place().rank);
  } else if (state == 'T') {
    if (silence >= timeouts.stopped) condemn(rank, stopped(silence));
  } else if (silence >= (rank.has_greeted() ? timeouts.silent : timeouts.greeting)) {
    condemn(rank, {BALEEN_PEER_LOST, "silent for " + seconds_text(silence) + " though its process lives", {}});
  }
}

void LocalRanks::watch_leaving(RankProcess& rank, Clock::duration silence) {
  const Timeouts& timeouts = options_.timeouts;
  const bool is_stopped = silence >= timeouts.stopped && process_state(rank.process()) == 'T';
  if (silence < timeouts.leaving && !is_stopped) return;
  if (!rank.done && is_stopped) return condemn(rank, stopped(silence));
  if (!rank.done) return condemn(rank, internal("closed its control channel and went on"));
  options_.log.warning("rank " + std::to_string(rank.place().rank) + " was done but " +
                       (is_stopped ? "was stopped by a signal (as by kill -STOP) for " : "did not end for ") +
                       seconds_text(silence) + "; it is killed");
  rank.kill();
}

void LocalRanks::end_leftovers(Clock::time_point now, const std::function<bool(int rank)>& is_spared) {
  for (const auto& rank : ranks_) {
    if (!rank->is_running() || rank->was_killed()) continue;
    if (is_spared && is_spared(rank->place().rank)) continue;
    // Others may have lost patience with it before the launcher did.
    if (process_state(rank->process()) == 'T') {
      condemn(*rank, stopped(now - rank->last_heard()));
    } else {
      options_.log.debug("rank " + std::to_string(rank->place().rank) + " did not leave in time; it is killed");
      rank->kill();
    }
  }
}

}  // namespace baleen::launchers
