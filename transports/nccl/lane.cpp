/// \file Enqueueing on the stream.
#include "lane.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire.hpp"

namespace baleen::nccl {

Result<std::unique_ptr<Lane>> Lane::open(Engine& engine, const TileKernels& kernels) {
  std::unique_ptr<Lane> lane(new Lane(engine, kernels));
  const Device& device = engine.device;
  BALEEN_TRY(Engine::checked(device.compute->stream_create(device.handle, &lane->stream_), "making a stream"));
  BALEEN_TRY(Engine::checked(device.events->native_stream(device.handle, lane->stream_, &lane->native_),
                             "telling a stream's handle"));
  return lane;
}

Lane::~Lane() {
  const Device& device = engine_.device;
  event_signal(stop_, 1);
  event_signal(posted_, BALEEN_EVENT_FAILED);
  if (carrier_.joinable()) carrier_.join();
  let_go();
  if (stream_) device.compute->stream_destroy(device.handle, stream_);
  for (const Memory* memory : {&scratch_, &mirror_, &bounce_})
    for (const auto& [base, bytes] : memory->blocks)
      device.compute->arena_destroy(device.handle, memory->kind, base, bytes);
}

Status Lane::grow(Memory& memory, std::uint64_t bytes) {
  if (bytes <= memory.bytes()) return {};
  bytes = std::max(bytes, 2 * memory.bytes());
  void* base = nullptr;
  const Device& device = engine_.device;
  const auto status = device.compute->arena_create(device.handle, memory.kind, bytes, &base);
  if (status != BALEEN_OK)
    return Error{
        status,
        "" + std::to_string(bytes) +
            " bytes of the device's or pinned memory for collectives are not there; leave it some by `memory` or "
            "`fraction` in [compute], or lower `scratch_mb`",
        {}};
  memory.blocks.emplace_back(base, bytes);
  return {};
}

Status Lane::reserve(const Slot& slot) {
  BALEEN_TRY(grow(scratch_, slot.program.scratch));
  if (!slot.is_carried()) return {};
  BALEEN_TRY(grow(mirror_, slot.mirror));
  BALEEN_TRY(grow(bounce_, slot.mirror));
  if (carrier_.joinable()) return {};
  carrier_ = quiet_thread("nccl-carrier", [this] { carry(); });
  return {};
}

void* Lane::address(const Place& place) const {
  switch (place.in) {
    case Place::In::kDevice: return reinterpret_cast<void*>(place.at);
    case Place::In::kMirror: return mirror_.base() + place.at;
    case Place::In::kScratch: return scratch_.base() + place.at;
    default: return nullptr;
  }
}

Code Lane::enqueue_call(const Call& call, Comm comm) const {
  const Functions& nccl = engine_.nccl;
  const void* from = address(call.from);
  void* to = address(call.to);
  switch (call.kind) {
    case Call::Kind::kAllReduce: return nccl.ncclAllReduce(from, to, call.count, call.type, call.op, comm, native_);
    case Call::Kind::kReduceScatter:
      return nccl.ncclReduceScatter(from, to, call.count, call.type, call.op, comm, native_);
    case Call::Kind::kAllGather: return nccl.ncclAllGather(from, to, call.count, call.type, comm, native_);
    case Call::Kind::kBroadcast: return nccl.ncclBroadcast(from, to, call.count, call.type, call.peer, comm, native_);
    case Call::Kind::kReduce:
      return nccl.ncclReduce(from, to, call.count, call.type, call.op, call.peer, comm, native_);
    case Call::Kind::kSend: return nccl.ncclSend(from, call.count, call.type, call.peer, comm, native_);
    case Call::Kind::kReceive: return nccl.ncclRecv(to, call.count, call.type, call.peer, comm, native_);
    case Call::Kind::kAllToAll: return nccl.ncclAlltoAll(from, to, call.count, call.type, comm, native_);
  }
  return kInternalError;
}

// The kernel lies on the stream only when the communicator is at rest again.
Status Lane::enqueue_group(const std::vector<Call>& calls, Comm comm) {
  const Functions& nccl = engine_.nccl;
  BALEEN_TRY(engine_.settle(comm, "ncclGroupStart", nccl.ncclGroupStart()));
  Code refused = kSuccess;
  for (const Call& call : calls) {
    const Code code = enqueue_call(call, comm);
    if (code != kSuccess && code != kInProgress && refused == kSuccess) refused = code;
  }
  const Code ended = nccl.ncclGroupEnd();
  return engine_.settle(comm, "a group of collectives", refused == kSuccess ? ended : refused);
}

Status Lane::enqueue(const Collective& c, const Program& program, Comm comm) {
  const Device& device = engine_.device;
  for (const Step& step : program.steps) {
    auto *from = static_cast<std::byte*>(address(step.from)), *to = static_cast<std::byte*>(address(step.to));
    switch (step.kind) {
      case Step::Kind::kCalls: BALEEN_TRY(enqueue_group(step.calls, comm)); break;
      case Step::Kind::kCopy:
        BALEEN_TRY(Engine::checked(device.compute->copy(device.handle, stream_, to, from, step.bytes), "copying"));
        break;
      case Step::Kind::kReduce: BALEEN_TRY(kernels_.launch(c, step, from, to, stream_)); break;
    }
  }
  return {};
}

Status Lane::wait(baleen_event_t& event, std::uint64_t value) {
  const Device& device = engine_.device;
  return Engine::checked(device.compute->stream_wait(device.handle, stream_, &event, value), "making a stream wait");
}

Status Lane::signal(baleen_event_t& event, std::uint64_t value) {
  const Device& device = engine_.device;
  return Engine::checked(device.compute->stream_signal(device.handle, stream_, &event, value), "enqueueing a signal");
}

Status Lane::enter() {
  const Device& device = engine_.device;
  return Engine::checked(device.events->native_stream(device.handle, stream_, &native_), "telling a stream's handle");
}

Status Lane::run(const Program& program, Comm comm) {
  BALEEN_TRY(enter());
  BALEEN_TRY(grow(scratch_, program.scratch));
  BALEEN_TRY(enqueue({}, program, comm));
  BALEEN_TRY(signal(finished_, ++sent_));
  if (!wait_for(finished_, sent_, engine_.failed)) {
    BALEEN_TRY(engine_.failure.status());
    return internal("the device failed while ranks met");
  }
  return {};
}

Status Lane::clear(void* base, std::uint64_t bytes) {
  const Device& device = engine_.device;
  BALEEN_TRY(Engine::checked(device.compute->zero(device.handle, stream_, base, bytes), "zeroing memory"));
  return Engine::checked(device.compute->synchronize(device.handle, stream_), "zeroing memory");
}

Status Lane::enqueue_all(const Slot& slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
                         std::uint64_t done_value, std::uint64_t number) {
  if (slot.is_carried())
    BALEEN_TRY(wait(carried_in_, number));
  else if (after)
    BALEEN_TRY(wait(*after, after_value));
  else
    BALEEN_TRY(enter());
  BALEEN_TRY(copy(slot.in, true));
  BALEEN_TRY(enqueue(slot.collective, slot.program, slot.comm));
  BALEEN_TRY(copy(slot.out, false));
  if (!slot.is_carried() && done) BALEEN_TRY(signal(*done, done_value));
  return signal(finished_, number);
}

Status Lane::begin(const Slot& slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
                   std::uint64_t done_value) {
  const std::uint64_t number = ++sent_;
  (*pending_)[number % pending_->size()] = {number, slot.is_carried() ? nullptr : done, nullptr};
  if (slot.is_carried()) {
    (*jobs_)[++posts_ % jobs_->size()] = {&slot, after, done, after_value, done_value, number, bounce_.base()};
    event_signal(posted_, posts_);
  }
  Status well = enqueue_all(slot, after, after_value, done, done_value, number);
  return well ? well : forget_failed(std::move(well));
}

// The last that was begun: its events are the caller's again, whatever of them is under way.
Status Lane::forget_failed(Status failed) {
  static_cast<void>(signal(finished_, sent_));  // behind what lies on the stream of it
  Pending& pending = (*pending_)[sent_ % pending_->size()];
  for (baleen_event_t* const event : {std::exchange(pending.done, nullptr), std::exchange(pending.rests, nullptr)})
    if (event) engine_.device.events->fail(engine_.device.handle, event);
  return failed;
}

Status Lane::begin_replay(baleen_event_t* rests, std::uint64_t rests_value) {
  const std::uint64_t number = ++sent_;
  (*pending_)[number % pending_->size()] = {number, nullptr, rests};
  Status well = enter();
  if (well) well = signal(*rests, rests_value);
  return well ? well : forget_failed(std::move(well));
}

Status Lane::end_replay(baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
                        std::uint64_t done_value) {
  (*pending_)[sent_ % pending_->size()].done = done;
  Status well = wait(*after, after_value);
  if (well) well = signal(*done, done_value);
  if (well) well = signal(finished_, sent_);
  return well ? well : forget_failed(std::move(well));
}

Status Lane::capture(const Slot& slot, baleen_event_t& after, std::uint64_t after_value, baleen_event_t& done,
                     std::uint64_t done_value) {
  BALEEN_TRY(wait(after, after_value));
  BALEEN_TRY(enqueue(slot.collective, slot.program, slot.comm));
  return signal(done, done_value);
}

std::uint64_t Lane::unfinished() const {
  const std::uint64_t finished = event_value(finished_), carried = event_value(carried_);
  const std::uint64_t sent = sent_, posts = posts_;
  return std::max(sent - std::min(finished, sent), posts - std::min(carried, posts));
}

void Lane::fail_unfinished() {
  const Device& device = engine_.device;
  const std::uint64_t finished = event_value(finished_);
  for (const Pending& pending : *pending_)
    for (baleen_event_t* const event : {pending.done, pending.rests})
      if (pending.number > finished && event) device.events->fail(device.handle, event);
}

// What waits for an event that never comes is left to the stream's end.
void Lane::await_stream() {
  constexpr double kLimit = 2;
  event_wait(finished_, sent_, kLimit);
}

void Lane::await_carrier() {
  if (carrier_.joinable()) event_wait(carried_, posts_);
}

Status Lane::copy(const std::vector<HostCopy>& copies, bool in) {
  const Device& device = engine_.device;
  for (const HostCopy& one : copies) {
    std::byte *const there = mirror_.base() + one.mirror, *const here = bounce_.base() + one.mirror;
    void* to = in ? there : here;
    const void* from = in ? here : there;
    BALEEN_TRY(Engine::checked(device.compute->copy(device.handle, stream_, to, from, one.bytes), "copying"));
  }
  return {};
}

// After a failure nothing is said to be ready any more: that would let the stream pass what never became so before it.
bool Lane::carry_one(const Job& job) {
  if (engine_.failure || (job.after && !wait_for(*job.after, job.after_value, engine_.failed))) return false;
  for (const HostCopy& one : job.slot->in) std::memcpy(job.bounce + one.mirror, one.host, one.bytes);
  event_signal(carried_in_, job.number);
  if (!wait_for(finished_, job.number, engine_.failed) || engine_.failure) return false;
  for (const HostCopy& one : job.slot->out) std::memcpy(one.host, job.bounce + one.mirror, one.bytes);
  return true;
}

// One after another: they share the mirror.
void Lane::carry() {
  for (std::uint64_t number = 1;; ++number) {
    event_wait(posted_, number);
    if (event_value(stop_) > 0) return;
    const Job job = (*jobs_)[number % jobs_->size()];
    const bool well = carry_one(job);
    if (!well && engine_.failure.set(internal("the device failed in a collective"))) event_signal(engine_.failed, 1);
    if (job.done) event_signal(*job.done, well ? job.done_value : BALEEN_EVENT_FAILED);
    event_signal(carried_, number);
  }
}

}  // namespace baleen::nccl
