/// \file Messages of programs, and what became of them.
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

}  // namespace

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
  const std::int32_t rank = run.slot().group->ranks[node.place];
  const bool sends = node.kind == Node::Kind::kSend;
  if (sends && (peers_.has_gone(rank) || !wire_.is_open(rank))) return lost(run, node.place);
  Run::Flight& flight = run.flight(id);
  const std::uint64_t tag = tag_of(run.slot(), node);
  flight.parts[0] = {node.data, node.bytes};
  flight.part_count = 1;
  if (integrity_) {
    flight.parts[flight.part_count++] = {&flight.checksum, sizeof flight.checksum};
    if (sends) flight.checksum = checksum(tag, node.data, node.bytes);
  }
  run.runner = this;
  if (sends) return wire_.send(rank, tag, flight);
  flight.odd.clear();
  wire_.receive(rank, tag, flight, !integrity_ && Program::adds(node));
}

void Runner::ended(Run::Flight& flight, Outcome outcome, std::uint64_t bytes, const std::string& why) {
  Run& run = *flight.run;
  if (flight.under_way) run.arrive(flight.node);
  if (run.slot().program.nodes()[flight.node].kind == Node::Kind::kSend)
    run.runner->sent(run, flight.node, outcome, why);
  else
    run.runner->received(run, flight.node, outcome, bytes, why);
}

void Runner::sent(Run& run, Program::Id id, Outcome outcome, const std::string& why) {
  if (outcome == Outcome::kDone) return run.complete(id);
  if (outcome == Outcome::kCancelled) return;
  const Node& node = run.slot().program.nodes()[id];
  peers_.lose(run.slot().group->ranks[node.place], peers_.ended(why));
  lost(run, node.place);
}

void Runner::received(Run& run, Program::Id id, Outcome outcome, std::uint64_t bytes, const std::string& why) {
  if (outcome == Outcome::kCancelled) return;
  const Slot& slot = run.slot();
  const Node& node = slot.program.nodes()[id];
  const std::string who = "rank " + std::to_string(slot.group->ranks[node.place]);
  const std::uint64_t expected = node.bytes + (integrity_ ? sizeof(Run::Flight::checksum) : 0);
  if (outcome == Outcome::kTooLong || (outcome == Outcome::kDone && bytes != expected))
    return fail_(
        internal("ucx: " + who + " sent " +
                 (outcome == Outcome::kDone ? std::to_string(bytes) + " bytes, not the " : "more bytes than the ") +
                 std::to_string(expected) + " expected in " + slot.text));
  if (outcome != Outcome::kDone) {
    peers_.lose(slot.group->ranks[node.place], peers_.ended(why));
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
  const void* const before = std::exchange(odd_, nullptr);
  for (std::size_t place = 0; place < group.ranks.size(); ++place) {
    if (!run.waits_for(place)) continue;
    const auto found = wire_.first_unasked(group.ranks[place], slot.tag(place, 0, false).bits(), Tag::kOfMember);
    const std::uint64_t theirs = found ? Tag::of(found->tag).slot : slot.number;
    if (theirs == slot.number) continue;
    odd_ = found->identity;
    if (found->identity != before) return;
    return fail_(sdk::another_start(peers_.rank(), slot.text, group.ranks[place], group.text(theirs)));
  }
}

void Runner::cancel(Run& run) {
  for (Program::Id id = 0; id < run.slot().program.nodes().size(); ++id) {
    Run::Flight& flight = run.flight(id);
    if (flight.request && run.slot().program.nodes()[id].kind == Node::Kind::kReceive) wire_.cancel(flight);
  }
}

void Runner::cut(Run& run) {
  for (Program::Id id = 0; id < run.slot().program.nodes().size(); ++id)
    if (run.flight(id).request) peers_.cut(run.slot().group->ranks[run.slot().program.nodes()[id].place]);
}

}  // namespace baleen::ucx
