/// \file Judging events.
#include "core/launch/first_cause.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace baleen {
namespace {

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
  events_.push_back({rank, std::move(failure), lost_peer});
}

void FirstCause::killed(int rank, int signal, Moment moment) {
  const baleen_status_t code = is_crash(signal) ? BALEEN_INTERNAL : BALEEN_PEER_LOST;
  events_.push_back({rank, {{code, killed_text(signal), {}}, std::move(moment)}});
}

void FirstCause::exited(int rank, int code, Moment moment) {
  if (code != 0) exit_codes_[rank] = code;
  if (std::ranges::count(events_, rank, &Event::rank)) return;
  const std::string text = "ended with exit code " + std::to_string(code) +
                           (code == 0 ? " before its work was done" : " without saying why");
  events_.push_back({rank, {internal(text), std::move(moment)}});
}

void FirstCause::told_to_end(int rank, int signal) {
  const Error error{BALEEN_PEER_LOST, "ended by " + signal_name(signal), {}};
  events_.push_back({rank, {error, {}}, false, signal});
}

void FirstCause::judged(int rank, Error error, Moment moment) {
  events_.push_back({rank, {std::move(error), std::move(moment)}});
}

const FirstCause::Event& FirstCause::first() const {
  const auto primary = std::ranges::find(events_, false, &Event::lost_peer);
  return primary == events_.end() ? events_.front() : *primary;
}

std::vector<int> FirstCause::alike(const Event& event) const {
  std::vector<int> ranks;
  for (const Event& other : events_) {
    const Error &a = event.failure.error, &b = other.failure.error;
    if (a.code == b.code && a.message == b.message && a.where == b.where) ranks.push_back(other.rank);
  }
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

std::string FirstCause::text(const Event& event) const {
  const std::vector<int> ranks = alike(event);
  std::string text = rank_list(ranks);
  if (host_ != "localhost") text += " on " + host_;
  const std::string moment = ranks.size() == 1 ? event.failure.moment.text() : "";
  return text + (moment.empty() ? "" : ", " + moment) + ": " + event.failure.error.text();
}

std::string FirstCause::reason() const { return text(first()); }

Outcome FirstCause::outcome() const {
  Outcome outcome;
  if (!any()) return outcome;
  const Event& cause = first();
  outcome.signal = cause.signal;
  if (cause.signal) return outcome;
  Error error = cause.failure.error;
  if (static_cast<int>(alike(cause).size()) < ranks_) error = {error.code, text(cause), {}};
  outcome.status = std::move(error);
  outcome.recorded = cause.failure.recorded;
  if (const auto code = exit_codes_.find(cause.rank); code != exit_codes_.end()) outcome.exit_code = code->second;
  return outcome;
}

std::vector<std::string> FirstCause::consequences() const {
  std::vector<std::string> lines;
  if (!any()) return lines;
  const Event& cause = first();
  const std::vector<int> named = alike(cause);
  for (const Event& event : events_) {
    const std::string line = "a consequence: " + text(event);
    if (!std::ranges::count(named, event.rank) && !std::ranges::count(lines, line)) lines.push_back(line);
  }
  return lines;
}

}  // namespace baleen
