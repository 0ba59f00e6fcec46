/// \file Many files as one stream of tokens: a virtual concatenation of runs that lie where they lie.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace baleen::text {

/// Tokens of one file, `width` bytes each (1, 2 or 4; unsigned; little endian). Borrowed.
struct Run {
  const std::byte* data = nullptr;
  std::int64_t tokens = 0;
  int width = 1;
};

/// The concatenation of runs. Reading is const and allocates nothing. [any thread]
class Stream {
 public:
  void append(const Run& run);
  std::int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  /// Tokens `first` ... `first + out.size() - 1`, which must exist.
  void read(std::int64_t first, std::span<std::int32_t> out) const;
  /// A hash of the tokens, wherever they lie; of more than 64 M of them of pieces spread over all.
  std::uint64_t digest() const;
  /// The largest token of all, -1 if there is none. Reads everything.
  std::int64_t largest() const;

 private:
  std::vector<Run> runs_;
  std::vector<std::int64_t> ends_;  // ends_[i]: tokens in runs 0 ... i
};

}  // namespace baleen::text
