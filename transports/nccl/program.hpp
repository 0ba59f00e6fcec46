/// \file What a collective is on a stream: groups of NCCL's calls, copies, and reductions by the device's own kernels.
/// Pure functions of the collective and of where its buffers lie.
#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include "baleen/collective.hpp"
#include "nccl.hpp"

namespace baleen::nccl {

/// An address that may be known only when the collective is enqueued: memory of a lane moves when it grows.
struct Place {
  enum class In : std::uint8_t { kNowhere, kDevice, kMirror, kScratch };
  In in = In::kNowhere;
  std::uint64_t at = 0;  ///< the address itself (kDevice), or bytes from the base

  Place operator+(std::uint64_t bytes) const { return in == In::kNowhere ? *this : Place{in, at + bytes}; }
  explicit operator bool() const { return in != In::kNowhere; }
  friend bool operator==(const Place&, const Place&) = default;
};

/// One call of NCCL.
struct Call {
  enum class Kind : std::uint8_t {
    kAllReduce,
    kReduceScatter,
    kAllGather,
    kBroadcast,
    kReduce,
    kSend,
    kReceive,
    kAllToAll
  };
  Kind kind = Kind::kAllReduce;
  Place from = {}, to = {};
  std::uint64_t count = 0;  ///< elements, as NCCL counts them for this kind
  DataType type = kUint8;
  RedOp op = kSum;
  int peer = 0;  ///< root, or the other side; its place in the communicator
};

struct Step {
  enum class Kind : std::uint8_t { kCalls, kCopy, kReduce };
  Kind kind = Kind::kCalls;
  std::vector<Call> calls = {};  ///< kCalls: one group
  Place from = {}, to = {};      ///< kCopy; kReduce: the first operand and the result
  std::uint64_t bytes = 0;       ///< kCopy
  std::uint64_t stride = 0;      ///< kReduce: bytes from one operand to the next
  std::uint64_t elements = 0;    ///< kReduce: a multiple of kTile
};

struct Program {
  std::vector<Step> steps;
  std::uint64_t scratch = 0;      ///< bytes
  std::set<int> sends, receives;  ///< members that this one talks to by itself
};

/// Reductions by kernels go in tiles of so many elements; memory behind the last element is read and written too.
constexpr std::uint64_t kTile = 1024;
/// NCCL takes 2048 calls in a group.
constexpr std::uint64_t kMostCalls = 1024;

/// Where the sides of an entry lie.
struct EntryPlaces {
  Place input, output;
};

/// By NCCL's own algorithms. A send or receive has a communicator of two members. A permutation goes in pieces of at
/// most `scratch` bytes, for in place it sends from a copy. `by_copy_engines`: an even all_to_all is one call, as they
/// know it, and not messages.
Program plain_program(const Collective& c, const std::vector<EntryPlaces>& places, std::uint64_t scratch,
                      bool by_copy_engines = false);
/// A reduction in the order that transport.h promises: blocks to their members, a kernel, blocks back. Uses at most
/// about `scratch` bytes.
Program ordered_program(const Collective& c, const std::vector<EntryPlaces>& places, std::uint64_t scratch);

}  // namespace baleen::nccl
