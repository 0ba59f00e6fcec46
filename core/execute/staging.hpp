/// \file Collectives of a device whose memory the transport does not reach: through pinned memory of the host, in
/// pieces, of which one is copied while another is on its way.
#pragma once
#include <array>
#include <memory>

#include "compiler/codegen/executable.hpp"
#include "core/execute/device.hpp"

namespace baleen {

struct ProgramCall;
struct ProgramImpl;

/// Which collectives on the arenas of this device pass through pinned memory; `operations` work there, as the transport
/// says. `bound`: of the pinned bytes of a rank; 0: it may pin as much as it likes.
StagedCollectives staged_collectives(const Device& device, baleen_operations_t operations, std::uint64_t bound);
StagedCollectives staged_collectives(const Device& device, const Communicator& communicator, std::uint64_t bound);

/// A rank's pinned memory and the streams that copy. One for all programs of a session, which never run at once.
/// Device and communicator outlive it; it outlives no program that was connected with it while that runs. [one thread]
///
/// Between the program's stream, `out_` and `in_` the device keeps the order, where it can; the host takes part where
/// the transport begins and ends.
///
/// A piece of a collective: `out_` waits until the program's stream is there and the place in the ring is free, and
/// copies; the transport works; `in_` waits for it and copies back. Collectives are started in one order on all ranks
/// and a transport may run them one by one, so waiting for places makes no circle. A send or receive must hold up
/// nobody: it is copied by the program's own stream, in memory of its own.
class Staging {
 public:
  static Result<std::unique_ptr<Staging>> create(Device& device, Communicator& communicator, StagingBytes bytes);
  ~Staging();
  Staging(const Staging&) = delete;

  std::uint64_t bytes() const { return bytes_.total(); }

  /// Prepares the pieces of a call: collective as Communicator::prepare. `where`: its place, for messages.
  Status prepare(ProgramCall& call, const std::string& where);
  /// What begins and ends a call on the program's stream. `copy`: the number among the call's slots.
  Status begin(ProgramImpl& program, ProgramCall& call, std::size_t copy, void* stream);
  Status wait(ProgramImpl& program, ProgramCall& call, std::size_t copy, void* stream);

 private:
  struct Place {
    baleen_event_t moved{sizeof(baleen_event_t), 0, 0, nullptr};  ///< by the transport
    baleen_event_t free{sizeof(baleen_event_t), 0, 0, nullptr};   ///< copied back
    std::uint64_t uses = 0;
  };

  Staging(Device& device, Communicator& communicator, StagingBytes bytes)
      : device_(device), communicator_(communicator), bytes_(bytes) {}
  Status open();
  Status allocate();
  Status send_piece(const ProgramImpl& program, ProgramCall& call, std::size_t number, std::size_t copy);
  Status begin_pair(ProgramImpl& program, ProgramCall& call, std::size_t copy, void* stream);
  Status copy_out(const ProgramImpl& program, const ProgramCall& call, std::size_t piece, std::size_t copy,
                  void* stream);
  Status copy_in(const ProgramImpl& program, const ProgramCall& call, std::size_t piece, std::size_t copy,
                 void* stream);
  Status signal(void* stream, baleen_event_t& event, std::uint64_t value);
  Status wait(void* stream, baleen_event_t& event, std::uint64_t value);
  std::byte* memory_of(const ProgramCall& call, std::size_t piece) const;

  Device& device_;
  Communicator& communicator_;
  StagingBytes bytes_;
  std::byte* base_ = nullptr;
  bool from_transport_ = false, is_pinned_ = false, is_registered_ = false;
  void* out_ = nullptr;
  void* in_ = nullptr;
  std::array<Place, StagingBytes::kPlaces> places_;
  baleen_event_t filled_{sizeof(baleen_event_t), 0, 0, nullptr};  ///< pieces that `out_` has copied
  std::uint64_t fills_ = 0;
};

}  // namespace baleen
