/// \file Carries programs out: posts their messages, does their work, hears what became of them.
#pragma once
#include <functional>
#include <string>

#include "group.hpp"
#include "peers.hpp"
#include "wire.hpp"

namespace baleen::ucx {

/// Used by one thread at a time, as the wire is.
class Runner {
 public:
  /// `fail` is told what goes wrong.
  Runner(Wire& wire, Peers& peers, bool integrity, std::function<void(Error)> fail)
      : wire_(wire), peers_(peers), integrity_(integrity), fail_(std::move(fail)) {}
  Runner(const Runner&) = delete;

  /// Does what can be done now: all messages, and one piece of work at a time. False where nothing could.
  bool advance(Run& run);
  /// Fails where the run waits for a member that has gone.
  void look_for_losses(const Run& run);
  /// Fails where a member that the run waits for has started another collective of the group: its next message belongs
  /// to that one, now and at the last look.
  void look_for_another(const Run& run);
  /// After a failure: takes back the receives, so that nothing arrives any more. Messages that are under way come to
  /// their end while the wire progresses.
  void cancel(Run& run);
  /// Ends the connections that messages of the run are still under way on.
  void cut(Run& run);
  /// A message of a runner's ended: `bytes` of a receive that is done, `why` of one that broke.
  static void ended(Run::Flight& flight, Outcome outcome, std::uint64_t bytes, const std::string& why);

 private:
  void post(Run& run, Program::Id id);
  void sent(Run& run, Program::Id id, Outcome outcome, const std::string& why);
  void received(Run& run, Program::Id id, Outcome outcome, std::uint64_t bytes, const std::string& why);
  void lost(const Run& run, std::uint32_t place);
  bool sound(Run::Flight& flight, const Node& node, const Slot& slot) const;
  std::uint64_t tag_of(const Slot& slot, const Node& node) const;

  Wire& wire_;
  Peers& peers_;
  const bool integrity_;
  const std::function<void(Error)> fail_;
  const void* odd_ = nullptr;  // what the last look for another collective found
};

/// Who is missing, and from what; `why` it left, or empty.
Error has_left(std::int32_t rank, const std::string& why, const std::string& what);

}  // namespace baleen::ucx
