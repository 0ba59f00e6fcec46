/// \file HMACs over numbered messages: appended by the sender, checked by the receiver.
#include "seal.hpp"

#include <utility>

namespace baleen::launchers {
namespace {

constexpr std::size_t kMarkBytes = 16;

std::string mark(const Digest& key, std::uint64_t number, std::string_view frame) {
  std::string text(reinterpret_cast<const char*>(&number), sizeof number);
  text += frame;
  return std::string(as_text(hmac_sha256(as_text(key), text)).substr(0, kMarkBytes));
}

}  // namespace

std::string Seal::sealed(const Message& message) {
  std::string frame = to_frame(message);
  return frame += mark(key_, number_++, frame);
}

Result<std::optional<Message>> SealedFrames::next() {
  const std::string_view left = inbox_.view();
  BALEEN_TRY_ASSIGN(const std::optional<std::size_t> size, frame_size(left));
  if (!size || left.size() < *size + kMarkBytes) return std::optional<Message>();
  const std::string_view frame = left.substr(0, *size);
  if (!is_same(left.substr(*size, kMarkBytes), mark(key_, number_, frame)))
    return internal("a message was changed on its way, or comes from somebody else");
  BALEEN_TRY_ASSIGN(Message message, message_from(frame));
  ++number_;
  inbox_.drop(*size + kMarkBytes);
  return std::optional<Message>(std::move(message));
}

}  // namespace baleen::launchers
