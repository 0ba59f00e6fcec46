/// \file Abstract names: bound to no file, so nothing is left behind. Who connects is known by the kernel's
/// credentials.
#include "mesh.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>

#include "conversation.hpp"

namespace baleen::shm {
namespace {

Error failed(const std::string& what) { return {BALEEN_IO, "shm: " + what + ": " + std::strerror(errno), {}}; }

std::string key(std::int32_t rank, const char* what) { return "shm." + std::to_string(rank) + "." + what; }

// Tells hosts apart; the same in all containers of one.
std::string host_identity() {
  std::string identity;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), identity);
  return identity;
}

std::string random_name() {
  unsigned char bytes[16];
  std::string name = "baleen-";
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return {};
  for (const unsigned char byte : bytes) {
    name += "0123456789abcdef"[byte >> 4];
    name += "0123456789abcdef"[byte & 15];
  }
  return name;
}

// The address of an abstract name, and its length.
socklen_t abstract(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), std::min(name.size(), sizeof(address.sun_path) - 1));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

bool same_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

}  // namespace

Mesh::Mesh(const Rendezvous& rendezvous)
    : rank_(rendezvous.rank()),
      sockets_(static_cast<std::size_t>(rendezvous.ranks())),
      woken_(made_file(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "an event")) {}

Status Mesh::connect_to(std::int32_t rank, const Rendezvous& rendezvous) {
  const std::string given = rendezvous.get(key(rank, "address"));
  const std::size_t space = given.find(' ');
  if (given.substr(0, space) != host_identity())
    return invalid("shm joins the ranks of one host, but ranks " + std::to_string(rank) + " and " +
                   std::to_string(rank_) + " run on two; name another [transport] plugin");
  sockaddr_un address;
  const socklen_t size = abstract(given.substr(space + 1), address);
  FileHandle peer(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (peer.get() < 0) return failed("making a socket");
  if (connect(peer.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) {
    // It listened before it said where. That it has ended is no cause, but follows from what ended it.
    if (errno == ECONNREFUSED)
      return Error{BALEEN_PEER_LOST,
                   "shm: nobody listens where rank " + std::to_string(rank) +
                       " did: it has ended, or is in another network namespace",
                   {}};
    return failed("connecting to rank " + std::to_string(rank));
  }
  if (!same_user(peer.get())) return invalid("shm: rank " + std::to_string(rank) + " belongs to another user");
  if (write(peer.get(), &rank_, sizeof rank_) != sizeof rank_) return failed("greeting rank " + std::to_string(rank));
  sockets_[static_cast<std::size_t>(rank)] = std::move(peer);
  return {};
}

Status Mesh::accept_from_higher(int listener, const Rendezvous& rendezvous) {
  // Waiting is left to the rendezvous, which the host can wake: after these keys, accept finds the peers in its queue.
  for (std::int32_t rank = rank_ + 1; rank < ranks(); ++rank) rendezvous.get(key(rank, "connected"));
  for (std::int32_t missing = ranks() - 1 - rank_; missing > 0;) {
    FileHandle peer(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (peer.get() < 0) return failed("accepting");
    std::int32_t rank = -1;
    if (!same_user(peer.get()) || recv(peer.get(), &rank, sizeof rank, MSG_DONTWAIT) != sizeof rank) continue;
    if (rank <= rank_ || rank >= ranks() || sockets_[static_cast<std::size_t>(rank)].get() >= 0) continue;
    sockets_[static_cast<std::size_t>(rank)] = std::move(peer);
    --missing;
  }
  return {};
}

Result<std::unique_ptr<Mesh>> Mesh::join(const Rendezvous& rendezvous) {
  std::unique_ptr<Mesh> mesh(new Mesh(rendezvous));
  if (mesh->woken_.get() < 0) return failed("eventfd");
  const FileHandle listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::string name = random_name();
  sockaddr_un address;
  const socklen_t size = abstract(name, address);
  if (listener.get() < 0 || bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener.get(), rendezvous.ranks()) != 0)
    return failed("listening");
  rendezvous.put(key(mesh->rank_, "address"), host_identity() + " " + name);
  for (std::int32_t rank = 0; rank < mesh->rank_; ++rank) BALEEN_TRY(mesh->connect_to(rank, rendezvous));
  rendezvous.put(key(mesh->rank_, "connected"), "");
  BALEEN_TRY(mesh->accept_from_higher(listener.get(), rendezvous));
  return mesh;
}

void Mesh::wake() {
  const std::uint64_t one = 1;
  // It can only fail where it has been woken 2^64 - 1 times.
  [[maybe_unused]] const auto written = write(woken_.get(), &one, sizeof one);
}

Result<std::map<std::int32_t, Message>> Mesh::exchange(std::map<std::int32_t, Message>&& outgoing,
                                                       const std::string& what, const Rendezvous* rendezvous) {
  constexpr int kTickMilliseconds = 50;
  std::vector<Conversation> conversations;
  conversations.reserve(outgoing.size());
  for (auto& [rank, message] : outgoing)
    conversations.emplace_back(rank, sockets_[static_cast<std::size_t>(rank)].get(), std::move(message));
  std::vector<pollfd> ends(conversations.size() + 1);
  while (std::any_of(conversations.begin(), conversations.end(), [](const Conversation& c) { return !c.complete(); })) {
    for (std::size_t i = 0; i < conversations.size(); ++i)
      ends[i] = {conversations[i].complete() ? -1 : conversations[i].socket(), conversations[i].wanted(), 0};
    ends.back() = {woken_.get(), POLLIN, 0};
    if (poll(ends.data(), ends.size(), rendezvous ? kTickMilliseconds : -1) < 0 && errno != EINTR)
      return failed("poll");
    if (ends.back().revents || (rendezvous && rendezvous->over()))
      return Error{BALEEN_PEER_LOST, what + ": the run is over", {}};
    for (std::size_t i = 0; i < conversations.size(); ++i)
      if (ends[i].revents && !conversations[i].advance(ends[i].revents))
        return Error{BALEEN_PEER_LOST, what + ": rank " + std::to_string(conversations[i].rank()) + " has left", {}};
  }
  std::map<std::int32_t, Message> arrived;
  for (Conversation& one : conversations) arrived.emplace(one.rank(), one.take());
  return arrived;
}

}  // namespace baleen::shm
