/// \file What may run again of a stretch of the forward pass, and what is held then.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "forward_pass.hpp"

namespace baleen::recompute {

/// One way to treat a stretch of ops.
struct Choice {
  std::int64_t kept = 0;         ///< bytes that stay from its forward to its backward pass
  std::int64_t peak = 0;         ///< the most at once while its backward pass runs, what it kept included
  double flops = 0;              ///< of copies
  std::vector<std::size_t> ops;  ///< that run again, from the stretch's first on
};

/// The ops from `begin` to `end`, looked at alone: what others do is as if nothing ran again there.
class Segment {
 public:
  /// `shown`: by op and result, whether it is kept where nothing runs again.
  Segment(const ForwardPass& pass, const std::vector<std::vector<char>>& shown, std::size_t begin, std::size_t end);

  /// Equal for segments that have equal choices.
  std::string signature() const;
  /// Those that no other is better than: all sets of ops where these are few, else of the largest ops, and others in
  /// groups by what they compute per byte.
  std::vector<Choice> choices() const;
  /// Nothing but what it reads and what is read of it is kept.
  Choice inputs_only() const;

 private:
  struct Unit {
    std::vector<std::size_t> ops;
  };
  std::vector<Unit> units() const;
  Choice choice(std::vector<char> wanted) const;
  std::vector<char> needed(std::vector<char> wanted) const;
  std::vector<std::size_t> last_use(const std::vector<char>& needed) const;
  std::int64_t kept_before(const std::vector<char>& needed) const;
  std::int64_t backward_peak(const std::vector<char>& needed, const std::vector<std::int64_t>& kept) const;
  std::size_t size() const { return end_ - begin_; }
  bool inside(std::size_t op) const { return op >= begin_ && op < end_; }

  const ForwardPass& pass_;
  const std::vector<std::vector<char>>& shown_;
  const std::size_t begin_, end_;
  std::vector<std::size_t> inner_;  ///< ops that may run again and are read inside alone, from 0
};

/// By op and result, whether the backward pass reads it, or a view of it.
std::vector<std::vector<char>> kept_results(const ForwardPass& pass);

}  // namespace baleen::recompute
