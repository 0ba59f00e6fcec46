/// \file Lets the other hosts join, compares what all must agree in, and watches their links.
#include "remote_hosts.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>

namespace baleen::launchers {
namespace {

/// Lines "key = value" by key; the version, which has none, comes first.
std::map<std::string, std::string> lines_by_key(const std::string& text) {
  std::map<std::string, std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) {
    const std::size_t key = line.find(" = ");
    lines[key == line.npos ? "" : line.substr(0, key)] = line;
  }
  return lines;
}

/// The first key whose lines differ, or that one of two texts lacks.
std::string first_difference(const std::string& theirs, const std::string& ours) {
  auto there = lines_by_key(theirs);
  const auto here = lines_by_key(ours);
  for (const auto& [key, line] : here) there.try_emplace(key);
  for (const auto& [key, line] : there) {
    const auto own = here.find(key);
    if (own == here.end()) return "`" + line + "` there and no `" + key + "` on the first host";
    if (line.empty()) return "no `" + key + "` there and `" + own->second + "` on the first host";
    if (line != own->second) return "`" + line + "` there and `" + own->second + "` on the first host";
  }
  return "the order of its lines";
}

}  // namespace

RemoteHosts::RemoteHosts(const ClusterOptions& options, const Topology& topology, HostEvents& events, LineSink& err)
    : options_(options),
      topology_(topology),
      events_(events),
      err_(err),
      remotes_(static_cast<std::size_t>(topology.hosts())) {}

Result<TcpAddress> RemoteHosts::listening_address() const {
  const ClusterJoin& meeting = options_.meeting;
  if (!meeting.listen.empty()) return TcpAddress::find(meeting.listen, meeting.port);
  const LaunchHost& own = topology_.host(0);
  BALEEN_TRY_ASSIGN(TcpAddress address, TcpAddress::find(own.reached_at(), meeting.port));
  if (!address.is_loopback()) return address;
  for (int host = 1; host < topology_.hosts(); ++host) {
    const LaunchHost& other = topology_.host(host);
    if (const auto found = TcpAddress::find(other.reached_at(), 0); found && !found->is_loopback())
      return invalid("`" + own.reached_at() + "` is " + address.text() + " on this machine, which host `" + other.name +
                     "` cannot reach; give the first host an `address` in the manifest");
  }
  return address;
}

Status RemoteHosts::open(const sigset_t& signals) {
  const ClusterJoin& meeting = options_.meeting;
  BALEEN_TRY_ASSIGN(const TcpAddress address, listening_address());
  BALEEN_TRY_ASSIGN(listener_, Listener::open(address, meeting.secret, options_.log, options_.timeouts));
  if (meeting.through.empty()) return {};
  std::error_code code;
  for (int host = 1; host < topology_.hosts(); ++host) {
    const RemoteStart what{meeting.through, meeting.command(host), std::filesystem::current_path(code).string()};
    const StartWord word{meeting.secret, listener_->address().port()};
    auto& starter = remotes_[static_cast<std::size_t>(host)].starter;
    BALEEN_TRY_ASSIGN(starter, Starter::start(what, topology_.host(host), host, word, signals));
  }
  return {};
}

void RemoteHosts::add_polls(std::vector<pollfd>& all) const {
  if (listener_) listener_->add_polls(all);
  for (const Remote& remote : remotes_) {
    if (remote.link) all.push_back(remote.link->to_poll());
    if (remote.starter && !err_.is_full()) remote.starter->add_polls(all);
  }
  for (const auto& link : refused_) all.push_back(link->to_poll());
}

void RemoteHosts::turn(Clock::time_point now) {
  if (listener_)
    for (Listener::AuthenticatedPeer& peer : listener_->turn(now)) meet(std::move(peer));
  for (int host = 1; host < topology_.hosts(); ++host) {
    serve(host, now);
    watch_starter(host);
  }
  std::erase_if(refused_, [&](const auto& link) { return !link->serve(now) || link->is_over(now); });
}

void RemoteHosts::forgive(Clock::duration pause) {
  for (const Remote& remote : remotes_)
    if (remote.link) remote.link->forgive(pause);
}

void RemoteHosts::send(int host, const Message& message) {
  if (auto& link = remotes_[static_cast<std::size_t>(host)].link) link->send(message);
}

void RemoteHosts::send_all(const Message& message) {
  for (const Remote& remote : remotes_)
    if (remote.link) remote.link->send(message);
}

// Where a link ends here, not where this host listens: that may be anywhere.
std::string RemoteHosts::own_address() const {
  for (const Remote& remote : remotes_)
    if (remote.link) return remote.link->own();
  return {};
}

std::string RemoteHosts::missing() const {
  std::vector<int> ranks;
  for (int host = 1; host < topology_.hosts(); ++host)
    if (!remotes_[static_cast<std::size_t>(host)].joined) {
      const std::vector<int> of_host = topology_.ranks_of(host);
      ranks.insert(ranks.end(), of_host.begin(), of_host.end());
    }
  return ranks.empty() ? std::string() : "still waiting for " + topology_.named(ranks);
}

void RemoteHosts::excuse(int host) { remotes_[static_cast<std::size_t>(host)].excused = true; }

void RemoteHosts::dismiss(const Message& word) {
  send_all(word);
  listener_.reset();
  for (Remote& remote : remotes_) {
    remote.excused = true;
    if (!remote.starter) continue;
    remote.starter->end_input();
    if (!remote.joined) remote.starter->kill();
  }
}

void RemoteHosts::drop() {
  for (Remote& remote : remotes_) {
    remote.link.reset();
    if (remote.starter) remote.starter->kill();
  }
  refused_.clear();
}

bool RemoteHosts::is_over() {
  return std::ranges::none_of(remotes_, [&](const Remote& remote) {
    return remote.link || (remote.starter && remote.starter->is_running(err_));
  });
}

void RemoteHosts::meet(Listener::AuthenticatedPeer peer) {
  auto link = std::make_unique<HostLink>(std::move(peer.socket), std::move(peer.session), options_.timeouts);
  const int host = peer.host;
  std::string why;
  if (host < 1 || host >= topology_.hosts())
    why = "there is no host of index " + std::to_string(host) + "; the manifest has " +
          std::to_string(topology_.hosts()) + ", numbered from 0, and 0 is the first";
  else if (const auto& there = remotes_[static_cast<std::size_t>(host)].link)
    why = "host " + std::to_string(host) + " (" + topology_.host(host).name + ") has joined already, from " +
          there->peer() + "; every host needs a --host-index of its own";
  else if (remotes_[static_cast<std::size_t>(host)].joined)
    why = "the job runs already, and lost this host";
  if (why.empty()) {
    remotes_[static_cast<std::size_t>(host)].link = std::move(link);
  } else {
    refuse(*link, host, why);
    refused_.push_back(std::move(link));
  }
}

void RemoteHosts::refuse(HostLink& link, int host, const std::string& why) {
  options_.log.warning("refused a host at " + link.peer() + " that wants to be number " + std::to_string(host) + ": " +
                       why);
  link.send({MessageKind::refuse, 0, BALEEN_INVALID, {}, why});
  link.end_sending();
}

void RemoteHosts::serve(int host, Clock::time_point now) {
  Remote& remote = remotes_[static_cast<std::size_t>(host)];
  if (!remote.link) return;
  auto messages = remote.link->serve(now);
  if (!messages) return lose(host, messages.error());
  hear(host, *messages);
  if (!remote.link) return;
  const auto over = remote.link->is_over(now);
  if (!over) return;
  if (remote.excused) return remote.link.reset();
  if (missing().empty()) return lose(host, {BALEEN_PEER_LOST, *over + " (" + remote.link->peer() + ")", {}});
  // Whoever started it may start it again; what it said is known by then.
  if (std::exchange(remote.joined, false))
    options_.log.warning("host " + topology_.host(host).name + " left before the start: " + *over);
  remote.link.reset();
}

void RemoteHosts::hear(int host, std::vector<Message>& messages) {
  Remote& remote = remotes_[static_cast<std::size_t>(host)];
  for (Message& message : messages) {
    if (!remote.link) return;
    if (message.kind == MessageKind::join && !remote.joined)
      join(host, message);
    else if (!remote.joined || message.kind == MessageKind::join)
      return lose(host, internal("its launcher speaks out of turn"));
    else if (message.rank >= 0 && !topology_.has(host, message.rank))
      return lose(host, internal("it speaks for rank " + std::to_string(message.rank) + ", which is " +
                                 (message.rank < topology_.ranks()
                                      ? "on " + topology_.host(topology_.host_of(message.rank)).name
                                      : std::string("no rank of this job"))));
    else
      events_.host_said(host, message);
  }
}

void RemoteHosts::join(int host, const Message& message) {
  Remote& remote = remotes_[static_cast<std::size_t>(host)];
  const std::string& ours = options_.meeting.facts;
  if (message.key != kHostGreeting || message.value != ours) {
    const std::string difference = message.key != kHostGreeting
                                       ? "`" + message.key + "` there and `" + kHostGreeting + "` on the first host"
                                       : first_difference(message.value, ours);
    refuse(*remote.link, host,
           "its manifest or version is another than the first host's: " + difference + "; every host needs the same");
    refused_.push_back(std::move(remote.link));
    return;
  }
  remote.joined = true;
  options_.log.debug("host " + topology_.host(host).name + " joined from " + remote.link->peer());
  if (missing().empty()) events_.all_here();
}

void RemoteHosts::watch_starter(int host) {
  Remote& remote = remotes_[static_cast<std::size_t>(host)];
  if (!remote.starter) return;
  remote.starter->read_output(err_);
  if (remote.joined || remote.gone || remote.excused || remote.starter->is_running(err_)) return;
  remote.link.reset();
  lose(host, remote.starter->why());
}

void RemoteHosts::lose(int host, Error error) {
  Remote& remote = remotes_[static_cast<std::size_t>(host)];
  remote.link.reset();
  if (remote.starter) remote.starter->kill();
  if (!std::exchange(remote.gone, true)) events_.host_lost(host, std::move(error));
}

}  // namespace baleen::launchers
