/// \file A number that a run keeps for long and goes by.
#pragma once
#include <cstdint>

namespace baleen {

/// What to do where memory is found damaged; behind a message.
inline constexpr const char* kLostBit =
    ". Memory has lost a bit, or something writes where it should not; go on from the last checkpoint, without that "
    "machine";

/// Kept twice, the second time with each bit turned and counted for itself: memory that loses a bit of one is noticed.
class Count {
 public:
  Count(std::int64_t value = 0) : value_(value), turned_(~value) {}  // NOLINT(*explicit*): it is that number

  operator std::int64_t() const { return value_; }  // NOLINT(*explicit*)
  void add(std::int64_t more) { value_ += more, turned_ -= more; }
  bool is_right() const { return value_ == ~turned_; }

 private:
  std::int64_t value_, turned_;
};

}  // namespace baleen
