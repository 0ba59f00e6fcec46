/// \file What the first launcher notices by the clock.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "baleen/launcher.h"
#include "common/supervisor.hpp"

namespace baleen::launchers {

void Supervisor::watch_hosts(Clock::time_point now) {
  if (started_ || cause_.any()) return;
  const Clock::duration waited = now - opened_;
  if (waited >= options_.timeouts.arrive) {
    const std::string text = "gave up after " + seconds_text(waited) + ": " + hosts_->missing();
    return cause_.lost_host(-1, {BALEEN_TIMEOUT, text, {}});
  }
  if (of_hosts_.are_due(waited)) options_.log.warning(hosts_->missing() + " to join (" + seconds_text(waited) + ")");
}

void Supervisor::watch_rendezvous(Clock::time_point now) {
  const auto wait = store_.oldest_wait();
  if (watched_ && (!wait || watched_->wait != *wait)) {
    usual_wait_.saw(now - watched_->since);
    watched_.reset();
  }
  // Begins anew when a debugger lets its rank go on.
  if (!wait || cause_.any() || (!held_.empty() && misses_silent_rank(now))) return watched_.reset();
  if (!watched_) watched_ = {*wait, now, Reminders(options_.timeouts.remind)};
  const Clock::duration waited = now - watched_->since;
  // A job that goes on is not stuck: a large checkpoint is written, or text is read for long, and others wait.
  if (now - std::max(watched_->since, progress_.worked()) >= options_.timeouts.give_up) {
    const std::string text = "gave up after " + seconds_text(waited) + ": " + store_.waiting_text();
    return cause_.judged(wait->rank, {BALEEN_TIMEOUT, text, {}}, {});
  }
  // Ranks that start on a busy machine are late for no other reason, and so are their beats. Who writes a large
  // checkpoint is waited for at each.
  const Timeouts& timeouts = options_.timeouts;
  const Clock::duration late = progress_.patience(timeouts.remind, timeouts.stalled_at_most);
  const Clock::duration usual = std::min<Clock::duration>(usual_wait_.patience(), timeouts.stalled_at_most);
  if (waited < timeouts.remind || misses_silent_rank(now)) return;
  if (watched_->reminders.are_due(waited, std::max(late, usual)))
    options_.log.warning(store_.waiting_text() + " (" + seconds_text(waited) + ")");
}

/// That run and wait for nobody at the rendezvous.
std::set<int> Supervisor::ranks_on_their_way() const {
  const std::set<int> waiting = store_.waiting_ranks();
  std::set<int> ranks;
  for (int rank = 0; rank < topology_.ranks(); ++rank)
    if (running_[static_cast<std::size_t>(rank)] && !waiting.contains(rank)) ranks.insert(ranks.end(), rank);
  return ranks;
}

/// Who is stopped, or on a lost host, is named for that.
bool Supervisor::misses_silent_rank(Clock::time_point now) const {
  return std::ranges::any_of(ranks_on_their_way(), [&](int rank) { return progress_.is_silent(rank, now); });
}

/// Whether a debugger holds a rank that it has held before.
bool Supervisor::is_one_held(Clock::time_point now) const {
  return std::ranges::any_of(
      held_, [&](int rank) { return running_[static_cast<std::size_t>(rank)] && !progress_.speaks(rank, now); });
}

/// Nothing tells a rank that computes for long from one that never comes back, nor a slow transport from one that has
/// lost a collective; the limit is as that of the rendezvous.
void Supervisor::watch_progress(Clock::time_point now) {
  if (is_one_held(now)) let_go_ = now;
  const auto stalled = progress_.stalled_since();
  const Timeouts& timeouts = options_.timeouts;
  const Clock::duration patience = progress_.patience(timeouts.stalled, timeouts.stalled_at_most);
  if (!stalled || cause_.any() || now - std::max(*stalled, let_go_) < patience) return of_stall_.reset();
  const Clock::time_point since = std::max(*stalled, let_go_);
  const Clock::duration stall = now - since;
  if (now - std::max(since, progress_.worked()) >= timeouts.give_up) {
    const int rank = progress_.all_stand() ? -1 : progress_.last();
    const std::string text = "gave up after " + seconds_text(stall) + " without a collective: " + progress_.text();
    return cause_.judged(rank, {BALEEN_TIMEOUT, text, {}}, {});
  }
  // Others find out who is stopped, and whose host is lost.
  if (!(progress_.all_stand() ? progress_.all_speak(now) : progress_.speaks(progress_.last(), now))) return;
  if (!of_stall_) of_stall_.emplace(patience);
  if (of_stall_->are_due(stall)) options_.log.warning(progress_.text() + " (" + seconds_text(stall) + ")");
}

/// Most mistakes in scripts and manifests are made by all ranks, on a busy machine one after the other.
bool Supervisor::may_be_common(Clock::time_point now) const {
  if (!cause_.may_be_common() || !any_running()) return false;
  if (now < *tell_at_) return true;
  if (!cause_.is_of_the_start() || now >= *tell_at_ + options_.timeouts.alike_at_start) return false;
  const std::set<int> known = cause_.known_ranks();
  return !std::ranges::all_of(ranks_on_their_way(), [&](int rank) { return known.contains(rank); });
}

void Supervisor::watch_ending(Clock::time_point now) {
  if (!cause_.any()) return;
  if (!tell_at_) tell_at_ = now + options_.timeouts.alike;
  if (may_be_common(now)) return;
  if (!kill_at_) {
    kill_at_ = now + options_.timeouts.grace;
    const Message abort{MessageKind::abort, 0, BALEEN_PEER_LOST, {}, cause_.reason()};
    local_.send_all(abort);
    if (hosts_) hosts_->send_all(abort);
  }
  if (now < *kill_at_) return;
  const bool may_rescue = now < *kill_at_ + options_.timeouts.rescuing;
  local_.end_leftovers(now, [&](int rank) { return may_rescue && progress_.is_in(rank, BALEEN_PHASE_RESCUING); });
  // Their own launchers kill the ranks of other hosts, in as much time as this one.
  if (!hosts_ || now < *kill_at_ + options_.timeouts.heartbeat_timeout) return;
  for (int rank = 0; rank < topology_.ranks(); ++rank)
    if (topology_.host_of(rank) != options_.host_index && running_[static_cast<std::size_t>(rank)]) leave(rank);
}

/// Tells the other hosts how it ended, and sees them off.
void Supervisor::watch_farewell(Clock::time_point now) {
  if ((!started_ && !cause_.any()) || any_running() || local_.any_running()) return;
  if (!drop_at_) {
    drop_at_ = now + options_.timeouts.heartbeat_timeout;
    const Outcome outcome = cause_.outcome();
    Message leave{MessageKind::leave, static_cast<std::uint32_t>(outcome.signal)};
    if (!outcome.status) {
      leave.code = outcome.status.error().code;
      leave.value = outcome.status.error().text();
    }
    hosts_->dismiss(leave);
  }
  if (now >= *drop_at_) hosts_->drop();
}

}  // namespace baleen::launchers
