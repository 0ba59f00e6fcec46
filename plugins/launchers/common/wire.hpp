/// \file What launchers and ranks say to each other over their channels, as bytes. Both ends are the same program, so
/// numbers travel as they lie in memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "baleen/result.hpp"
#include "common/failure.hpp"
#include "common/place.hpp"

namespace baleen::launchers {

enum class MessageKind : std::uint8_t {
  welcome = 1,  ///< launcher to rank, the first: value is a Place
  beat,         ///< value is a ProgressSnapshot
  put,          ///< key, value; answered by a reply
  get,          ///< key; the reply comes when the value is there
  barrier,      ///< key; the reply comes when all ranks are there
  reply,        ///< code; value, or the text of a failure
  abort,        ///< launcher to rank: a peer is lost; value says why
  fail,         ///< value is a Failure; the rank is about to end
  done,         ///< the rank's work is complete

  // Between the launchers of two hosts, where those above go too, with the rank that they come from or go to.
  join,       ///< to the first host: key is kHostGreeting; value says what all hosts must agree in, line by line
  refuse,     ///< from the first host: the job goes on without this host; code, value
  start,      ///< from the first host: all are there, start your ranks
  output,     ///< lines of a rank: value; code 1: of its standard error
  pause,      ///< from the first host: code 1: send no output; 0: go on
  held,       ///< a debugger holds the rank
  condemned,  ///< the rank was found to have failed, and is being killed: value is a Failure
  ended,      ///< the rank's process: value is a RankEnd
  broke,      ///< the host cannot go on: code, value
  signal,     ///< from the first host: code is a signal for all ranks
  leave,      ///< from the first host: the job is over. code, value: how it ended; request: by which signal
};
constexpr MessageKind kLastMessageKind = MessageKind::leave;
constexpr const char* kHostGreeting = "baleen launchers 1";

struct Message {
  MessageKind kind = MessageKind::beat;
  std::uint32_t request = 0;         ///< of put, get, barrier and their reply
  baleen_status_t code = BALEEN_OK;  ///< of a reply
  std::string key = {};
  std::string value = {};
  int rank = -1;  ///< between hosts: whose message it is; -1: of the launcher itself

  bool operator==(const Message&) const = default;
};

/// A message as it is sent: its length, then its parts.
std::string to_frame(const Message& message);

/// The bytes of the frame that `bytes` begin with; nothing where too few are there to know. INTERNAL where the length
/// is none that this program sends.
Result<std::optional<std::size_t>> frame_size(std::string_view bytes);
/// A whole frame as a message.
Result<Message> message_from(std::string_view frame);

/// A stream of bytes that comes in pieces and is taken from its front.
class Inbox {
 public:
  void add(std::string_view bytes) { bytes_ += bytes; }
  std::string_view view() const { return std::string_view(bytes_).substr(read_); }
  void drop(std::size_t count);

 private:
  std::string bytes_;
  std::size_t read_ = 0;
};

/// Cuts a stream of bytes into messages.
class Frames {
 public:
  void add(std::string_view bytes) { inbox_.add(bytes); }
  /// The next complete message, if there is one; INTERNAL where the bytes are no message.
  Result<std::optional<Message>> next();

 private:
  Inbox inbox_;
};

/// How a rank's process ended.
struct RankEnd {
  int status = 0;           ///< as waitpid tells
  bool killed = false;      ///< by its launcher, which has said why: no news
  bool done = false;        ///< it had said that its work is complete
  bool told = false;        ///< by a signal that somebody gave its launcher
  ProgressSnapshot moment;  ///< what it said last

  bool operator==(const RankEnd&) const = default;
};

std::string to_bytes(const Place& place);
std::string to_bytes(const ProgressSnapshot& moment);
std::string to_bytes(const Failure& failure);
std::string to_bytes(const RankEnd& end);
Result<Place> place_from(std::string_view bytes);
Result<ProgressSnapshot> moment_from(std::string_view bytes);
Result<Failure> failure_from(std::string_view bytes);
Result<RankEnd> rank_end_from(std::string_view bytes);

}  // namespace baleen::launchers
