/// \file Joining by the rendezvous, and the thread that listens.
#include "switchboard.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace baleen::nccl {
namespace {

constexpr const char* kKey = "nccl.hub";

std::string new_secret() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  std::string text;
  for (const unsigned char byte : bytes)
    text += std::string{"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  return text;
}

Result<FileHandle> connect_to_any(const MeetingPlace& place) {
  constexpr double kSecondsEach = 5;
  std::string rest = place.addresses;
  while (true) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    auto connected = connect_to(rest.substr(0, end), place.port, kSecondsEach);
    if (connected || end == rest.size()) return connected;
    rest.erase(0, end + 1);
  }
}

}  // namespace

Result<std::unique_ptr<Switchboard>> Switchboard::join(const Rendezvous& rendezvous, const std::string& interface,
                                                       const std::string& facts, double seconds) {
  const bool one_host = rendezvous.on_one_host();
  std::string own = rendezvous.address();  // where rank 0 listens; empty: everywhere
  std::unique_ptr<Hub> hub;
  MeetingPlace place;
  if (!interface.empty() && !one_host) {  // on every rank: a wrong name is an error on its host
    BALEEN_TRY_ASSIGN(own, addresses_of(interface));
    own = own.substr(0, own.find(','));
  }
  if (rendezvous.rank() == 0) {
    BALEEN_TRY_ASSIGN(auto listening, listen_on(own));
    place.port = listening.second;
    place.secret = new_secret();
    if (place.secret.empty()) return internal("the system has no random bytes");
    place.addresses = own;
    if (own.empty()) {
      BALEEN_TRY_ASSIGN(place.addresses, addresses_of({}));
    }
    hub = std::make_unique<Hub>(std::move(listening.first), rendezvous.ranks(), place.secret, seconds);
    rendezvous.put(kKey, to_text(place));
  } else {
    BALEEN_TRY_ASSIGN(place, place_from(rendezvous.get(kKey)));
  }
  BALEEN_TRY_ASSIGN(FileHandle file, connect_to_any(place));
  std::unique_ptr<Switchboard> made(
      new Switchboard(rendezvous.rank(), rendezvous.ranks(), Wire(std::move(file)), std::move(hub)));
  made->wire_.trust();  // who holds the port that rank 0 named
  made->wire_.send({FrameKind::kHello, rendezvous.rank(), 0, place.secret + facts});
  BALEEN_TRY(made->await_welcome(rendezvous));
  made->thread_ = quiet_thread("nccl-listen", [raw = made.get()] { raw->run(); });
  return made;
}

Switchboard::Switchboard(std::int32_t rank, std::int32_t ranks, Wire wire, std::unique_ptr<Hub> hub)
    : rank_(rank),
      ranks_(ranks),
      hub_(std::move(hub)),
      woken_(made_file(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "an event")),
      wire_(std::move(wire)) {}

Switchboard::~Switchboard() { stop(); }

void Switchboard::stop() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto woken = write(woken_.get(), &one, sizeof one);
  if (thread_.joinable()) thread_.join();
}

Status Switchboard::await_welcome(const Rendezvous& rendezvous) {
  while (true) {
    pollfd ready{wire_.file(), static_cast<short>(POLLIN | (wire_.has_queued() ? POLLOUT : 0)), 0};
    poll(&ready, 1, 100);
    const bool open = wire_.exchange();
    if (const std::optional<Frame> frame = wire_.take())
      return frame->bytes.empty() ? Status() : Status(Error{BALEEN_INVALID, frame->bytes, {}});
    if (rendezvous.over()) return Error{BALEEN_PEER_LOST, "the run is over before all ranks have come", {}};
    if (!open) return Error{BALEEN_PEER_LOST, "rank 0 is gone before all ranks have come", {}};
  }
}

void Switchboard::listen(Listener listener) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto woken = write(woken_.get(), &one, sizeof one);
}

void Switchboard::send(FrameKind kind, std::int32_t to, std::string bytes) {
  const std::lock_guard lock(mutex_);
  outgoing_.push_back({kind, rank_, to, std::move(bytes)});
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto woken = write(woken_.get(), &one, sizeof one);
}

Result<std::string> Switchboard::letter_of(std::int32_t rank) {
  std::unique_lock lock(mutex_);
  std::deque<std::string>& letters = letters_[rank];
  changed_.wait(lock, [&] { return awake_ || ended_ || !letters.empty(); });
  if (letters.empty())
    return Error{BALEEN_PEER_LOST, ended_ ? kEnded : "no letter came from rank " + std::to_string(rank), {}};
  std::string letter = std::move(letters.front());
  letters.pop_front();
  return letter;
}

void Switchboard::wake() {
  const std::lock_guard lock(mutex_);
  awake_ = true;
  changed_.notify_all();
}

std::deque<Frame> Switchboard::hear(bool& open) {
  std::deque<Frame> heard;
  const bool ended = open && !wire_.exchange();
  while (std::optional<Frame> frame = wire_.take()) heard.push_back(*std::move(frame));
  // Behind what rank 0 has said last.
  if (ended) heard.push_back({FrameKind::kGone, 0, rank_, {}});
  open = open && !ended;
  return heard;
}

void Switchboard::run() {
  constexpr int kMostLeavings = 20;  // of a tenth of a second: then rank 0 does not listen
  std::deque<Frame> news;            // for the listener, in order
  bool open = true;
  for (int leavings = 0; leavings < kMostLeavings;) {
    pollfd files[] = {{woken_.get(), POLLIN, 0},
                      {open ? wire_.file() : -1, static_cast<short>(POLLIN | (wire_.has_queued() ? POLLOUT : 0)), 0}};
    poll(files, 2, leavings > 0 ? 100 : 1000);
    std::uint64_t word = 0;
    [[maybe_unused]] const auto woken = read(woken_.get(), &word, sizeof word);
    std::deque<Frame> outgoing;
    {
      const std::lock_guard lock(mutex_);
      outgoing.swap(outgoing_);
      if (leaving_) ++leavings;
    }
    for (const Frame& frame : outgoing) wire_.send(frame);
    std::deque<Frame> heard = hear(open);
    Listener listener;
    {
      const std::lock_guard lock(mutex_);
      for (Frame& frame : heard) {
        if (frame.kind == FrameKind::kLetter)
          letters_[frame.from].push_back(std::move(frame.bytes));
        else
          news.push_back(std::move(frame));
      }
      ended_ = !open;
      changed_.notify_all();
      listener = listener_;
    }
    for (; listener && !news.empty(); news.pop_front()) listener(news.front());
    if (leavings > 0 && (!open || !wire_.has_queued())) return;
  }
}

}  // namespace baleen::nccl
