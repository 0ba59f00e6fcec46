/// \file Copies out, lets the transport work, copies back.
#include "core/execute/staging.hpp"

#include "baleen/event.hpp"
#include "core/execute/program_impl.hpp"
#include "core/execute/stream_order.hpp"

namespace baleen {
namespace {

/// Unfinished uses of a place, beyond which the host waits: a transport takes BALEEN_MAX_OUTSTANDING operations.
constexpr std::uint64_t kMostAhead = BALEEN_MAX_OUTSTANDING / 4 / StagingBytes::kPlaces;

}  // namespace

StagedCollectives staged_collectives(const Device& device, baleen_operations_t operations, std::uint64_t bound) {
  if (device.host_reaches() || (operations & kAllOperations) == kAllOperations) return {};
  return {staging_piece_bytes(bound), operations};
}

StagedCollectives staged_collectives(const Device& device, const Communicator& communicator, std::uint64_t bound) {
  if (device.host_reaches()) return {};
  return staged_collectives(device, communicator.takes_operations(view(device.memory()->kind)), bound);
}

Result<std::unique_ptr<Staging>> Staging::create(Device& device, Communicator& communicator, StagingBytes bytes) {
  std::unique_ptr<Staging> staging(new Staging(device, communicator, bytes));
  BALEEN_TRY(staging->open());
  return staging;
}

Status Staging::open() {
  for (void** stream : {&out_, &in_})
    BALEEN_TRY(device_.check(device_.table().stream_create(device_.handle(), stream)));
  BALEEN_TRY(order_streams_on_device(device_, out_));
  if (bytes() == 0) return {};
  Status allocated = allocate();
  if (allocated || allocated.error().code != BALEEN_NO_MEMORY) return allocated;
  return Error{BALEEN_NO_MEMORY,
               "collectives pass through " + std::to_string(bytes()) +
                   " bytes of the host's memory on each rank, which has to be pinned: " + allocated.error().message +
                   ". What would help: a bound by `memory.pinned_mb` in the manifest (smaller pieces, slower), fewer "
                   "ranks on this host, or a transport that takes the device's memory",
               allocated.error().where};
}

// Memory of the transport's own saves it a copy; then the device has to know it.
Status Staging::allocate() {
  const baleen_device_memory_t* memory = device_.memory();
  if (communicator_.allocates()) {
    BALEEN_TRY_ASSIGN(void* const base, communicator_.allocate(bytes()));
    base_ = static_cast<std::byte*>(base);
    from_transport_ = true;
    if (!memory || !memory->pin) return {};
    BALEEN_TRY(device_.check(memory->pin(device_.handle(), base_, bytes())));
    is_pinned_ = true;
    return {};
  }
  void* base = nullptr;
  BALEEN_TRY(device_.check(device_.table().arena_create(device_.handle(), BALEEN_ARENA_PINNED, bytes(), &base)));
  base_ = static_cast<std::byte*>(base);
  if (!communicator_.registers()) return {};
  BALEEN_TRY(communicator_.add_arena(base_, bytes()));
  is_registered_ = true;
  return {};
}

Staging::~Staging() {
  communicator_.forget_begun();
  for (void* stream : {out_, in_})
    if (stream) device_.table().stream_destroy(device_.handle(), stream);
  if (!base_) return;
  if (is_pinned_) device_.memory()->unpin(device_.handle(), base_);
  if (is_registered_) communicator_.remove_arena(base_);
  if (from_transport_)
    communicator_.release(base_);
  else
    device_.table().arena_destroy(device_.handle(), BALEEN_ARENA_PINNED, base_, bytes());
}

std::byte* Staging::memory_of(const ProgramCall& call, std::size_t piece) const {
  const StagedPart& part = call.what->parts[piece];
  const std::uint64_t ring = StagingBytes::kPlaces * bytes_.place;
  return base_ + (is_pairwise(call.what->op) ? ring + part.offset : part.place * bytes_.place);
}

Status Staging::prepare(ProgramCall& call, const std::string& where) {
  for (std::size_t number = 0; number < call.parts.size(); ++number) {
    std::byte* const memory = memory_of(call, number);
    const auto at = [&](std::uint64_t offset) { return offset == StagedPiece::kNowhere ? nullptr : memory + offset; };
    CollectiveArgs piece = call.what->around(call.what->parts[number].piece.entries).with<const void*, void*>(at);
    piece.where = where;
    BALEEN_TRY_ASSIGN(call.parts[number].slot, communicator_.prepare(call.what->axes, std::move(piece)));
  }
  return {};
}

Status Staging::signal(void* stream, baleen_event_t& event, std::uint64_t value) {
  return device_.check(device_.table().stream_signal(device_.handle(), stream, &event, value));
}

Status Staging::wait(void* stream, baleen_event_t& event, std::uint64_t value) {
  return device_.check(device_.table().stream_wait(device_.handle(), stream, &event, value));
}

Status Staging::copy_out(const ProgramImpl& program, const ProgramCall& call, std::size_t piece, std::size_t copy,
                         void* stream) {
  const std::size_t slot = copy % call.slots.size();
  std::byte* const memory = memory_of(call, piece);
  for (const StagedCopy& c : call.what->parts[piece].piece.out) {
    const std::uint32_t input = call.what->in_slot(call.what->entries[c.entry].input, slot);
    const auto* from = static_cast<const std::byte*>(program.addresses[input]);
    BALEEN_TRY(
        device_.check(device_.table().copy(device_.handle(), stream, memory + c.staged, from + c.tensor, c.bytes)));
  }
  return {};
}

Status Staging::copy_in(const ProgramImpl& program, const ProgramCall& call, std::size_t piece, std::size_t copy,
                        void* stream) {
  const std::size_t slot = copy % call.slots.size();
  const std::byte* const memory = memory_of(call, piece);
  for (const StagedCopy& c : call.what->parts[piece].piece.in) {
    const std::uint32_t output = call.what->in_slot(call.what->entries[c.entry].output, slot);
    auto* to = static_cast<std::byte*>(program.addresses[output]);
    BALEEN_TRY(
        device_.check(device_.table().copy(device_.handle(), stream, to + c.tensor, memory + c.staged, c.bytes)));
  }
  return {};
}

Status Staging::begin(ProgramImpl& program, ProgramCall& call, std::size_t copy, void* stream) {
  ++call.begun;
  if (is_pairwise(call.what->op)) return begin_pair(program, call, copy, stream);
  BALEEN_TRY(signal(stream, program.issued, ++program.issues));
  BALEEN_TRY(wait(out_, program.issued, program.issues));
  for (std::size_t piece = 0; piece < call.parts.size(); ++piece) BALEEN_TRY(send_piece(program, call, piece, copy));
  return signal(in_, *call.done, call.begun);
}

Status Staging::send_piece(const ProgramImpl& program, ProgramCall& call, std::size_t number, std::size_t copy) {
  const ProgramCall::Part& part = call.parts[number];
  Place& place = places_[call.what->parts[number].place];
  if (place.uses >= event_value(place.free) + kMostAhead)
    BALEEN_TRY(device_.check(device_.table().synchronize(device_.handle(), in_)));
  BALEEN_TRY(wait(out_, place.free, place.uses));
  BALEEN_TRY(copy_out(program, call, number, copy, out_));
  BALEEN_TRY(signal(out_, filled_, ++fills_));
  BALEEN_TRY(communicator_.start(part.slot, &filled_, fills_, &place.moved, ++place.uses));
  BALEEN_TRY(wait(in_, place.moved, place.uses));
  BALEEN_TRY(copy_in(program, call, number, copy, in_));
  return signal(in_, place.free, place.uses);
}

Status Staging::begin_pair(ProgramImpl& program, ProgramCall& call, std::size_t copy, void* stream) {
  for (std::size_t piece = 0; piece < call.parts.size(); ++piece) {
    ProgramCall::Part& part = call.parts[piece];
    BALEEN_TRY(copy_out(program, call, piece, copy, stream));
    BALEEN_TRY(signal(stream, program.issued, ++program.issues));
    BALEEN_TRY(communicator_.start(part.slot, &program.issued, program.issues, part.done.get(), call.begun));
  }
  return {};
}

Status Staging::wait(ProgramImpl& program, ProgramCall& call, std::size_t copy, void* stream) {
  if (!is_pairwise(call.what->op)) return wait(stream, *call.done, call.begun);
  for (std::size_t piece = 0; piece < call.parts.size(); ++piece) {
    BALEEN_TRY(wait(stream, *call.parts[piece].done, call.begun));
    BALEEN_TRY(copy_in(program, call, piece, copy, stream));
  }
  return {};
}

}  // namespace baleen
