/// \file Carries programs out: posts their messages, does their work, hears what became of them.
#pragma once
#include <functional>
#include <string>

#include "context.hpp"
#include "group.hpp"
#include "peers.hpp"

namespace baleen::ucx {

/// Used by one thread at a time, as the context is.
class Runner {
 public:
  /// `fail` is told what goes wrong.
  Runner(Context& context, Peers& peers, bool integrity, std::function<void(Error)> fail);
  ~Runner();
  Runner(const Runner&) = delete;

  /// Does what can be done now: all messages, and one piece of work at a time. False where nothing could.
  bool advance(Run& run);
  /// Fails where the run waits for a member that has gone.
  void look_for_losses(const Run& run);
  /// Fails where a member that the run waits for has started another collective of the group: its next message belongs
  /// to that one, now and at the last look.
  void look_for_another(const Run& run);
  /// After a failure: takes back the receives, so that nothing arrives any more. Messages that are under way come to
  /// their end while the context progresses.
  void cancel(Run& run);
  /// Ends the connections that messages of the run are still under way on.
  void cut(Run& run);

 private:
  void post(Run& run, Program::Id id);
  void post_send(Run& run, Program::Id id, const Node& node);
  void post_receive(Run& run, Program::Id id, const Node& node);
  void sent(Run& run, Program::Id id, ucs_status_t status);
  void received(Run& run, Program::Id id, ucs_status_t status, std::uint64_t bytes);
  void lost(const Run& run, std::uint32_t place);
  bool sound(Run::Flight& flight, const Node& node, const Slot& slot) const;
  std::uint64_t tag_of(const Slot& slot, const Node& node) const;
  static void on_sent(void* request, ucs_status_t status, void* flight);
  static void on_received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info, void* flight);

  Context& context_;
  Peers& peers_;
  const bool integrity_;
  const std::function<void(Error)> fail_;
  ucp_tag_message_h odd_ = nullptr;  // what the last look for another collective found
  ucp_datatype_t addition_ = 0;      // of messages that are added while they arrive; their buffer is a flight
};

/// Who is missing, and from what; `why` it left, or empty.
Error has_left(std::int32_t rank, const std::string& why, const std::string& what);

}  // namespace baleen::ucx
