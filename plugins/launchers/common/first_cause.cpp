/// \file Decides which of several failure events is the first cause.
#include "common/first_cause.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace baleen::launchers {
namespace {

/// With this code a rank ends that has no memory left to say so (`baleen --help`).
constexpr int kNoMemory = 3;

bool is_crash(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGABRT ||
         signal == SIGSYS || signal == SIGTRAP;
}

std::string killed_text(int signal) {
  std::string text = "killed by " + signal_name(signal);
  if (is_crash(signal)) return "crashed: " + text;
  if (signal == SIGKILL) text += "; was memory short? The system's log (dmesg) tells";
  return text;
}

}  // namespace

void FirstCause::failed(int rank, Failure failure) {
  const bool lost_peer = failure.error.code == BALEEN_PEER_LOST;
  events_.push_back({rank, std::move(failure), lost_peer, 0, -1, true});
}

void FirstCause::killed(int rank, int signal, ProgressSnapshot moment) {
  const baleen_status_t code = is_crash(signal) ? BALEEN_INTERNAL : BALEEN_PEER_LOST;
  Event event{rank, {{code, killed_text(signal), {}}, std::move(moment)}};
  event.is_crash = is_crash(signal);
  events_.push_back(std::move(event));
}

void FirstCause::exited(int rank, int code, ProgressSnapshot moment) {
  if (code != 0) exit_codes_[rank] = code;
  if (std::ranges::count(events_, rank, &Event::rank)) return;
  const std::string text = "ended with exit code " + std::to_string(code);
  const Error error = code == kNoMemory
                          ? Error{BALEEN_NO_MEMORY, text + ", which says that memory ran out", {}}
                          : internal(text + (code == 0 ? " before its work was done" : " without saying why"));
  events_.push_back({rank, {error, std::move(moment)}});
}

void FirstCause::told_to_end(int rank, int signal) {
  const Error error{BALEEN_PEER_LOST, "ended by " + signal_name(signal), {}};
  events_.push_back({rank, {error, {}}, false, signal});
}

void FirstCause::judged(int rank, Error error, ProgressSnapshot moment) {
  events_.push_back({rank, {std::move(error), std::move(moment)}});
}

void FirstCause::lost_host(int host, Error error) { events_.push_back({-1, {std::move(error), {}}, false, 0, host}); }

const FirstCause::Event& FirstCause::first() const {
  const auto primary = std::ranges::find(events_, false, &Event::lost_peer);
  if (primary == events_.end()) return events_.front();
  if (!primary->is_crash) return *primary;
  const auto outside = std::ranges::find_if(events_, &Event::is_from_outside);
  return outside == events_.end() ? *primary : *outside;
}

FirstCause::Alike FirstCause::alike(const Event& event) const {
  Alike alike{{}, event.failure.moment};
  for (const Event& other : events_) {
    const Error &a = event.failure.error, &b = other.failure.error;
    if (a.code != b.code || a.message != b.message || a.where != b.where || event.host != other.host) continue;
    alike.ranks.push_back(other.rank);
    alike.moment = common(alike.moment, other.failure.moment);
  }
  std::ranges::sort(alike.ranks);
  alike.ranks.erase(std::unique(alike.ranks.begin(), alike.ranks.end()), alike.ranks.end());
  return alike;
}

std::string FirstCause::who(const Event& event) const {
  if (event.rank < 0) return event.host < 0 ? std::string() : "host " + topology_.host(event.host).name;
  const std::vector<int> ranks = alike(event).ranks;
  if (static_cast<int>(ranks.size()) == topology_.ranks()) return {};
  return rank_list(ranks) + topology_.on_hosts(ranks);
}

std::string FirstCause::text(const Event& event) const {
  std::string text = who(event);
  if (const std::string moment = alike(event).moment.text(); !moment.empty())
    text += (text.empty() ? "" : ", ") + moment;
  return text + (text.empty() ? "" : ": ") + event.failure.error.text();
}

bool FirstCause::may_be_common() const {
  if (!any() || !first().is_own || first().lost_peer) return false;
  return static_cast<int>(known_ranks().size()) < topology_.ranks();
}

std::set<int> FirstCause::known_ranks() const {
  std::set<int> known;
  for (const Event& event : events_) known.insert(event.rank);
  return known;
}

std::string FirstCause::reason() const { return text(first()); }

Outcome FirstCause::outcome() const {
  Outcome outcome;
  if (!any()) return outcome;
  const Event& cause = first();
  outcome.signal = cause.signal;
  if (cause.signal) return outcome;
  const Error& own = cause.failure.error;
  const std::string told = text(cause);
  outcome.status = told == own.text() ? own : Error{own.code, told, {}};
  outcome.recorded = cause.failure.recorded;
  if (const auto code = exit_codes_.find(cause.rank); code != exit_codes_.end()) outcome.exit_code = code->second;
  return outcome;
}

std::vector<std::string> FirstCause::consequences() const {
  std::vector<std::string> lines;
  if (!any()) return lines;
  const Event& cause = first();
  const std::vector<int> named = alike(cause).ranks;
  for (const Event& event : events_) {
    const bool is_told = event.rank < 0 ? event.host == cause.host : std::ranges::count(named, event.rank) > 0;
    const std::string line = "a consequence: " + text(event);
    if (!is_told && !std::ranges::count(lines, line)) lines.push_back(line);
  }
  return lines;
}

}  // namespace baleen::launchers
