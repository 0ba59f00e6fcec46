/// \file Through /proc, and TCP's own counters.
#include "sockets.hpp"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>

namespace baleen::ucx {
namespace {

// The bytes of an address, without the port; empty where there is none.
using Name = int (*)(int, sockaddr*, socklen_t*);
std::string address_of(int socket, Name name) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (name(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  if (storage.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(storage).sin_addr;
    return {reinterpret_cast<const char*>(&four), sizeof four};
  }
  if (storage.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr;
    return {reinterpret_cast<const char*>(&six), sizeof six};
  }
  return {};
}

std::string text_of(const std::string& address) {
  if (address.empty()) return "the host being connected to";  // of which the system tells no address yet
  char text[INET6_ADDRSTRLEN] = "?";
  inet_ntop(address.size() == sizeof(in_addr) ? AF_INET : AF_INET6, address.data(), text, sizeof text);
  return text;
}

// Of a connection, and not one that listens.
bool is_socket(int file) {
  int type = 0, listens = 0;
  socklen_t size = sizeof type;
  return getsockopt(file, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM &&
         getsockopt(file, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens == 0;
}

bool connects(const tcp_info& info) {
  constexpr int kSynSent = 2;  // linux/tcp.h lacks the name, and cannot stand beside the header that has it
  return info.tcpi_state == kSynSent;
}

// Segments that came without data, as answers to what was sent do. A peer that hears nothing goes on sending its own
// data again and again, which acknowledges what it had heard before: that is no answer.
std::uint32_t answers_in(const tcp_info& info) { return info.tcpi_segs_in - info.tcpi_data_segs_in; }

std::uint64_t cookie_of(int socket) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  return getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

void add_watched(int file, std::set<int>& visited, std::vector<int>& sockets) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(file));
  for (std::string word; info >> word;) {
    int watched = -1;
    if (word != "tfd:" || !(info >> watched) || !visited.insert(watched).second) continue;
    if (is_socket(watched))
      sockets.push_back(watched);
    else
      add_watched(watched, visited, sockets);
  }
}

}  // namespace

std::vector<int> watched_sockets(int file) {
  std::set<int> visited = {file};
  std::vector<int> sockets;
  add_watched(file, visited, sockets);
  return sockets;
}

void hasten(int socket) {
  const std::string peer = address_of(socket, getpeername);
  static constexpr char kReno[] = "reno";  // every kernel has it
  if (!peer.empty() && peer == address_of(socket, getsockname))
    setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, kReno, sizeof kReno - 1);
}

// Whether something was sent that has no answer yet. A peer that does not read, being stopped or busy, says that it has
// no room: it is not sent anything but now and then a probe, and answers. Where there is no way to the peer any more,
// the kernel sends no data either, but counts its attempts as probes.
bool Sockets::asks(const tcp_info& info, Seen& seen) {
  const std::uint32_t answers = answers_in(info);
  if (seen.looks < 0 || answers != seen.answers)
    seen.asks = info.tcpi_last_ack_recv >= info.tcpi_last_data_sent;
  else if (info.tcpi_data_segs_out != seen.sent)
    seen.asks = true;
  seen.answers = answers;
  seen.sent = info.tcpi_data_segs_out;
  return info.tcpi_probes > 0 || connects(info) || (info.tcpi_unacked > 0 && seen.asks);
}

bool Sockets::is_silent(int socket, Seen& seen) const {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
  const bool silent = asks(info, seen) && info.tcpi_bytes_acked == seen.acknowledged;
  seen.looks = silent ? std::max(seen.looks, 0) + 1 : 0;
  seen.acknowledged = info.tcpi_bytes_acked;
  return seen.looks >= (connects(info) ? 2 * silent_looks_ : silent_looks_);
}

std::string Sockets::look() {
  std::map<int, Seen> now;
  std::set<std::string> silent;
  for (const int socket : watched_sockets(file_)) {
    const auto before = seen_.find(socket);
    const std::uint64_t cookie = cookie_of(socket);
    const bool is_new = before == seen_.end() || before->second.cookie != cookie;
    if (is_new) hasten(socket);
    Seen& seen = now[socket] = is_new ? Seen{cookie} : before->second;
    if (!is_silent(socket, seen)) continue;
    silent.insert(text_of(address_of(socket, getpeername)));
    shutdown(socket, SHUT_RDWR);
  }
  seen_.swap(now);
  std::string text;
  for (const std::string& address : silent) text += (text.empty() ? "" : ", ") + address;
  return text;
}

}  // namespace baleen::ucx
