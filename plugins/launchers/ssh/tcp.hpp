/// \file Addresses and stream sockets between hosts; nothing here waits, but for names.
#pragma once
#include <sys/socket.h>

#include <chrono>
#include <string>

#include "baleen/file_handle.hpp"
#include "baleen/result.hpp"

namespace baleen::launchers {

class TcpAddress {
 public:
  /// Looks up a name, or reads an address; IPv4 before IPv6. [waits for the system's resolver]
  static Result<TcpAddress> find(const std::string& host, int port);
  /// The two ends of a connected or listening socket.
  static TcpAddress near(int socket);
  static TcpAddress far(int socket);

  /// "10.0.0.1:7373", "[::1]:7373".
  std::string text() const;
  /// Without the port: "10.0.0.1", "::1".
  std::string digits() const;
  int port() const;
  bool is_loopback() const;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return size_; }
  int family() const { return storage_.ss_family; }

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = sizeof storage_;
};

/// A socket that takes connections to this address and no other; port 0: any free one. None where that fails, with
/// errno's number in `error`.
FileHandle listen_at(const TcpAddress& address, int& error);
/// The next connection; none where there is none.
FileHandle accept_from(int listener);
/// Begins to connect, from `from` if not null: writable once it is decided, then `connect_error` tells.
Result<FileHandle> begin_connect(const TcpAddress& to, const TcpAddress* from);
/// 0, or why the connection failed.
int connect_error(int socket);
/// Small messages go at once; a peer that confirms nothing for so long, or is idle and gone, breaks the connection.
void watch_connection(int socket, std::chrono::milliseconds unconfirmed);

}  // namespace baleen::launchers
