/// \file A rule's form, checked: where each element of a parameter lies in the tensors that it is made of. Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "baleen/result.hpp"
#include "compiler/graph/graph.hpp"
#include "frontend/lua/model_map.hpp"

namespace baleen {

/// Both sides of "v (h d) -> (v h) d": equal letters are equal dimensions; those in parentheses are one dimension, the
/// first of them outermost. Of several tensors the letter `stack` is ours alone, and numbers them.
class Arrangement {
 public:
  /// INVALID, with the rule's place and name: a form that cannot be read, letters without a size or on one side alone.
  static Result<Arrangement> of(const TensorRule& rule);

  /// Of each of their tensors.
  Shape theirs() const { return shape_of(theirs_, 0); }
  /// Of the parameter, whose padded letter has that extent; 0: its own.
  Shape ours(std::int64_t padded = 0) const { return shape_of(ours_, padded); }
  /// What the padded letter is rounded up to.
  std::int64_t padded_extent(std::int64_t multiple) const;
  /// The extent of the padded letter in a parameter of this shape (0: there is none); nothing where it does not fit.
  Result<std::int64_t> padded_in(const Shape& ours) const;

  /// Copies tensor `part` of `rule.theirs` to its places in the parameter, whose padding is left as it is.
  void to_ours(std::size_t part, std::span<const std::byte> theirs, std::span<std::byte> ours, std::size_t element,
               std::int64_t padded = 0) const;
  /// And back; the padding is cut.
  void to_theirs(std::size_t part, std::span<const std::byte> ours, std::span<std::byte> theirs, std::size_t element,
                 std::int64_t padded = 0) const;

 private:
  using Side = std::vector<std::string>;  ///< letters of each dimension
  struct Loop {
    std::int64_t extent, theirs, ours;  ///< steps, in elements
  };

  std::int64_t extent(char letter, std::int64_t padded) const;
  Shape shape_of(const Side& side, std::int64_t padded) const;
  std::int64_t stride(const Side& side, char letter, std::int64_t padded) const;
  std::vector<Loop> loops(std::int64_t padded) const;
  std::int64_t first(std::size_t part, std::int64_t padded) const;

  std::string name_;
  Side theirs_, ours_;
  std::map<char, std::int64_t> sizes_;
  char stack_ = 0, padded_ = 0;
};

}  // namespace baleen
