/// \file How far a program has come that is under way.
#pragma once
#include <ucp/api/ucp.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "baleen/result.hpp"
#include "program.hpp"

namespace baleen::ucx {

class Runner;
struct Slot;

/// Made once per slot, used by its runs one after the other. Allocates nothing once made, but a first list of odd
/// fragments.
class Run {
 public:
  /// A node's message under way: what a wire gives back.
  struct Flight {
    Run* run = nullptr;
    Program::Id node = 0;
    bool under_way = false;
    void* request = nullptr;  ///< the wire's, while under way; null while it is being posted
    std::vector<Range> odd;   ///< fragments of a message that is added which wait for their neighbours
    // Its bytes; with integrity their checksum too.
    ucp_dt_iov_t parts[2] = {};
    std::uint32_t part_count = 1;
    std::uint64_t checksum = 0;
    // Of a receive that a wire of sockets waits for.
    std::int32_t rank = 0;
    std::uint64_t tag = 0;
    bool adds = false;
    Flight* next = nullptr;
  };

  /// `members` of the slot's group.
  void attach(Slot& slot, std::size_t members);

  void begin();
  bool active() const { return active_; }
  bool done() const { return nodes_left_ == 0; }
  void end() { active_ = false; }
  Slot& slot() const { return *slot_; }

  /// The next node that may begin: messages before work, so that work overlaps with what is under way, and sends first,
  /// for others wait for them.
  std::optional<Program::Id> next();
  /// Has run: those that wait for it may begin.
  void complete(Program::Id node);

  Flight& flight(Program::Id node) { return flights_[node]; }
  Runner* runner = nullptr;  ///< who posts its messages
  /// Counts messages under way, and receives by member.
  void depart(Program::Id node, void* request);
  void arrive(Program::Id node);
  std::uint64_t under_way() const { return under_way_; }
  bool waits_for(std::size_t place) const { return receives_[place] > 0; }

 private:
  void open_piece();
  void make_ready(Program::Id node);
  const Node& node(Program::Id id) const;

  // A list that every node enters at most once in a run.
  struct Queue {
    std::vector<Program::Id> nodes;
    std::size_t head = 0, tail = 0;
    void reset() { head = tail = 0; }
    void push(Program::Id id) { nodes[tail++] = id; }
    std::optional<Program::Id> pop() { return head < tail ? std::optional(nodes[head++]) : std::nullopt; }
  };

  Slot* slot_ = nullptr;
  const Program* program_ = nullptr;
  bool active_ = false;
  std::vector<std::uint32_t> needs_;     // by node
  std::vector<std::uint32_t> left_;      // nodes of a piece that have not run
  std::vector<std::uint32_t> receives_;  // under way, by place
  std::vector<Flight> flights_;          // by node
  Queue sends_, others_, work_;          // others: receives, and joins, which take no time
  std::size_t opened_ = 0;
  std::uint64_t nodes_left_ = 0, under_way_ = 0;
};

}  // namespace baleen::ucx
