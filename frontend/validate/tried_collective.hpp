/// \file What a collective of a case takes and must give, by plain loops.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "baleen/collective_name.hpp"
#include "baleen/dtype.hpp"
#include "baleen/half.hpp"
#include "baleen/transport.h"

namespace baleen::validate {

/// One collective over all members, and what it must give.
struct TriedCollective {
  baleen_collective_t op = BALEEN_ALL_REDUCE;
  std::int32_t members = 1;
  std::uint64_t count = 0;
  baleen_dtype_t dtype = BALEEN_F32;
  baleen_reduction_t reduction = BALEEN_SUM;
  bool in_tree = false;      ///< numbers whose sum hangs on the order, summed as `deterministic` says
  std::int32_t nan_of = -1;  ///< the member one in five of whose numbers is NaN; -1: nobody
  bool in_place = false;     ///< the smaller side lies in the larger one

  bool reduces() const { return op == BALEEN_ALL_REDUCE || op == BALEEN_REDUCE_SCATTER || op == BALEEN_REDUCE; }
  std::int32_t root() const {
    if (op == BALEEN_SEND) return 0;  // as the receiver says it
    return op == BALEEN_BROADCAST || op == BALEEN_REDUCE ? members - 1 : 0;
  }
  std::uint64_t block() const {
    if (op != BALEEN_REDUCE_SCATTER && op != BALEEN_ALL_GATHER && op != BALEEN_ALL_TO_ALL) return 0;
    const auto all = static_cast<std::uint64_t>(members);
    return op == BALEEN_ALL_TO_ALL ? count : (count + all - 1) / all;
  }
  /// Elements of the larger side.
  std::uint64_t whole() const { return op == BALEEN_ALL_TO_ALL ? count * static_cast<std::uint64_t>(members) : count; }
  std::uint64_t block_of(std::int32_t member) const {
    const std::uint64_t begin = std::min(count, static_cast<std::uint64_t>(member) * block());
    return std::min(count, begin + block()) - begin;
  }
  std::uint64_t given(std::int32_t member) const {
    if (op == BALEEN_BARRIER) return 0;
    if (op == BALEEN_ALL_GATHER) return block_of(member);
    if (op == BALEEN_BROADCAST) return member == root() ? count : 0;
    if (op == BALEEN_SEND) return member == 0 ? count : 0;
    return whole();
  }
  std::uint64_t got(std::int32_t member) const {
    if (op == BALEEN_BARRIER) return 0;
    if (op == BALEEN_REDUCE_SCATTER) return block_of(member);
    if (op == BALEEN_BROADCAST) return member == root() ? 0 : count;
    if (op == BALEEN_REDUCE) return member == root() ? count : 0;
    if (op == BALEEN_SEND) return member == 1 ? count : 0;
    return whole();
  }
  /// Small whole numbers, exact in every dtype and order; or such that no two orders give one sum.
  double number(std::int32_t member, std::uint64_t at) const {
    if (member == nan_of && at % 5 == 3) return std::nan("");
    if (!in_tree) return static_cast<double>((static_cast<std::uint64_t>(member) * 31 + at * 7) % 17) - 5;
    constexpr double kPowers[] = {1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1e3, 1e4};
    const double varied = 1 + 0.37 * member + 0.013 * static_cast<double>(at % 101);
    return static_cast<float>(kPowers[(static_cast<std::uint64_t>(member) * 5 + at) % 9] * varied);
  }
  double input(std::int32_t member, std::uint64_t i) const {
    return number(member, op == BALEEN_ALL_GATHER ? static_cast<std::uint64_t>(member) * block() + i : i);
  }
  /// The balanced tree of transport.h, over members `low` to `high` - 1, in fp32.
  float tree(std::int32_t low, std::int32_t high, std::uint64_t at) const {
    if (high - low == 1) return static_cast<float>(number(low, at));
    const std::int32_t middle = low + (high - low + 1) / 2;
    return tree(low, middle, at) + tree(middle, high, at);
  }
  /// NaN wins.
  static double larger(double a, double b) { return std::isnan(a) || a >= b ? a : b; }
  double reduced(std::uint64_t at) const {
    if (in_tree) return tree(0, members, at);
    double all = number(0, at);
    for (std::int32_t member = 1; member < members; ++member)
      all = reduction == BALEEN_SUM ? all + number(member, at) : larger(all, number(member, at));
    return all;
  }
  double expected(std::int32_t member, std::uint64_t i) const {
    const std::uint64_t own = static_cast<std::uint64_t>(member) * block();
    switch (op) {
      case BALEEN_REDUCE_SCATTER: return reduced(own + i);
      case BALEEN_ALL_GATHER: return number(static_cast<std::int32_t>(i / block()), i);
      case BALEEN_BROADCAST: return number(root(), i);
      case BALEEN_ALL_TO_ALL: return number(static_cast<std::int32_t>(i / block()), own + i % block());
      case BALEEN_PERMUTE: return number((member + members - 1) % members, i);
      case BALEEN_SEND: return number(0, i);
      default: return reduced(i);
    }
  }
  std::string text() const {
    return std::string(collective_name(op)) + " of " + std::to_string(count) + " " + std::string(dtype_name(dtype)) +
           " among " + std::to_string(members) + (in_place ? ", in place," : "");
  }
};

/// As a number of that dtype.
inline void put_number(unsigned char* at, baleen_dtype_t dtype, double number) {
  const auto store = [&](auto value) { std::memcpy(at, &value, sizeof value); };
  if (dtype == BALEEN_F64) return store(number);
  if (dtype == BALEEN_I32) return store(static_cast<std::int32_t>(number));
  if (dtype == BALEEN_BF16) return store(to_bf16(static_cast<float>(number)));
  if (dtype == BALEEN_F16) return store(to_fp16(static_cast<float>(number)));
  store(static_cast<float>(number));
}

/// Whether the number of that dtype is NaN.
inline bool is_nan(const unsigned char* at, baleen_dtype_t dtype) {
  const auto load = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  if (dtype == BALEEN_F64) return std::isnan(load(double{}));
  if (dtype == BALEEN_BF16) return std::isnan(from_bf16(load(std::uint16_t{})));
  if (dtype == BALEEN_F16) return std::isnan(from_fp16(load(std::uint16_t{})));
  return dtype == BALEEN_F32 && std::isnan(load(float{}));
}

}  // namespace baleen::validate
