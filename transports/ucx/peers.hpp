/// \file The other ranks: endpoints, short notes beside the data, and who has gone.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/transport.hpp"
#include "context.hpp"

namespace baleen::ucx {

/// What travels as an active message, in the order of its sends and of the data's.
enum class NoteKind : std::uint32_t {
  kHello = 1,   ///< with the sender's fingerprint
  kLetter = 2,  ///< of plan time
  kGoodbye = 3  ///< nothing follows; with the reason, or none
};

struct NoteHeader {
  NoteKind kind;
  std::int32_t from;
};
static_assert(sizeof(NoteHeader) == 8);

/// Used by one thread at a time, as the context is.
class Peers {
 public:
  /// `patience`: see `Sockets`.
  Peers(Context& context, std::int32_t rank, std::int32_t ranks, double patience);

  /// Connects to all and hears from all: their fingerprints must be this one's.
  Status connect(const Rendezvous& rendezvous, const std::string& fingerprint);
  /// Who is told of letters.
  void on_note(std::function<void(const NoteHeader&, std::string_view)> told) { told_ = std::move(told); }
  void on_loss(std::function<void(std::int32_t rank, const std::string& why)> told) { lost_ = std::move(told); }

  double patience() const { return patience_; }
  std::int32_t rank() const { return rank_; }
  std::int32_t ranks() const { return static_cast<std::int32_t>(peers_.size()); }
  /// Null where it has gone.
  ucp_ep_h endpoint(std::int32_t rank) const { return at(rank).endpoint; }
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
  std::string ended(ucs_status_t status) const;
  /// Ends the connection at once: what was under way fails.
  void cut(std::int32_t rank);

  void send(std::int32_t rank, NoteKind kind, std::string_view bytes);
  /// Looks after connections that broke.
  void tidy();
  /// Tells all and closes; at most for so long.
  void leave(const std::string& reason, double seconds);

 private:
  struct Peer {
    Peers* all = nullptr;
    std::int32_t rank = 0;
    ucp_ep_h endpoint = nullptr;
    bool gone = false, greeted = false, broken = false;
    std::string why, fingerprint;
  };
  // A note under way.
  struct Outgoing {
    Peers* all = nullptr;
    NoteHeader header{};
    std::string bytes;
  };

  Peer& at(std::int32_t rank) { return peers_[static_cast<std::size_t>(rank)]; }
  const Peer& at(std::int32_t rank) const { return peers_[static_cast<std::size_t>(rank)]; }
  Status open(Peer& peer, const std::string& address);
  Status await_hellos(const Rendezvous& rendezvous, const std::string& fingerprint);
  void close(Peer& peer, bool force);
  void hear(const NoteHeader& header, std::string_view bytes);
  static ucs_status_t on_message(void* self, const void* header, std::size_t header_bytes, void* data,
                                 std::size_t bytes, const ucp_am_recv_param_t* param);
  static void on_error(void* peer, ucp_ep_h endpoint, ucs_status_t status);
  static void on_sent(void* request, ucs_status_t status, void* outgoing);

  Context& context_;
  const std::int32_t rank_;
  const double patience_;
  std::vector<Peer> peers_;
  std::size_t losses_ = 0;
  bool untidy_ = false;
  std::string silent_;
  std::function<void(const NoteHeader&, std::string_view)> told_;
  std::function<void(std::int32_t, const std::string&)> lost_;
  std::vector<std::unique_ptr<Outgoing>> outgoing_;  // all there ever were
  std::vector<Outgoing*> free_;
  std::vector<void*> closing_;  // requests
};

}  // namespace baleen::ucx
