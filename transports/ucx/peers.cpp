/// \file Endpoints, and short active messages.
#include "peers.hpp"

#include <poll.h>

#include <algorithm>
#include <cstring>

#include "baleen/event.hpp"
#include "sockets.hpp"

namespace baleen::ucx {
namespace {

constexpr unsigned kNoteId = 1;

std::string key(std::int32_t rank) { return "ucx." + std::to_string(rank) + ".address"; }

std::string name(std::int32_t rank) { return "rank " + std::to_string(rank); }

// Until the deadline (monotonic) is over.
bool before(const timespec& deadline) {
  const timespec now = event_deadline(0);
  return now.tv_sec != deadline.tv_sec ? now.tv_sec < deadline.tv_sec : now.tv_nsec < deadline.tv_nsec;
}

}  // namespace

Peers::Peers(Context& context, std::int32_t rank, std::int32_t ranks, double patience)
    : context_(context), rank_(rank), patience_(patience), peers_(static_cast<std::size_t>(ranks)) {
  for (std::int32_t r = 0; r < ranks; ++r) {
    at(r).all = this;
    at(r).rank = r;
  }
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kNoteId;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.cb = &on_message;
  handler.arg = this;
  ucp_worker_set_am_recv_handler(context.worker(), &handler);
}

Status Peers::open(Peer& peer, const std::string& address) {
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {&on_error, &peer};
  const ucs_status_t status = ucp_ep_create(context_.worker(), &params, &peer.endpoint);
  if (status == UCS_OK) return {};
  peer.endpoint = nullptr;
  return unsupported("ucx: " + name(rank_) + " and " + name(peer.rank) + " have no transport in common (" +
                     status_text(status) +
                     "); both need one that reaches the other's host, such as tcp on a network device that both name");
}

Status Peers::connect(const Rendezvous& rendezvous, const std::string& fingerprint) {
  BALEEN_TRY_ASSIGN(const std::string mine, context_.address());
  rendezvous.put(key(rank_), mine);
  for (Peer& peer : peers_)
    if (peer.rank != rank_) BALEEN_TRY(open(peer, rendezvous.get(key(peer.rank))));
  for (Peer& peer : peers_)
    if (peer.rank != rank_) send(peer.rank, NoteKind::kHello, fingerprint);
  return await_hellos(rendezvous, fingerprint);
}

Status Peers::await_hellos(const Rendezvous& rendezvous, const std::string& fingerprint) {
  constexpr int kTickMilliseconds = 20;
  const auto missing = [&] {
    return std::find_if(peers_.begin(), peers_.end(),
                        [&](const Peer& peer) { return peer.rank != rank_ && !peer.greeted; });
  };
  Sockets sockets(context_.file(), patience_);
  timespec next_look = event_deadline(0);
  while (missing() != peers_.end()) {
    if (context_.progress()) continue;
    if (!before(next_look)) {
      suspect(sockets.look());
      next_look = event_deadline(Sockets::kLookMilliseconds / 1000.0);
    }
    if (missing()->gone)
      return Error{BALEEN_PEER_LOST, "ucx: connecting to " + name(missing()->rank) + ": " + missing()->why, {}};
    if (rendezvous.over()) return Error{BALEEN_PEER_LOST, "ucx: connecting: the run is over", {}};
    if (!context_.arm()) continue;
    pollfd ready{context_.file(), POLLIN, 0};
    poll(&ready, 1, kTickMilliseconds);
  }
  for (const Peer& peer : peers_)
    if (peer.rank != rank_ && peer.fingerprint != fingerprint)
      return invalid("ucx: " + name(rank_) + " (" + fingerprint + ") and " + name(peer.rank) + " (" + peer.fingerprint +
                     ") were started with different settings; every rank needs the same manifest");
  return {};
}

void Peers::send(std::int32_t rank, NoteKind kind, std::string_view bytes) {
  if (!at(rank).endpoint || at(rank).broken) return;
  if (free_.empty()) {
    outgoing_.push_back(std::make_unique<Outgoing>());
    free_.push_back(outgoing_.back().get());
  }
  Outgoing& note = *free_.back();
  free_.pop_back();
  note.all = this;
  note.header = {kind, rank_};
  note.bytes.assign(bytes);
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  param.cb.send = &on_sent;
  param.user_data = &note;
  ucs_status_ptr_t request = ucp_am_send_nbx(at(rank).endpoint, kNoteId, &note.header, sizeof note.header,
                                             note.bytes.data(), note.bytes.size(), &param);
  if (UCS_PTR_IS_ERR(request)) lose(rank, status_text(UCS_PTR_STATUS(request)));
  if (!request || UCS_PTR_IS_ERR(request)) free_.push_back(&note);
}

void Peers::on_sent(void* request, ucs_status_t, void* outgoing) {
  auto& note = *static_cast<Outgoing*>(outgoing);
  note.all->free_.push_back(&note);
  ucp_request_free(request);
}

ucs_status_t Peers::on_message(void* self, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                               const ucp_am_recv_param_t*) {
  auto& peers = *static_cast<Peers*>(self);
  NoteHeader given;
  if (header_bytes != sizeof given) return UCS_OK;
  std::memcpy(&given, header, sizeof given);
  if (given.from >= 0 && given.from < peers.ranks() && given.from != peers.rank_)
    peers.hear(given, {static_cast<const char*>(data), bytes});
  return UCS_OK;
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

std::string Peers::ended(ucs_status_t status) const {
  if (silent_.empty()) return "its connection ended: " + status_text(status);
  return "its connection is dead: " + silent_ + " acknowledged nothing for more than " +
         std::to_string(static_cast<int>(patience_)) +
         " seconds; look for a link that is down or a firewall that drops (a link that comes back needs a longer "
         "`patience` of ucx and of the launcher)";
}

void Peers::on_error(void* given, ucp_ep_h, ucs_status_t status) {
  auto& peer = *static_cast<Peer*>(given);
  peer.broken = true;
  peer.all->untidy_ = true;
  peer.all->lose(peer.rank, peer.all->ended(status));
}

void Peers::close(Peer& peer, bool force) {
  if (!peer.endpoint) return;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = force ? UCP_EP_CLOSE_FLAG_FORCE : 0;
  ucs_status_ptr_t request = ucp_ep_close_nbx(peer.endpoint, &param);
  peer.endpoint = nullptr;
  if (UCS_PTR_IS_PTR(request)) {
    closing_.push_back(request);
    untidy_ = true;
  }
}

void Peers::cut(std::int32_t rank) {
  close(at(rank), true);
  lose(rank, "its connection was cut");
}

void Peers::tidy() {
  if (!untidy_) return;
  for (Peer& peer : peers_)
    if (peer.broken) close(peer, true);
  std::erase_if(closing_, [](void* request) {
    if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
    ucp_request_free(request);
    return true;
  });
  untidy_ = !closing_.empty();
}

void Peers::leave(const std::string& reason, double seconds) {
  for (Peer& peer : peers_)
    if (peer.rank != rank_) send(peer.rank, NoteKind::kGoodbye, reason);
  for (Peer& peer : peers_) close(peer, peer.broken);
  const timespec deadline = event_deadline(seconds);
  while (!closing_.empty() && before(deadline)) {
    context_.progress();
    tidy();
  }
  // Of peers that never answer. UCX ends what is left when its worker goes, and insists that nobody has a hold on it.
  for (void* request : closing_) ucp_request_free(request);
  closing_.clear();
}

}  // namespace baleen::ucx
