/// \file UCX's endpoints, tagged messages and active messages as a wire.
#pragma once
#include <ucp/api/ucp.h>

#include <memory>
#include <string>
#include <vector>

#include "context.hpp"
#include "wire.hpp"

namespace baleen::ucx {

class UcxWire final : public Wire {
 public:
  UcxWire(std::unique_ptr<Context> context, std::int32_t rank, std::int32_t ranks);
  ~UcxWire() override;

  Result<std::string> address() const override { return context_->address(); }
  Status open(std::int32_t rank, const std::string& address) override;
  bool is_open(std::int32_t rank) const override { return at(rank).endpoint && !at(rank).broken; }
  void close(std::int32_t rank, bool at_once) override;
  bool tidy() override;
  void abandon() override;

  bool progress() override { return context_->progress(); }
  bool arm() override { return context_->arm(); }
  int file() const override { return context_->file(); }
  void wake() override { context_->wake(); }

  void note(std::int32_t rank, NoteKind kind, std::string_view bytes) override;
  void send(std::int32_t rank, std::uint64_t tag, Run::Flight& flight) override;
  void receive(std::int32_t rank, std::uint64_t tag, Run::Flight& flight, bool adds) override;
  void cancel(Run::Flight& flight) override { ucp_request_cancel(context_->worker(), flight.request); }
  std::optional<Unasked> first_unasked(std::int32_t rank, std::uint64_t tag, std::uint64_t mask) override;

  Result<Memory> allocate(std::uint64_t bytes) override { return context_->allocate(bytes); }
  void free(const Memory& memory) override { context_->free(memory); }
  bool knows_cuda() const override { return context_->knows_cuda(); }
  Result<Memory> adopt(void* base, std::uint64_t bytes) override { return context_->adopt(base, bytes); }
  std::string key_of(const Memory& memory) const override { return context_->key_of(memory); }
  View view(std::int32_t rank, const std::string& key, std::uint64_t address) override;
  void drop(const View& view) override;

 private:
  struct Peer {
    UcxWire* wire = nullptr;
    std::int32_t rank = 0;
    ucp_ep_h endpoint = nullptr;
    bool broken = false;
  };
  // A note under way.
  struct Outgoing {
    UcxWire* wire = nullptr;
    NoteHeader header{};
    std::string bytes;
  };

  static constexpr unsigned kNoteId = 1;

  Peer& at(std::int32_t rank) { return peers_[static_cast<std::size_t>(rank)]; }
  const Peer& at(std::int32_t rank) const { return peers_[static_cast<std::size_t>(rank)]; }
  static ucs_status_t on_message(void* self, const void* header, std::size_t header_bytes, void* data,
                                 std::size_t bytes, const ucp_am_recv_param_t* param);
  static void on_error(void* peer, ucp_ep_h endpoint, ucs_status_t status);
  static void on_note_sent(void* request, ucs_status_t status, void* outgoing);
  static void on_sent(void* request, ucs_status_t status, void* flight);
  static void on_received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info, void* flight);

  std::unique_ptr<Context> context_;
  const std::int32_t rank_;
  std::vector<Peer> peers_;
  bool untidy_ = false;
  std::vector<std::unique_ptr<Outgoing>> outgoing_;  // all there ever were
  std::vector<Outgoing*> free_;
  std::vector<void*> closing_;   // requests
  ucp_datatype_t addition_ = 0;  // of messages that are added while they arrive; their buffer is a flight
};

}  // namespace baleen::ucx
