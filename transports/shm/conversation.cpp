/// \file Messages with file descriptors by sendmsg and recvmsg.
#include "conversation.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace baleen::shm {
namespace {

constexpr std::size_t kFilesAtOnce = 128;  // Linux takes 253

struct Control {
  alignas(cmsghdr) char bytes[CMSG_SPACE(kFilesAtOnce * sizeof(int))];
};

bool try_later() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Conversation::Conversation(std::int32_t rank, int socket, Message outgoing)
    : rank_(rank), socket_(socket), files_(std::move(outgoing.files)) {
  const Head head{outgoing.bytes.size(), files_.size()};
  outgoing_.assign(reinterpret_cast<const char*>(&head), sizeof head);
  outgoing_ += outgoing.bytes;
}

short Conversation::wanted() const { return static_cast<short>((sent() ? 0 : POLLOUT) | (received() ? 0 : POLLIN)); }

bool Conversation::advance(short ready) {
  if ((ready & POLLOUT) && !sent() && !send_some()) return false;
  if ((ready & (POLLIN | POLLHUP | POLLERR)) && !received() && !receive_some()) return false;
  return !(ready & POLLNVAL);
}

bool Conversation::send_some() {
  // Descriptors go with the first bytes; each further load of them takes one byte along.
  const std::size_t files = std::min(kFilesAtOnce, files_.size() - files_sent_);
  const bool more_files = files_sent_ + files < files_.size();
  iovec part{outgoing_.data() + sent_, more_files ? 1 : outgoing_.size() - sent_};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Control control{};
  if (files > 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(files * sizeof(int));
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    *head = {CMSG_LEN(files * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    std::memcpy(CMSG_DATA(head), files_.data() + files_sent_, files * sizeof(int));
  }
  const ssize_t sent = sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) return try_later();
  sent_ += static_cast<std::size_t>(sent);
  files_sent_ += files;
  return true;
}

bool Conversation::receive_some() {
  // Never beyond this message: the next one belongs to another exchange.
  const bool in_head = received_ < sizeof(Head);
  char* at = in_head ? reinterpret_cast<char*>(&head_) + received_ : incoming_.bytes.data() + received_ - sizeof(Head);
  iovec part{at, (in_head ? sizeof(Head) : sizeof(Head) + incoming_.bytes.size()) - received_};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Control control{};
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  const ssize_t count = recvmsg(socket_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (count < 0) return try_later();
  if (count == 0 || (message.msg_flags & MSG_CTRUNC)) return false;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t i = 0; i < (head->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(head) + i * sizeof(int), sizeof file);
      incoming_.arrived.emplace_back(file);
    }
  }
  received_ += static_cast<std::size_t>(count);
  if (in_head && received_ == sizeof(Head)) {
    if (head_.bytes > kMostBytes) return false;
    incoming_.bytes.resize(head_.bytes);
  }
  return true;
}

}  // namespace baleen::shm
