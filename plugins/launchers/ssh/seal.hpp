/// \file Messages between hosts that nobody on the way can forge, change, repeat, drop or reorder unnoticed. They are
/// not secret.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "baleen/result.hpp"
#include "common/wire.hpp"
#include "digest.hpp"

namespace baleen::launchers {

/// Puts a mark behind each message of one direction of a connection: an HMAC over the message and its number.
class Seal {
 public:
  explicit Seal(const Digest& key) : key_(key) {}
  std::string sealed(const Message& message);

 private:
  Digest key_;
  std::uint64_t number_ = 0;
};

/// The other end: cuts the stream into messages and checks each mark.
class SealedFrames {
 public:
  explicit SealedFrames(const Digest& key) : key_(key) {}
  void add(std::string_view bytes) { inbox_.add(bytes); }
  /// The next complete message, if there is one; INTERNAL where it is not what the other end sent next.
  Result<std::optional<Message>> next();

 private:
  Digest key_;
  std::uint64_t number_ = 0;
  Inbox inbox_;
};

}  // namespace baleen::launchers
