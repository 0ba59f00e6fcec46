/// \file What carries a rank's messages: UCX (ucx_wire.hpp), or sockets under TLS (tls_wire.hpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "run.hpp"

namespace baleen::ucx {

/// What travels beside the data, in the order of its sends and of the data's.
enum class NoteKind : std::uint32_t {
  kHello = 1,   ///< with the sender's fingerprint
  kLetter = 2,  ///< of plan time
  kGoodbye = 3  ///< nothing follows; with the reason, or none
};

struct NoteHeader {
  NoteKind kind;
  std::int32_t from;
};
static_assert(sizeof(NoteHeader) == 8);

/// How a message ended. kTooLong: it has more bytes than its receiver has room for.
enum class Outcome : std::uint8_t { kDone, kCancelled, kTooLong, kBroken };

/// A message that lies here and that nobody has asked for. `identity` tells it from others.
struct Unasked {
  std::uint64_t tag = 0;
  const void* identity = nullptr;
};

/// Used by one thread at a time, but `wake` and memory. What it hears it tells within `progress` and `tidy`, or within
/// the call that it is about.
class Wire {
 public:
  using Heard = std::function<void(const NoteHeader&, std::string_view)>;
  using Broke = std::function<void(std::int32_t rank, const std::string& why)>;

  virtual ~Wire() = default;

  /// Who is told of notes, and of connections that broke (once each; `why`: "Connection reset by peer").
  void on_note(Heard heard) { heard_ = std::move(heard); }
  void on_break(Broke broke) { broke_ = std::move(broke); }

  /// What peers connect by.
  virtual Result<std::string> address() const = 0;
  /// Begins to connect to a peer, or to this rank itself; what is sent meanwhile waits. BALEEN_PEER_LOST: both have a
  /// transport in common, but the peer did not let itself be reached; it may have ended.
  virtual Status open(std::int32_t rank, const std::string& address) = 0;
  /// False where it was never opened, has broken or was closed.
  virtual bool is_open(std::int32_t rank) const = 0;
  /// `at_once`: messages under way are dropped. Else all that was sent is delivered first, while `progress` and `tidy`
  /// are called.
  virtual void close(std::int32_t rank, bool at_once) = 0;
  /// Looks after connections that broke or close; false once nothing is left to do.
  virtual bool tidy() = 0;
  /// Forgets connections that are not yet closed.
  virtual void abandon() = 0;
  /// A few times a second: lets silent connections show whether they still are.
  virtual void look() {}

  /// Moves messages on; false where there was nothing to do.
  virtual bool progress() = 0;
  /// From now on `file` is readable when there is something to do. False: there is already.
  virtual bool arm() = 0;
  virtual int file() const = 0;
  /// Makes `file` readable. [any thread]
  virtual void wake() = 0;

  /// Nothing is sent to a peer that is not open.
  virtual void note(std::int32_t rank, NoteKind kind, std::string_view bytes) = 0;
  /// A flight's parts as one message, or into them. Its runner is told how it ended (`Runner::ended`), also within the
  /// call; until then it is under way. `adds`: fragments go to `Program::add_fragment` as they come.
  virtual void send(std::int32_t rank, std::uint64_t tag, Run::Flight& flight) = 0;
  virtual void receive(std::int32_t rank, std::uint64_t tag, Run::Flight& flight, bool adds) = 0;
  /// Takes a receive back; it ends as cancelled, unless it is just being done.
  virtual void cancel(Run::Flight& flight) = 0;
  /// The first message of a peer whose tag is `tag` in the bits of `mask`, of those that nobody has asked for.
  virtual std::optional<Unasked> first_unasked(std::int32_t rank, std::uint64_t tag, std::uint64_t mask) = 0;

  /// Memory that the devices know, zeroed; shared with this host's processes where the wire can.
  struct Memory {
    std::byte* base = nullptr;
    std::uint64_t bytes = 0;
    void* handle = nullptr;
  };
  /// [any thread]
  virtual Result<Memory> allocate(std::uint64_t bytes) = 0;
  virtual void free(const Memory& memory) = 0;
  /// What peers reach it by; empty where they cannot.
  virtual std::string key_of(const Memory& memory) const = 0;
  /// Whether messages may lie in memory of CUDA devices.
  virtual bool knows_cuda() const { return false; }
  /// Makes memory of another's known, until `free`; without a base where it is the host's. [any thread]
  virtual Result<Memory> adopt(void* base, std::uint64_t bytes) {
    (void)base, (void)bytes;
    return Memory();
  }
  /// A peer's memory in this process.
  struct View {
    std::byte* base = nullptr;  ///< null where it cannot be reached
    void* handle = nullptr;
  };
  virtual View view(std::int32_t rank, const std::string& key, std::uint64_t address) = 0;
  virtual void drop(const View& view) = 0;

 protected:
  Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  Heard heard_;
  Broke broke_;
};

}  // namespace baleen::ucx
