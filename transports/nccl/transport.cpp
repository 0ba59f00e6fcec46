/// \file Creation, start, and every way to end.
#include "transport.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "baleen/network.hpp"

namespace baleen::nccl {
namespace {

/// That a communicator may take to come to rest; one that does not is aborted.
constexpr double kFinalSeconds = 2;
/// Milliseconds in which aborts that do not end have at least begun.
constexpr int kTicksToBegin = 200;

}  // namespace

Result<std::unique_ptr<NcclTransport>> NcclTransport::create(const Host& host, const Settings& settings,
                                                             const Rendezvous& rendezvous, baleen_transport_flags_t) {
  BALEEN_TRY_ASSIGN(Options options, Options::from(settings));
  options.default_interface = interface_of(rendezvous.address());
  std::unique_ptr<NcclTransport> made(new NcclTransport(host, std::move(options)));
  const Options& given = made->options_;
  BALEEN_TRY_ASSIGN(made->engine_.driver, open_driver(given.driver));
  BALEEN_TRY_ASSIGN(made->engine_.nccl, open_nccl(given.library));
  BALEEN_TRY(given.suit(made->engine_.nccl));
  const int version = made->engine_.nccl.version;
  made->engine_.seconds = given.timeout;
  made->engine_.config = given.config();
  made->attendance_ = std::make_unique<Attendance>(rendezvous.rank());
  const std::string holds = given.effective(made->engine_.nccl), facts = given.facts(version);
  set_environment(given, version, rendezvous.rank(), host);
  BALEEN_TRY_ASSIGN(made->switchboard_, Switchboard::join(rendezvous, given.interface, facts, given.timeout));
  made->barriers_ = std::make_unique<Barriers>(made->engine_, *made->attendance_, *made->switchboard_);
  made->watcher_ = quiet_thread("nccl-watch", [raw = made.get()] { raw->watch(); });
  made->switchboard_->listen([raw = made.get()](const Frame& frame) { raw->hear(frame); });
  if (rendezvous.rank() == 0) {
    host.log(BALEEN_INFO, holds);
    if (made->engine_.nccl.label)
      host.log(BALEEN_WARNING, "this is not NVIDIA's NCCL: " + std::string(made->engine_.nccl.label()));
  }
  return made;
}

NcclTransport::~NcclTransport() {
  if (!watcher_.joinable()) return;  // `create` failed
  let_finish();
  ask_nccl();
  const Status before = engine_.failure.status();
  const bool clean = before && unfinished() == 0;
  switchboard_->send(FrameKind::kLeft, -1, attendance_->farewell(clean, before ? "" : before.error().text()));
  if (engine_.device) leave();
  fail({BALEEN_PEER_LOST, "this rank has left", {}}, false);
  watcher_.join();
  barriers_->stop();
  switchboard_->stop();  // before what it tells of ends; its thread may be in fail(), which sends
}

void NcclTransport::fail(Error error, bool tell) {
  const std::string text = error.text();
  if (!engine_.failure.set(std::move(error))) return;
  if (tell) switchboard_->send(FrameKind::kFailure, -1, text);
  event_signal(engine_.failed, 1);
  attendance_->wake();
  switchboard_->wake();
}

// What is on its way to a good end shall come there: a peer may have heard of its own end already.
void NcclTransport::fail_in_vain(Error error, bool tell) {
  constexpr int kQuiet = 5;  // hundredths of a second without progress
  std::uint64_t last = unfinished();
  for (int quiet = 0; quiet < kQuiet && last > 0 && !engine_.failure; ++quiet) {
    usleep(10'000);
    const std::uint64_t now = unfinished();
    if (now != last) quiet = 0;
    last = now;
  }
  fail(std::move(error), tell);
}

// Rank 0 passes on what ranks tell each other. Where it has left in good order, others finish what they have begun.
Status NcclTransport::heard_gone(std::int32_t rank) {
  if (rank != 0 || !attendance_->has_left(0))
    return Error{
        BALEEN_PEER_LOST, "rank " + std::to_string(rank) + " is gone: its connection ended without a word", {}};
  hub_left_ = true;
  attendance_->end();  // barriers whose announcements have all come end well
  return {};
}

Status NcclTransport::hub_has_left() const {
  if (!hub_left_) return {};
  return Error{BALEEN_PEER_LOST, Switchboard::kEnded, {}};
}

void NcclTransport::hear(const Frame& frame) {
  Status well;
  switch (frame.kind) {
    case FrameKind::kBarrier: well = attendance_->heard_barrier(frame.from, frame.bytes); break;
    case FrameKind::kLeft: well = attendance_->heard_farewell(frame.from, frame.bytes); break;
    case FrameKind::kFailure: well = Error{BALEEN_PEER_LOST, frame.bytes, {}}; break;
    case FrameKind::kGone: well = heard_gone(frame.from); break;
    default: return;
  }
  // A rank that is told needs no telling of others, but for what it has found out itself.
  if (!well) fail_in_vain(std::move(well).error(), frame.kind == FrameKind::kBarrier);
}

// NCCL tells of a peer's end, or of the network's, only who asks.
void NcclTransport::ask_nccl() {
  const std::unique_lock lock(engine_.calls, std::try_to_lock);
  if (!lock || engine_.failure) return;
  for (const KnownMemory& known : comms_) {
    Code found = kSuccess;
    if (engine_.nccl.ncclCommGetAsyncError(known.comm(), &found) != kSuccess || found == kInProgress ||
        found == kSuccess)
      continue;
    const std::string text = failure_text(engine_.nccl, "a collective", found, known.comm());
    return fail({BALEEN_PEER_LOST, "rank " + std::to_string(switchboard_->rank()) + ": " + text, {}}, true);
  }
}

void NcclTransport::watch() {
  while (!engine_.failure) {
    const timespec soon = event_deadline(0.1);
    const std::uint64_t word = event_prepare_sleep(engine_.failed);
    if (word >> 1 == 0) event_sleep(engine_.failed, word, &soon);
    ask_nccl();
  }
  tear_down();
}

void NcclTransport::each_lane(const std::function<void(Lane&)>& body) {
  const std::lock_guard lock(lanes_);
  if (lane_) body(*lane_);
  for (auto& [key, pair] : pairs_)
    if (pair.lane) body(*pair.lane);
}

// At once: an abort may wait for all that the device has under way, so for kernels that end by another's abort, for
// graphs with several, and for streams that wait for the host. These are let go when all aborts have begun, and so
// their kernels find that they are to end; who is told of the failure has heard of it by then.
void NcclTransport::abort_all(const std::list<KnownMemory>& comms) {
  std::vector<std::thread> threads;
  std::atomic<std::size_t> ended = 0;
  for (const KnownMemory& known : comms)
    threads.push_back(quiet_thread("nccl-abort", [this, &ended, comm = known.comm()] {
      engine_.nccl.ncclCommAbort(comm);
      ++ended;
    }));
  for (int ticks = 0; ticks < kTicksToBegin && ended < threads.size(); ++ticks) usleep(1000);
  each_lane([](Lane& lane) { lane.let_go(); });
  for (std::thread& thread : threads) thread.join();
}

// Events first: a stream goes on when its communicator is aborted, and would raise them as if all were well.
// NCCL ends a communicator when no graph holds it any more (from its sources), and who releases graphs may want `calls`
// before that: the abort comes without. Whoever has `calls` later sees the failure.
void NcclTransport::tear_down() {
  std::list<KnownMemory> comms;
  {
    const std::lock_guard lock(engine_.calls);
    each_lane([](Lane& lane) { lane.fail_unfinished(); });
    comms.swap(comms_);
  }
  abort_all(comms);
  comms.clear();
  event_signal(torn_down_, 1);
}

std::uint64_t NcclTransport::unfinished() const {
  const std::lock_guard lock(lanes_);
  std::uint64_t all = barriers_->unfinished() + (lane_ ? lane_->unfinished() : 0);
  for (const auto& [key, pair] : pairs_)
    if (pair.lane) all += pair.lane->unfinished();
  return all;
}

// The stream's own count is a moment behind the events of operations.
void NcclTransport::let_finish() const {
  for (int ticks = 0; ticks < 100 && !engine_.failure && unfinished() > 0; ++ticks) usleep(1000);
}

void NcclTransport::end_unfinished(const std::string& why) {
  let_finish();
  if (!engine_.failure && unfinished() == 0) return;
  fail({BALEEN_PEER_LOST, why, {}}, false);
  event_wait(torn_down_, 1);
  barriers_->await_end();
  const auto await_end = [](Lane* lane) {
    if (!lane) return;
    lane->await_carrier();
    lane->await_stream();
  };
  await_end(lane_.get());
  for (auto& [key, pair] : pairs_) await_end(pair.lane.get());
}

void NcclTransport::group_destroy(void* handle) {
  end_unfinished("a group was destroyed while its operations were under way");
  attendance_->close(static_cast<Group*>(handle)->key);
  std::erase_if(groups_, [&](const auto& group) { return group.get() == handle; });
}

Status NcclTransport::make_room() {
  if (unfinished() < BALEEN_MAX_OUTSTANDING) return {};
  let_finish();
  if (unfinished() < BALEEN_MAX_OUTSTANDING) return {};
  return invalid("" + std::to_string(BALEEN_MAX_OUTSTANDING) +
                 " operations are unfinished, which is as many as there may be");
}

Status NcclTransport::start(void* handle, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
                            std::uint64_t done_value) {
  BALEEN_TRY(check());
  Slot& slot = *static_cast<Slot*>(handle);
  if (capturing_) return start_captured(slot, after, after_value, done, done_value);
  BALEEN_TRY(make_room());
  if (!slot.collective.op) return internal("a slot without a collective");
  const bool is_barrier = !slot.lane;
  if (Status well = attendance_->start(slot.key, {&slot.text, is_barrier}); !well) {
    fail_in_vain(well.error(), true);
    return check();
  }
  if (is_barrier) {
    BALEEN_TRY(hub_has_left());
    barriers_->begin(slot.key, slot.group->ranks, after, after_value, done, done_value);
    return {};
  }
  return begin_on(*slot.lane, [&] { return slot.lane->begin(slot, after, after_value, done, done_value); });
}

Status NcclTransport::begin_on(Lane& lane, const std::function<Status()>& begin) {
  Status begun;
  {
    const std::lock_guard lock(engine_.calls);
    BALEEN_TRY(check());
    if (!engine_.device) return internal("the device has been taken away");
    begun = begin();
  }
  if (begun) return {};
  fail({begun.error().code, "rank " + std::to_string(switchboard_->rank()) + ": " + begun.error().text(), {}}, true);
  lane.await_carrier();  // the caller may forget its event now
  return check();
}

Status NcclTransport::use(void* device, const baleen_compute_t* compute, const baleen_native_events_t* events) {
  BALEEN_TRY(check());
  const std::lock_guard lock(engine_.calls);
  engine_.device = {device, compute, events, {}};
  kernels_ = std::make_unique<TileKernels>(engine_.device);
  auto opened = Lane::open(engine_, *kernels_), setup = Lane::open(engine_, *kernels_);
  if (!opened || !setup) {
    Error error = opened ? setup.error() : opened.error();
    engine_.device = {};
    return error;
  }
  const std::lock_guard lanes_lock(lanes_);
  lane_ = *std::move(opened);
  setup_ = *std::move(setup);
  BALEEN_TRY(lane_->enter());
  BALEEN_TRY_ASSIGN(engine_.device.identity, engine_.driver.current_device());
  return {};
}

void NcclTransport::leave() {
  end_unfinished("the device was taken away while operations were under way");
  if (engine_.failure) event_wait(torn_down_, 1);
  const std::lock_guard lock(engine_.calls);
  for (KnownMemory& known : comms_) {
    const Comm comm = known.comm();
    known.clear();
    if (!engine_.settle(comm, "ncclCommFinalize", engine_.nccl.ncclCommFinalize(comm), kFinalSeconds) ||
        engine_.nccl.ncclCommDestroy(comm) != kSuccess)
      engine_.nccl.ncclCommAbort(comm);
  }
  comms_.clear();
  free_all_memory();
  introduced_.clear();
  for (const auto& group : groups_) group->comm = nullptr;
  {
    const std::lock_guard lanes_lock(lanes_);
    pairs_.clear();
    lane_.reset();
  }
  setup_.reset();
  kernels_.reset();
  engine_.device = {};
}

}  // namespace baleen::nccl
