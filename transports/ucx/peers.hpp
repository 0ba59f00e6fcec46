/// \file The other ranks: short notes beside the data, and who has gone.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/transport.hpp"
#include "wire.hpp"

namespace baleen::ucx {

/// Used by one thread at a time, as the wire is.
class Peers {
 public:
  /// `patience`: see `Sockets`.
  Peers(Wire& wire, std::int32_t rank, std::int32_t ranks, double patience);

  /// Connects to all and hears from all: their fingerprints must be this one's.
  Status connect(const Rendezvous& rendezvous, const std::string& fingerprint);
  /// Who is told of letters.
  void on_note(Wire::Heard told) { told_ = std::move(told); }
  void on_loss(Wire::Broke told) { lost_ = std::move(told); }

  double patience() const { return patience_; }
  std::int32_t rank() const { return rank_; }
  std::int32_t ranks() const { return static_cast<std::int32_t>(peers_.size()); }
  bool has_gone(std::int32_t rank) const { return at(rank).gone; }
  /// Why, or empty.
  const std::string& reason(std::int32_t rank) const { return at(rank).why; }
  /// How many have.
  std::size_t losses() const { return losses_; }
  /// It has, as a message that failed shows.
  void lose(std::int32_t rank, const std::string& why);
  /// Addresses whose connections were found silent and shut, or none: connections that break soon break for that
  /// reason.
  void suspect(std::string silent) { silent_ = std::move(silent); }
  /// Why a connection broke, in words.
  std::string ended(const std::string& why) const;
  /// Ends the connection at once: what was under way fails.
  void cut(std::int32_t rank);

  void send(std::int32_t rank, NoteKind kind, std::string_view bytes) { wire_.note(rank, kind, bytes); }
  /// Tells all and closes; at most for so long.
  void leave(const std::string& reason, double seconds);

 private:
  struct Peer {
    std::int32_t rank = 0;
    bool gone = false, greeted = false;
    std::string why, fingerprint;
  };

  Peer& at(std::int32_t rank) { return peers_[static_cast<std::size_t>(rank)]; }
  const Peer& at(std::int32_t rank) const { return peers_[static_cast<std::size_t>(rank)]; }
  Status open(const Rendezvous& rendezvous, std::int32_t rank);
  Status await_hellos(const Rendezvous& rendezvous, const std::string& fingerprint);
  void hear(const NoteHeader& header, std::string_view bytes);

  Wire& wire_;
  const std::int32_t rank_;
  const double patience_;
  std::vector<Peer> peers_;
  std::size_t losses_ = 0;
  std::string silent_;
  Wire::Heard told_;
  Wire::Broke lost_;
};

}  // namespace baleen::ucx
