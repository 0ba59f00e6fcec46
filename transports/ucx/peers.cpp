/// \file Greetings, losses and goodbyes.
#include "peers.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "baleen/event.hpp"
#include "sockets.hpp"

namespace baleen::ucx {
namespace {

std::string key(std::int32_t rank) { return "ucx." + std::to_string(rank) + ".address"; }

std::string name(std::int32_t rank) { return "rank " + std::to_string(rank); }

// Until the deadline (monotonic) is over.
bool before(const timespec& deadline) {
  const timespec now = event_deadline(0);
  return now.tv_sec != deadline.tv_sec ? now.tv_sec < deadline.tv_sec : now.tv_nsec < deadline.tv_nsec;
}

}  // namespace

Peers::Peers(Wire& wire, std::int32_t rank, std::int32_t ranks, double patience)
    : wire_(wire), rank_(rank), patience_(patience), peers_(static_cast<std::size_t>(ranks)) {
  for (std::int32_t r = 0; r < ranks; ++r) at(r).rank = r;
  wire_.on_note([this](const NoteHeader& header, std::string_view bytes) { hear(header, bytes); });
  wire_.on_break([this](std::int32_t broken, const std::string& why) { lose(broken, ended(why)); });
}

Status Peers::connect(const Rendezvous& rendezvous, const std::string& fingerprint) {
  BALEEN_TRY_ASSIGN(const std::string mine, wire_.address());
  rendezvous.put(key(rank_), mine);
  for (Peer& peer : peers_)
    if (peer.rank != rank_) BALEEN_TRY(open(rendezvous, peer.rank));
  for (Peer& peer : peers_)
    if (peer.rank != rank_) send(peer.rank, NoteKind::kHello, fingerprint);
  return await_hellos(rendezvous, fingerprint);
}

// A peer that can't be connected to has most likely just ended: the launcher then says so, soon. Where it doesn't, the
// peer is there, and something on the hosts keeps the two apart.
Status Peers::open(const Rendezvous& rendezvous, std::int32_t rank) {
  constexpr double kNewsSeconds = 5;
  constexpr useconds_t kTickMicroseconds = 20'000;
  Status opened = wire_.open(rank, rendezvous.get(key(rank)));
  if (opened || opened.error().code != BALEEN_PEER_LOST) return opened;
  for (const timespec deadline = event_deadline(kNewsSeconds); before(deadline); usleep(kTickMicroseconds))
    if (rendezvous.over()) return opened;
  return unsupported(opened.error().message + ", though " + name(rank) +
                     " has not ended; leave out of `tls` what can't be used between them, or see what forbids it "
                     "(limits of memory, namespaces of a container, permissions)");
}

Status Peers::await_hellos(const Rendezvous& rendezvous, const std::string& fingerprint) {
  constexpr int kTickMilliseconds = 20;
  const auto missing = [&] {
    return std::find_if(peers_.begin(), peers_.end(),
                        [&](const Peer& peer) { return peer.rank != rank_ && !peer.greeted; });
  };
  Sockets sockets(wire_.file(), patience_);
  timespec next_look = event_deadline(0);
  while (missing() != peers_.end()) {
    if (wire_.progress()) continue;
    if (!before(next_look)) {
      suspect(sockets.look());
      wire_.look();
      next_look = event_deadline(Sockets::kLookMilliseconds / 1000.0);
    }
    if (missing()->gone)
      return Error{BALEEN_PEER_LOST, "ucx: connecting to " + name(missing()->rank) + ": " + missing()->why, {}};
    if (rendezvous.over()) return Error{BALEEN_PEER_LOST, "ucx: connecting: the run is over", {}};
    if (!wire_.arm()) continue;
    pollfd ready{wire_.file(), POLLIN, 0};
    poll(&ready, 1, kTickMilliseconds);
  }
  for (const Peer& peer : peers_)
    if (peer.rank != rank_ && peer.fingerprint != fingerprint)
      return invalid("ucx: " + name(rank_) + " (" + fingerprint + ") and " + name(peer.rank) + " (" + peer.fingerprint +
                     ") were started with different settings; every rank needs the same manifest");
  return {};
}

void Peers::hear(const NoteHeader& header, std::string_view bytes) {
  Peer& peer = at(header.from);
  switch (header.kind) {
    case NoteKind::kHello:
      peer.greeted = true;
      peer.fingerprint = bytes;
      return;
    case NoteKind::kGoodbye: return lose(header.from, std::string(bytes));
    default:
      if (told_) told_(header, bytes);
  }
}

void Peers::lose(std::int32_t rank, const std::string& why) {
  Peer& peer = at(rank);
  if (peer.gone) return;
  peer.gone = true;
  peer.why = why;
  ++losses_;
  if (lost_) lost_(rank, why);
}

std::string Peers::ended(const std::string& why) const {
  if (silent_.empty()) return "its connection ended: " + why;
  return "its connection is dead: " + silent_ + " acknowledged nothing for more than " +
         std::to_string(static_cast<int>(patience_)) +
         " seconds; look for a link that is down or a firewall that drops (a link that comes back needs a longer "
         "`patience` of ucx and of the launcher)";
}

void Peers::cut(std::int32_t rank) {
  wire_.close(rank, true);
  lose(rank, "its connection was cut");
}

void Peers::leave(const std::string& reason, double seconds) {
  for (Peer& peer : peers_)
    if (peer.rank != rank_) send(peer.rank, NoteKind::kGoodbye, reason);
  for (Peer& peer : peers_) wire_.close(peer.rank, false);
  const timespec deadline = event_deadline(seconds);
  while (wire_.tidy() && before(deadline)) wire_.progress();
  wire_.abandon();  // peers that never answer
}

}  // namespace baleen::ucx
