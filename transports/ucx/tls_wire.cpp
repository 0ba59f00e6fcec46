/// \file Connections: events, their ends, memory.
#include "tls_wire.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runner.hpp"

namespace baleen::ucx {
namespace {

// The highest 32 bits of what an event is about; of a connection 0, and its rank.
constexpr std::uint64_t kWhatListens = 1, kWhatIsStrange = 2, kWhatWakes = 3;

std::uint64_t what(std::uint64_t kind, std::size_t number) { return kind << 32 | number; }

}  // namespace

TlsWire::TlsWire(TlsJob job, const Rendezvous& rendezvous, double patience)
    : job_(std::move(job)),
      rank_(rendezvous.rank()),
      host_of_(rendezvous.host_of()),
      patience_(patience),
      links_(static_cast<std::size_t>(rendezvous.ranks())),
      events_(made_file(epoll_create1(EPOLL_CLOEXEC), "a set of connections")),
      woken_(made_file(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "an event")),
      piece_(TlsChannel::kRecord),
      staged_(TlsChannel::kRecord) {
  for (std::size_t rank = 0; rank < links_.size(); ++rank) links_[rank].rank = static_cast<std::int32_t>(rank);
  watch(woken_.get(), EPOLLIN, what(kWhatWakes, 0));
}

TlsWire::~TlsWire() { abandon(); }

void TlsWire::watch(int file, std::uint32_t events, std::uint64_t about) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = about;
  if (epoll_ctl(events_.get(), EPOLL_CTL_MOD, file, &event) != 0) epoll_ctl(events_.get(), EPOLL_CTL_ADD, file, &event);
}

void TlsWire::watch(const Link& link) {
  const int file = link.channel ? link.channel->socket() : link.socket.get();
  watch(file, link.wants_room ? EPOLLIN | EPOLLOUT : EPOLLIN, what(0, static_cast<std::size_t>(link.rank)));
}

void TlsWire::watch_listener(std::size_t number) {
  watch(listeners_[number].get(), EPOLLIN, what(kWhatListens, number));
}

void TlsWire::watch_stranger(std::size_t number) {
  const TlsChannel& channel = *strangers_[number].channel;
  watch(channel.socket(), channel.has_unsent() ? EPOLLIN | EPOLLOUT : EPOLLIN, what(kWhatIsStrange, number));
}

void TlsWire::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(woken_.get(), &one, sizeof one);  // fails only where it is awake anyway
}

void TlsWire::hear_event(std::uint64_t about, std::uint32_t events) {
  const auto number = static_cast<std::size_t>(about & 0xffffffff);
  switch (about >> 32) {
    case kWhatWakes: {
      std::uint64_t count = 0;
      [[maybe_unused]] const auto got = read(woken_.get(), &count, sizeof count);
      return;
    }
    case kWhatListens:
      if (number < listeners_.size()) accept(listeners_[number].get());
      return;
    case kWhatIsStrange:
      if (strangers_[number].channel) hear_stranger(number);
      return;
    default: break;
  }
  Link& link = links_[number];
  if (link.stage == Stage::kConnecting) return connected(link);
  if (link.stage == Stage::kShaking) return shake(link);
  if ((events & EPOLLOUT) && link.channel) push_out(link);
  if ((events & ~std::uint32_t{EPOLLOUT}) && link.channel && !link.has_more) pull_in(link);
}

// Something to send, and the socket has not said that it is full.
bool TlsWire::has_turn(const Link& link) {
  return link.first && !link.wants_room && link.broken.empty() &&
         (link.stage == Stage::kOpen || link.stage == Stage::kClosing);
}

bool TlsWire::arm() { return busy_ == 0 && std::none_of(links_.begin(), links_.end(), has_turn); }

bool TlsWire::progress() {
  constexpr int kMost = 64;
  bool did = false;
  for (Link& link : links_) {
    if (link.has_more && pull_in(link)) did = true;
    if (has_turn(link) && push_out(link)) did = true;
  }
  std::array<epoll_event, kMost> events;
  const int count = epoll_wait(events_.get(), events.data(), kMost, 0);
  for (int i = 0; i < count; ++i)
    hear_event(events[static_cast<std::size_t>(i)].data.u64, events[static_cast<std::size_t>(i)].events);
  return did || count > 0;
}

bool TlsWire::is_open(std::int32_t rank) const {
  const Stage stage = at(rank).stage;
  return stage != Stage::kNone && stage != Stage::kClosing && stage != Stage::kGone;
}

void TlsWire::shut(Link& link) {
  if (link.stage == Stage::kClosing) --closing_;
  if (link.has_more) --busy_;
  link.stage = Stage::kGone;
  link.has_more = false;
  link.channel.reset();
  link.socket.close();
}

void TlsWire::end_all(Link& link, Outcome outcome, const std::string& why) {
  while (Frame* const frame = link.first) {
    link.first = frame->next;
    frame->next = free_;
    free_ = frame;
    if (frame->flight) Runner::ended(*frame->flight, outcome, 0, why);
  }
  link.last = nullptr;
  link.in.early = nullptr;
  if (link.in.flight) Runner::ended(*std::exchange(link.in.flight, nullptr), outcome, 0, why);
  for (const auto& early : link.early)
    if (early->claimed) Runner::ended(*early->claimed, outcome, 0, why);
  std::erase_if(link.early, [](const auto& early) { return !early->complete; });
}

// What has come whole can still be asked for.
void TlsWire::lose(Link& link, std::string why) {  // NOLINT(*unnecessary-value-param): it may be the link's
  const bool was_closing = link.stage == Stage::kClosing;
  shut(link);
  if (!was_closing) broke_(link.rank, why);
  end_all(link, Outcome::kBroken, why);
}

void TlsWire::close(std::int32_t rank, bool at_once) {
  Link& link = at(rank);
  if (link.stage == Stage::kNone || link.stage == Stage::kGone) return;
  if (!at_once && link.stage == Stage::kOpen) {
    link.stage = Stage::kClosing;
    ++closing_;
    push_out(link);
  } else if (at_once || link.stage != Stage::kClosing) {
    shut(link);
    end_all(link, Outcome::kCancelled, {});
  }
}

bool TlsWire::tidy() {
  if (closing_ == 0) return false;
  for (Link& link : links_) {
    if (link.stage != Stage::kClosing || link.first) continue;
    if (!std::exchange(link.has_ended, true)) link.channel->end();
    if (link.channel->flush() == Step::kEnded)
      lose(link, link.channel->why());
    else if (link.channel->is_delivered())
      shut(link);
  }
  return closing_ > 0;
}

void TlsWire::abandon() {
  for (Link& link : links_) {
    if (link.stage == Stage::kNone || link.stage == Stage::kGone) continue;
    shut(link);
    end_all(link, Outcome::kCancelled, {});
  }
}

Result<Wire::Memory> TlsWire::allocate(std::uint64_t bytes) {
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return Error{BALEEN_NO_MEMORY, "ucx: " + std::to_string(bytes) + " bytes for an arena: out of memory", {}};
  return Memory{static_cast<std::byte*>(base), bytes, nullptr};
}

void TlsWire::free(const Memory& memory) { munmap(memory.base, memory.bytes); }

}  // namespace baleen::ucx
