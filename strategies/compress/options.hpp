/// \file What a user may say of compression, and the states that a method keeps of a gradient.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "baleen/strategy.hpp"

namespace baleen::compress {

using namespace sdk;

enum class Method { bf16, fp16, bytes, bits, power };

struct Options {
  Method method = Method::bf16;
  std::string word;  ///< the method as the user wrote it
  std::uint32_t axis = BALEEN_NONE;
  std::vector<std::string> skip = {};  ///< patterns of parameters whose gradients travel as they are
  std::int64_t least = 0;              ///< gradients of fewer elements travel as they are
  std::int64_t block = 0;              ///< bytes, bits: elements that share a scale
  std::int64_t rank = 0;               ///< power: columns of the factors
  double least_gain = 0;               ///< power: gradients that would shrink less travel as they are
  std::int64_t warmup = 0;             ///< bits, power: steps in which nothing is compressed
  std::uint64_t bucket_bytes = 0;

  bool halves() const { return method == Method::bf16 || method == Method::fp16; }
  bool keeps_states() const { return method == Method::bits || method == Method::power; }
  /// By how much of its norm what travels is off, of a term and of the sum: a rounding of each element to 8 or 11
  /// digits; of 8 bits 1/sqrt(12) steps, 255 of which are a block's range, here of 18 root mean squares (of 1,024
  /// normal numbers it is 6.5); infinity where errors are added in later steps.
  double error() const {
    switch (method) {
      case Method::bf16: return 2 * std::exp2(-8);
      case Method::fp16: return 2 * std::exp2(-11);
      case Method::bytes: return 2 * 18.0 / 255 / std::sqrt(12.0);
      case Method::bits:
      case Method::power: break;
    }
    return HUGE_VAL;
  }
  baleen_dtype_t half() const { return method == Method::fp16 ? BALEEN_F16 : BALEEN_BF16; }
};

/// A state, and the value that it is assigned at the end of a step.
struct Kept {
  baleen_value_t state = BALEEN_NONE, next = BALEEN_NONE;
  explicit operator bool() const { return state != BALEEN_NONE; }
};

/// Of one gradient.
struct States {
  Kept error;   ///< [ranks, elements]: what each rank has yet to send
  Kept behind;  ///< bits: [elements]: what the rank that adds up a part has yet to send; each rank has its part
  Kept square;  ///< bits: of the gradient's shape: running means of squares of the sum
  Kept mean;    ///< bits: likewise: running means of what was received
  Kept factor;  ///< power: [columns, rank]: the right factor of the step before
};

}  // namespace baleen::compress
