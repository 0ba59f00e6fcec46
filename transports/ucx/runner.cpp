/// \file Messages of programs as tagged messages of UCX.
#include "runner.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdio>
#include <utility>

#include "baleen/proposal.hpp"

namespace baleen::ucx {
namespace {

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(value));
  return text;
}

// The tag is the seed, so that a good message in a wrong place is not taken for the right one.
std::uint64_t checksum(std::uint64_t tag, const std::byte* data, std::uint64_t bytes) {
  return XXH3_64bits_withSeed(data, bytes, tag);
}

constexpr std::uint64_t kWholeTag = ~std::uint64_t{0};

const Node& node_of(const Run::Flight& flight) { return flight.run->slot().program.nodes()[flight.node]; }

// A datatype of UCX's is how it hands over fragments out of its own buffers. Only received.
void* begin_receive(void*, void* flight, std::size_t) { return flight; }
void* begin_send(void*, const void*, std::size_t) { return nullptr; }
std::size_t bytes_of(void* flight) { return node_of(*static_cast<Run::Flight*>(flight)).bytes; }
std::size_t send_fragment(void*, std::size_t, void*, std::size_t) { return 0; }
ucs_status_t receive_fragment(void* given, std::size_t offset, const void* data, std::size_t bytes) {
  auto& flight = *static_cast<Run::Flight*>(given);
  const Node& node = node_of(flight);
  if (offset > node.bytes || bytes > node.bytes - offset) return UCS_ERR_MESSAGE_TRUNCATED;
  flight.run->slot().program.add_fragment(node, offset, static_cast<const std::byte*>(data), bytes, flight.odd);
  return UCS_OK;
}
void end(void*) {}

}  // namespace

Runner::Runner(Context& context, Peers& peers, bool integrity, std::function<void(Error)> fail)
    : context_(context), peers_(peers), integrity_(integrity), fail_(std::move(fail)) {
  const ucp_generic_dt_ops_t operations{&begin_send,    &begin_receive,    &bytes_of,
                                        &send_fragment, &receive_fragment, &end};
  ucp_dt_create_generic(&operations, nullptr, &addition_);
}

Runner::~Runner() { ucp_dt_destroy(addition_); }

Error has_left(std::int32_t rank, const std::string& why, const std::string& what) {
  return {BALEEN_PEER_LOST,
          "rank " + std::to_string(rank) + " has left before " + what + (why.empty() ? "" : " (because: " + why + ")"),
          {}};
}

std::uint64_t Runner::tag_of(const Slot& slot, const Node& node) const {
  return slot.tag(node.kind == Node::Kind::kSend ? slot.group->place : node.place, node.message, node.taken).bits();
}

bool Runner::advance(Run& run) {
  bool did = false;
  while (const auto id = run.next()) {
    did = true;
    const Node& node = run.slot().program.nodes()[*id];
    if (node.kind == Node::Kind::kSend || node.kind == Node::Kind::kReceive) {
      post(run, *id);
      continue;
    }
    run.slot().program.work(node);
    run.complete(*id);
    if (node.kind != Node::Kind::kJoin) return true;  // messages may have come meanwhile
  }
  return did;
}

void Runner::post(Run& run, Program::Id id) {
  const Node& node = run.slot().program.nodes()[id];
  if (integrity_) {
    Run::Flight& flight = run.flight(id);
    flight.parts[0] = {node.data, node.bytes};
    flight.parts[1] = {&flight.checksum, sizeof flight.checksum};
  }
  if (node.kind == Node::Kind::kSend)
    post_send(run, id, node);
  else
    post_receive(run, id, node);
}

void Runner::post_send(Run& run, Program::Id id, const Node& node) {
  const std::int32_t rank = run.slot().group->ranks[node.place];
  if (peers_.has_gone(rank) || !peers_.endpoint(rank)) return lost(run, node.place);
  Run::Flight& flight = run.flight(id);
  const std::uint64_t tag = tag_of(run.slot(), node);
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = &on_sent;
  param.user_data = &flight;
  const void* buffer = node.data;
  std::size_t count = node.bytes;
  if (integrity_) {
    flight.checksum = checksum(tag, node.data, node.bytes);
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype = ucp_dt_make_iov();
    buffer = flight.parts;
    count = 2;
  }
  run.runner = this;
  ucs_status_ptr_t request = ucp_tag_send_nbx(peers_.endpoint(rank), buffer, count, tag, &param);
  if (UCS_PTR_IS_PTR(request))
    run.depart(id, request);
  else
    sent(run, id, UCS_PTR_STATUS(request));
}

void Runner::post_receive(Run& run, Program::Id id, const Node& node) {
  Run::Flight& flight = run.flight(id);
  ucp_request_param_t param{};
  // Without the last flag UCX 1.13 does not tell the length of a message that is there already; with it the callback
  // comes within the call.
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.cb.recv = &on_received;
  param.user_data = &flight;
  void* buffer = node.data;
  std::size_t count = node.bytes;
  if (integrity_) {
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype = ucp_dt_make_iov();
    buffer = flight.parts;
    count = 2;
  } else if (Program::adds(node)) {
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype = addition_;
    buffer = &flight;
    count = 1;
    flight.odd.clear();
  }
  run.runner = this;
  run.depart(id, nullptr);
  ucs_status_ptr_t request =
      ucp_tag_recv_nbx(context_.worker(), buffer, count, tag_of(run.slot(), node), kWholeTag, &param);
  if (UCS_PTR_IS_PTR(request)) {
    if (flight.under_way) flight.request = request;
  } else {
    run.arrive(id);
    received(run, id, UCS_PTR_STATUS(request), 0);
  }
}

void Runner::on_sent(void* request, ucs_status_t status, void* given) {
  auto& flight = *static_cast<Run::Flight*>(given);
  flight.run->arrive(flight.node);
  ucp_request_free(request);
  flight.run->runner->sent(*flight.run, flight.node, status);
}

void Runner::on_received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info, void* given) {
  auto& flight = *static_cast<Run::Flight*>(given);
  flight.run->arrive(flight.node);
  const std::uint64_t bytes = info ? info->length : 0;
  ucp_request_free(request);
  flight.run->runner->received(*flight.run, flight.node, status, bytes);
}

void Runner::sent(Run& run, Program::Id id, ucs_status_t status) {
  if (status == UCS_OK) return run.complete(id);
  if (status == UCS_ERR_CANCELED) return;
  const Node& node = run.slot().program.nodes()[id];
  peers_.lose(run.slot().group->ranks[node.place], peers_.ended(status));
  lost(run, node.place);
}

void Runner::received(Run& run, Program::Id id, ucs_status_t status, std::uint64_t bytes) {
  if (status == UCS_ERR_CANCELED) return;
  const Slot& slot = run.slot();
  const Node& node = slot.program.nodes()[id];
  const std::string who = "rank " + std::to_string(slot.group->ranks[node.place]);
  const std::uint64_t expected = node.bytes + (integrity_ ? sizeof(Run::Flight::checksum) : 0);
  if (status == UCS_ERR_MESSAGE_TRUNCATED || (status == UCS_OK && bytes != expected))
    return fail_(internal("ucx: " + who + " sent " +
                          (status == UCS_OK ? std::to_string(bytes) + " bytes, not the " : "more bytes than the ") +
                          std::to_string(expected) + " expected in " + slot.text));
  if (status != UCS_OK) {
    peers_.lose(slot.group->ranks[node.place], peers_.ended(status));
    return lost(run, node.place);
  }
  Run::Flight& flight = run.flight(id);
  if (integrity_ && !sound(flight, node, slot)) return;
  if (!flight.odd.empty()) slot.program.add_odd(node, flight.odd);
  run.complete(id);
}

bool Runner::sound(Run::Flight& flight, const Node& node, const Slot& slot) const {
  const std::uint64_t found = checksum(tag_of(slot, node), node.data, node.bytes);
  if (found == flight.checksum) return true;
  fail_({BALEEN_IO,
         "ucx: a message of " + std::to_string(node.bytes) + " bytes from rank " +
             std::to_string(slot.group->ranks[node.place]) + " to rank " + std::to_string(peers_.rank()) +
             " was damaged on its way (xxh3 " + hexadecimal(found) + ", sent with " + hexadecimal(flight.checksum) +
             ") in " + slot.text + "; look for a bad cable, card or memory on the two hosts",
         {}});
  return false;
}

void Runner::lost(const Run& run, std::uint32_t place) {
  const std::int32_t rank = run.slot().group->ranks[place];
  fail_(has_left(rank, peers_.reason(rank), run.slot().text));
}

void Runner::look_for_losses(const Run& run) {
  const Group& group = *run.slot().group;
  for (std::size_t place = 0; place < group.ranks.size(); ++place)
    if (run.waits_for(place) && peers_.has_gone(group.ranks[place]))
      return lost(run, static_cast<std::uint32_t>(place));
}

// Of a member's messages in a group the first that nobody has asked for is told apart by its slot: a member sends all
// of a collective before it sends any of the next.
void Runner::look_for_another(const Run& run) {
  const Slot& slot = run.slot();
  const Group& group = *slot.group;
  auto* const before = std::exchange(odd_, nullptr);
  for (std::size_t place = 0; place < group.ranks.size(); ++place) {
    if (!run.waits_for(place)) continue;
    ucp_tag_recv_info_t info;
    auto* const found = ucp_tag_probe_nb(context_.worker(), slot.tag(place, 0, false).bits(), Tag::kOfMember, 0, &info);
    const std::uint64_t theirs = found ? Tag::of(info.sender_tag).slot : slot.number;
    if (theirs == slot.number) continue;
    odd_ = found;
    if (found != before) return;
    return fail_(sdk::another_start(peers_.rank(), slot.text, group.ranks[place], group.text(theirs)));
  }
}

void Runner::cancel(Run& run) {
  for (Program::Id id = 0; id < run.slot().program.nodes().size(); ++id) {
    void* request = run.flight(id).request;
    if (request && run.slot().program.nodes()[id].kind == Node::Kind::kReceive)
      ucp_request_cancel(context_.worker(), request);
  }
}

void Runner::cut(Run& run) {
  for (Program::Id id = 0; id < run.slot().program.nodes().size(); ++id)
    if (run.flight(id).request) peers_.cut(run.slot().group->ranks[run.slot().program.nodes()[id].place]);
}

}  // namespace baleen::ucx
