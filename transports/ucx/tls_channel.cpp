/// \file A socket that never blocks, its handshake, and the records behind it with what the socket does not take yet.
#include "tls_channel.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "tls_handshake.hpp"
#include "tls_records.hpp"

namespace baleen::ucx {
namespace {

// What is kept for the socket at most, from how much on it is asked to take it, and what is read from it at once. A
// call of the system costs less per byte the more it takes, and all this fits into the second level of caches.
constexpr std::size_t kKept = 512 << 10, kSent = 256 << 10, kRead = 256 << 10;
// Content up to this is opened apart: it may be for the connection itself.
constexpr std::size_t kControl = 512;
// RFC 8446, sections 4 and 6.
constexpr std::uint8_t kKeyUpdate = 24, kWarning = 1, kFatal = 2;
constexpr std::uint8_t kCloseNotify = 0, kUnexpectedMessage = 10, kBadRecordMac = 20, kDecodeError = 50;

/// Bytes in a row: taken from the front, added at the end. Memory that was never used takes none.
class Queue {
 public:
  explicit Queue(std::size_t room) : data_(std::make_unique_for_overwrite<std::uint8_t[]>(room)), room_(room) {}

  std::size_t size() const { return end_ - begin_; }
  const std::uint8_t* front() const { return data_.get() + begin_; }
  std::uint8_t* back() { return data_.get() + end_; }
  /// Where to put up to so many bytes; those that are there move where it has to be.
  std::size_t make_room(std::size_t least) {
    if (room_ - end_ < least && begin_ > 0) {
      std::memmove(data_.get(), front(), size());
      end_ -= std::exchange(begin_, 0);
    }
    return room_ - end_;
  }
  void added(std::size_t bytes) { end_ += bytes; }
  void took(std::size_t bytes) {
    begin_ += bytes;
    if (begin_ == end_) begin_ = end_ = 0;
  }

 private:
  std::unique_ptr<std::uint8_t[]> data_;
  std::size_t room_, begin_ = 0, end_ = 0;
};

}  // namespace

struct TlsChannel::State {
  FileHandle socket;
  std::unique_ptr<TlsHandshake> handshake;  ///< until it is over
  std::unique_ptr<TlsRecords> out, in;      ///< from then on
  std::optional<Peers> heard;
  std::uint64_t renewal = 0;
  bool has_to_renew = false;  ///< the other end asked for it
  Queue unsent{2 * kKept}, unread{kRead}, plain{TlsRecords::kLongest};

  bool send_some();
  void seal(RecordKind kind, TlsRecords::Bytes content) {
    out->seal(kind, content, unsent.back());
    unsent.added(content.size() + TlsRecords::kMore);
  }
};

// False where the socket failed; see errno.
bool TlsChannel::State::send_some() {
  while (unsent.size() > 0) {
    const ssize_t sent = ::send(socket.get(), unsent.front(), unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      unsent.took(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK;
  }
  return true;
}

TlsChannel::TlsChannel(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsChannel::~TlsChannel() = default;

int TlsChannel::socket() const { return state_->socket.get(); }
bool TlsChannel::has_unsent() const { return state_->unsent.size() > 0; }
std::optional<TlsChannel::Peers> TlsChannel::heard() const { return state_->heard; }
bool TlsChannel::has_begun() const { return heard() || (state_->handshake && state_->handshake->heard()); }

Step TlsChannel::ended(std::string why) {
  why_ = std::move(why);
  return Step::kEnded;
}

// Tells the other end, too, if there is room: it would wait for what is not read any more.
Step TlsChannel::damaged(std::uint8_t alert, const char* what) {
  const std::array<std::uint8_t, 2> words = {kFatal, alert};
  if (state_->unsent.make_room(words.size() + TlsRecords::kMore) >= words.size() + TlsRecords::kMore) {
    state_->seal(RecordKind::kAlert, words);
    state_->send_some();
  }
  return ended(std::string("what came is not what was sent (TLS: ") + what + "); something on the way changes it");
}

Step TlsChannel::shake() {
  std::string words;
  const Step step = state_->handshake->go(words);
  if (state_->unsent.make_room(words.size()) < words.size()) return ended("the handshake does not end");
  std::memcpy(state_->unsent.back(), words.data(), words.size());
  state_->unsent.added(words.size());
  if (!state_->send_some()) return ended(std::strerror(errno));
  if (step == Step::kEnded) return ended(state_->handshake->why());
  if (step != Step::kDone) return step;
  state_->heard = state_->handshake->heard();
  state_->out = state_->handshake->outgoing();
  state_->in = state_->handshake->incoming();
  state_->handshake.reset();
  return state_->out && state_->in ? Step::kDone : ended("there is no memory for its keys");
}

// What the socket has.
Step TlsChannel::fill() {
  Queue& unread = state_->unread;
  const std::size_t room = unread.make_room(TlsRecords::kLongest);
  for (;;) {
    const ssize_t got = recv(socket(), unread.back(), room, MSG_DONTWAIT);
    if (got > 0) {
      unread.added(static_cast<std::size_t>(got));
      return Step::kDone;
    }
    if (got == 0) return ended("the other end is gone");
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Step::kLater;
    if (errno != EINTR) return ended(std::strerror(errno));
  }
}

// Opens the next record that has come whole, to `to` where all of its content fits there.
Step TlsChannel::take_record(std::uint8_t* to, std::size_t room, std::size_t& got) {
  Queue& unread = state_->unread;
  std::optional<std::size_t> length;
  while (!length || unread.size() < *length) {
    if (!length && unread.size() >= TlsRecords::kHeaderBytes) {
      length = TlsRecords::length_from(
          std::span<const std::uint8_t, TlsRecords::kHeaderBytes>(unread.front(), TlsRecords::kHeaderBytes));
      if (!length) return damaged(kUnexpectedMessage, "no record of data");
    } else if (const Step step = fill(); step != Step::kDone) {
      return step;
    }
  }
  const std::size_t most = TlsRecords::room_for(*length);
  const bool is_direct = most > kControl && most <= room;
  std::uint8_t* const content = is_direct ? to : state_->plain.back();
  const auto opened = state_->in->open({unread.front(), *length}, content);
  unread.took(*length);
  if (!opened) return damaged(kBadRecordMac, "another tag than its content has");
  if (opened->kind == RecordKind::kData) {
    if (is_direct) got = opened->bytes;
    if (!is_direct) state_->plain.added(opened->bytes);
    return Step::kDone;
  }
  const bool is_alert = opened->kind == RecordKind::kAlert;
  if (!is_alert && opened->kind != RecordKind::kHandshake) return damaged(kUnexpectedMessage, "no kind of record");
  return take_control(content, opened->bytes, is_alert);
}

Step TlsChannel::take_control(const std::uint8_t* content, std::size_t bytes, bool is_alert) {
  if (is_alert) {
    if (bytes != 2) return damaged(kDecodeError, "no alert");
    if (content[1] == kCloseNotify) return ended("the other end closed it");
    return ended("what came is not what was sent (TLS: says the other end with alert " + std::to_string(content[1]) +
                 "); something on the way changes it");
  }
  constexpr std::array<std::uint8_t, 4> kHead = {kKeyUpdate, 0, 0, 1};
  if (bytes != kHead.size() + 1 || !std::equal(kHead.begin(), kHead.end(), content) || content[4] > 1)
    return damaged(kUnexpectedMessage, "no change of keys");
  if (content[4] == 1) state_->has_to_renew = true;
  return state_->in->renew() ? Step::kDone : ended("there is no memory for its keys");
}

Step TlsChannel::read(void* to, std::size_t most, std::size_t& got) {
  got = 0;
  while (got == 0) {
    if (Queue& plain = state_->plain; plain.size() > 0) {
      got = std::min(most, plain.size());
      std::memcpy(to, plain.front(), got);
      plain.took(got);
    } else if (const Step step = take_record(static_cast<std::uint8_t*>(to), most, got); step != Step::kDone) {
      return step;
    }
  }
  return Step::kDone;
}

// For a record, behind one that changes the key.
Step TlsChannel::make_room() {
  constexpr std::size_t kRoom = TlsRecords::kContent + 2 * TlsRecords::kMore + 5;
  if (state_->unsent.size() >= kKept && !state_->send_some()) return ended(std::strerror(errno));
  return state_->unsent.size() < kKept && state_->unsent.make_room(kRoom) >= kRoom ? Step::kDone : Step::kLater;
}

bool TlsChannel::renew() {
  state_->seal(RecordKind::kHandshake, std::array<std::uint8_t, 5>{kKeyUpdate, 0, 0, 1, 0});
  state_->has_to_renew = false;
  return state_->out->renew();
}

Step TlsChannel::write(const void* from, std::size_t bytes, std::size_t& taken) {
  taken = 0;
  if (const Step step = make_room(); step != Step::kDone) return step;
  if ((state_->out->count() >= state_->renewal || state_->has_to_renew) && !renew())
    return ended("there is no memory for its keys");
  taken = std::min(bytes, kRecord);
  state_->seal(RecordKind::kData, {static_cast<const std::uint8_t*>(from), taken});
  if (state_->unsent.size() < kSent || state_->send_some()) return Step::kDone;
  return ended(std::strerror(errno));
}

Step TlsChannel::flush() {
  if (!state_->send_some()) return ended(std::strerror(errno));
  return has_unsent() ? Step::kLater : Step::kDone;
}

void TlsChannel::end() {
  const std::array<std::uint8_t, 2> words = {kWarning, kCloseNotify};
  if (state_->out && make_room() == Step::kDone) state_->seal(RecordKind::kAlert, words);
}

bool TlsChannel::is_delivered() const {
  int waiting = 0, family = 0;
  socklen_t size = sizeof family;
  // What a local socket has taken lies with the other end already, whether that reads it or not.
  if (getsockopt(socket(), SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 && family == AF_UNIX) return !has_unsent();
  return !has_unsent() && (ioctl(socket(), SIOCOUTQ, &waiting) != 0 || waiting == 0);
}

Result<std::unique_ptr<TlsChannel>> TlsJob::channel(FileHandle socket, std::string identity) const {
  auto state = std::make_unique<TlsChannel::State>();
  BALEEN_TRY_ASSIGN(state->handshake, TlsHandshake::make(*context_, socket.get(), key_, std::move(identity)));
  state->socket = std::move(socket);
  state->renewal = renewal_;
  return std::unique_ptr<TlsChannel>(new TlsChannel(std::move(state)));
}

Result<std::unique_ptr<TlsChannel>> TlsJob::connecting(FileHandle socket, TlsChannel::Peers peers) const {
  return channel(std::move(socket), TlsHandshake::identity_of(peers));
}

Result<std::unique_ptr<TlsChannel>> TlsJob::accepted(FileHandle socket) const { return channel(std::move(socket), {}); }

}  // namespace baleen::ucx
