/// \file The numbers that a program puts out, brought to the host together.
#pragma once
#include <vector>

#include "core/execute/program.hpp"

namespace baleen {

/// Loss, norm, metrics, facts: outputs of one element, in host memory that copies touch. Where the host reaches the
/// device's memory they are read there, and nothing is copied. [one thread]
class OutputNumbers {
 public:
  /// Makes room for those of a program that is bound. The device outlives this.
  Status reserve(Device& device, const Program& program);
  /// Enqueues copies of all of a program's; they are there when the stream has come here.
  Status fetch(Device& device, const Program& program);
  /// Where an output of the program that was fetched last lies; null: it is not among them.
  const std::byte* find(const Device& device, const Program& program, const Port& port) const;

 private:
  Arena arena_;
  const Program* fetched_ = nullptr;
};

}  // namespace baleen
