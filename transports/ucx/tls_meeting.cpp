/// \file How ranks find each other: addresses, listening, and strangers who knock.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <sstream>

#include "addresses.hpp"
#include "baleen/network.hpp"
#include "sockets.hpp"
#include "tls_wire.hpp"

namespace baleen::ucx {
namespace {

using namespace std::chrono_literals;

constexpr const char* kKey = "ucx.tls.key";
// Of connections that have proven nothing: how many there may be, and for how long each.
constexpr std::size_t kMostStrangers = 64;
constexpr auto kStrangersTime = 5s, kTryTime = 3s;
// Who is awaited may have to try several times.
constexpr auto kLonger = 5s;

Interfaces places_to_listen(const Options& options) {
  if (options.devices == "all") return interfaces({});
  if (!options.devices.empty() || options.address.empty()) return interfaces(names_in(options.devices));
  if (auto address = address_from(options.address + " 0")) return {{*address}, {interface_of(options.address)}};
  return interfaces({interface_of(options.address)});
}

std::string joined(const std::set<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all.empty() ? "none" : all;
}

void send_at_once(int socket) {
  const int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/// Within a host nothing is far under way: what waits in larger buffers is no longer in a cache when it is read.
void keep_near(int socket) {
  constexpr int kBytes = 512 << 10;  // what a channel reads or writes at once, twice
  setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &kBytes, sizeof kBytes);
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &kBytes, sizeof kBytes);
}

}  // namespace

Result<std::unique_ptr<TlsWire>> TlsWire::create(const Host& host, const Options& options,
                                                 const Rendezvous& rendezvous) {
  if (rendezvous.rank() == 0) {
    BALEEN_TRY_ASSIGN(const std::string key, TlsJob::new_key());
    rendezvous.put(kKey, key);
  }
  BALEEN_TRY_ASSIGN(TlsJob job, TlsJob::make(rendezvous.get(kKey)));
  std::unique_ptr<TlsWire> made(new TlsWire(std::move(job), rendezvous, options.patience));
  BALEEN_TRY(made->listen(options));
  made->stop_listening();  // nobody connects to the last rank
  if (rendezvous.rank() == 0)
    host.log(BALEEN_INFO, "ucx: all messages travel under TLS 1.3 (TLS_AES_128_GCM_SHA256), with a key of this job");
  return made;
}

bool TlsWire::listen(const Address& address) {
  FileHandle socket(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  Address bound = address;
  bound.size = sizeof bound.storage;
  if (!socket || bind(socket.get(), address.get(), address.size) != 0 || ::listen(socket.get(), SOMAXCONN) != 0 ||
      getsockname(socket.get(), bound.get(), &bound.size) != 0)
    return false;
  address_ += text_of(bound) + "\n";
  listeners_.push_back(std::move(socket));
  watch_listener(listeners_.size() - 1);
  return true;
}

// Each address has a socket of its own, so that nobody else's device is listened on.
Status TlsWire::listen(const Options& options) {
  const Interfaces mine = places_to_listen(options);
  std::string refusal;
  for (const Address& address : mine.addresses)
    if (!listen(address)) refusal = std::strerror(errno);
  const bool has_network = !listeners_.empty();
  listen(any_local_address());  // ranks of this host find each other by their network addresses, too
  if (has_network) return {};
  return unsupported("ucx: encrypt = true: no address to listen on with devices = \"" + options.devices + "\"" +
                     (refusal.empty() ? "" : " (" + refusal + ")") + "; this machine has " + joined(mine.names) +
                     "; name one of these in [transport] devices, or leave it out");
}

void TlsWire::stop_listening() {
  const bool all_here = std::none_of(links_.begin(), links_.end(), [&](const Link& link) {
    return link.rank > rank_ && (link.stage == Stage::kNone || link.stage == Stage::kAwaited);
  });
  if (!all_here) return;
  listeners_.clear();
  for (Stranger& stranger : strangers_) stranger.channel.reset();
}

void TlsWire::accept(int listener) {
  while (true) {
    FileHandle socket(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) return;
    send_at_once(socket.get());
    auto channel = job_.accepted(std::move(socket));
    if (!channel) return;
    auto place = std::find_if(strangers_.begin(), strangers_.end(), [](const Stranger& one) { return !one.channel; });
    if (place == strangers_.end() && strangers_.size() < kMostStrangers) place = strangers_.insert(place, Stranger());
    // The oldest makes room, but for who may be a rank.
    if (place == strangers_.end())
      place = std::min_element(strangers_.begin(), strangers_.end(), [](const Stranger& a, const Stranger& b) {
        const bool may_be = a.channel->has_begun();
        return may_be == b.channel->has_begun() ? a.deadline < b.deadline : !may_be;
      });
    *place = {*std::move(channel), Clock::now() + kStrangersTime};
    hear_stranger(static_cast<std::size_t>(place - strangers_.begin()));
    if (listeners_.empty()) return;
  }
}

void TlsWire::hear_stranger(std::size_t number) {
  std::unique_ptr<TlsChannel>& channel = strangers_[number].channel;
  const Step step = channel->shake();
  if (step == Step::kLater) return watch_stranger(number);
  const auto heard = step == Step::kDone ? channel->heard() : std::nullopt;
  const bool is_peer = heard && heard->to == rank_ && heard->from > rank_ &&
                       static_cast<std::size_t>(heard->from) < links_.size() &&
                       (at(heard->from).stage == Stage::kAwaited || at(heard->from).stage == Stage::kNone);
  if (!is_peer) return channel.reset();
  Link& link = at(heard->from);
  link.channel = std::move(channel);
  opened(link);
  stop_listening();
}

Status TlsWire::open(std::int32_t rank, const std::string& address) {
  Link& link = at(rank);
  if (rank > rank_) {
    if (link.stage == Stage::kNone) link.stage = Stage::kAwaited;  // it may have come already
    stop_listening();
    return {};
  }
  const bool is_here = host_of_[static_cast<std::size_t>(rank)] == host_of_[static_cast<std::size_t>(rank_)];
  std::istringstream lines(address);
  for (std::string line; std::getline(lines, line);)
    if (address_from(line)) link.addresses.push_back(line);
  std::erase_if(link.addresses, [&](const std::string& line) { return !is_here && address_from(line)->is_local(); });
  const auto first = [&](auto is_nearer) {
    std::stable_partition(link.addresses.begin(), link.addresses.end(),
                          [&](const std::string& line) { return is_nearer(*address_from(line)); });
  };
  first([&](const Address& address) { return address.is_loopback == is_here; });
  first([](const Address& address) { return address.is_local(); });
  if (link.addresses.empty())
    return internal("ucx: rank " + std::to_string(rank) + " gave no address; do all ranks run the same version?");
  connect(link);
  return {};
}

void TlsWire::connect(Link& link) {
  const Address address = *address_from(link.addresses[link.next_address]);
  link.deadline = Clock::now() + kTryTime;
  link.socket = FileHandle(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!link.socket) return try_again(link, std::strerror(errno));
  send_at_once(link.socket.get());
  if (::connect(link.socket.get(), address.get(), address.size) != 0 && errno != EINPROGRESS)
    return try_again(link, std::strerror(errno));
  link.stage = Stage::kConnecting;
  link.wants_room = true;
  watch(link);
}

void TlsWire::connected(Link& link) {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(link.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return try_again(link, std::strerror(error));
  auto channel = job_.connecting(std::move(link.socket), {rank_, link.rank});
  if (!channel) return try_again(link, "no memory");
  link.channel = *std::move(channel);
  link.stage = Stage::kShaking;
  shake(link);
}

void TlsWire::shake(Link& link) {
  const Step step = link.channel->shake();
  if (step == Step::kEnded) return try_again(link, link.channel->why());
  if (step == Step::kDone) return opened(link);
  link.wants_room = link.channel->has_unsent();
  watch(link);
}

void TlsWire::opened(Link& link) {
  link.stage = Stage::kOpen;
  hasten(link.channel->socket());
  const auto host_of = [&](std::int32_t rank) { return host_of_[static_cast<std::size_t>(rank)]; };
  if (host_of(link.rank) == host_of(rank_)) keep_near(link.channel->socket());
  link.wants_room = true;  // has not been asked yet
  watch(link);
  push_out(link);
  if (link.channel) pull_in(link);  // what came with the end of the handshake has been read from the socket already
}

// The next address; after the last one all of them again, at the next look.
void TlsWire::try_again(Link& link, const std::string& why) {
  link.why = link.addresses[link.next_address] + ": " + why;
  link.channel.reset();
  link.socket.close();
  link.stage = Stage::kResting;
  if (++link.next_address < link.addresses.size()) return connect(link);
  link.next_address = 0;
}

// Time counts from when this rank knows where all others are, so that they do too.
void TlsWire::hurry(Link& link, Clock::time_point now) {
  const bool is_awaited = link.stage == Stage::kAwaited;
  if (link.until == Clock::time_point()) {
    const auto patience = std::chrono::milliseconds(static_cast<std::int64_t>(2000 * patience_));
    link.until = now + patience + (is_awaited ? kLonger : 0s);
    link.deadline = now + kTryTime;
  }
  if (now > link.until)
    return lose(link, is_awaited ? "it did not connect; look for a firewall that drops"
                                 : "it could not be reached at " +
                                       (link.why.empty() ? link.addresses[link.next_address] : link.why) +
                                       "; look for a firewall that drops");
  if (link.stage == Stage::kResting) return connect(link);
  if (!is_awaited && now > link.deadline) try_again(link, "no answer");
}

void TlsWire::look() {
  const auto now = Clock::now();
  for (Stranger& stranger : strangers_)
    if (stranger.channel && now > stranger.deadline) stranger.channel.reset();
  const bool beats = ++looks_ % 2 == 0;
  for (Link& link : links_) {
    if (link.stage == Stage::kAwaited || link.stage == Stage::kConnecting || link.stage == Stage::kShaking ||
        link.stage == Stage::kResting)
      hurry(link, now);
    if (link.stage != Stage::kOpen || !beats) continue;
    // Silence is looked for where something was sent.
    if (!link.was_sent && !link.first && !link.channel->has_unsent()) append(link, new_frame(Kind::kBeat, 0, 0));
    link.was_sent = false;
  }
}

}  // namespace baleen::ucx
