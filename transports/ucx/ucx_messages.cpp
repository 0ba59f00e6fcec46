/// \file Messages of programs as tagged messages of UCX.
#include "runner.hpp"
#include "ucx_wire.hpp"

namespace baleen::ucx {
namespace {

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

// A message of one part is its bytes; of two, a list.
void describe(Run::Flight& flight, ucp_request_param_t& param, void*& buffer, std::size_t& count) {
  if (node_of(flight).on_device) {
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param.memory_type = UCS_MEMORY_TYPE_CUDA;
  }
  if (flight.part_count == 1) {
    buffer = flight.parts[0].buffer;
    count = flight.parts[0].length;
    return;
  }
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
  param.datatype = ucp_dt_make_iov();
  buffer = flight.parts;
  count = flight.part_count;
}

void end_with(Run::Flight& flight, ucs_status_t status, std::uint64_t bytes) {
  const Outcome outcome = status == UCS_OK                      ? Outcome::kDone
                          : status == UCS_ERR_CANCELED          ? Outcome::kCancelled
                          : status == UCS_ERR_MESSAGE_TRUNCATED ? Outcome::kTooLong
                                                                : Outcome::kBroken;
  Runner::ended(flight, outcome, bytes, outcome == Outcome::kBroken ? status_text(status) : std::string());
}

}  // namespace

UcxWire::UcxWire(std::unique_ptr<Context> context, std::int32_t rank, std::int32_t ranks)
    : context_(std::move(context)), rank_(rank), peers_(static_cast<std::size_t>(ranks)) {
  for (std::int32_t r = 0; r < ranks; ++r) {
    at(r).wire = this;
    at(r).rank = r;
  }
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kNoteId;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.cb = &on_message;
  handler.arg = this;
  ucp_worker_set_am_recv_handler(context_->worker(), &handler);
  const ucp_generic_dt_ops_t operations{&begin_send,    &begin_receive,    &bytes_of,
                                        &send_fragment, &receive_fragment, &end};
  ucp_dt_create_generic(&operations, nullptr, &addition_);
}

UcxWire::~UcxWire() {
  context_.reset();  // may still call back into what is older than it
  ucp_dt_destroy(addition_);
}

void UcxWire::send(std::int32_t rank, std::uint64_t tag, Run::Flight& flight) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = &on_sent;
  param.user_data = &flight;
  void* buffer = nullptr;
  std::size_t count = 0;
  describe(flight, param, buffer, count);
  ucs_status_ptr_t request = ucp_tag_send_nbx(at(rank).endpoint, buffer, count, tag, &param);
  if (UCS_PTR_IS_PTR(request))
    flight.run->depart(flight.node, request);
  else
    end_with(flight, UCS_PTR_STATUS(request), 0);
}

void UcxWire::receive(std::int32_t, std::uint64_t tag, Run::Flight& flight, bool adds) {
  ucp_request_param_t param{};
  // Without the last flag UCX 1.13 does not tell the length of a message that is there already; with it the callback
  // comes within the call.
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.cb.recv = &on_received;
  param.user_data = &flight;
  void* buffer = nullptr;
  std::size_t count = 0;
  describe(flight, param, buffer, count);
  if (adds) {
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype = addition_;
    buffer = &flight;
    count = 1;
  }
  flight.run->depart(flight.node, nullptr);
  ucs_status_ptr_t request = ucp_tag_recv_nbx(context_->worker(), buffer, count, tag, kWholeTag, &param);
  if (UCS_PTR_IS_PTR(request)) {
    if (flight.under_way) flight.request = request;
  } else {
    end_with(flight, UCS_PTR_STATUS(request), 0);
  }
}

void UcxWire::on_sent(void* request, ucs_status_t status, void* flight) {
  ucp_request_free(request);
  end_with(*static_cast<Run::Flight*>(flight), status, 0);
}

void UcxWire::on_received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info, void* flight) {
  const std::uint64_t bytes = info ? info->length : 0;
  ucp_request_free(request);
  end_with(*static_cast<Run::Flight*>(flight), status, bytes);
}

std::optional<Unasked> UcxWire::first_unasked(std::int32_t, std::uint64_t tag, std::uint64_t mask) {
  ucp_tag_recv_info_t info;
  auto* const found = ucp_tag_probe_nb(context_->worker(), tag, mask, 0, &info);
  if (!found) return std::nullopt;
  return Unasked{info.sender_tag, found};
}

}  // namespace baleen::ucx
