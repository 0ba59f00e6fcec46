/// \file Connections and short active messages of UCX. Its tagged messages are in ucx_messages.cpp.
#include <algorithm>
#include <cstring>

#include "runner.hpp"
#include "ucx_wire.hpp"

namespace baleen::ucx {

Status UcxWire::open(std::int32_t rank, const std::string& address) {
  Peer& peer = at(rank);
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {&on_error, &peer};
  ucs_status_t status = ucp_ep_create(context_->worker(), &params, &peer.endpoint);
  if (status != UCS_OK && rank == rank_) {  // not every way to oneself tells of losses
    params.err_mode = UCP_ERR_HANDLING_MODE_NONE;
    status = ucp_ep_create(context_->worker(), &params, &peer.endpoint);
  }
  if (status == UCS_OK) return {};
  peer.endpoint = nullptr;
  // From the two addresses alone. Every other reason comes from an attempt, such as to map memory of the peer's.
  if (status != UCS_ERR_UNREACHABLE && status != UCS_ERR_UNSUPPORTED)
    return Error{BALEEN_PEER_LOST, "ucx: connecting to rank " + std::to_string(rank) + ": " + status_text(status), {}};
  return unsupported("ucx: rank " + std::to_string(rank_) + " and rank " + std::to_string(rank) +
                     " have no transport in common (" + status_text(status) +
                     "); both need one that reaches the other's host, such as tcp on a network device that both name");
}

void UcxWire::note(std::int32_t rank, NoteKind kind, std::string_view bytes) {
  if (!is_open(rank)) return;
  if (free_.empty()) {
    outgoing_.push_back(std::make_unique<Outgoing>());
    free_.push_back(outgoing_.back().get());
  }
  Outgoing& note = *free_.back();
  free_.pop_back();
  note.wire = this;
  note.header = {kind, rank_};
  note.bytes.assign(bytes);
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  param.cb.send = &on_note_sent;
  param.user_data = &note;
  ucs_status_ptr_t request = ucp_am_send_nbx(at(rank).endpoint, kNoteId, &note.header, sizeof note.header,
                                             note.bytes.data(), note.bytes.size(), &param);
  if (UCS_PTR_IS_ERR(request)) broke_(rank, status_text(UCS_PTR_STATUS(request)));
  if (!request || UCS_PTR_IS_ERR(request)) free_.push_back(&note);
}

void UcxWire::on_note_sent(void* request, ucs_status_t, void* outgoing) {
  auto& note = *static_cast<Outgoing*>(outgoing);
  note.wire->free_.push_back(&note);
  ucp_request_free(request);
}

ucs_status_t UcxWire::on_message(void* self, const void* header, std::size_t header_bytes, void* data,
                                 std::size_t bytes, const ucp_am_recv_param_t*) {
  auto& wire = *static_cast<UcxWire*>(self);
  NoteHeader given;
  if (header_bytes != sizeof given) return UCS_OK;
  std::memcpy(&given, header, sizeof given);
  if (given.from >= 0 && static_cast<std::size_t>(given.from) < wire.peers_.size() && given.from != wire.rank_)
    wire.heard_(given, {static_cast<const char*>(data), bytes});
  return UCS_OK;
}

void UcxWire::on_error(void* given, ucp_ep_h, ucs_status_t status) {
  auto& peer = *static_cast<Peer*>(given);
  peer.broken = true;
  peer.wire->untidy_ = true;
  peer.wire->broke_(peer.rank, status_text(status));
}

void UcxWire::close(std::int32_t rank, bool at_once) {
  Peer& peer = at(rank);
  if (!peer.endpoint) return;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = at_once || peer.broken ? UCP_EP_CLOSE_FLAG_FORCE : 0;
  ucs_status_ptr_t request = ucp_ep_close_nbx(peer.endpoint, &param);
  peer.endpoint = nullptr;
  if (UCS_PTR_IS_PTR(request)) {
    closing_.push_back(request);
    untidy_ = true;
  }
}

bool UcxWire::tidy() {
  if (!untidy_) return false;
  for (Peer& peer : peers_)
    if (peer.broken) close(peer.rank, true);
  std::erase_if(closing_, [](void* request) {
    if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
    ucp_request_free(request);
    return true;
  });
  untidy_ = !closing_.empty();
  return untidy_;
}

// UCX ends what is left when its worker goes, and insists that nobody has a hold on it.
void UcxWire::abandon() {
  for (void* request : closing_) ucp_request_free(request);
  closing_.clear();
}

Wire::View UcxWire::view(std::int32_t rank, const std::string& key, std::uint64_t address) {
  View view;
  ucp_rkey_h remote = nullptr;
  if (key.empty() || !at(rank).endpoint || ucp_ep_rkey_unpack(at(rank).endpoint, key.data(), &remote) != UCS_OK)
    return view;
  view.handle = remote;
  void* base = nullptr;
  if (ucp_rkey_ptr(remote, address, &base) == UCS_OK) view.base = static_cast<std::byte*>(base);
  return view;
}

void UcxWire::drop(const View& view) {
  if (view.handle) ucp_rkey_destroy(static_cast<ucp_rkey_h>(view.handle));
}

}  // namespace baleen::ucx
