/// \file Frames on a connection: messages, notes and beats, out and in.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "runner.hpp"
#include "tls_wire.hpp"

namespace baleen::ucx {
namespace {

// What one connection may read, or send, before the other direction has its turn: as much as a cache holds.
constexpr std::uint64_t kTurnBytes = 256 << 10;
// Buffers of early messages that are kept for the next ones, in all.
constexpr std::uint64_t kKeptEarly = 32 << 20;

std::uint64_t room_of(const Run::Flight& flight) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < flight.part_count; ++i) bytes += flight.parts[i].length;
  return bytes;
}

// Bytes of a flight from `at` on that lie together.
Span part_at(const Run::Flight& flight, std::uint64_t at) {
  for (std::uint32_t i = 0; i < flight.part_count; ++i) {
    if (at < flight.parts[i].length)
      return {static_cast<std::byte*>(flight.parts[i].buffer) + at, flight.parts[i].length - at};
    at -= flight.parts[i].length;
  }
  return {};
}

const Node& node_in_program(const Run::Flight& flight) { return flight.run->slot().program.nodes()[flight.node]; }

}  // namespace

TlsWire::Frame& TlsWire::new_frame(Kind kind, std::uint64_t tag, std::uint64_t bytes) {
  if (!free_) {
    frames_.push_back(std::make_unique<Frame>());
    free_ = frames_.back().get();
  }
  Frame& frame = *free_;
  free_ = frame.next;
  frame.header = FrameHeader::of(kind, tag, bytes);
  frame.flight = nullptr;
  frame.next = nullptr;
  return frame;
}

void TlsWire::append(Link& link, Frame& frame) {
  (link.first ? link.last->next : link.first) = &frame;
  link.last = &frame;
  link.was_sent = true;
  // What is short goes at once, with one record; what is long takes turns with what comes.
  const bool is_short = sizeof frame.header + frame.header.bytes() <= TlsChannel::kRecord;
  if (is_short && link.stage == Stage::kOpen && link.first == &frame) push_out(link);
}

void TlsWire::note(std::int32_t rank, NoteKind kind, std::string_view bytes) {
  if (!is_open(rank)) return;
  Frame& frame = new_frame(Kind::kNote, static_cast<std::uint64_t>(kind), bytes.size());
  frame.note.assign(bytes);
  append(at(rank), frame);
}

void TlsWire::send(std::int32_t rank, std::uint64_t tag, Run::Flight& flight) {
  Frame& frame = new_frame(Kind::kMessage, tag, room_of(flight));
  frame.flight = &flight;
  flight.run->depart(flight.node, this);
  append(at(rank), frame);
}

// A frame's first record holds its header and as much of its body as fits.
Step TlsWire::write_piece(Link& link, const Frame& frame) {
  const std::uint64_t body = frame.header.bytes(), header = sizeof frame.header;
  const auto bytes_at = [&](std::uint64_t at) {
    if (frame.flight) return part_at(*frame.flight, at);
    return Span{reinterpret_cast<std::byte*>(const_cast<char*>(frame.note.data())) + at, body - at};
  };
  Span piece;
  if (link.written < TlsChannel::kRecord) {
    const std::size_t whole = std::min<std::uint64_t>(header + body, TlsChannel::kRecord);
    std::memcpy(staged_.data(), &frame.header, header);
    for (std::uint64_t at = 0; header + at < whole;) {
      const Span next = bytes_at(at);
      const std::uint64_t bytes = std::min(next.bytes, whole - header - at);
      std::memcpy(staged_.data() + header + at, next.data, bytes);
      at += bytes;
    }
    piece = {staged_.data() + link.written, whole - link.written};
  } else {
    piece = bytes_at(link.written - header);
  }
  std::size_t taken = 0;
  const Step step = link.channel->write(piece.data, piece.bytes, taken);
  if (step == Step::kDone) link.written += taken;
  return step;
}

void TlsWire::finish_first(Link& link) {
  Frame& frame = *link.first;
  link.first = frame.next;
  if (!link.first) link.last = nullptr;
  link.written = 0;
  frame.next = free_;
  free_ = &frame;
  if (frame.flight) Runner::ended(*frame.flight, Outcome::kDone, 0, {});
}

// Nothing can be sent any more. What the other end said before, its reason to leave, may have come and is read first.
void TlsWire::read_the_rest(Link& link) {
  link.broken = link.channel->why();
  if (!std::exchange(link.has_more, true)) ++busy_;
}

bool TlsWire::push_out(Link& link) {
  if (!link.broken.empty()) return false;
  std::uint64_t all = 0;
  Step step = Step::kDone;
  while (link.first && step == Step::kDone && all < kTurnBytes) {
    const std::uint64_t before = link.written;
    step = write_piece(link, *link.first);
    if (step != Step::kDone) break;
    all += link.written - before;
    if (link.written == sizeof(FrameHeader) + link.first->header.bytes()) finish_first(link);
  }
  if (step != Step::kEnded && link.channel->flush() == Step::kEnded) step = Step::kEnded;
  if (step == Step::kEnded) {
    read_the_rest(link);
    return true;
  }
  // Else the next turn goes on.
  const bool wants_room = step == Step::kLater || link.channel->has_unsent();
  if (wants_room != link.wants_room) {
    link.wants_room = wants_room;
    watch(link);
  }
  return all > 0;
}

Run::Flight*& TlsWire::bucket_of(std::int32_t rank, std::uint64_t tag) {
  const std::uint64_t mixed = (tag ^ static_cast<std::uint64_t>(rank) << 32) * 0x9e3779b97f4a7c15;
  return posted_[mixed >> 54];
}

// The place that points to the flight; null where there is none.
Run::Flight** TlsWire::posted(std::int32_t rank, std::uint64_t tag) {
  for (Run::Flight** place = &bucket_of(rank, tag); *place; place = &(*place)->next)
    if ((*place)->rank == rank && (*place)->tag == tag) return place;
  return nullptr;
}

Run::Flight** TlsWire::posted(const Run::Flight& flight) {
  for (Run::Flight** place = &bucket_of(flight.rank, flight.tag); *place; place = &(*place)->next)
    if (*place == &flight) return place;
  return nullptr;
}

void TlsWire::receive(std::int32_t rank, std::uint64_t tag, Run::Flight& flight, bool adds) {
  flight.rank = rank;
  flight.tag = tag;
  flight.adds = adds;
  flight.next = nullptr;
  flight.run->depart(flight.node, this);
  auto& early = at(rank).early;
  const auto found =
      std::find_if(early.begin(), early.end(), [&](const auto& one) { return one->tag == tag && !one->claimed; });
  if (found == early.end()) {
    Run::Flight** end = &bucket_of(rank, tag);  // equal tags match in the order of their receives
    while (*end) end = &(*end)->next;
    *end = &flight;
  } else if ((*found)->complete) {
    std::unique_ptr<Early> one = std::move(*found);
    early.erase(found);
    deliver(flight, std::move(one));
  } else {
    (*found)->claimed = &flight;
  }
}

void TlsWire::deliver(Run::Flight& flight, std::unique_ptr<Early> early) {
  const std::uint64_t bytes = early->bytes;
  const bool fits = bytes <= room_of(flight);
  if (fits && flight.adds)
    flight.run->slot().program.add_fragment(node_in_program(flight), 0, early->data.get(), bytes, flight.odd);
  for (std::uint64_t done = 0; fits && !flight.adds && done < bytes;) {
    const Span part = part_at(flight, done);
    const std::uint64_t more = std::min(part.bytes, bytes - done);
    std::memcpy(part.data, early->data.get() + done, more);
    done += more;
  }
  keep(std::move(early));
  Runner::ended(flight, fits ? Outcome::kDone : Outcome::kTooLong, bytes, {});
}

void TlsWire::keep(std::unique_ptr<Early> early) {
  if (kept_bytes_ + early->room > kKeptEarly) return;
  kept_bytes_ += early->room;
  kept_.push_back(std::move(early));
}

std::unique_ptr<TlsWire::Early> TlsWire::new_early(std::uint64_t tag, std::uint64_t bytes) {
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const auto& one) { return one->room >= bytes; });
  std::unique_ptr<Early> early;
  if (found != kept_.end()) {
    early = std::move(*found);
    kept_.erase(found);
    kept_bytes_ -= early->room;
  } else {
    early = std::make_unique<Early>();
    early->data.reset(new (std::nothrow) std::byte[bytes]);
    if (!early->data) return nullptr;
    early->room = bytes;
  }
  early->tag = tag;
  early->bytes = bytes;
  early->complete = false;
  early->claimed = nullptr;
  return early;
}

void TlsWire::cancel(Run::Flight& flight) {
  if (Run::Flight** const place = posted(flight)) {
    *place = flight.next;
  } else {
    Link& link = at(flight.rank);
    if (link.in.flight == &flight) link.in.flight = nullptr;  // the rest is read and dropped
    for (const auto& early : link.early)
      if (early->claimed == &flight) early->claimed = nullptr;
  }
  Runner::ended(flight, Outcome::kCancelled, 0, {});
}

std::optional<Unasked> TlsWire::first_unasked(std::int32_t rank, std::uint64_t tag, std::uint64_t mask) {
  for (const auto& early : at(rank).early)
    if (((early->tag ^ tag) & mask) == 0 && !early->claimed) return Unasked{early->tag, early.get()};
  return std::nullopt;
}

bool TlsWire::begin_body(Link& link) {
  Incoming& in = link.in;
  in.at = 0;
  if (in.header.kind() == Kind::kNote) in.note.resize(in.header.bytes());
  if (in.header.kind() != Kind::kMessage) return true;
  if (Run::Flight** const place = posted(link.rank, in.header.tag)) {
    in.flight = *place;
    *place = in.flight->next;
    if (in.header.bytes() > room_of(*in.flight))
      Runner::ended(*std::exchange(in.flight, nullptr), Outcome::kTooLong, in.header.bytes(), {});
    return true;
  }
  std::unique_ptr<Early> early = new_early(in.header.tag, in.header.bytes());
  if (!early) return false;
  in.early = early.get();
  link.early.push_back(std::move(early));
  return true;
}

void TlsWire::end_body(Link& link) {
  Incoming& in = link.in;
  in.header_bytes = 0;
  if (in.header.kind() == Kind::kNote) {
    const std::string note = std::exchange(in.note, {});
    return heard_({static_cast<NoteKind>(in.header.tag), link.rank}, note);
  }
  if (in.flight) return Runner::ended(*std::exchange(in.flight, nullptr), Outcome::kDone, in.header.bytes(), {});
  if (!in.early) return;
  Early* const early = std::exchange(in.early, nullptr);
  early->complete = true;
  if (!early->claimed) return;
  const auto found =
      std::find_if(link.early.begin(), link.early.end(), [&](const auto& one) { return one.get() == early; });
  std::unique_ptr<Early> one = std::move(*found);
  link.early.erase(found);
  Run::Flight& claimed = *one->claimed;
  deliver(claimed, std::move(one));
}

Step TlsWire::read_piece(Link& link, std::size_t& got) {
  Incoming& in = link.in;
  if (in.header_bytes < sizeof in.header) {
    auto* const to = reinterpret_cast<std::byte*>(&in.header) + in.header_bytes;
    const Step step = link.channel->read(to, sizeof in.header - in.header_bytes, got);
    if (step == Step::kDone) in.header_bytes += got;
    return step;
  }
  const std::uint64_t left = in.header.bytes() - in.at;
  Span to{piece_.data(), piece_.size()};
  if (in.header.kind() == Kind::kNote)
    to = {reinterpret_cast<std::byte*>(in.note.data()) + in.at, left};
  else if (in.early)
    to = {in.early->data.get() + in.at, left};
  else if (in.flight && !in.flight->adds)
    to = part_at(*in.flight, in.at);
  const Step step = link.channel->read(to.data, std::min(to.bytes, left), got);
  if (step != Step::kDone) return step;
  if (in.flight && in.flight->adds)
    in.flight->run->slot().program.add_fragment(node_in_program(*in.flight), in.at, to.data, got, in.flight->odd);
  in.at += got;
  return step;
}

bool TlsWire::pull_in(Link& link) {
  Incoming& in = link.in;
  std::uint64_t all = 0;
  Step step = Step::kDone;
  while (step == Step::kDone && all < kTurnBytes && link.channel) {
    std::size_t got = 0;
    const bool has_header = in.header_bytes == sizeof in.header;
    step = read_piece(link, got);
    if (step != Step::kDone) break;
    all += got;
    if (!has_header && in.header_bytes < sizeof in.header) continue;
    if (!has_header) {
      std::string why = in.header.objection();
      if (why.empty() && !begin_body(link))
        why = "there is no memory for a message of " + std::to_string(in.header.bytes()) + " bytes that it sends early";
      if (!why.empty()) {
        lose(link, std::move(why));
        return true;
      }
    }
    if (in.at == in.header.bytes()) end_body(link);
  }
  if (step == Step::kEnded || (step == Step::kLater && !link.broken.empty())) {
    lose(link, step == Step::kEnded ? link.channel->why() : link.broken);
    return true;
  }
  const bool has_more = step == Step::kDone && link.channel;
  if (has_more != link.has_more) busy_ += has_more ? 1 : std::size_t(-1);
  link.has_more = has_more;
  return all > 0;
}

}  // namespace baleen::ucx
