/// \file Memory that a plugin may read during one call.
#pragma once
#include <cstddef>
#include <string_view>

#include "baleen/host.h"

namespace baleen::validate {

/// Pages that are filled, lent for a call, and that nobody can read when this has gone: whoever kept a pointer into
/// them crashes. Their addresses are not used again.
class Lent {
 public:
  /// Room for so many bytes. Throws Failure.
  explicit Lent(std::size_t bytes);
  Lent(const Lent&) = delete;
  ~Lent();

  /// A copy.
  baleen_string_t text(std::string_view text);
  /// `count` things that are zero.
  template <class Thing>
  Thing* things(std::size_t count) {
    return static_cast<Thing*>(room(count * sizeof(Thing)));
  }

 private:
  void* room(std::size_t bytes);

  unsigned char* base_;
  std::size_t size_, used_ = 0;
};

}  // namespace baleen::validate
