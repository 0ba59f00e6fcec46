/// \file Inputs and results; the half formats by way of ldexp, unlike any implementation.
#include "expected.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace baleen::conformance {
namespace {

// A format of 1 sign bit, `exponent` and `mantissa` bits.
struct Format {
  int exponent, mantissa;
  int bias() const { return (1 << (exponent - 1)) - 1; }
};
constexpr Format kFp16{5, 10}, kBf16{8, 7};

float decode(std::uint16_t bits, Format f) {
  const int exponent = (bits >> f.mantissa) & ((1 << f.exponent) - 1), mantissa = bits & ((1 << f.mantissa) - 1);
  const double size = exponent == 0 ? std::ldexp(mantissa, 1 - f.bias() - f.mantissa)
                                    : std::ldexp(mantissa + (1 << f.mantissa), exponent - f.bias() - f.mantissa);
  return static_cast<float>(bits & 0x8000 ? -size : size);
}

std::uint16_t encode(float value, Format f) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (value == 0) return sign;
  int exponent = 0;
  const double size = std::fabs(value);
  std::frexp(size, &exponent);
  const int unit = std::max(exponent - 1, 1 - f.bias()) - f.mantissa;  // of the last place
  const double rounded = std::nearbyint(std::ldexp(size, -unit));      // to even
  // As an integer, the bits of a positive number count its last places.
  const double bits = rounded + std::ldexp(unit + f.mantissa - (1 - f.bias()), f.mantissa);
  return static_cast<std::uint16_t>(static_cast<std::uint16_t>(bits) | sign);
}

// A dtype as the tree computes with it.
template <class T>
struct Plain {
  static T get(const std::byte* p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
  }
  static void put(std::byte* p, T value) { std::memcpy(p, &value, sizeof value); }
};
template <int kExponent, int kMantissa>
struct Half {
  static constexpr Format kFormat{kExponent, kMantissa};
  static float get(const std::byte* p) { return decode(Plain<std::uint16_t>::get(p), kFormat); }
  static void put(std::byte* p, float value) { Plain<std::uint16_t>::put(p, encode(value, kFormat)); }
};

template <class T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}

template <class T>
T tree(const T* values, std::size_t count, baleen_reduction_t reduction) {
  if (count == 1) return *values;
  const std::size_t left = (count + 1) / 2;
  const T a = tree(values, left, reduction), b = tree(values + left, count - left, reduction);
  return reduction == BALEEN_SUM ? add(a, b) : std::max(a, b);
}

template <class Type>
Bytes reduced(const std::vector<Bytes>& inputs, std::size_t width, baleen_reduction_t reduction) {
  Bytes out(inputs[0].size());
  for (std::size_t at = 0; at < out.size(); at += width) {
    std::vector<decltype(Type::get(nullptr))> values;
    values.reserve(inputs.size());
    for (const Bytes& input : inputs) values.push_back(Type::get(input.data() + at));
    Type::put(out.data() + at, tree(values.data(), values.size(), reduction));
  }
  return out;
}

Bytes reduced(const Case& c, std::size_t buffer) {
  std::vector<Bytes> inputs;
  for (std::size_t member = 0; member < c.members; ++member) inputs.push_back(input_of(c, buffer, member));
  switch (c.dtype) {
    case BALEEN_F32: return reduced<Plain<float>>(inputs, 4, c.reduction);
    case BALEEN_F64: return reduced<Plain<double>>(inputs, 8, c.reduction);
    case BALEEN_F16: return reduced<Half<kFp16.exponent, kFp16.mantissa>>(inputs, 2, c.reduction);
    case BALEEN_BF16: return reduced<Half<kBf16.exponent, kBf16.mantissa>>(inputs, 2, c.reduction);
    case BALEEN_I32: return reduced<Plain<std::int32_t>>(inputs, 4, c.reduction);
    case BALEEN_I64: return reduced<Plain<std::int64_t>>(inputs, 8, c.reduction);
    default: return reduced<Plain<std::uint8_t>>(inputs, 1, c.reduction);
  }
}

std::uint64_t block_begin(const Buffer& b, std::size_t member) {
  return std::min<std::uint64_t>(b.count, member * b.block);
}

Bytes part(const Bytes& whole, std::uint64_t begin, std::uint64_t end) {
  return {whole.begin() + static_cast<std::ptrdiff_t>(begin), whole.begin() + static_cast<std::ptrdiff_t>(end)};
}

// splitmix64 (Steele, Lea and Flood, 2014).
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void append(Bytes& to, const Bytes& more) { to.insert(to.end(), more.begin(), more.end()); }

}  // namespace

std::uint64_t Case::given(std::size_t buffer, std::size_t member) const {
  const Buffer& b = buffers[buffer];
  std::uint64_t sum = 0;
  switch (op) {
    case BALEEN_ALL_GATHER: return block_begin(b, member + 1) - block_begin(b, member);
    case BALEEN_BROADCAST: return member == root ? b.count : 0;
    case BALEEN_PERMUTE: return destinations[member] >= 0 ? b.count : 0;
    case BALEEN_ALL_TO_ALL:
      for (const std::uint64_t piece : b.pieces[member]) sum += piece;
      return sum;
    default: return b.count;
  }
}

std::uint64_t Case::got(std::size_t buffer, std::size_t member) const {
  const Buffer& b = buffers[buffer];
  std::uint64_t sum = 0;
  switch (op) {
    case BALEEN_REDUCE_SCATTER: return block_begin(b, member + 1) - block_begin(b, member);
    case BALEEN_REDUCE: return member == root ? b.count : 0;
    case BALEEN_PERMUTE:
      return std::count(destinations.begin(), destinations.end(), static_cast<std::int32_t>(member)) ? b.count : 0;
    case BALEEN_ALL_TO_ALL:
      for (const auto& row : b.pieces) sum += row[member];
      return sum;
    default: return b.count;
  }
}

Bytes input_of(const Case& c, std::size_t buffer, std::size_t member) {
  std::uint64_t state = (c.seed * 64 + buffer) * 64 + member;
  Bytes out(c.given(buffer, member) * c.width());
  for (std::size_t at = 0; at < out.size(); at += c.width()) {
    const std::uint64_t bits = next_random(state);
    // Of many sizes, so that another order of adding shows.
    const double value =
        std::ldexp(static_cast<double>(static_cast<std::int64_t>(bits)) / 9.3e18, static_cast<int>(bits % 9));
    std::byte* p = out.data() + at;
    switch (c.dtype) {
      case BALEEN_F32: Plain<float>::put(p, static_cast<float>(value)); break;
      case BALEEN_F64: Plain<double>::put(p, value); break;
      case BALEEN_F16: Half<kFp16.exponent, kFp16.mantissa>::put(p, static_cast<float>(value)); break;
      case BALEEN_BF16: Half<kBf16.exponent, kBf16.mantissa>::put(p, static_cast<float>(value)); break;
      default: std::memcpy(p, &bits, c.width()); break;
    }
  }
  return out;
}

Bytes expected_of(const Case& c, std::size_t buffer, std::size_t member) {
  const Buffer& b = c.buffers[buffer];
  Bytes out;
  switch (c.op) {
    case BALEEN_ALL_REDUCE: return reduced(c, buffer);
    case BALEEN_REDUCE: return member == c.root ? reduced(c, buffer) : out;
    case BALEEN_REDUCE_SCATTER:
      return part(reduced(c, buffer), block_begin(b, member) * c.width(), block_begin(b, member + 1) * c.width());
    case BALEEN_ALL_GATHER:
      for (std::size_t from = 0; from < c.members; ++from) append(out, input_of(c, buffer, from));
      return out;
    case BALEEN_BROADCAST: return input_of(c, buffer, c.root);
    case BALEEN_PERMUTE:
      for (std::size_t from = 0; from < c.members; ++from)
        if (c.destinations[from] == static_cast<std::int32_t>(member)) return input_of(c, buffer, from);
      return out;
    case BALEEN_ALL_TO_ALL:
      for (std::size_t from = 0; from < c.members; ++from) {
        std::uint64_t begin = 0;
        for (std::size_t to = 0; to < member; ++to) begin += b.pieces[from][to];
        append(out, part(input_of(c, buffer, from), begin * c.width(), (begin + b.pieces[from][member]) * c.width()));
      }
      return out;
    default: return out;
  }
}

Answer::Answer(const Case& c, std::size_t member) {
  for (std::size_t b = 0; b < c.buffers.size(); ++b) {
    inputs.push_back(input_of(c, b, member));
    outputs.push_back(expected_of(c, b, member));
  }
}

}  // namespace baleen::conformance
