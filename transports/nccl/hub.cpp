/// \file Accepting, passing on, and noticing.
#include "hub.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "baleen/event.hpp"

namespace baleen::nccl {
namespace {

// Of connections that have proven nothing: how many there may be beside those of ranks that are to come, and for how
// many seconds each.
constexpr std::size_t kMostStrangers = 64;
constexpr double kStrangersTime = 5;

double now() {
  const timespec time = event_deadline(0);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

std::string different_fact(std::int32_t rank, const std::string& facts, const std::string& facts_of_zero) {
  const std::vector<std::string> theirs = lines_of(facts), zeros = lines_of(facts_of_zero);
  for (std::size_t i = 0; i < std::min(theirs.size(), zeros.size()); ++i) {
    if (theirs[i] == zeros[i]) continue;
    const auto value = [](const std::string& line) { return line.substr(line.find('=') + 1); };
    const std::string name = theirs[i].substr(0, theirs[i].find('='));
    return "rank " + std::to_string(rank) + " has " + name + " " + value(theirs[i]) + " where rank 0 has " +
           value(zeros[i]) + "; every rank needs the same one";
  }
  return theirs.size() == zeros.size() ? std::string()
                                       : "rank " + std::to_string(rank) + " runs another version of the plugin";
}

Hub::Hub(FileHandle listening, std::int32_t ranks, std::string secret, double seconds)
    : listening_(std::move(listening)),
      woken_(made_file(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "an event")),
      ranks_(ranks),
      secret_(std::move(secret)),
      seconds_(seconds),
      thread_(quiet_thread("nccl-hub", [this] { run(); })) {}

Hub::~Hub() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto woken = write(woken_.get(), &one, sizeof one);
  thread_.join();
}

void Hub::wait(int milliseconds) {
  std::vector<pollfd> files{{woken_.get(), POLLIN, 0}, {listening_.get(), POLLIN, 0}};
  for (const Stranger& stranger : strangers_) files.push_back({stranger.wire.file(), POLLIN, 0});
  for (const auto& [rank, guest] : guests_)
    if (!guest.gone)
      files.push_back({guest.wire.file(), static_cast<short>(POLLIN | (guest.wire.has_queued() ? POLLOUT : 0)), 0});
  poll(files.data(), files.size(), milliseconds);
}

/// Who comes faster than this is served at the next turn.
void Hub::accept() {
  const std::size_t most = kMostStrangers + static_cast<std::size_t>(ranks_) - guests_.size();
  for (std::size_t count = 0; count < most; ++count) {
    FileHandle file(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!file) return;
    if (strangers_.size() >= most) hear_hellos();
    // A rank says at once who it is.
    if (strangers_.size() >= most) strangers_.erase(strangers_.begin());
    strangers_.push_back({Wire(std::move(file)), now() + kStrangersTime});
  }
}

void Hub::hear_hellos() {
  for (std::size_t i = 0; i < strangers_.size();) {
    Wire& wire = strangers_[i].wire;
    const bool open = wire.fill();
    const std::optional<Frame> hello = wire.take();
    const bool known = hello && hello->kind == FrameKind::kHello && hello->from >= 0 && hello->from < ranks_ &&
                       hello->bytes.starts_with(secret_) && !guests_.count(hello->from);
    if (known) {
      wire.trust();
      guests_.emplace(hello->from, Guest{std::move(wire), false, false, hello->bytes.substr(secret_.size())});
    }
    if (hello || !open || now() > strangers_[i].until)
      strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
    else
      ++i;
  }
}

std::string Hub::missing() const {
  std::string list;
  int count = 0;
  for (std::int32_t rank = 0; rank < ranks_; ++rank) {
    if (guests_.count(rank)) continue;
    if (++count <= 8) list += (list.empty() ? "" : ", ") + std::to_string(rank);
  }
  if (count > 8) list += ", ...";
  return (count == 1 ? "rank " : std::to_string(count) + " ranks: ") + list;
}

std::string Hub::disagreement() const {
  for (const auto& [rank, guest] : guests_) {
    std::string text = different_fact(rank, guest.facts, guests_.at(0).facts);
    if (!text.empty()) return text;
  }
  return {};
}

bool Hub::welcome(double deadline) {
  std::uint64_t word = 0;
  while (static_cast<std::int32_t>(guests_.size()) < ranks_ && now() < deadline) {
    wait(100);
    if (read(woken_.get(), &word, sizeof word) > 0) return false;
    accept();
    hear_hellos();
  }
  // Nobody else is to come; what strangers say would only wake this thread.
  listening_.close();
  strangers_.clear();
  std::string why;
  if (static_cast<std::int32_t>(guests_.size()) < ranks_) {
    const std::string limit = std::to_string(static_cast<int>(seconds_));
    why = "not all ranks have come within " + limit + " s (`timeout`): missing " + missing();
  } else {
    why = disagreement();
  }
  for (auto& [rank, guest] : guests_) guest.wire.send({FrameKind::kWelcome, 0, rank, why});
  return why.empty();
}

void Hub::run() {
  const bool begun = welcome(now() + seconds_);
  std::uint64_t word = 0;
  while (begun && read(woken_.get(), &word, sizeof word) <= 0) {
    wait(1000);
    for (std::int32_t rank = 0; rank < ranks_; ++rank) serve(rank);
  }
  for (std::int32_t rank = 0; begun && rank < ranks_; ++rank) serve(rank);
  const auto queued = [](const auto& item) { return !item.second.gone && item.second.wire.has_queued(); };
  for (const double deadline = now() + 1; now() < deadline && std::any_of(guests_.begin(), guests_.end(), queued);) {
    wait(50);
    for (auto& [rank, guest] : guests_)
      if (!guest.gone) guest.gone = !guest.wire.flush();
  }
}

void Hub::serve(std::int32_t rank) {
  Guest& guest = guests_.at(rank);
  if (guest.gone) return;
  const bool open = guest.wire.exchange();
  while (std::optional<Frame> frame = guest.wire.take()) {
    frame->from = rank;
    if (frame->kind == FrameKind::kLeft) guest.left = true;
    pass(*frame);
  }
  if (open) return;
  guest.gone = true;
  if (!guest.left) pass({FrameKind::kGone, rank, -1, {}});
}

void Hub::pass(const Frame& frame) {
  for (auto& [rank, guest] : guests_)
    if (!guest.gone && rank != frame.from && (frame.to == -1 || frame.to == rank)) guest.wire.send(frame);
}

}  // namespace baleen::nccl
