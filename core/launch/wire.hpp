/// \file What launcher and ranks say to each other over the control channel, as bytes. Both ends are the same program
/// on one host, so numbers travel as they lie in memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "baleen/result.hpp"
#include "core/launch/failure.hpp"
#include "core/launch/place.hpp"

namespace baleen {

enum class MessageKind : std::uint8_t {
  welcome = 1,  ///< launcher to rank, the first: value is a Place
  beat,         ///< value is a Moment
  put,          ///< key, value; answered by a reply
  get,          ///< key; the reply comes when the value is there
  barrier,      ///< key; the reply comes when all ranks are there
  reply,        ///< code; value, or the text of a failure
  abort,        ///< launcher to rank: a peer is lost; value says why
  fail,         ///< value is a Failure; the rank is about to end
  done,         ///< the rank's work is complete
};

struct Message {
  MessageKind kind = MessageKind::beat;
  std::uint32_t request = 0;         ///< of put, get, barrier and their reply
  baleen_status_t code = BALEEN_OK;  ///< of a reply
  std::string key = {};
  std::string value = {};

  bool operator==(const Message&) const = default;
};

/// A message as it is sent: its length, then its parts.
std::string to_frame(const Message& message);

/// Cuts a stream of bytes into messages.
class Frames {
 public:
  void add(std::string_view bytes) { bytes_ += bytes; }
  /// The next complete message, if there is one; INTERNAL where the bytes are no message.
  Result<std::optional<Message>> next();

 private:
  std::string bytes_;
  std::size_t read_ = 0;
};

std::string to_bytes(const Place& place);
std::string to_bytes(const Moment& moment);
std::string to_bytes(const Failure& failure);
Result<Place> place_from(std::string_view bytes);
Result<Moment> moment_from(std::string_view bytes);
Result<Failure> failure_from(std::string_view bytes);

}  // namespace baleen
