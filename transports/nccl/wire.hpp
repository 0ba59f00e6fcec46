/// \file Frames over a stream socket.
#pragma once
#include <pthread.h>
#include <signal.h>

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "baleen/file_handle.hpp"
#include "baleen/result.hpp"
#include "frames.hpp"

namespace baleen::nccl {

/// One end of a connection, never blocking. [one thread]
class Wire {
 public:
  Wire() = default;
  explicit Wire(FileHandle file);

  int file() const { return file_.get(); }
  explicit operator bool() const { return static_cast<bool>(file_); }
  /// Queues a frame and sends what the socket takes.
  void send(const Frame& frame);
  /// Sends more of what is queued; false: the connection has ended.
  bool flush();
  bool has_queued() const { return !out_.empty(); }
  /// Reads what has come; false: the connection has ended, or what came makes no sense. Frames that came before can
  /// still be taken.
  bool fill();
  /// Both: what the other end said last is read also where nothing can be sent any more.
  bool exchange();
  std::optional<Frame> take() { return frames_.next(); }
  /// The other end is a rank: see Frames.
  void trust() { frames_.trust(); }

 private:
  FileHandle file_;
  Frames frames_;
  std::string out_;
};

/// Listens on `address` ("" : all), any port. Returns the port too.
Result<std::pair<FileHandle, std::uint16_t>> listen_on(const std::string& address);
/// Tries to connect for `seconds`.
Result<FileHandle> connect_to(const std::string& address, std::uint16_t port, double seconds);
/// The addresses that peers may reach this host by: of `interface`, or of all that are up but loopback.
Result<std::string> addresses_of(const std::string& interface);

/// A thread that no signal interrupts: they are for the program's own threads.
template <class Body>
std::thread quiet_thread(const char* name, Body body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace baleen::nccl
