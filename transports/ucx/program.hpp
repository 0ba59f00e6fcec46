/// \file A prepared collective as one member runs it: messages, copies and reductions, and which waits for which.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "baleen/reduction.hpp"
#include "scratch.hpp"
#include "stream.hpp"

namespace baleen::ucx {

using namespace sdk;

class DeviceArenas;
class DirectAccess;

/// A node of the graph. What it is about lies in the program's lists.
struct Node {
  enum class Kind : std::uint8_t { kSend, kReceive, kCopy, kReduce, kJoin };
  Kind kind = Kind::kJoin;
  bool own_first = false;  ///< messages that are added: to what this member has, or the other way
  bool on_device = false;  ///< messages: their bytes lie in a device's memory
  bool taken = false;      ///< a message without bytes that says: message `message` of the other end was read
  std::uint32_t piece = 0;
  std::uint32_t needs = 0;                     ///< how many nodes it waits for
  std::uint32_t next_begin = 0, next_end = 0;  ///< who waits for it, in `Program::next`
  std::uint32_t begin = 0, end = 0;            ///< copies, reductions, or (messages that are added) additions
  std::uint32_t place = 0;                     ///< messages: the other member's
  std::uint32_t message = 0;                   ///< messages: number among those to, or from, that member
  std::byte* data = nullptr;                   ///< messages
  std::uint64_t bytes = 0;                     ///< messages
};

/// Built once, at plan time; then read only. Cut into *pieces*, of which as many are under way at a time as scratch has
/// lanes: piece k + kLanes begins when k is done. Within a piece nodes begin in any order their needs allow.
class Program {
 public:
  using Id = std::uint32_t;
  static constexpr Id kNone = std::numeric_limits<Id>::max();

  struct Copy {
    std::byte* to;
    const std::byte* from;
    std::uint64_t bytes;
  };
  struct Reduce {
    std::uint32_t sources, source_count;            // the first in the list, and how many
    std::uint32_t destinations, destination_count;  // likewise
    std::uint64_t count;
  };

  /// A run of bytes of a message that is added while it arrives.
  struct Addition {
    const std::byte* own;
    std::byte* to;
    std::uint64_t begin, bytes;  // in the message
  };

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Id>& next() const { return next_; }
  /// Where the nodes of a piece begin; one more at the end.
  const std::vector<Id>& pieces() const { return pieces_; }
  std::size_t piece_count() const { return pieces_.size() - 1; }
  /// Of all messages.
  std::uint64_t message_bytes() const;
  /// Does the work of a copying or reducing node.
  void work(const Node& node) const;

  /// Whether a message is added to what this member has, instead of being laid down.
  static bool adds(const Node& node) { return node.kind == Node::Kind::kReceive && node.begin < node.end; }
  /// Adds a fragment that has arrived, wherever it lies. One that cuts an element is kept at `Node::data` and noted in
  /// `odd`; fragments may come in any order.
  void add_fragment(const Node& node, std::uint64_t offset, const std::byte* data, std::uint64_t bytes,
                    std::vector<Range>& odd) const;
  /// All fragments have come: adds what was noted.
  void add_odd(const Node& node, std::vector<Range>& odd) const;

 private:
  friend class ProgramBuilder;
  void add_whole(const Node& node, std::uint64_t offset, const std::byte* data, std::uint64_t bytes) const;

  std::vector<Node> nodes_;
  std::vector<Id> next_;
  std::vector<Id> pieces_ = {0};
  std::vector<Copy> copies_;
  std::vector<Reduce> reduces_;
  std::vector<Addition> additions_;
  std::vector<const std::byte*> sources_;
  std::vector<std::byte*> destinations_;
  Reduction reduction_ = nullptr;
  std::uint64_t width_ = 1;  // of an element
};

/// Adds nodes to a program, piece by piece. Zero bytes need no node: their id is kNone, which is no need either.
class ProgramBuilder {
 public:
  using Id = Program::Id;

  /// `limit`: no message is longer. `width` of an element. `adds`: whether messages may be added while they arrive.
  /// `access`: what of the other members' memory is reached without messages; or null.
  ProgramBuilder(std::size_t members, std::size_t width, Reduction reduction, Scratch& scratch, std::uint64_t limit,
                 bool adds, const DirectAccess* access);

  /// Some member's memory is a device's, where the processor copies nothing: every span is a message of its own, and
  /// member `me` gets its own bytes by messages from itself. The same on all members; `devices`: what this one has.
  void use_devices(const DeviceArenas& devices, std::size_t me);

  /// Messages of a range of a stream, to or from a member. Both ends must add theirs in one order.
  Id send(std::size_t to, const Stream& stream, Range range, const std::vector<Id>& needs = {});
  Id receive(std::size_t from, const Stream& stream, Range range, const std::vector<Id>& needs = {});
  /// Messages that are added, as they arrive, to what this member has: `to` becomes `own` + theirs (`own_first`) or
  /// theirs + `own`. The three have equal cuts; `needs` are what writes `own` and what reads `to`.
  Id receive_added(std::size_t from, const Stream& own, bool own_first, const Stream& to, const std::vector<Id>& needs);
  /// Messages that are only read: `landing`, in scratch, becomes what holds them, which may be the sender's own memory.
  Id borrow(std::size_t from, Stream& landing);
  /// What was borrowed of all members since the last time is no longer needed once `done` is.
  void give_back(Id done);
  /// The next messages to a member, with the cuts of `stream`: where they are to lie there, if they can be written at
  /// once by whoever makes them. Only where that member is known to have begun.
  std::optional<Stream> lands_at(std::size_t to, const Stream& stream) const;
  /// They are written there, by `done`.
  void say_written(std::size_t to, const Stream& stream, Id done);
  /// The other end of these: messages that are written by their sender where it can, and sent where not.
  Id receive_written(std::size_t from, const Stream& stream, Range range);
  /// A message without bytes.
  Id send_token(std::size_t to, const std::vector<Id>& needs = {});
  Id receive_token(std::size_t from);
  /// Ranges of equal size; where both are the same memory nothing is done.
  Id copy(const Stream& to, Range to_range, const Stream& from, Range from_range, const std::vector<Id>& needs = {});
  /// The tree over the sources, in their order, into the destinations; all have the elements of `range`.
  Id reduce(const std::vector<const Stream*>& sources, const std::vector<const Stream*>& destinations, Range range,
            const std::vector<Id>& needs);
  Id join(const std::vector<Id>& needs);

  /// Memory of the piece that is being built.
  std::byte* scratch(std::uint64_t bytes);
  /// A range of a stream elsewhere: its cuts, in scratch. Its first byte is number `range.begin`, as in the stream.
  void end_piece();
  Program finish();

 private:
  Id add(Node node, const std::vector<Id>& needs);
  Id pack(std::byte* to, const Stream& from, Range range, const std::vector<Id>& needs);
  Id unpack(const Stream& to, Range range, const std::byte* from, const std::vector<Id>& needs);
  std::vector<Range> messages_of(const Stream& stream, Range range) const {
    return stream.messages(range, limit_, devices_ != nullptr);
  }
  bool is_on_device(const std::byte* data) const;
  Id pass_to_self(std::byte* to, const std::byte* from, std::uint64_t bytes, const std::vector<Id>& needs);
  // Of messages that are read where they lie.
  Id show(std::size_t to, const std::vector<Id>& needs);
  void say_taken(std::size_t from, std::uint32_t message, Id done);
  const std::byte* next_lies_at(std::size_t from) const;

  struct Borrowed {
    std::size_t from;
    std::uint32_t message;
  };

  Program program_;
  const bool adds_;
  const DirectAccess* const access_;
  const DeviceArenas* devices_ = nullptr;
  std::size_t me_ = 0;  // where there are devices
  std::vector<Borrowed> borrowed_;
  const std::size_t width_;
  Scratch& scratch_;
  const std::uint64_t limit_;
  std::size_t lane_ = 0;
  std::vector<std::uint32_t> sent_, received_;  // messages so far, per member
  std::vector<std::pair<Id, Id>> edges_;
};

}  // namespace baleen::ucx
