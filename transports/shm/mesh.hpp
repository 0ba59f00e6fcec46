/// \file Sockets between all ranks of the job, over which they meet at plan time: messages with file descriptors.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "baleen/transport.hpp"
#include "memory.hpp"

namespace baleen::shm {

struct Message {
  std::string bytes;
  std::vector<int> files;           ///< to send; borrowed
  std::vector<FileHandle> arrived;  ///< received
};

/// One connected socket to every other rank. [one thread] but `wake`.
class Mesh {
 public:
  /// Connects all ranks. Peers are of this host and this user, or refused.
  static Result<std::unique_ptr<Mesh>> join(const Rendezvous& rendezvous);

  /// Sends each of these ranks its message and returns theirs. `what` this rank does, for messages. Within `create`,
  /// where nobody can call `wake` yet, also fails when the rendezvous is over.
  Result<std::map<std::int32_t, Message>> exchange(std::map<std::int32_t, Message>&& outgoing, const std::string& what,
                                                   const Rendezvous* rendezvous = nullptr);
  /// Makes the present and every later exchange fail with BALEEN_PEER_LOST. [any thread]
  void wake();

  std::int32_t rank() const { return rank_; }
  std::int32_t ranks() const { return static_cast<std::int32_t>(sockets_.size()); }

 private:
  explicit Mesh(const Rendezvous& rendezvous);
  Status connect_to(std::int32_t rank, const Rendezvous& rendezvous);
  Status accept_from_higher(int listener, const Rendezvous& rendezvous);

  std::int32_t rank_;
  std::vector<FileHandle> sockets_;  // by rank
  FileHandle woken_;
};

}  // namespace baleen::shm
