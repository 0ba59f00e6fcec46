/// \file One message each way over a socket that never blocks: a head with sizes, bytes, file descriptors.
#pragma once
#include <cstdint>

#include "mesh.hpp"

namespace baleen::shm {

class Conversation {
 public:
  Conversation(std::int32_t rank, int socket, Message outgoing);

  std::int32_t rank() const { return rank_; }
  int socket() const { return socket_; }
  bool complete() const { return sent() && received(); }
  /// What to poll for.
  short wanted() const;
  /// Sends and receives what is possible; false where the peer is gone or talks nonsense.
  bool advance(short ready);
  Message take() { return std::move(incoming_); }

 private:
  struct Head {
    std::uint64_t bytes = 0, files = 0;
  };
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

  bool sent() const { return sent_ == outgoing_.size(); }
  bool received() const {
    return received_ == sizeof(Head) + incoming_.bytes.size() && received_ >= sizeof(Head) &&
           incoming_.arrived.size() == head_.files;
  }
  bool send_some();
  bool receive_some();

  std::int32_t rank_;
  int socket_;
  std::string outgoing_;  // head and bytes
  std::vector<int> files_;
  std::size_t sent_ = 0, files_sent_ = 0;
  Head head_;
  Message incoming_;
  std::size_t received_ = 0;  // of head and bytes
};

}  // namespace baleen::shm
