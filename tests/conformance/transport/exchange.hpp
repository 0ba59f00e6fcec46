/// \file A case on one rank: buffers where it is asked for, then the comparison.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "expected.hpp"
#include "support/ranks.hpp"

namespace baleen::conformance {

/// Where buffers lie.
enum class Memory { kArena, kPrivate, kMixed };

/// The buffers of one case on one rank, and its slot.
class Exchange {
 public:
  /// `arena`: memory that the transport allocated, of at least `arena_bytes(c)`. Prepares: all members make theirs.
  Exchange(test::Rank& rank, void* group, std::size_t place, const Case& c, Memory memory, bool in_place,
           std::byte* arena, std::shared_ptr<const Answer> answer = nullptr);

  static std::uint64_t arena_bytes(const Case& c);
  void* slot() const { return slot_; }
  /// Puts the inputs there again, and rubbish into the outputs.
  void fill();
  /// Throws where an output is wrong, an input has changed, or memory around them.
  void verify() const;
  Bytes output(std::size_t buffer) const;

 private:
  struct Side {
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
  };
  std::byte* take(std::uint64_t bytes, bool shared);
  void place_buffers(Memory memory, bool in_place);
  void prepare(test::Rank& rank, void* group);

  const Case case_;
  const std::size_t place_;
  const std::shared_ptr<const Answer> answer_;
  std::vector<Side> inputs_, outputs_;
  std::vector<Bytes> private_;
  std::vector<std::pair<std::byte*, std::uint64_t>> taken_;
  std::byte* arena_;
  void* slot_ = nullptr;
};

/// Prepares, fills, runs and verifies on all ranks of a group; `times` over.
void run_case(test::Rank& rank, void* group, std::size_t place, const Case& c, Memory memory, bool in_place,
              std::byte* arena, int times = 2, std::shared_ptr<const Answer> answer = nullptr);

/// "all_reduce fp32 x4, in place" for messages.
std::string name_of(const Case& c);

}  // namespace baleen::conformance
