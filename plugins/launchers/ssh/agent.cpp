/// \file Passes messages between the first host's launcher and the ranks of this host.
#include "agent.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "joining.hpp"

namespace baleen::launchers {

void RelayedOutput::add(std::string_view whole_lines) {
  if (link_) link_->send({MessageKind::output, 0, code_, {}, std::string(whole_lines)});
}

Agent::Agent(const ClusterOptions& options, const Topology& topology)
    : options_(options),
      topology_(topology),
      out_(link_, 0),
      err_(link_, 1),
      local_(options, topology, *this, out_, err_),
      last_turn_(Clock::now()) {}

std::string Agent::first_host() const {
  return "the first host, " + topology_.host(0).name + (link_ ? " (" + link_->peer() + ")" : "");
}

Outcome Agent::run() {
  if (Status status = join(); !status) {
    if (outcome_.signal == 0) outcome_.status = std::move(status);
    return outcome_;
  }
  loop();
  return outcome_;
}

Status Agent::join() {
  BALEEN_TRY_ASSIGN(signals_, Signals::open());
  const auto ends = [this]() -> std::optional<Error> {
    if (const auto signal = told_to_end()) {
      outcome_.signal = *signal;
      return Error{BALEEN_PEER_LOST, "told to end", {}};
    }
    // The first host keeps this open as long as it lives.
    pollfd in{STDIN_FILENO, POLLIN, 0};
    if (options_.meeting.is_started && poll(&in, 1, 0) > 0)
      return Error{BALEEN_PEER_LOST, first_host() + ", has left", {}};
    return std::nullopt;
  };
  BALEEN_TRY_ASSIGN(link_, join_first_host(options_, topology_, ends));
  link_->send({MessageKind::join, 0, BALEEN_OK, kHostGreeting, options_.meeting.facts});
  return {};
}

std::optional<int> Agent::told_to_end() {
  for (const Arrived& arrived : signals_->take())
    if (Signals::is_passed_on(arrived.signal)) return arrived.signal;
  return std::nullopt;
}

void Agent::loop() {
  last_turn_ = Clock::now();
  while (!is_over()) {
    std::vector<pollfd> all = {{signals_->descriptor(), POLLIN, 0}, link_->to_poll()};
    local_.add_polls(all);
    poll(all.data(), all.size(), kTickMilliseconds);
    const Clock::time_point now = Clock::now();
    if (const Clock::duration pause = own_pause(last_turn_, now); pause > Clock::duration{}) {
      local_.forgive(pause);
      link_->forgive(pause);
    }
    last_turn_ = now;
    turn(now);
  }
}

bool Agent::is_over() const { return left_ && !local_.any_running() && !link_->has_rest(); }

void Agent::turn(Clock::time_point now) {
  take_signals();
  local_.turn(now);
  auto messages = link_->serve(now);
  if (messages)
    for (Message& message : *messages) obey(message);
  const auto over = messages ? link_->is_over(now) : std::optional(messages.error().message);
  if (over && !left_) {
    end({BALEEN_PEER_LOST, first_host() + ": " + *over, {}}, now);
    link_->close();
    left_ = true;
  }
  if (over) link_->close();
  if (kill_at_ && now >= *kill_at_) local_.end_leftovers(now);
}

void Agent::take_signals() {
  for (const Arrived& arrived : signals_->take()) {
    if (!Signals::is_passed_on(arrived.signal)) continue;
    local_.signal(arrived.signal, arrived.to_all);
    if (local_.any_running()) continue;
    outcome_.signal = arrived.signal;  // nobody is there that it could end
    left_ = true;
  }
}

void Agent::end(Error why, Clock::time_point now) {
  if (kill_at_) return;
  kill_at_ = now + options_.timeouts.grace;
  local_.send_all({MessageKind::abort, 0, BALEEN_PEER_LOST, {}, why.message});
  outcome_.status = std::move(why);
}

void Agent::obey(Message& message) {
  switch (message.kind) {
    case MessageKind::reply: return local_.send(message.rank, message);
    case MessageKind::start: return start_ranks();
    case MessageKind::signal: return local_.signal(message.code, false);
    case MessageKind::abort:
      if (!left_) end({BALEEN_PEER_LOST, message.value, {}}, last_turn_);
      return;
    case MessageKind::pause: out_.held = err_.held = message.code != 0; return;
    case MessageKind::refuse:
      outcome_.status = Error{message.code, first_host() + ", refuses this host: " + message.value, {}};
      left_ = true;
      return;
    case MessageKind::leave:
      left_ = true;
      outcome_.status = message.code == BALEEN_OK ? Status() : Error{message.code, message.value, {}};
      outcome_.signal = static_cast<int>(message.request);
      outcome_.is_told = options_.meeting.is_started;
      return link_->end_sending();
    default: return end(internal(first_host() + ", says what makes no sense"), last_turn_);
  }
}

void Agent::start_ranks() {
  const Status status = local_.start(signals_->before(), link_->own());
  if (!status) send({MessageKind::broke, 0, status.error().code, {}, status.error().text()}, -1);
}

void Agent::send(Message message, int rank) {
  message.rank = rank;
  link_->send(message);
}

void Agent::said(int rank, Message& message) { send(std::move(message), rank); }

void Agent::moved(int rank, const ProgressSnapshot& moment) {
  send({MessageKind::beat, 0, BALEEN_OK, {}, to_bytes(moment)}, rank);
}

void Agent::condemned(int rank, const Failure& failure) {
  send({MessageKind::condemned, 0, BALEEN_OK, {}, to_bytes(failure)}, rank);
}

void Agent::ended(int rank, const RankEnd& end) { send({MessageKind::ended, 0, BALEEN_OK, {}, to_bytes(end)}, rank); }

void Agent::held(int rank) { send({MessageKind::held}, rank); }

}  // namespace baleen::launchers
