/// \file Collectives that the device keeps in a sequence and replays.
#include "transport.hpp"

namespace baleen::nccl {

Status NcclTransport::begin_capture() {
  BALEEN_TRY(check());
  if (!engine_.device) return unsupported("no device was handed over");
  if (capturing_) return internal("a capture begins while another is under way");
  capturing_ = std::make_unique<Capture>();
  return {};
}

Result<void*> NcclTransport::end_capture() {
  if (!capturing_) return internal("a capture ends that has not begun");
  captures_.push_back(std::move(*capturing_));
  capturing_.reset();
  return static_cast<void*>(&captures_.back());
}

void NcclTransport::release_capture(void* capture) {
  captures_.remove_if([&](const Capture& one) { return &one == capture; });
}

// A lane of a pair may wait for its peer for long, and a replay would have to wait for that at its beginning.
Status NcclTransport::start_captured(const Slot& slot, baleen_event_t* after, std::uint64_t after_value,
                                     baleen_event_t* done, std::uint64_t done_value) {
  if (!slot.lane || slot.lane != lane_.get() || slot.is_carried() || !after || !done)
    return unsupported(slot.text + " cannot be captured: it is no collective of a group on the device's memory");
  Status enqueued;
  {
    const std::lock_guard lock(engine_.calls);
    BALEEN_TRY(check());
    if (!engine_.device) return internal("the device has been taken away");
    enqueued = slot.lane->capture(slot, *after, after_value, *done, done_value);
  }
  if (enqueued) {
    std::uint64_t number = attendance_->started(slot.key);
    for (const Capture::Start& start : capturing_->starts) number += start.slot->key == slot.key ? 1u : 0u;
    capturing_->starts.push_back({&slot, number});
    return {};
  }
  // What NCCL itself refuses leaves its communicator in error; what the device refuses is not kept, and that is all.
  const Error& error = enqueued.error();
  if (error.code != BALEEN_PEER_LOST && error.code != BALEEN_TIMEOUT) return enqueued;
  fail({error.code,
        "rank " + std::to_string(switchboard_->rank()) + ": " + error.text() +
            ", while a graph was captured; leave out `graphs` in [transport]",
        {}},
       true);
  return check();
}

// Rank 0 tells all others, whatever it has found.
Result<Outcome> NcclTransport::count_ballots(Ballot mine) {
  std::vector<Ballot> ballots{std::move(mine)};
  std::string strange;
  for (std::int32_t rank = 1; rank < switchboard_->ranks(); ++rank) {
    BALEEN_TRY_ASSIGN(const std::string bytes, letter_of(rank));
    Result<Ballot> ballot = ballot_from(bytes, rank);
    if (!ballot) strange = ballot.error().text();
    ballots.push_back(ballot ? *std::move(ballot) : Ballot{});
  }
  const Outcome outcome = strange.empty() ? outcome_of(ballots) : Outcome{false, strange};
  for (std::int32_t rank = 1; rank < switchboard_->ranks(); ++rank)
    switchboard_->send(FrameKind::kLetter, rank, encode(outcome));
  if (outcome.agreed)
    host_.log(BALEEN_INFO, "graphs: " + std::to_string(ballots[0].collectives()) +
                               " collectives of a program of rank 0 are replayed from now on");
  else if (!outcome.why.empty())
    host_.log(BALEEN_WARNING, "graphs: " + outcome.why + "; all ranks go on without them in this program");
  return outcome;
}

Result<bool> NcclTransport::agree_on(const std::vector<void*>& captures) {
  BALEEN_TRY(check());
  Ballot mine;
  for (const void* const capture : captures)
    for (const Capture::Start& start : static_cast<const Capture*>(capture)->starts) {
      Ballot::Group& group = mine.groups[start.slot->key];
      group.ranks = start.slot->group->ranks;
      group.starts.push_back(start.number);
    }
  if (switchboard_->rank() == 0) {
    BALEEN_TRY_ASSIGN(const Outcome outcome, count_ballots(std::move(mine)));
    return outcome.agreed;
  }
  switchboard_->send(FrameKind::kLetter, 0, encode(mine));
  BALEEN_TRY_ASSIGN(const std::string bytes, letter_of(0));
  BALEEN_TRY_ASSIGN(const Outcome outcome, outcome_from(bytes, 0));
  return outcome.agreed;
}

Status NcclTransport::enter(void* handle, baleen_event_t* rests, std::uint64_t rests_value) {
  BALEEN_TRY(check());
  BALEEN_TRY(make_room());
  if (!lane_) return internal("the device has been taken away");
  for (const Capture::Start& start : static_cast<const Capture*>(handle)->starts)
    if (Status well = attendance_->start(start.slot->key, {&start.slot->text, false}); !well) {
      fail_in_vain(well.error(), true);
      return check();
    }
  return begin_on(*lane_, [&] { return lane_->begin_replay(rests, rests_value); });
}

Status NcclTransport::replayed(void*, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
                               std::uint64_t done_value) {
  BALEEN_TRY(check());
  if (!lane_) return internal("the device has been taken away");
  return begin_on(*lane_, [&] { return lane_->end_replay(after, after_value, done, done_value); });
}

}  // namespace baleen::nccl
