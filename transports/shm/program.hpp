/// \file A prepared collective: a table of copies and reductions with meetings of the members between.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "baleen/reduction.hpp"

namespace baleen::shm {

using namespace sdk;

class Program {
 public:
  Program() = default;
  explicit Program(Reduction reduction) : reduction_(reduction) {}

  /// Plan time: adds to the step that is being built.
  void copy(std::byte* to, const std::byte* from, std::uint64_t bytes);
  void reduce(const std::vector<const std::byte*>& sources, const std::vector<std::byte*>& destinations,
              std::uint64_t count);
  /// Ends the step; `meet`: the next one begins when all members have come here.
  void end_step(bool meet);

  std::size_t steps() const { return steps_.size(); }
  bool meets(std::size_t step) const { return steps_[step].meet; }
  /// Does the step's work. Allocates nothing.
  void run(std::size_t step) const;

 private:
  struct Copy {
    std::byte* to;
    const std::byte* from;
    std::uint64_t bytes;
  };
  struct Reduce {
    std::size_t source, destination;  // the first, in the lists below
    std::size_t source_count, destination_count;
    std::uint64_t count;
  };
  struct Step {
    std::size_t copies_end, reduces_end;
    bool meet;
  };

  Reduction reduction_ = nullptr;
  std::vector<Copy> copies_;
  std::vector<Reduce> reduces_;
  std::vector<const std::byte*> sources_;
  std::vector<std::byte*> destinations_;
  std::vector<Step> steps_;
};

}  // namespace baleen::shm
